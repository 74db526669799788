/* See problem_data.h. */
#include "bench/problem_data.h"

#include "bench/failure.h"

#include <stdlib.h>
#include <string.h>

/* Tensors of a set start on pages of their own. */
static const size_t tensor_alignment = 4096;

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static const uint64_t counter_step = UINT64_C(0x9e3779b97f4a7c15);

/* The finaliser of SplitMix64: every bit of x reaches every bit of the result. */
static uint64_t mix_bits(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static uint64_t tensor_key(uint64_t seed, int tensor)
{
    return mix_bits(mix_bits(seed + counter_step) + (uint64_t)(tensor + 1) * counter_step);
}

/* Four uniform fields of 16 bits have mean 2·65535 and deviation 65536/sqrt(3) = 37837.2. The sum is below 2^18, so the
 * conversion is exact and the product is the only rounding. */
static float element_value(uint64_t key, uint64_t index)
{
    uint64_t bits = mix_bits(key + index * counter_step);
    int32_t sum = (int32_t)((bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48));
    return (float)(sum - 2 * 65535) * 2.6429e-5f;
}

float problem_data_value(uint64_t seed, int tensor, uint64_t index)
{
    return element_value(tensor_key(seed, tensor), index);
}

static void fill_tensor(float *target, size_t bytes, uint64_t seed, int tensor)
{
    uint64_t key = tensor_key(seed, tensor);
    for (size_t i = 0; i < bytes / sizeof *target; i++)
        target[i] = element_value(key, i);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Bytes of one tensor with [batch][heads][rows][width] floats; false when they do not fit. */
static bool count_bytes(size_t *bytes, int64_t batch, int64_t heads, int64_t rows, int64_t width)
{
    size_t count = sizeof(float);
    const int64_t extents[] = { batch, heads, rows, width };
    for (int i = 0; i < 4; i++)
        if (__builtin_mul_overflow(count, (size_t)extents[i], &count))
            return false;
    *bytes = count;
    return true;
}

static bool lay_out(struct problem_data *data, const struct problem_string *string, size_t bytes[PROBLEM_TENSORS])
{
    const struct problem_string *s = string;
    bool fits = count_bytes(&bytes[PROBLEM_QUERY], s->batch, s->heads, s->rows, s->d_k) &&
                count_bytes(&bytes[PROBLEM_KEY], s->batch, s->kv_heads, s->keys, s->d_k) &&
                count_bytes(&bytes[PROBLEM_VALUE], s->batch, s->kv_heads, s->keys, s->d_v) &&
                count_bytes(&bytes[PROBLEM_OUTPUT], s->batch, s->heads, s->rows, s->d_v) &&
                count_bytes(&bytes[PROBLEM_LSE], s->batch, s->heads, s->rows, 1);
    size_t total = 0;
    for (int t = 0; fits && t < PROBLEM_TENSORS; t++) {
        data->offset[t] = total;
        fits = !__builtin_add_overflow(total, bytes[t], &total) &&
               !__builtin_add_overflow(total, tensor_alignment - 1, &total);
        total -= total % tensor_alignment;
    }
    data->set_bytes = total ? total : tensor_alignment;
    return fits;
}

/* Writes the first set and copies it into the others, so that every page is there before anything is timed. All of it
 * is touched by the calling thread: on several NUMA nodes the data lies on the caller's. */
static void fill_copies(struct problem_data *data, const size_t bytes[PROBLEM_TENSORS])
{
    char *first = data->memory.data;
    for (int t = PROBLEM_QUERY; t <= PROBLEM_VALUE; t++)
        fill_tensor((float *)(void *)(first + data->offset[t]), bytes[t], data->seed, t);
    for (int t = PROBLEM_OUTPUT; t <= PROBLEM_LSE; t++)
        memset(first + data->offset[t], 0xff, bytes[t]); /* all bits set is a NaN */
    for (int64_t copy = 1; copy < data->copies; copy++)
        memcpy(first + (size_t)copy * data->set_bytes, first, data->set_bytes);
}

/* ---- ranges ------------------------------------------------------------------------------------------------------ */

static bool make_ranges(struct problem_data *data, const struct problem_string *string)
{
    int64_t batch = string->batch;
    if (!string->has_lengths || batch == 0)
        return true;
    int64_t *ranges = calloc((size_t)batch, 4 * sizeof *ranges);
    if (!ranges)
        return false;
    data->ranges = ranges;
    for (int64_t item = 0; item < batch; item++) {
        int64_t length = problem_string_length(string, item);
        int64_t start = string->left ? string->keys - length : 0;
        ranges[item] = ranges[2 * batch + item] = start;
        ranges[batch + item] = ranges[3 * batch + item] = length;
    }
    data->args.key_starts = ranges;
    data->args.key_lengths = ranges + batch;
    if (string->rows == string->keys) {
        data->args.query_starts = ranges + 2 * batch;
        data->args.query_lengths = ranges + 3 * batch;
    }
    return true;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static attend_problem describe_problem(const struct problem_string *string)
{
    attend_problem problem = ATTEND_PROBLEM_INIT;
    problem.batch = string->batch;
    problem.heads = string->heads;
    problem.kv_heads = string->kv_heads;
    problem.rows = string->rows;
    problem.keys = string->keys;
    problem.d_k = string->d_k;
    problem.d_v = string->d_v;
    problem.query_dtype = problem.kv_dtype = problem.output_dtype = string->dtype;
    problem.causal = string->causal != PROBLEM_CAUSAL_NONE;
    if (string->causal == PROBLEM_CAUSAL_TOP_LEFT)
        problem.diagonal = ATTEND_DIAGONAL_TOP_LEFT;
    if (string->has_window) {
        problem.flags |= ATTEND_WINDOW;
        problem.window_left = string->window_left;
        problem.window_right = string->window_right;
    }
    return problem;
}

static void point_args(struct problem_data *data)
{
    attend_problem *p = &data->problem;
    attend_tensor *t = data->tensors;
    t[PROBLEM_QUERY] = attend_view_bhsd(NULL, p->heads, p->rows, p->d_k);
    t[PROBLEM_KEY] = attend_view_bhsd(NULL, p->kv_heads, p->keys, p->d_k);
    t[PROBLEM_VALUE] = attend_view_bhsd(NULL, p->kv_heads, p->keys, p->d_v);
    t[PROBLEM_OUTPUT] = attend_view_bhsd(NULL, p->heads, p->rows, p->d_v);
    t[PROBLEM_LSE] = attend_view_bhsd(NULL, p->heads, p->rows, 1);
    data->args.query = &t[PROBLEM_QUERY];
    data->args.key = &t[PROBLEM_KEY];
    data->args.value = &t[PROBLEM_VALUE];
    data->args.output = &t[PROBLEM_OUTPUT];
    data->args.lse = &t[PROBLEM_LSE];
    problem_data_select(data, 0);
}

static void begin(struct problem_data *data, const struct problem_string *string)
{
    memset(data, 0, sizeof *data);
    data->problem = describe_problem(string);
    data->args = (attend_args)ATTEND_ARGS_INIT;
    data->seed = string->seed;
}

bool problem_data_outline(struct problem_data *data, const struct problem_string *string, char *error, size_t size)
{
    begin(data, string);
    if (make_ranges(data, string))
        return true;
    return failure_describe(error, size, "not enough memory for the ranges of %lld items", (long long)string->batch);
}

bool problem_data_make(struct problem_data *data, const struct problem_string *string, size_t rotation_bytes,
                       char *error, size_t size)
{
    begin(data, string);
    size_t bytes[PROBLEM_TENSORS], total = 0;
    bool fits = lay_out(data, string, bytes);
    if (fits) {
        data->copies = rotation_bytes ? (int64_t)(rotation_bytes / data->set_bytes) + 1 : 1;
        fits = !__builtin_mul_overflow(data->set_bytes, (size_t)data->copies, &total);
    }
    if (!fits)
        return failure_describe(error, size, "the tensors do not fit into the address space");
    if (!page_memory_map(&data->memory, total, string->small_pages) || !make_ranges(data, string)) {
        problem_data_release(data);
        return failure_describe(error, size, "not enough memory for %zu bytes of tensors", total);
    }
    fill_copies(data, bytes);
    point_args(data);
    return true;
}

void problem_data_release(struct problem_data *data)
{
    page_memory_unmap(&data->memory);
    free(data->ranges);
    memset(data, 0, sizeof *data);
}

void problem_data_select(struct problem_data *data, int64_t copy)
{
    char *set = (char *)data->memory.data + (size_t)copy * data->set_bytes;
    for (int t = 0; t < PROBLEM_TENSORS; t++)
        data->tensors[t].data = set + data->offset[t];
}

/* Keys that some row of the item sees: from the first row's first to the last row's last. */
static int64_t count_keys_seen(const attend_problem *p, int64_t rows, int64_t keys)
{
    const bool windowed = p->flags & ATTEND_WINDOW;
    const int64_t first = p->diagonal == ATTEND_DIAGONAL_TOP_LEFT ? 0 : keys - rows, last = first + rows - 1;
    const int64_t left = windowed ? p->window_left : -1, right = p->causal ? 0 : windowed ? p->window_right : -1;
    const int64_t low = left < 0 || first < left ? 0 : first - left;
    const int64_t high = right < 0 || last + right >= keys ? keys : last + right + 1;
    return high > low ? high - low : 0;
}

double problem_data_kv_bytes(const struct problem_data *data)
{
    const attend_problem *p = &data->problem;
    const attend_args *args = &data->args;
    double keys_seen = 0;
    for (int64_t item = 0; item < p->batch; item++) {
        int64_t keys = args->key_lengths ? args->key_lengths[item] : p->keys;
        int64_t rows = args->query_lengths ? args->query_lengths[item] : p->rows;
        if (rows > 0 && p->heads > 0)
            keys_seen += (double)count_keys_seen(p, rows, keys);
    }
    return keys_seen * (double)p->kv_heads * (double)(p->d_k + p->d_v) * sizeof(float);
}
