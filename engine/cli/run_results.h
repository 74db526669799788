/* The result tensors of attend run: their memory, and their way into .npy files. */
#ifndef ATTEND_CLI_RUN_RESULTS_H
#define ATTEND_CLI_RUN_RESULTS_H

#include "engine/cli/run_inputs.h"

enum { RESULT_OUTPUT, RESULT_LSE, RESULT_WEIGHTS, RESULT_KEY_SUMS, RESULT_COUNT };

struct run_results {
    attend_tensor tensors[RESULT_COUNT];
    int rank[RESULT_COUNT];
    int64_t shape[RESULT_COUNT][4]; /* as written to the file */
    void *data[RESULT_COUNT];       /* NULL: not asked for */
    int file[RESULT_COUNT];         /* of output_files.h */
};

/* Takes touched memory for the results that were asked for, adds them to inputs->args and opens their files.
 * STATUS_DONE, or STATUS_COULD_NOT after a message; to be released in both cases. */
int run_results_make(struct run_results *results, struct run_inputs *inputs, const struct run_options *options);

/* Writes all files and makes them appear; STATUS_DONE, or STATUS_COULD_NOT after a message. */
int run_results_write(struct run_results *results);

/* Frees the memory and removes files that are not complete. */
void run_results_release(struct run_results *results);

#endif
