/* See command_options.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/cli/command_options.h"

#include "engine/cli/messages.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More CPUs than any machine has; a longer list is a slip of the keyboard. */
enum { LIST_LIMIT = 65536 };

/* Reads digits at *text and moves it behind them. */
static bool take_number(const char **text, int64_t *value)
{
    if (**text < '0' || **text > '9')
        return false;
    char *end;
    errno = 0;
    *value = strtoll(*text, &end, 10);
    *text = end;
    return errno == 0;
}

bool option_read_whole(const char *text, int64_t least, int64_t most, int64_t *value)
{
    return take_number(&text, value) && *text == '\0' && *value >= least && *value <= most;
}

bool option_read_real(const char *text, float *value)
{
    char *end;
    *value = strtof(text, &end);
    return end != text && *end == '\0' && isfinite(*value);
}

/* One number or range of a list. */
static bool take_range(const char **text, int32_t least, int32_t most, struct number_list *list)
{
    int64_t first, last;
    if (!take_number(text, &first))
        return false;
    last = first;
    if (**text == '-') {
        ++*text;
        if (!take_number(text, &last))
            return false;
    }
    if (first < least || last > most || first > last || last - first >= LIST_LIMIT - (int64_t)list->count)
        return false;
    size_t count = list->count + (size_t)(last - first) + 1;
    int32_t *numbers = realloc(list->numbers, count * sizeof *numbers);
    if (!numbers)
        return false;
    list->numbers = numbers;
    for (int64_t number = first; number <= last; number++)
        numbers[list->count++] = (int32_t)number;
    return true;
}

bool option_read_list(const char *text, int32_t least, int32_t most, struct number_list *list)
{
    struct number_list read = { NULL, 0 };
    bool good = take_range(&text, least, most, &read);
    while (good && *text == ',') {
        text++;
        good = take_range(&text, least, most, &read);
    }
    if (!good || *text != '\0') {
        free(read.numbers);
        return false;
    }
    free(list->numbers);
    *list = read;
    return true;
}

static int read_bind(const char *text, attend_bind *bind)
{
    static const char *const words[] = { "auto", "cores", "off" };
    static const attend_bind values[] = { ATTEND_BIND_AUTO, ATTEND_BIND_CORES, ATTEND_BIND_OFF };
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, words[i]) != 0)
            continue;
        *bind = values[i];
        return STATUS_DONE;
    }
    return message_usage("--bind is '%s'; it must be auto, cores or off", text);
}

static int read_isa(const char *text, attend_isa *isa)
{
    for (int candidate = ATTEND_ISA_AUTO; attend_isa_name((attend_isa)candidate); candidate++) {
        if (strcmp(text, attend_isa_name((attend_isa)candidate)) != 0)
            continue;
        *isa = (attend_isa)candidate;
        return STATUS_DONE;
    }
    return message_usage("--isa is '%s'; it must be auto, " ISA_NAMES, text);
}

int engine_settings_read(struct engine_settings *settings, int option, const char *text)
{
    int64_t threads;
    switch (option) {
    case OPTION_THREADS:
        if (!option_read_whole(text, 1, THREADS_LIMIT, &threads))
            return message_usage("--threads is '%s'; it must be a whole number from 1 to %d", text, THREADS_LIMIT);
        settings->threads = (int32_t)threads;
        return STATUS_DONE;
    case OPTION_CPUS:
        if (!option_read_list(text, 0, INT32_MAX, &settings->cpus))
            return message_usage("--cpus is '%s'; it must list numbers of CPUs, as in 0,2-5", text);
        return STATUS_DONE;
    case OPTION_BIND: return read_bind(text, &settings->bind);
    default: return read_isa(text, &settings->isa);
    }
}

int engine_settings_create(const struct engine_settings *settings, attend_engine **engine)
{
    attend_engine_options options = ATTEND_ENGINE_OPTIONS_INIT;
    options.threads = settings->threads;
    options.cpus = settings->cpus.numbers;
    options.cpu_count = settings->cpus.count;
    options.bind = settings->bind;
    options.isa = settings->isa;
    options.log = message_from_library;
    if (attend_engine_create(engine, &options) == ATTEND_OK)
        return STATUS_DONE;
    return message_failure("%s", message_library_text(attend_last_error()));
}

void engine_settings_release(struct engine_settings *settings)
{
    free(settings->cpus.numbers);
    settings->cpus = (struct number_list){ NULL, 0 };
}

/* What getopt_long stumbled over, after it returned ':' or '?'. */
static int report_unknown(int returned, char **argv)
{
    const char *text = argv[optind - 1];
    if (returned == ':')
        return message_usage("%s needs a value", text);
    if (optopt > 0 && optopt < 256)
        return message_usage("there is no option -%c", optopt);
    if (optopt != 0)
        return message_usage("%s takes no value", text);
    return message_usage("there is no option %s, or it is an ambiguous abbreviation", text);
}

int options_walk(int argc, char **argv, const struct option *table, option_reader read, void *options, bool *help)
{
    int option, place = 0, status = STATUS_DONE;
    opterr = 0;
    optind = 1;
    while (status == STATUS_DONE && !*help && (option = getopt_long(argc, argv, ":", table, &place)) != -1) {
        if (option == OPTION_HELP)
            *help = true;
        else if (option == ':' || option == '?')
            status = report_unknown(option, argv);
        else
            status = read(options, option, place);
    }
    return status;
}

int options_print_help(const char *text)
{
    fputs(text, stdout);
    return message_finish_output();
}
