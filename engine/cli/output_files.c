/* See output_files.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/cli/output_files.h"

#include "engine/cli/messages.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct output_file {
    const char *argument, *path; /* as the user gave them */
    FILE *stream;
    char *target;    /* where the file goes, links resolved; NULL: written directly */
    char *temporary; /* NULL: written directly */
};

static struct output_file files[OUTPUT_FILES_LIMIT];
static int file_count;

/* What the signal handler unlinks. Entries are set before the file exists and cleared after it is gone. */
static char *volatile doomed[OUTPUT_FILES_LIMIT];

static void (*volatile tidy)(void);

static void remove_and_die(int number)
{
    if (tidy)
        tidy();
    for (int i = 0; i < OUTPUT_FILES_LIMIT; i++)
        if (doomed[i])
            unlink(doomed[i]);
    /* The disposition was reset on entry; the signal is delivered again when this handler returns. */
    raise(number);
}

void output_files_before_death(void (*function)(void))
{
    tidy = function;
}

static void catch_signals(void)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
    for (int i = 0; i < 3; i++) {
        struct sigaction action = { .sa_handler = remove_and_die, .sa_flags = (int)SA_RESETHAND }, before;
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
}

static void forget_file(struct output_file *file)
{
    if (file->stream)
        fclose(file->stream);
    if (file->temporary)
        unlink(file->temporary);
    doomed[file - files] = NULL;
    free(file->temporary);
    free(file->target);
    memset(file, 0, sizeof *file);
}

void output_files_discard(void)
{
    while (file_count > 0)
        forget_file(&files[--file_count]);
}

/* Creates TARGET.attend-PID-N. Exclusive creation under the user's umask: nothing is overwritten, permissions are
 * those of any new file. */
static int create_temporary(struct output_file *file)
{
    size_t size = strlen(file->target) + 48;
    file->temporary = malloc(size);
    if (!file->temporary)
        return -1;
    for (int attempt = 0; attempt < 100; attempt++) {
        snprintf(file->temporary, size, "%s.attend-%ld-%d", file->target, (long)getpid(), attempt);
        doomed[file - files] = file->temporary;
        int descriptor = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor >= 0)
            return descriptor;
        doomed[file - files] = NULL;
        if (errno != EEXIST)
            break;
    }
    free(file->temporary);
    file->temporary = NULL;
    return -1;
}

static int open_target(struct output_file *file)
{
    struct stat status;
    bool exists = stat(file->path, &status) == 0;
    if (exists && S_ISDIR(status.st_mode)) {
        errno = EISDIR;
        return -1;
    }
    if (exists && !S_ISREG(status.st_mode))
        return open(file->path, O_WRONLY | O_CLOEXEC);
    /* Through a link, so that the rename replaces what it points to. */
    file->target = exists ? realpath(file->path, NULL) : strdup(file->path);
    return file->target ? create_temporary(file) : -1;
}

/* Devices are left out: a terminal may well be read and written. */
static bool same_file(const char *path, const char *other)
{
    struct stat one, two;
    if (strcmp(path, other) == 0)
        return true;
    return stat(path, &one) == 0 && S_ISREG(one.st_mode) && stat(other, &two) == 0 && one.st_dev == two.st_dev &&
           one.st_ino == two.st_ino;
}

bool output_files_differ(const char *argument, const char *path, const char *other, const char *other_path)
{
    bool same = same_file(path, other_path);
    if (same)
        message_failure("%s %s is also the file of %s; every output needs its own", argument, path, other);
    return !same;
}

int output_files_open(const char *argument, const char *path)
{
    for (int i = 0; i < file_count; i++)
        if (!output_files_differ(argument, path, files[i].argument, files[i].path))
            return -1;
    if (file_count == 0)
        catch_signals();
    struct output_file *file = &files[file_count];
    file->argument = argument;
    file->path = path;
    int descriptor = open_target(file);
    if (descriptor >= 0)
        file->stream = fdopen(descriptor, "wb");
    if (!file->stream) {
        message_failure("%s %s cannot be written: %s", argument, path, strerror(errno));
        if (descriptor >= 0)
            close(descriptor);
        forget_file(file);
        return -1;
    }
    return file_count++;
}

FILE *output_files_stream(int file)
{
    return files[file].stream;
}

static bool report_file(const struct output_file *file)
{
    message_failure("%s %s cannot be written: %s", file->argument, file->path, strerror(errno));
    return false;
}

bool output_files_report(int file)
{
    return report_file(&files[file]);
}

/* Hands the data to the operating system, so that a full disk shows before anything is renamed. */
static bool close_file(struct output_file *file)
{
    bool good = fclose(file->stream) == 0;
    file->stream = NULL;
    return good || report_file(file);
}

static bool rename_file(struct output_file *file)
{
    if (!file->temporary)
        return true;
    if (rename(file->temporary, file->target) != 0)
        return report_file(file);
    doomed[file - files] = NULL;
    free(file->temporary);
    file->temporary = NULL;
    return true;
}

bool output_files_commit(void)
{
    bool good = true;
    for (int i = 0; good && i < file_count; i++)
        good = close_file(&files[i]);
    for (int i = 0; good && i < file_count; i++)
        good = rename_file(&files[i]);
    output_files_discard();
    return good;
}
