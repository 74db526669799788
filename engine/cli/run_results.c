/* See run_results.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/cli/run_results.h"

#include "bench/half.h"
#include "engine/cli/messages.h"
#include "engine/cli/output_files.h"
#include "engine/cli/run_types.h"

#include <stdlib.h>
#include <string.h>

static const int result_files[RESULT_COUNT] = { FILE_OUTPUT, FILE_LSE, FILE_WEIGHTS, FILE_KEY_SUMS };

/* (batch, heads, rows, width) of a result; packed items share one batch. */
static void find_extents(int result, const attend_problem *problem, int64_t extents[4])
{
    const int64_t widths[RESULT_COUNT] = { problem->d_v, 1, problem->keys, problem->keys };
    const bool of_keys = result == RESULT_KEY_SUMS;
    const bool packed = problem->flags & (of_keys ? ATTEND_PACKED_KEYS : ATTEND_PACKED_QUERIES);
    extents[0] = packed ? 1 : problem->batch;
    extents[1] = problem->heads;
    extents[2] = of_keys ? 1 : problem->rows;
    extents[3] = widths[result];
}

/* Output drops leading axes where the query had none, LSE its width of 1, key sums their rows of 1. */
static void describe_result(struct run_results *results, int result, const struct run_inputs *inputs)
{
    int64_t extents[4];
    find_extents(result, &inputs->problem, extents);
    if (result == RESULT_KEY_SUMS)
        extents[2] = extents[3];
    int skipped = result == RESULT_OUTPUT ? 4 - inputs->rank : 0;
    results->rank[result] = result == RESULT_LSE || result == RESULT_KEY_SUMS ? 3 : 4 - skipped;
    memcpy(results->shape[result], extents + skipped, (size_t)results->rank[result] * sizeof extents[0]);
}

/* Of a result whose memory was taken, so that its sizes are known to fit. */
static void view_result(struct run_results *results, int result, const attend_problem *problem)
{
    int64_t extents[4];
    find_extents(result, problem, extents);
    results->tensors[result] = attend_view_bhsd(results->data[result], extents[1], extents[2], extents[3]);
    results->tensors[result].dtype = result == RESULT_OUTPUT ? problem->output_dtype : ATTEND_F32;
}

static size_t result_bytes(int result, const attend_problem *problem)
{
    return half_number_bytes(result == RESULT_OUTPUT ? problem->output_dtype : ATTEND_F32);
}

/* Zeroed memory, so that page faults are not counted as time of the run. */
static void *take_memory(int rank, const int64_t *shape, size_t item_bytes)
{
    size_t bytes = item_bytes;
    bool empty = false;
    void *memory = NULL;
    /* The lengths of an empty tensor must fit as well: strides are products of them. */
    for (int axis = 0; axis < rank; axis++) {
        empty |= shape[axis] == 0;
        if (__builtin_mul_overflow(bytes, shape[axis] ? (size_t)shape[axis] : 1, &bytes) || bytes > INT64_MAX)
            return NULL;
    }
    if (empty)
        bytes = 0;
    if (posix_memalign(&memory, 64, bytes ? bytes : 1) != 0)
        return NULL;
    return memset(memory, 0, bytes);
}

/* Results take no input's place: it could not be had back. */
static bool spares_inputs(const struct run_options *options, int output)
{
    for (int input = 0; input < FILE_INPUTS; input++)
        if (options->files[input] && !output_files_differ(run_file_argument(output), options->files[output],
                                                          run_file_argument(input), options->files[input]))
            return false;
    return true;
}

int run_results_make(struct run_results *results, struct run_inputs *inputs, const struct run_options *options)
{
    memset(results, 0, sizeof *results);
    for (int r = 0; r < RESULT_COUNT; r++) {
        const char *argument = run_file_argument(result_files[r]), *path = options->files[result_files[r]];
        if (!path)
            continue;
        describe_result(results, r, inputs);
        if (!spares_inputs(options, result_files[r]))
            return STATUS_COULD_NOT;
        results->data[r] = take_memory(results->rank[r], results->shape[r], result_bytes(r, &inputs->problem));
        if (!results->data[r])
            return message_failure("%s %s needs more memory than there is", argument, path);
        view_result(results, r, &inputs->problem);
        results->file[r] = output_files_open(argument, path);
        if (results->file[r] < 0)
            return STATUS_COULD_NOT;
    }
    inputs->args.output = &results->tensors[RESULT_OUTPUT];
    inputs->args.lse = results->data[RESULT_LSE] ? &results->tensors[RESULT_LSE] : NULL;
    inputs->args.weights = results->data[RESULT_WEIGHTS] ? &results->tensors[RESULT_WEIGHTS] : NULL;
    inputs->args.key_sums = results->data[RESULT_KEY_SUMS] ? &results->tensors[RESULT_KEY_SUMS] : NULL;
    return STATUS_DONE;
}

int run_results_write(struct run_results *results)
{
    for (int r = 0; r < RESULT_COUNT; r++) {
        if (!results->data[r])
            continue;
        FILE *stream = output_files_stream(results->file[r]);
        const attend_dtype dtype = results->tensors[r].dtype;
        if (!npy_write(stream, run_types_descr(dtype), half_number_bytes(dtype), results->rank[r], results->shape[r], results->data[r])) {
            output_files_report(results->file[r]);
            return STATUS_COULD_NOT;
        }
    }
    return output_files_commit() ? STATUS_DONE : STATUS_COULD_NOT;
}

void run_results_release(struct run_results *results)
{
    output_files_discard();
    for (int r = 0; r < RESULT_COUNT; r++) {
        free(results->data[r]);
        results->data[r] = NULL;
    }
}
