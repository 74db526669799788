/* Reading of options that commands share: numbers, lists, words and the settings of an engine. Every reader that can
 * fail prints its own message. */
#ifndef ATTEND_CLI_COMMAND_OPTIONS_H
#define ATTEND_CLI_COMMAND_OPTIONS_H

#include "attend/attend.h"

#include <getopt.h>
#include <stdbool.h>

/* getopt_long values that commands share; a command's own begin at OPTION_OWN. */
enum { OPTION_HELP = 256, OPTION_CPUS, OPTION_BIND, OPTION_ISA, OPTION_THREADS, OPTION_JSON, OPTION_QUIET, OPTION_OWN };

/* Entries of a getopt_long table for the settings of an engine. */
#define ENGINE_OPTION_ENTRIES                                                                                         \
    { "threads", required_argument, NULL, OPTION_THREADS }, { "cpus", required_argument, NULL, OPTION_CPUS },         \
        { "bind", required_argument, NULL, OPTION_BIND }, { "isa", required_argument, NULL, OPTION_ISA }

/* All that the library may know, here or elsewhere. */
#define ISA_NAMES "portable, avx2, avx512 or neon"
#define ISA_OPTION_HELP "  --isa NAME         instruction set: auto (default), " ISA_NAMES "\n"

/* What --help says about them, --threads left out. */
#define ENGINE_OPTION_HELP                                                                                            \
    "  --cpus LIST        CPUs to use, as in 0,2-5; the process's CPUs unless told\n"                                 \
    "  --bind WORD        bind threads to CPUs: auto (default), cores or off\n"                                       \
    ISA_OPTION_HELP

enum { THREADS_LIMIT = 4096 };

/* A list of numbers, as in 0,2-5. */
struct number_list {
    int32_t *numbers; /* [count], the caller's; NULL when not given */
    size_t count;
};

struct engine_settings {
    int32_t threads; /* 0: the library's default */
    struct number_list cpus;
    attend_bind bind;
    attend_isa isa;
};

/* A whole number in decimal from `least` to `most`, nothing else in the text. */
bool option_read_whole(const char *text, int64_t least, int64_t most, int64_t *value);

/* A finite number in the range of float. */
bool option_read_real(const char *text, float *value);

/* Numbers and ranges separated by commas, each from `least` to `most`; at most 65536 numbers. */
bool option_read_list(const char *text, int32_t least, int32_t most, struct number_list *list);

/* Reads the option that getopt_long returned, one of ENGINE_OPTION_ENTRIES; STATUS_DONE or a printed STATUS_USAGE. */
int engine_settings_read(struct engine_settings *settings, int option, const char *text);

/* Creates an engine whose warnings become notes; prints the failure. */
int engine_settings_create(const struct engine_settings *settings, attend_engine **engine);

void engine_settings_release(struct engine_settings *settings);

/* Takes in one option, whose argument is in optarg: its value in the getopt_long table and its place there. Returns
 * STATUS_DONE or a printed STATUS_USAGE. `options` is the command's own. */
typedef int (*option_reader)(void *options, int option, int place);

/* Walks through the options, up to one that cannot be read or --help, which sets *help. The first argument that is no
 * option is argv[optind] then. */
int options_walk(int argc, char **argv, const struct option *table, option_reader read, void *options, bool *help);

/* Prints the text of --help; returns the exit status. */
int options_print_help(const char *text);

#endif
