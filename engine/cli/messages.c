/* See messages.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/cli/messages.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Two paths of the usual limit fit; longer messages are cut. */
enum { LINE_BYTES = 8192 };

static const char *command_name;
static bool silenced;

static void print_line(const char *format, va_list arguments)
{
    char line[LINE_BYTES];
    vsnprintf(line, sizeof line, format, arguments);
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    /* One call per line keeps the lines of several threads apart. */
    fprintf(stderr, "attend%s%s: %s\n", command_name ? " " : "", command_name ? command_name : "", line);
}

void message_set_command(const char *name)
{
    command_name = name;
}

void message_set_quiet(bool quiet)
{
    silenced = quiet;
}

int message_failure(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line(format, arguments);
    va_end(arguments);
    return STATUS_COULD_NOT;
}

int message_usage(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line(format, arguments);
    va_end(arguments);
    fprintf(stderr, "Try 'attend%s%s --help'.\n", command_name ? " " : "", command_name ? command_name : "");
    return STATUS_USAGE;
}

void message_note(const char *format, ...)
{
    if (silenced)
        return;
    va_list arguments;
    va_start(arguments, format);
    print_line(format, arguments);
    va_end(arguments);
}

/* The struct of the header that a text names, and what begins the name of its members on the command line. */
static const struct owner {
    const char *name, *prefix;
} owners[] = { { "options.", "--" }, { "args.", "--" }, { "problem.", "" } };

static const struct owner *find_owner(const char *text)
{
    for (size_t i = 0; i < sizeof owners / sizeof owners[0]; i++)
        if (strncmp(text, owners[i].name, strlen(owners[i].name)) == 0)
            return &owners[i];
    return NULL;
}

/* Appends length bytes of a member's name, cut to the line. */
static size_t add_name(char *line, size_t used, const struct owner *owner, const char *name, size_t length)
{
    int written = snprintf(line + used, LINE_BYTES - used, "%s%.*s", owner->prefix, (int)length, name);
    size_t end = used + (size_t)written < LINE_BYTES ? used + (size_t)written : LINE_BYTES - 1;
    for (; used < end && *owner->prefix; used++)
        if (line[used] == '_')
            line[used] = '-';
    return end;
}

const char *message_library_text(const char *text)
{
    static _Thread_local char line[LINE_BYTES];
    size_t used = 0;
    bool begins = true;
    while (*text && used + 1 < sizeof line) {
        const struct owner *owner = begins ? find_owner(text) : NULL;
        if (owner) {
            text += strlen(owner->name);
            size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz_");
            used = add_name(line, used, owner, text, length);
            text += length;
            begins = false;
        } else {
            begins = strchr(" (", *text) != NULL;
            line[used++] = *text++;
        }
    }
    line[used] = '\0';
    return line;
}

void message_from_library(void *user, attend_log_level level, const char *message)
{
    (void)user;
    if (level == ATTEND_LOG_WARNING)
        message_note("%s", message_library_text(message));
}

int message_finish_output(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return STATUS_DONE;
    return message_failure("cannot write to standard output: %s", strerror(errno));
}
