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

void message_from_library(void *user, attend_log_level level, const char *message)
{
    (void)user;
    if (level == ATTEND_LOG_WARNING)
        message_note("%s", message);
}

int message_finish_output(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return STATUS_DONE;
    return message_failure("cannot write to standard output: %s", strerror(errno));
}
