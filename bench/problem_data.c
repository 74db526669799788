/* See problem_data.h. */
#include "bench/problem_data.h"

#include "bench/failure.h"
#include "bench/half.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Tensors of a set start on pages of their own. */
static const size_t tensor_alignment = 4096;

/* Numbers of the generator beyond those of the tensors. */
enum { NUMBERS_SINKS = PROBLEM_TENSORS, NUMBERS_BIAS_HIDDEN, NUMBERS_PAGES };

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

/* True for one index in 2^bits. */
static bool is_drawn(uint64_t key, uint64_t index, int bits)
{
    return mix_bits(key + index * counter_step) >> (64 - bits) == 0;
}

static void fill_tensor(void *target, size_t count, attend_dtype dtype, uint64_t seed, int tensor)
{
    uint64_t key = tensor_key(seed, tensor);
    for (size_t i = 0; i < count; i++)
        half_write(target, (int64_t)i, dtype, element_value(key, i));
}

/* Rows of `keys` numbers. */
static void fill_bias(float *target, size_t count, uint64_t seed, size_t keys)
{
    uint64_t hidden = tensor_key(seed, NUMBERS_BIAS_HIDDEN);
    fill_tensor(target, count, ATTEND_F32, seed, PROBLEM_BIAS);
    for (size_t i = 0; i < count; i++)
        if (i % keys != 0 && is_drawn(hidden, i, 4))
            target[i] = -INFINITY;
}

/* Rows of `keys` bytes, or of as many bits, the last byte of a row filled up with zeros. */
static void fill_visible(unsigned char *target, size_t rows, uint64_t seed, size_t keys, bool bits)
{
    uint64_t hidden = tensor_key(seed, PROBLEM_VISIBLE);
    size_t row_bytes = bits ? (keys + 7) / 8 : keys;
    memset(target, 0, rows * row_bytes);
    for (size_t row = 0; row < rows; row++, target += row_bytes)
        for (size_t j = 0; j < keys; j++) {
            unsigned visible = j == 0 || !is_drawn(hidden, row * keys + j, 3);
            target[bits ? j / 8 : j] |= (unsigned char)(bits ? visible << j % 8 : visible);
        }
}

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

enum { ARRAY_KEY_STARTS, ARRAY_KEY_LENGTHS, ARRAY_QUERY_STARTS, ARRAY_QUERY_LENGTHS, ARRAY_POSITIONS, ARRAY_PREFIXES,
       ARRAY_KEY_OFFSETS, ARRAY_QUERY_OFFSETS, ARRAYS };

static int64_t *array_at(struct problem_data *data, int array)
{
    return data->arrays + (size_t)array * ((size_t)data->problem.batch + 1);
}

/* Real keys and rows on either side of the padding. */
static void set_ranges(struct problem_data *data, const struct problem_string *string)
{
    int64_t *key_starts = array_at(data, ARRAY_KEY_STARTS), *key_lengths = array_at(data, ARRAY_KEY_LENGTHS);
    int64_t *query_starts = array_at(data, ARRAY_QUERY_STARTS), *query_lengths = array_at(data, ARRAY_QUERY_LENGTHS);
    for (int64_t item = 0; item < string->batch; item++) {
        int64_t length = problem_string_length(string, item);
        key_starts[item] = query_starts[item] = string->left ? string->keys - length : 0;
        key_lengths[item] = query_lengths[item] = length;
    }
    data->args.key_starts = key_starts;
    data->args.key_lengths = key_lengths;
    if (string->rows == string->keys) {
        data->args.query_starts = query_starts;
        data->args.query_lengths = query_lengths;
    }
}

/* The problem's rows and keys become those of all items together; false: there is no number for them. */
static bool set_offsets(struct problem_data *data, const struct problem_string *string)
{
    int64_t *keys = array_at(data, ARRAY_KEY_OFFSETS), *rows = array_at(data, ARRAY_QUERY_OFFSETS);
    for (int64_t item = 0; item < string->batch; item++)
        if (__builtin_add_overflow(keys[item], problem_string_length(string, item), &keys[item + 1]) ||
            __builtin_add_overflow(rows[item], problem_string_rows(string, item), &rows[item + 1]))
            return false;
    data->args.query_offsets = rows;
    if (string->page == 0) {
        data->args.key_offsets = keys;
        data->problem.keys = keys[string->batch];
    }
    data->problem.rows = rows[string->batch];
    return true;
}

static const int64_t *set_equal(struct problem_data *data, int array, int64_t value)
{
    int64_t *entries = array_at(data, array);
    for (int64_t item = 0; item < data->problem.batch; item++)
        entries[item] = value;
    return entries;
}

/* Numbers of heads: slopes and sinks. */
static bool set_heads(struct problem_data *data, const struct problem_string *string)
{
    float *slopes = data->head_numbers, *sinks = slopes + string->heads;
    fill_tensor(sinks, (size_t)string->heads, ATTEND_F32, data->seed, NUMBERS_SINKS);
    data->args.sinks = string->sinks ? sinks : NULL;
    data->args.alibi_slopes = string->alibi ? slopes : NULL;
    return !string->alibi || attend_alibi_slopes(string->heads, slopes) == ATTEND_OK;
}

static int64_t item_pages(const struct problem_string *string, int64_t item)
{
    const int64_t keys = string->left ? string->keys : problem_string_length(string, item); /* padding on the left has places, too */
    return keys / string->page + (keys % string->page != 0);
}

/* Pages in an order that prefetching hardware cannot guess, as in a cache after a while. */
static void shuffle(int32_t *numbers, int64_t count, uint64_t key)
{
    for (int64_t i = count - 1; i > 0; i--) {
        const int64_t other = (int64_t)(mix_bits(key + (uint64_t)i * counter_step) % (uint64_t)(i + 1));
        const int32_t number = numbers[i];
        numbers[i] = numbers[other];
        numbers[other] = number;
    }
}

/* A table for each item, as long as that of the longest; false: no memory. */
static bool set_tables(struct problem_data *data, const struct problem_string *string)
{
    int64_t longest = 0;
    for (int64_t item = 0; item < string->batch; item++) {
        const int64_t pages = item_pages(string, item);
        longest = pages > longest ? pages : longest;
        data->pages += pages;
    }
    if (data->pages > INT32_MAX)
        return false;
    int32_t *numbers = calloc((size_t)data->pages + 1, sizeof *numbers);
    data->tables = calloc((size_t)string->batch * (size_t)longest + 1, sizeof *data->tables);
    if (numbers && data->tables) {
        for (int64_t n = 0; n < data->pages; n++)
            numbers[n] = (int32_t)n;
        shuffle(numbers, data->pages, tensor_key(data->seed, NUMBERS_PAGES));
        const int32_t *next = numbers;
        for (int64_t item = 0; item < string->batch; item++)
            for (int64_t n = 0; n < item_pages(string, item); n++)
                data->tables[item * longest + n] = item > 0 && n < string->shared / string->page && n < item_pages(string, 0) ? data->tables[n] : *next++;
    }
    data->args.block_tables = data->tables;
    data->args.table_stride = longest;
    data->args.pages = data->pages;
    free(numbers);
    return numbers && data->tables;
}

static bool make_arrays(struct problem_data *data, const struct problem_string *string)
{
    data->arrays = calloc((size_t)string->batch + 1, ARRAYS * sizeof *data->arrays);
    data->head_numbers = calloc((size_t)string->heads + 1, 2 * sizeof *data->head_numbers);
    if (!data->arrays || !data->head_numbers || !set_heads(data, string))
        return false;
    if (string->has_position)
        data->args.positions = set_equal(data, ARRAY_POSITIONS, string->position);
    if (string->prefix > 0)
        data->args.prefix_lengths = set_equal(data, ARRAY_PREFIXES, string->prefix);
    if (string->page > 0 && !set_tables(data, string))
        return false;
    if (string->has_lengths && (string->page > 0 || !string->packed))
        set_ranges(data, string);
    if (string->packed) {
        data->args.query_starts = data->args.query_lengths = NULL;
        return set_offsets(data, string);
    }
    return true;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* (batch, heads, rows, width) of a tensor in memory, 1 where it is broadcast; without elements when the problem has none
 * such. Packed items share one batch. */
static void find_extents(const struct problem_data *data, const struct problem_string *string, int tensor,
                         int64_t extents[4])
{
    const attend_problem *p = &data->problem;
    const bool of_keys = tensor == PROBLEM_KEY || tensor == PROBLEM_VALUE;
    const struct problem_axes *axes = tensor == PROBLEM_BIAS ? &string->bias : &string->visible;
    const int64_t widths[PROBLEM_TENSORS] = { p->d_k, p->d_k, p->d_v, p->d_v, 1, string->keysums ? p->keys : 0,
                                              string->bias.given ? p->keys : 0, string->visible.given ? p->keys : 0 };
    const bool paged = of_keys && string->page > 0;
    extents[0] = paged ? data->pages : string->packed ? 1 : p->batch;
    extents[1] = of_keys ? p->kv_heads : p->heads;
    extents[2] = paged ? string->page : of_keys ? p->keys : tensor == PROBLEM_KEY_SUMS ? 1 : p->rows;
    extents[3] = widths[tensor];
    for (int axis = 0; tensor >= PROBLEM_BIAS && axis < 3; axis++)
        if (!axes->own[axis])
            extents[axis] = 1;
}

static bool holds_bits(const struct problem_string *string, int tensor)
{
    return tensor == PROBLEM_VISIBLE && string->bits;
}

static attend_dtype tensor_dtype(const struct problem_string *string, int tensor)
{
    switch (tensor) {
    case PROBLEM_QUERY:
    case PROBLEM_OUTPUT: return string->dtype;
    case PROBLEM_KEY:
    case PROBLEM_VALUE: return string->kv_dtype;
    case PROBLEM_VISIBLE: return string->bits ? ATTEND_BIT : ATTEND_BOOL;
    default: return ATTEND_F32;
    }
}

static size_t element_bytes(const struct problem_string *string, int tensor)
{
    return tensor == PROBLEM_VISIBLE ? 1 : half_number_bytes(tensor_dtype(string, tensor));
}

/* False when the bytes do not fit. Eight bits are a byte. */
static bool count_bytes(const struct problem_data *data, const struct problem_string *string, int tensor, size_t *bytes)
{
    int64_t extents[4];
    find_extents(data, string, tensor, extents);
    if (holds_bits(string, tensor))
        extents[3] = (extents[3] + 7) / 8;
    *bytes = element_bytes(string, tensor);
    for (int axis = 0; axis < 4; axis++)
        if (__builtin_mul_overflow(*bytes, (size_t)extents[axis], bytes))
            return false;
    return true;
}

/* Dense strides, 0 over the axes that bias and visibility do not have of their own. */
static void set_view(struct problem_data *data, const struct problem_string *string, int tensor)
{
    attend_tensor *view = &data->tensors[tensor];
    int64_t extents[4], step = 1;
    find_extents(data, string, tensor, extents);
    *view = (attend_tensor)ATTEND_TENSOR_INIT;
    view->dtype = tensor_dtype(string, tensor);
    for (int axis = 3; axis >= 0; axis--) {
        view->stride[axis] = tensor >= PROBLEM_BIAS && axis < 3 && extents[axis] == 1 ? 0 : step;
        step *= axis == 3 && holds_bits(string, tensor) ? (extents[axis] + 7) / 8 * 8 : extents[axis];
    }
}

static bool lay_out(struct problem_data *data, const struct problem_string *string)
{
    size_t total = 0;
    for (int t = 0; t < PROBLEM_TENSORS; t++) {
        data->offset[t] = total;
        if (!count_bytes(data, string, t, &data->bytes[t]) || __builtin_add_overflow(total, data->bytes[t], &total) ||
            __builtin_add_overflow(total, tensor_alignment - 1, &total))
            return false;
        total -= total % tensor_alignment;
        set_view(data, string, t);
    }
    data->set_bytes = total ? total : tensor_alignment;
    return true;
}

/* The numbers that the same keys would have without pages. */
static void fill_pages(struct problem_data *data, const struct problem_string *string, int tensor)
{
    void *pool = (char *)data->memory.data + data->offset[tensor];
    const uint64_t key = tensor_key(data->seed, tensor);
    const int64_t width = tensor == PROBLEM_KEY ? string->d_k : string->d_v, heads = string->kv_heads;
    for (int64_t item = 0; item < string->batch; item++)
        for (int64_t j = 0; j < item_pages(string, item) * string->page && j < string->keys; j++)
            for (int64_t head = 0; head < heads; head++) {
                const int64_t page = data->tables[item * data->args.table_stride + j / string->page];
                const int64_t to = ((page * heads + head) * string->page + j % string->page) * width;
                const uint64_t index = (uint64_t)(((item * heads + head) * string->keys + j) * width);
                for (int64_t d = 0; d < width; d++)
                    half_write(pool, to + d, string->kv_dtype, element_value(key, index + (uint64_t)d));
            }
}

static void fill_inputs(struct problem_data *data, const struct problem_string *string)
{
    const size_t keys = (size_t)data->problem.keys, *bytes = data->bytes;
    char *first = data->memory.data;
    for (int t = PROBLEM_QUERY; t <= PROBLEM_VALUE; t++)
        fill_tensor(first + data->offset[t], bytes[t] / element_bytes(string, t), tensor_dtype(string, t), data->seed, t);
    for (int t = PROBLEM_KEY; data->pages > 0 && t <= PROBLEM_VALUE; t++)
        fill_pages(data, string, t);
    if (string->full) {
        memset(first + data->offset[PROBLEM_BIAS], 0, bytes[PROBLEM_BIAS]);
        memset(first + data->offset[PROBLEM_VISIBLE], string->bits ? 0xff : 1, bytes[PROBLEM_VISIBLE]);
        return;
    }
    fill_bias((float *)(void *)(first + data->offset[PROBLEM_BIAS]), bytes[PROBLEM_BIAS] / sizeof(float), data->seed, keys);
    if (bytes[PROBLEM_VISIBLE])
        fill_visible((unsigned char *)first + data->offset[PROBLEM_VISIBLE],
                     bytes[PROBLEM_VISIBLE] / (string->bits ? (keys + 7) / 8 : keys), data->seed, keys, string->bits);
}

/* Writes the first set and copies it into the others, so that every page is there before anything is timed. All of it
 * is touched by the calling thread: on several NUMA nodes the data lies on the caller's. */
static void fill_copies(struct problem_data *data, const struct problem_string *string)
{
    char *first = data->memory.data;
    fill_inputs(data, string);
    for (int t = PROBLEM_OUTPUT; t <= PROBLEM_KEY_SUMS; t++)
        memset(first + data->offset[t], 0xff, data->bytes[t]); /* all bits set is a NaN of every type */
    for (int64_t copy = 1; copy < data->copies; copy++)
        memcpy(first + (size_t)copy * data->set_bytes, first, data->set_bytes);
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
    problem.query_dtype = problem.output_dtype = string->dtype;
    problem.kv_dtype = string->kv_dtype;
    problem.causal = string->causal != PROBLEM_CAUSAL_NONE;
    if (string->causal == PROBLEM_CAUSAL_TOP_LEFT)
        problem.diagonal = ATTEND_DIAGONAL_TOP_LEFT;
    if (string->has_position)
        problem.diagonal = ATTEND_DIAGONAL_POSITION;
    if (string->packed)
        problem.flags |= ATTEND_PACKED_QUERIES | (string->page > 0 ? 0 : ATTEND_PACKED_KEYS);
    if (string->page > 0)
        problem.flags |= ATTEND_PAGED_KEYS;
    if (string->shared > 0)
        problem.flags |= ATTEND_SHARED_PREFIXES;
    problem.page_keys = string->page;
    if (string->keysums)
        problem.flags |= ATTEND_KEY_SUMS;
    if (string->has_scale)
        problem.flags |= ATTEND_EXPLICIT_SCALE;
    problem.scale = string->scale;
    problem.softcap = string->softcap;
    if (string->has_window) {
        problem.flags |= ATTEND_WINDOW;
        problem.window_left = string->window_left;
        problem.window_right = string->window_right;
    }
    return problem;
}

static void point_args(struct problem_data *data, const struct problem_string *string)
{
    attend_tensor *t = data->tensors;
    data->args.query = &t[PROBLEM_QUERY];
    data->args.key = &t[PROBLEM_KEY];
    data->args.value = &t[PROBLEM_VALUE];
    data->args.output = &t[PROBLEM_OUTPUT];
    data->args.lse = &t[PROBLEM_LSE];
    data->args.key_sums = string->keysums ? &t[PROBLEM_KEY_SUMS] : NULL;
    data->args.bias = string->bias.given ? &t[PROBLEM_BIAS] : NULL;
    data->args.visible = string->visible.given ? &t[PROBLEM_VISIBLE] : NULL;
    problem_data_select(data, 0);
}

static void begin(struct problem_data *data, const struct problem_string *string)
{
    memset(data, 0, sizeof *data);
    data->problem = describe_problem(string);
    data->args = (attend_args)ATTEND_ARGS_INIT;
    data->seed = string->seed;
}

static bool fail_arrays(struct problem_data *data, char *error, size_t size)
{
    long long items = data->problem.batch, heads = data->problem.heads;
    problem_data_release(data);
    return failure_describe(error, size, "not enough memory for arrays of %lld items and %lld heads", items, heads);
}

bool problem_data_outline(struct problem_data *data, const struct problem_string *string, char *error, size_t size)
{
    begin(data, string);
    return make_arrays(data, string) || fail_arrays(data, error, size);
}

bool problem_data_make(struct problem_data *data, const struct problem_string *string, size_t rotation_bytes,
                       char *error, size_t size)
{
    begin(data, string);
    if (!make_arrays(data, string))
        return fail_arrays(data, error, size);
    size_t total = 0;
    bool fits = lay_out(data, string);
    if (fits) {
        data->copies = rotation_bytes ? (int64_t)(rotation_bytes / data->set_bytes) + 1 : 1;
        fits = !__builtin_mul_overflow(data->set_bytes, (size_t)data->copies, &total);
    }
    if (!fits || !page_memory_map(&data->memory, total, string->small_pages)) {
        problem_data_release(data);
        return fits ? failure_describe(error, size, "not enough memory for %zu bytes of tensors", total)
                    : failure_describe(error, size, "the tensors do not fit into the address space");
    }
    fill_copies(data, string);
    point_args(data, string);
    return true;
}

void problem_data_release(struct problem_data *data)
{
    page_memory_unmap(&data->memory);
    free(data->tables);
    free(data->arrays);
    free(data->head_numbers);
    memset(data, 0, sizeof *data);
}

void problem_data_select(struct problem_data *data, int64_t copy)
{
    char *set = (char *)data->memory.data + (size_t)copy * data->set_bytes;
    for (int t = 0; t < PROBLEM_TENSORS; t++)
        data->tensors[t].data = set + data->offset[t];
}

int64_t problem_data_keys(const struct problem_data *data, int64_t item)
{
    const attend_args *args = &data->args;
    if (args->key_offsets)
        return args->key_offsets[item + 1] - args->key_offsets[item];
    return args->key_lengths ? args->key_lengths[item] : data->problem.keys;
}

int64_t problem_data_rows(const struct problem_data *data, int64_t item)
{
    const attend_args *args = &data->args;
    if (args->query_offsets)
        return args->query_offsets[item + 1] - args->query_offsets[item];
    return args->query_lengths ? args->query_lengths[item] : data->problem.rows;
}

static int64_t clamp(int64_t number, int64_t most)
{
    return number < 0 ? 0 : number < most ? number : most;
}

/* Keys that some row of the item sees: its prefix, and from the first row's first to the last row's last. */
static int64_t count_keys_seen(const struct problem_data *data, int64_t item)
{
    const attend_problem *p = &data->problem;
    const int64_t rows = problem_data_rows(data, item), keys = problem_data_keys(data, item);
    const bool windowed = p->flags & ATTEND_WINDOW;
    const int64_t bottom = p->diagonal == ATTEND_DIAGONAL_TOP_LEFT ? 0 : keys - rows;
    const int64_t first = data->args.positions ? data->args.positions[item] : bottom, last = first + rows - 1;
    const int64_t left = windowed ? p->window_left : -1, right = p->causal ? 0 : windowed ? p->window_right : -1;
    const int64_t prefix = data->args.prefix_lengths ? clamp(data->args.prefix_lengths[item], keys) : 0;
    /* The prefix and what begins behind it. */
    const int64_t low = left < 0 || first - left < prefix ? prefix : first - left;
    const int64_t high = right < 0 || last + right >= keys ? keys : last + right + 1;
    return prefix + (high > low ? high - low : 0);
}

double problem_data_kv_bytes(const struct problem_data *data)
{
    const attend_problem *p = &data->problem;
    double keys_seen = 0;
    for (int64_t item = 0; item < p->batch; item++)
        if (problem_data_rows(data, item) > 0 && p->heads > 0)
            keys_seen += (double)count_keys_seen(data, item);
    return keys_seen * (double)p->kv_heads * (double)(p->d_k + p->d_v) * (double)half_number_bytes(p->kv_dtype);
}
