/* See quota.h. A file that is missing, cut short or malformed counts as no quota: a wrong guess must not shrink a
 * team. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/threads/quota.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a path and of a line that is looked at: paths of nested containers have some 500. Lines of mounts with many
 * layers are longer, and are passed over: they are none of control groups. The pieces read of one file: the kernel
 * allows 100000 mounts. */
enum { PATH_BYTES = 1024, LINE_BYTES = 4 * PATH_BYTES, FILE_PIECES = 1 << 17 };

/* The process's group in the unified hierarchy (version 2), or in the one of version 1 that has the cpu controller, as
 * /proc/self/cgroup names it. Empty path: none. */
struct group {
    bool unified;
    char path[PATH_BYTES];
};

struct mount {
    const char *type, *root, *point, *options;
};

struct reader {
    FILE *file;
    int left; /* pieces of at most a line that may still be read */
    char line[LINE_BYTES];
};

/* ---- reading ---- */

static bool join_path(char *path, const char *a, const char *b, const char *c)
{
    int length = snprintf(path, PATH_BYTES, "%s%s%s", a, b, c);
    return length >= 0 && length < PATH_BYTES;
}

static bool open_file(struct reader *reader, const char *root, const char *path, const char *name)
{
    char whole[PATH_BYTES];
    reader->left = FILE_PIECES;
    reader->file = join_path(whole, root, path, name) ? fopen(whole, "re") : NULL;
    return reader->file != NULL;
}

/* The next line that fits, without its newline, or false at the end. */
static bool read_line(struct reader *reader)
{
    bool continued = false;
    while (reader->left-- > 0 && fgets(reader->line, sizeof reader->line, reader->file)) {
        size_t length = strlen(reader->line);
        bool ended = length > 0 && reader->line[length - 1] == '\n';
        if (ended)
            reader->line[length - 1] = '\0';
        if (!continued && (ended || length + 1 < sizeof reader->line))
            return true;
        continued = !ended;
    }
    return false;
}

/* The first line of a small file of a group. */
static bool read_value(struct reader *reader, const char *root, const char *directory, const char *name)
{
    if (!open_file(reader, root, directory, name))
        return false;
    bool found = read_line(reader);
    fclose(reader->file);
    return found;
}

/* A positive whole number that begins at *text; *text is moved behind it. 0: there is none. */
static double parse_positive(const char **text)
{
    char *end;
    errno = 0;
    long long value = strtoll(*text, &end, 10);
    bool good = end != *text && !errno && value > 0 && (*end == '\0' || *end == ' ');
    *text = end;
    return good ? (double)value : 0;
}

/* ---- one group ---- */

/* "200000 100000": microseconds that may be used in each period; "max 100000": no quota. */
static double read_unified(struct reader *reader, const char *root, const char *directory)
{
    if (!read_value(reader, root, directory, "/cpu.max"))
        return 0;
    const char *text = reader->line;
    double quota = parse_positive(&text);
    double period = quota > 0 ? parse_positive(&text) : 0;
    return period > 0 && *text == '\0' ? quota / period : 0;
}

/* Version 1 has a file for each number; a quota of -1 is none. */
static double read_number(struct reader *reader, const char *root, const char *directory, const char *name)
{
    if (!read_value(reader, root, directory, name))
        return 0;
    const char *text = reader->line;
    double value = parse_positive(&text);
    return *text == '\0' ? value : 0;
}

static double read_group(struct reader *reader, bool unified, const char *root, const char *directory)
{
    if (unified)
        return read_unified(reader, root, directory);
    double quota = read_number(reader, root, directory, "/cpu.cfs_quota_us");
    double period = quota > 0 ? read_number(reader, root, directory, "/cpu.cfs_period_us") : 0;
    return period > 0 ? quota / period : 0;
}

static double tighter(double a, double b)
{
    return a <= 0 || (b > 0 && b < a) ? b : a;
}

/* The group `below` the mount point and its ancestors up to the mount point itself. */
static double read_ancestry(struct reader *reader, const char *root, bool unified, const char *point, const char *below)
{
    char directory[PATH_BYTES];
    if (!join_path(directory, point, below, ""))
        return 0;
    size_t shortest = strlen(point);
    double tightest = 0;
    for (;;) {
        tightest = tighter(tightest, read_group(reader, unified, root, directory));
        char *slash = strrchr(directory, '/');
        if (!slash || (size_t)(slash - directory) < shortest)
            return tightest;
        *slash = '\0';
    }
}

/* ---- finding the groups ---- */

/* Whether `word` is one of the words of a list with commas. */
static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

/* Lines "0::/path" (version 2) and "4:cpu,cpuacct:/path" (version 1). */
static void find_groups(struct reader *reader, const char *root, struct group *version1, struct group *version2)
{
    if (!open_file(reader, root, "/proc/self", "/cgroup"))
        return;
    while (read_line(reader)) {
        char *controllers = strchr(reader->line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path || path[1] != '/' || strlen(path + 1) >= PATH_BYTES)
            continue;
        *path++ = '\0';
        if (strcmp(reader->line, "0:") == 0)
            strcpy(version2->path, path);
        else if (has_word(controllers + 1, "cpu"))
            strcpy(version1->path, path);
    }
    fclose(reader->file);
}

/* Undoes the octal escapes of blanks and backslashes in /proc/self/mountinfo, in place. */
static void unescape(char *text)
{
    char *out = text;
    for (const char *in = text; *in; out++) {
        bool escaped = in[0] == '\\' && in[1] >= '0' && in[1] <= '3' && in[2] >= '0' && in[2] <= '7' && in[3] >= '0' &&
                       in[3] <= '7';
        *out = escaped ? (char)((in[1] - '0') * 64 + (in[2] - '0') * 8 + (in[3] - '0')) : *in;
        in += escaped ? 4 : 1;
    }
    *out = '\0';
}

/* "31 23 0:28 ROOT POINT OPTIONS TAGS… - TYPE SOURCE OPTIONS"; cuts the line into its words. */
static bool parse_mount(char *line, struct mount *mount)
{
    char *separator = strstr(line, " - "), *rest = NULL, *words[5];
    if (!separator)
        return false;
    *separator = '\0';
    words[0] = strtok_r(line, " ", &rest);
    for (int i = 1; i < 5; i++)
        words[i] = words[i - 1] ? strtok_r(NULL, " ", &rest) : NULL;
    mount->type = strtok_r(separator + 3, " ", &rest);
    const char *source = mount->type ? strtok_r(NULL, " ", &rest) : NULL;
    mount->options = source ? strtok_r(NULL, " ", &rest) : NULL;
    if (!words[4] || !mount->options)
        return false;
    unescape(words[3]);
    unescape(words[4]);
    mount->root = words[3];
    mount->point = strcmp(words[4], "/") == 0 ? "" : words[4];
    return true;
}

static bool fits_group(const struct mount *mount, const struct group *group)
{
    if (!*group->path)
        return false;
    return group->unified ? strcmp(mount->type, "cgroup2") == 0 :
                            strcmp(mount->type, "cgroup") == 0 && has_word(mount->options, "cpu");
}

/* The part of the group's path below the mount point, without a slash at its end; NULL: this mount does not show the
 * group. Where a container names its group differently from its mount, the usual mount point shows the container's own
 * group. */
static const char *find_below(const struct mount *mount, const char *path)
{
    size_t length = strcmp(mount->root, "/") == 0 ? 0 : strlen(mount->root);
    bool inside = strncmp(path, mount->root, length) == 0 && (path[length] == '/' || path[length] == '\0');
    if (inside && !strstr(path + length, "/.."))
        return strcmp(path + length, "/") == 0 ? "" : path + length;
    return strncmp(mount->point, "/sys/fs/cgroup", strlen("/sys/fs/cgroup")) == 0 ? "" : NULL;
}

static double read_group_mounts(struct reader *mounts, const char *root, const struct group *group)
{
    double tightest = 0;
    struct reader files;
    if (!*group->path || !open_file(mounts, root, "/proc/self", "/mountinfo"))
        return 0;
    while (read_line(mounts)) {
        struct mount mount;
        if (!parse_mount(mounts->line, &mount) || !fits_group(&mount, group))
            continue;
        const char *below = find_below(&mount, group->path);
        if (below)
            tightest = tighter(tightest, read_ancestry(&files, root, group->unified, mount.point, below));
    }
    fclose(mounts->file);
    return tightest;
}

double attend__quota_read(const char *root)
{
    struct reader reader;
    struct group version1 = { .unified = false }, version2 = { .unified = true };
    find_groups(&reader, root, &version1, &version2);
    return tighter(read_group_mounts(&reader, root, &version1), read_group_mounts(&reader, root, &version2));
}
