/* The command line of attend run. Opens no file. */
#ifndef ATTEND_CLI_RUN_OPTIONS_H
#define ATTEND_CLI_RUN_OPTIONS_H

#include "engine/cli/command_options.h"

/* Options that name files; inputs come first. */
enum run_file {
    FILE_QUERY, FILE_KEY, FILE_VALUE, FILE_KEY_STARTS, FILE_KEY_LENGTHS, FILE_QUERY_STARTS, FILE_QUERY_LENGTHS,
    FILE_POSITIONS, FILE_PREFIX_LENGTHS, FILE_QUERY_OFFSETS, FILE_KEY_OFFSETS, FILE_VISIBLE, FILE_BIAS,
    FILE_ALIBI_SLOPES, FILE_SINKS, FILE_OUTPUT, FILE_LSE, FILE_WEIGHTS, FILE_KEY_SUMS, FILE_COUNT,
    FILE_INPUTS = FILE_OUTPUT
};

struct run_options {
    const char *files[FILE_COUNT]; /* NULL: not given */
    bool causal, windowed, diagonal_given; /* --causal, --window, --diagonal */
    int64_t window_left, window_right;
    attend_diagonal diagonal;
    int64_t visible_tail; /* 0: not given */
    bool alibi; /* the usual slopes */
    bool has_scale;
    float scale, softcap; /* softcap 0: not given */
    float deadline; /* seconds; 0: not given */
    bool has_dtype, bf16; /* --dtype; --bf16: uint16 files hold bfloat16 */
    attend_dtype dtype;
    struct engine_settings engine;
    bool quiet, help;
};

/* "--query" and so on. */
const char *run_file_argument(int file);

/* Reads the command line; STATUS_DONE, or the exit status after a message. With help set nothing else counts. */
int run_options_read(struct run_options *options, int argc, char **argv);

void run_options_release(struct run_options *options);

#endif
