/* The input files of attend run: reads them, checks types, shapes and ranges against each other and makes the problem
 * of them. Every failure is told with the argument, its value and the rule. Runs nothing. */
#ifndef ATTEND_CLI_RUN_INPUTS_H
#define ATTEND_CLI_RUN_INPUTS_H

#include "bench/npy.h"
#include "engine/cli/run_options.h"

/* `problem` and the inputs of `args` are ready; outputs are for the caller to add. args points into the struct: it
 * must not be copied or moved. */
struct run_inputs {
    attend_problem problem;
    attend_args args;
    int rank; /* of the query, 2 to 4 */
    attend_tensor tensors[FILE_INPUTS]; /* views of tensors */
    struct npy_file files[FILE_INPUTS];
    void *data[FILE_INPUTS]; /* numbers of the tensors' types, float, int64_t or bytes */
};

/* STATUS_DONE, or STATUS_COULD_NOT after a message; to be released in both cases. */
int run_inputs_read(struct run_inputs *inputs, const struct run_options *options);

void run_inputs_release(struct run_inputs *inputs);

#endif
