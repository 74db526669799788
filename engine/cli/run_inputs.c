/* See run_inputs.h. All headers are read and checked before the data of any file. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/cli/run_inputs.h"

#include "engine/cli/messages.h"
#include "engine/cli/run_types.h"

#include <stdlib.h>
#include <string.h>

enum { ERROR_BYTES = 256, SHAPE_BYTES = 128 };

/* Positions keep sums with any number of rows and keys within 64 bits. */
static const int64_t position_limit = INT64_C(1) << 60;

struct reader {
    struct run_inputs *inputs;
    const struct run_options *options;
};

static const char *path_of(const struct reader *reader, int file)
{
    return reader->options->files[file];
}

static const struct npy_header *header_of(const struct reader *reader, int file)
{
    return &reader->inputs->files[file].header;
}

/* What the file of an option must hold. */
enum content { TENSOR, ITEM_INTEGERS, OFFSETS, VISIBILITY, BIAS, HEAD_NUMBERS };

static enum content content_of(int file)
{
    static const enum content contents[FILE_INPUTS] = {
        [FILE_QUERY] = TENSOR, [FILE_KEY] = TENSOR, [FILE_VALUE] = TENSOR, [FILE_KEY_STARTS] = ITEM_INTEGERS,
        [FILE_KEY_LENGTHS] = ITEM_INTEGERS, [FILE_QUERY_STARTS] = ITEM_INTEGERS, [FILE_QUERY_LENGTHS] = ITEM_INTEGERS,
        [FILE_POSITIONS] = ITEM_INTEGERS, [FILE_PREFIX_LENGTHS] = ITEM_INTEGERS, [FILE_QUERY_OFFSETS] = OFFSETS,
        [FILE_KEY_OFFSETS] = OFFSETS, [FILE_VISIBLE] = VISIBILITY, [FILE_BIAS] = BIAS,
        [FILE_ALIBI_SLOPES] = HEAD_NUMBERS, [FILE_SINKS] = HEAD_NUMBERS,
    };
    return contents[file];
}

/* Broadcast over every axis but the keys. */
static bool is_mask(int file)
{
    return content_of(file) == VISIBILITY || content_of(file) == BIAS;
}

/* Do the items lie one after the other in this tensor? */
static bool is_packed(const struct reader *reader, int file)
{
    return path_of(reader, file == FILE_QUERY ? FILE_QUERY_OFFSETS : FILE_KEY_OFFSETS);
}

/* "--key k.npy has shape (2, 3); " and the rule, which begins with "it". */
static int fail_shape(const struct reader *reader, int file, const char *rule)
{
    char shape[SHAPE_BYTES];
    npy_header_print_shape(header_of(reader, file), shape, sizeof shape);
    return message_failure("%s %s has shape %s; %s", run_file_argument(file), path_of(reader, file), shape, rule);
}

/* ---- headers ----------------------------------------------------------------------------------------------------- */

static bool has_type(const struct npy_header *header, const char *kinds, size_t item_bytes)
{
    return strchr(kinds, header->kind) && header->item_bytes == item_bytes && !header->big_endian;
}

static int check_dtype(const struct reader *reader, int file)
{
    static const char *const casts[] = { [TENSOR] = "float32", [ITEM_INTEGERS] = "int64", [OFFSETS] = "int64",
                                         [VISIBILITY] = "bool", [BIAS] = "float32", [HEAD_NUMBERS] = "float32" };
    const struct npy_header *header = header_of(reader, file);
    bool good = false;
    switch (content_of(file)) {
    case TENSOR: good = run_types_known(header, reader->options); break;
    case HEAD_NUMBERS: good = has_type(header, "f", 4) || has_type(header, "f", 8); break;
    case ITEM_INTEGERS:
    case OFFSETS: good = has_type(header, "i", 4) || has_type(header, "i", 8); break;
    case VISIBILITY: good = has_type(header, "bu", 1); break;
    case BIAS: good = has_type(header, "f", 4); break; /* one of float64 might become -inf, which hides */
    }
    if (good)
        return STATUS_DONE;
    if (content_of(file) == TENSOR && has_type(header, "u", 2))
        return message_failure("%s %s has dtype %s; with --bf16 such files hold bfloat16", run_file_argument(file),
                               path_of(reader, file), header->descr);
    return message_failure("%s %s has dtype %s; cast it with array.astype('%s')", run_file_argument(file),
                           path_of(reader, file), header->descr, casts[content_of(file)]);
}

static int check_rank(const struct reader *reader, int file)
{
    const struct npy_header *header = header_of(reader, file);
    const int rank = header->rank;
    if (content_of(file) == TENSOR && is_packed(reader, file)) {
        if (rank != 2 && rank != 3 && (rank != 4 || header->shape[0] != 1))
            return fail_shape(reader, file, "packed, it must be (1, heads, tokens, width), (heads, tokens, width) or (tokens, width)");
    } else if (content_of(file) == TENSOR && rank != 4 && rank != 2) {
        return fail_shape(reader, file, "it must be (batch, heads, rows, width) or (rows, width)");
    }
    if (is_mask(file) && rank != 4 && rank != 2)
        return fail_shape(reader, file, "it must be (batch or 1, heads or 1, rows or 1, keys) or (rows or 1, keys)");
    return STATUS_DONE;
}

static int open_input(const struct reader *reader, int file)
{
    char error[ERROR_BYTES];
    if (!npy_open(&reader->inputs->files[file], path_of(reader, file), error, sizeof error))
        return message_failure("%s %s %s", run_file_argument(file), path_of(reader, file), error);
    int status = check_dtype(reader, file);
    return status != STATUS_DONE ? status : check_rank(reader, file);
}

static int open_inputs(const struct reader *reader)
{
    int status = STATUS_DONE;
    for (int file = 0; status == STATUS_DONE && file < FILE_INPUTS; file++)
        if (path_of(reader, file))
            status = open_input(reader, file);
    return status;
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

/* (batch, heads, rows, width); axes that a shape does not have are 1. */
static void read_extents(const struct npy_header *header, int64_t extents[4])
{
    int missing = 4 - header->rank;
    for (int axis = 0; axis < 4; axis++)
        extents[axis] = axis < missing ? 1 : header->shape[axis - missing];
}

/* Axis `axis` of `file` must be as long as `wanted`, which `other` has. */
static int match_extent(const struct reader *reader, int file, int axis, int64_t wanted, const char *name, int other)
{
    int64_t extents[4];
    char rule[128];
    read_extents(header_of(reader, file), extents);
    if (extents[axis] == wanted)
        return STATUS_DONE;
    snprintf(rule, sizeof rule, "its %s must be %lld as in %s", name, (long long)wanted, run_file_argument(other));
    return fail_shape(reader, file, rule);
}

static int check_heads(const struct reader *reader, const attend_problem *problem)
{
    bool good = problem->kv_heads > 0 ? problem->heads % problem->kv_heads == 0 : problem->heads == 0;
    if (good)
        return STATUS_DONE;
    return message_failure("--query %s has %lld heads and --key %s %lld; the first must be a multiple of the second",
                           path_of(reader, FILE_QUERY), (long long)problem->heads, path_of(reader, FILE_KEY),
                           (long long)problem->kv_heads);
}

/* Packed items lie between the offsets, of which check_shape refuses none at all. */
static int64_t count_items(const struct reader *reader)
{
    const struct npy_header *offsets = header_of(reader, FILE_QUERY_OFFSETS);
    int64_t query[4];
    read_extents(header_of(reader, FILE_QUERY), query);
    if (!is_packed(reader, FILE_QUERY))
        return query[0];
    return offsets->rank == 1 && offsets->shape[0] > 0 ? offsets->shape[0] - 1 : 0;
}

static int check_tensors(const struct reader *reader)
{
    attend_problem *problem = &reader->inputs->problem;
    int64_t query[4], key[4], value[4];
    read_extents(header_of(reader, FILE_QUERY), query);
    read_extents(header_of(reader, FILE_KEY), key);
    read_extents(header_of(reader, FILE_VALUE), value);
    problem->batch = count_items(reader);
    problem->heads = query[1];
    problem->rows = query[2];
    problem->d_k = query[3];
    problem->kv_heads = key[1];
    problem->keys = key[2];
    problem->d_v = value[3];
    const int64_t key_batch = is_packed(reader, FILE_KEY) ? 1 : problem->batch;
    const int batch_file = is_packed(reader, FILE_QUERY) ? FILE_QUERY_OFFSETS : FILE_QUERY;
    int status = match_extent(reader, FILE_KEY, 0, key_batch, "batch", batch_file);
    if (status == STATUS_DONE)
        status = match_extent(reader, FILE_KEY, 3, problem->d_k, "width", FILE_QUERY);
    if (status == STATUS_DONE)
        status = check_heads(reader, problem);
    if (status == STATUS_DONE)
        status = match_extent(reader, FILE_VALUE, 0, key_batch, "batch", batch_file);
    if (status == STATUS_DONE)
        status = match_extent(reader, FILE_VALUE, 1, problem->kv_heads, "number of heads", FILE_KEY);
    if (status == STATUS_DONE)
        status = match_extent(reader, FILE_VALUE, 2, problem->keys, "number of rows", FILE_KEY);
    return status;
}

/* One axis of `length` entries, which `name` says in words. */
static int check_array(const struct reader *reader, int file, int64_t length, const char *name)
{
    const struct npy_header *header = header_of(reader, file);
    char rule[128];
    if (header->rank == 1 && header->shape[0] == length)
        return STATUS_DONE;
    snprintf(rule, sizeof rule, "it must be (%s,), here (%lld,)", name, (long long)length);
    return fail_shape(reader, file, rule);
}

static int check_mask(const struct reader *reader, int file)
{
    const attend_problem *problem = &reader->inputs->problem;
    const int64_t tail = file == FILE_VISIBLE ? reader->options->visible_tail : 0;
    const int64_t wanted[4] = { is_packed(reader, FILE_QUERY) ? 1 : problem->batch, problem->heads, problem->rows,
                                tail > 0 ? tail : problem->keys };
    int64_t extents[4];
    char rule[192];
    bool good = true;
    read_extents(header_of(reader, file), extents);
    for (int axis = 0; axis < 4; axis++)
        good = good && (extents[axis] == wanted[axis] || (axis < 3 && extents[axis] == 1));
    if (good)
        return STATUS_DONE;
    snprintf(rule, sizeof rule, "it must be (batch, heads, rows, %s), here (%lld, %lld, %lld, %lld), where all but keys may be 1",
             tail > 0 ? "keys of --visible-tail" : "keys", (long long)wanted[0], (long long)wanted[1], (long long)wanted[2],
             (long long)wanted[3]);
    return fail_shape(reader, file, rule);
}

static int check_shape(const struct reader *reader, int file)
{
    const attend_problem *problem = &reader->inputs->problem;
    switch (content_of(file)) {
    case ITEM_INTEGERS: return check_array(reader, file, problem->batch, "batch");
    case OFFSETS: return check_array(reader, file, problem->batch + 1, "batch + 1");
    case HEAD_NUMBERS: return check_array(reader, file, problem->heads, "heads");
    case VISIBILITY:
    case BIAS: return check_mask(reader, file);
    default: return STATUS_DONE;
    }
}

static int check_shapes(const struct reader *reader)
{
    int status = check_tensors(reader);
    for (int file = 0; status == STATUS_DONE && file < FILE_INPUTS; file++)
        if (path_of(reader, file))
            status = check_shape(reader, file);
    if (status == STATUS_DONE && reader->inputs->problem.d_k == 0 && !reader->options->has_scale)
        status = fail_shape(reader, FILE_QUERY, "its width is 0, so --scale must be given");
    return status;
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

/* Rounds each number once, in place of the order in which they lie. */
static float *round_doubles(const double *source, size_t count)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 64, count ? count * sizeof(float) : 1) != 0)
        return NULL;
    float *target = memory;
    for (size_t i = 0; i < count; i++)
        target[i] = (float)source[i];
    return target;
}

static int64_t *widen_integers(const int32_t *source, size_t count)
{
    int64_t *target = malloc(count ? count * sizeof *target : 1);
    for (size_t i = 0; target && i < count; i++)
        target[i] = source[i];
    return target;
}

/* The numbers of a query, key or value in the type that they are wanted in. */
static void *convert_tensor(const struct reader *reader, int file)
{
    const struct npy_header *header = header_of(reader, file);
    const attend_dtype wanted = run_types_wanted(header, reader->options);
    bool rounds;
    void *converted = run_types_convert(header, reader->inputs->data[file], wanted, &rounds);
    if (rounds)
        message_note("%s %s is %s, rounded to %s", run_file_argument(file), path_of(reader, file), run_types_file_name(header),
                     run_types_name(wanted));
    return converted;
}

/* Replaces the data of a file by numbers of the wanted type where it has others. */
static int convert_data(const struct reader *reader, int file)
{
    const struct npy_header *header = header_of(reader, file);
    void **data = &reader->inputs->data[file], *converted;
    if (content_of(file) == TENSOR) {
        if (run_types_fit(header, run_types_wanted(header, reader->options)))
            return STATUS_DONE;
        converted = convert_tensor(reader, file);
    } else if (content_of(file) == HEAD_NUMBERS && header->item_bytes == 8) {
        message_note("%s %s is float64, rounded to float32", run_file_argument(file), path_of(reader, file));
        converted = round_doubles(*data, header->elements);
    } else if (header->kind == 'i' && header->item_bytes == 4) {
        converted = widen_integers(*data, header->elements);
    } else {
        return STATUS_DONE;
    }
    if (!converted)
        return message_failure("%s %s needs more memory than there is", run_file_argument(file), path_of(reader, file));
    free(*data);
    *data = converted;
    return STATUS_DONE;
}

/* The view of a file's data in its own order. Axes of length 1 get stride 0, which broadcasts them where that is
 * meant; so do all axes of an empty tensor, whose products might overflow. */
static attend_tensor view_data(const struct npy_header *header, void *data)
{
    attend_tensor view = ATTEND_TENSOR_INIT;
    int64_t extents[4], step = 1;
    read_extents(header, extents);
    view.data = data;
    for (int i = 0; header->elements > 0 && i < 4; i++) {
        int axis = header->fortran_order ? i : 3 - i;
        view.stride[axis] = axis < 3 && extents[axis] == 1 ? 0 : step;
        step *= extents[axis];
    }
    return view;
}

static int load_input(const struct reader *reader, int file)
{
    struct run_inputs *inputs = reader->inputs;
    char error[ERROR_BYTES];
    inputs->data[file] = npy_load(&inputs->files[file], error, sizeof error);
    if (!inputs->data[file])
        return message_failure("%s %s %s", run_file_argument(file), path_of(reader, file), error);
    int status = convert_data(reader, file);
    if (content_of(file) == TENSOR || is_mask(file)) {
        inputs->tensors[file] = view_data(header_of(reader, file), inputs->data[file]);
        inputs->tensors[file].dtype = file == FILE_VISIBLE              ? ATTEND_BOOL
                                      : content_of(file) == TENSOR ? run_types_wanted(header_of(reader, file), reader->options)
                                                                   : ATTEND_F32;
    }
    return status;
}

/* Keys and values have one type; the output gets the query's. */
static int choose_types(const struct reader *reader)
{
    attend_problem *problem = &reader->inputs->problem;
    const attend_dtype value = run_types_wanted(header_of(reader, FILE_VALUE), reader->options);
    problem->query_dtype = problem->output_dtype = run_types_wanted(header_of(reader, FILE_QUERY), reader->options);
    problem->kv_dtype = run_types_wanted(header_of(reader, FILE_KEY), reader->options);
    if (problem->kv_dtype == value)
        return STATUS_DONE;
    return message_failure("--value %s is %s and --key %s is %s; they must have one type, which --dtype gives them",
                           path_of(reader, FILE_VALUE), run_types_name(value), path_of(reader, FILE_KEY),
                           run_types_name(problem->kv_dtype));
}

static int load_inputs(const struct reader *reader)
{
    int status = STATUS_DONE;
    for (int file = 0; status == STATUS_DONE && file < FILE_INPUTS; file++)
        if (path_of(reader, file))
            status = load_input(reader, file);
    return status;
}

/* ---- ranges ------------------------------------------------------------------------------------------------------ */

/* Entry `item` of an array; `otherwise` when the array was not given. */
static int64_t entry_at(const struct reader *reader, int file, int64_t item, int64_t otherwise)
{
    const int64_t *entries = reader->inputs->data[file];
    return entries ? entries[item] : otherwise;
}

static int check_entry(const struct reader *reader, int file, int64_t item, int64_t least, int64_t most,
                       const char *why)
{
    int64_t entry = entry_at(reader, file, item, least);
    if (entry >= least && entry <= most)
        return STATUS_DONE;
    return message_failure("%s %s is %lld for item %lld; it must be from %lld to %lld%s", run_file_argument(file),
                           path_of(reader, file), (long long)entry, (long long)item, (long long)least, (long long)most,
                           why);
}

/* Starts lie in 0..extent, lengths in 0..extent - start. */
static int check_range(const struct reader *reader, int starts, int lengths, int64_t extent, const char *name)
{
    char start_rule[64], length_rule[64];
    snprintf(start_rule, sizeof start_rule, ", the number of %s", name);
    snprintf(length_rule, sizeof length_rule, ", the number of %s after the start", name);
    for (int64_t item = 0; item < reader->inputs->problem.batch; item++) {
        int status = check_entry(reader, starts, item, 0, extent, start_rule);
        int64_t start = entry_at(reader, starts, item, 0);
        if (status == STATUS_DONE)
            status = check_entry(reader, lengths, item, 0, extent - start, length_rule);
        if (status == STATUS_DONE)
            status = check_entry(reader, FILE_POSITIONS, item, -position_limit, position_limit, "");
        if (status != STATUS_DONE)
            return status;
    }
    return STATUS_DONE;
}

/* The last offset: what lies behind it would be no item's. The library checks the others. */
static int check_end(const struct reader *reader, int file, int64_t extent, const char *name)
{
    const int64_t *offsets = reader->inputs->data[file];
    if (!offsets || offsets[reader->inputs->problem.batch] == extent)
        return STATUS_DONE;
    return message_failure("%s %s ends with %lld; it must end with %lld, the number of %s", run_file_argument(file),
                           path_of(reader, file), (long long)offsets[reader->inputs->problem.batch], (long long)extent,
                           name);
}

static int check_values(const struct reader *reader)
{
    const attend_problem *problem = &reader->inputs->problem;
    int status = check_range(reader, FILE_KEY_STARTS, FILE_KEY_LENGTHS, problem->keys, "keys");
    if (status == STATUS_DONE)
        status = check_range(reader, FILE_QUERY_STARTS, FILE_QUERY_LENGTHS, problem->rows, "rows");
    if (status == STATUS_DONE)
        status = check_end(reader, FILE_KEY_OFFSETS, problem->keys, "keys");
    if (status == STATUS_DONE)
        status = check_end(reader, FILE_QUERY_OFFSETS, problem->rows, "query rows");
    return status;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* The usual slopes, in the place of those from a file. */
static int make_slopes(struct run_inputs *inputs)
{
    const int64_t heads = inputs->problem.heads;
    inputs->data[FILE_ALIBI_SLOPES] = malloc(heads ? (size_t)heads * sizeof(float) : 1);
    if (!inputs->data[FILE_ALIBI_SLOPES])
        return message_failure("--alibi needs more memory than there is");
    if (attend_alibi_slopes(heads, inputs->data[FILE_ALIBI_SLOPES]) != ATTEND_OK)
        return message_failure("%s", message_library_text(attend_last_error()));
    return STATUS_DONE;
}

static void describe_problem(attend_problem *problem, const struct run_options *options)
{
    problem->causal = options->causal;
    problem->diagonal = options->diagonal;
    problem->scale = options->scale;
    problem->softcap = options->softcap;
    problem->flags = (options->has_scale ? ATTEND_EXPLICIT_SCALE : 0) | (options->windowed ? ATTEND_WINDOW : 0) |
                     (options->files[FILE_QUERY_OFFSETS] ? ATTEND_PACKED_QUERIES : 0) |
                     (options->files[FILE_KEY_OFFSETS] ? ATTEND_PACKED_KEYS : 0) |
                     (options->files[FILE_KEY_SUMS] ? ATTEND_KEY_SUMS : 0);
    problem->window_left = options->window_left;
    problem->window_right = options->window_right;
}

static void point_args(struct run_inputs *inputs, const struct run_options *options)
{
    attend_args *args = &inputs->args;
    args->query = &inputs->tensors[FILE_QUERY];
    args->key = &inputs->tensors[FILE_KEY];
    args->value = &inputs->tensors[FILE_VALUE];
    args->visible = options->files[FILE_VISIBLE] ? &inputs->tensors[FILE_VISIBLE] : NULL;
    args->visible_tail = options->visible_tail;
    args->bias = options->files[FILE_BIAS] ? &inputs->tensors[FILE_BIAS] : NULL;
    args->alibi_slopes = inputs->data[FILE_ALIBI_SLOPES];
    args->sinks = inputs->data[FILE_SINKS];
    args->key_starts = inputs->data[FILE_KEY_STARTS];
    args->key_lengths = inputs->data[FILE_KEY_LENGTHS];
    args->query_starts = inputs->data[FILE_QUERY_STARTS];
    args->query_lengths = inputs->data[FILE_QUERY_LENGTHS];
    args->query_offsets = inputs->data[FILE_QUERY_OFFSETS];
    args->key_offsets = inputs->data[FILE_KEY_OFFSETS];
    args->positions = inputs->data[FILE_POSITIONS];
    args->prefix_lengths = inputs->data[FILE_PREFIX_LENGTHS];
    inputs->rank = inputs->files[FILE_QUERY].header.rank;
}

int run_inputs_read(struct run_inputs *inputs, const struct run_options *options)
{
    struct reader reader = { inputs, options };
    memset(inputs, 0, sizeof *inputs);
    inputs->problem = (attend_problem)ATTEND_PROBLEM_INIT;
    inputs->args = (attend_args)ATTEND_ARGS_INIT;
    for (int file = 0; file < FILE_INPUTS; file++)
        inputs->files[file].descriptor = -1;
    describe_problem(&inputs->problem, options);
    int status = open_inputs(&reader);
    if (status == STATUS_DONE)
        status = check_shapes(&reader);
    if (status == STATUS_DONE)
        status = choose_types(&reader);
    if (status == STATUS_DONE)
        status = load_inputs(&reader);
    if (status == STATUS_DONE)
        status = check_values(&reader);
    if (status == STATUS_DONE && options->alibi)
        status = make_slopes(inputs);
    point_args(inputs, options);
    return status;
}

void run_inputs_release(struct run_inputs *inputs)
{
    for (int file = 0; file < FILE_INPUTS; file++) {
        npy_close(&inputs->files[file]);
        free(inputs->data[file]);
        inputs->data[file] = NULL;
    }
}
