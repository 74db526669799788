/* See plain_run.h. */
#include "tests/plain_run.h"

#include "bench/failure.h"
#include "bench/half.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { BUFFERED_NUMBERS = 4096, PATH_BYTES = 4096 };

/* ---- running ----------------------------------------------------------------------------------------------------- */

static const int64_t *entry_of(const int64_t *array, int64_t item)
{
    return array ? array + item : NULL;
}

/* Item `item` of a tensor with a batch axis; strides of bits count bits. */
static attend_tensor tensor_of(const attend_tensor *tensor, int64_t item)
{
    attend_tensor own = *tensor;
    const int64_t elements = item * tensor->stride[0];
    const bool numbers = tensor->dtype != ATTEND_BIT && tensor->dtype != ATTEND_BOOL;
    const int64_t bytes = numbers ? elements * (int64_t)half_number_bytes(tensor->dtype) : elements;
    own.data = (char *)own.data + (tensor->dtype == ATTEND_BIT ? elements / 8 : bytes);
    return own;
}

/* An item's block table; the pages are everybody's. */
static const int32_t *table_of(const attend_args *args, int64_t item)
{
    return args->block_tables ? args->block_tables + item * args->table_stride : NULL;
}

/* A packed item as the range of rows and keys that it is; the rows of others stay. */
static attend_status run_packed_item(attend_engine *engine, const struct problem_data *data, int64_t item)
{
    attend_problem problem = data->problem;
    attend_args args = data->args;
    const int64_t rows = problem_data_rows(data, item), keys = problem_data_keys(data, item);
    problem.batch = 1;
    problem.flags &= ~(ATTEND_PACKED_QUERIES | ATTEND_PACKED_KEYS);
    problem.flags |= ATTEND_KEEP_PADDING_ROWS;
    args.query_starts = args.query_offsets + item;
    args.key_starts = args.key_offsets ? args.key_offsets + item : entry_of(args.key_starts, item);
    args.block_tables = table_of(&args, item);
    args.query_lengths = &rows;
    args.key_lengths = &keys;
    args.query_offsets = args.key_offsets = NULL;
    args.key_sums = NULL;
    args.positions = entry_of(args.positions, item);
    args.prefix_lengths = entry_of(args.prefix_lengths, item);
    return attend_forward(engine, &problem, &args);
}

/* The problem of one item, as if there were no other. */
static attend_status run_item(attend_engine *engine, const struct problem_data *data, int64_t item)
{
    if (data->args.query_offsets)
        return run_packed_item(engine, data, item);
    attend_problem problem = data->problem;
    attend_args args = data->args;
    attend_tensor tensors[PROBLEM_TENSORS];
    problem.batch = 1;
    for (int t = 0; t < PROBLEM_TENSORS; t++) {
        const bool in_pages = args.block_tables && (t == PROBLEM_KEY || t == PROBLEM_VALUE);
        tensors[t] = tensor_of(&data->tensors[t], in_pages ? 0 : item);
    }
    args.block_tables = table_of(&args, item);
    args.query = &tensors[PROBLEM_QUERY];
    args.key = &tensors[PROBLEM_KEY];
    args.value = &tensors[PROBLEM_VALUE];
    args.output = &tensors[PROBLEM_OUTPUT];
    args.lse = &tensors[PROBLEM_LSE];
    args.key_sums = args.key_sums ? &tensors[PROBLEM_KEY_SUMS] : NULL;
    args.bias = args.bias ? &tensors[PROBLEM_BIAS] : NULL;
    args.visible = args.visible ? &tensors[PROBLEM_VISIBLE] : NULL;
    args.key_starts = entry_of(args.key_starts, item);
    args.key_lengths = entry_of(args.key_lengths, item);
    args.query_starts = entry_of(args.query_starts, item);
    args.query_lengths = entry_of(args.query_lengths, item);
    args.positions = entry_of(args.positions, item);
    args.prefix_lengths = entry_of(args.prefix_lengths, item);
    return attend_forward(engine, &problem, &args);
}

bool plain_run(attend_engine *engine, struct problem_data *data, bool alone, char *error, size_t size)
{
    attend_status status = ATTEND_OK;
    if (!alone)
        status = attend_forward(engine, &data->problem, &data->args);
    for (int64_t item = 0; alone && status == ATTEND_OK && item < data->problem.batch; item++)
        status = run_item(engine, data, item);
    return status == ATTEND_OK || failure_describe(error, size, "%s", attend_last_error());
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

/* The bits of a number of 2 or 4 bytes. */
static uint32_t bits_at(const char *number, size_t bytes)
{
    uint32_t word;
    uint16_t half;
    memcpy(bytes == sizeof half ? (void *)&half : &word, number, bytes);
    return bytes == sizeof half ? half : word;
}

static bool put_numbers(FILE *stream, const char *numbers, size_t count, size_t width)
{
    unsigned char bytes[sizeof(uint32_t) * BUFFERED_NUMBERS];
    for (size_t i = 0; i < count; i++) {
        const uint32_t bits = bits_at(numbers + i * width, width);
        for (size_t byte = 0; byte < width; byte++)
            bytes[width * i + byte] = (unsigned char)(bits >> 8 * byte);
    }
    return fwrite(bytes, width, count, stream) == count;
}

static bool write_numbers(const char *stem, const char *suffix, const attend_tensor *tensor, size_t count, char *error, size_t size)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s.%s", stem, suffix);
    FILE *stream = fopen(path, "wb");
    const size_t width = half_number_bytes(tensor->dtype);
    const char *numbers = tensor->data;
    bool good = stream;
    for (size_t done = 0; good && done < count; done += BUFFERED_NUMBERS)
        good = put_numbers(stream, numbers + done * width, count - done < BUFFERED_NUMBERS ? count - done : BUFFERED_NUMBERS, width);
    if (stream && fclose(stream) != 0)
        good = false;
    return good || failure_describe(error, size, "%s: %s", path, strerror(errno));
}

bool plain_run_write(const struct problem_data *data, const char *stem, char *error, size_t size)
{
    const attend_problem *p = &data->problem;
    size_t batch = data->args.query_offsets ? 1 : (size_t)p->batch;
    size_t rows = batch * (size_t)(p->heads * p->rows);
    return write_numbers(stem, "output", &data->tensors[PROBLEM_OUTPUT], rows * (size_t)p->d_v, error, size) &&
           write_numbers(stem, "lse", &data->tensors[PROBLEM_LSE], rows, error, size);
}
