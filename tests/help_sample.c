/* See help_sample.h. */
#include "tests/help_sample.h"

#include "tests/help_counter.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char crash_text[1600];

/* A guard page was touched, or worse: say which problem it was, then die of it. */
static void report_crash(int signal_number)
{
    ssize_t ignored = write(STDERR_FILENO, crash_text, strlen(crash_text));
    (void)ignored;
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void announce(const struct spec *spec)
{
    strcpy(crash_text, "crashed in ");
    strncat(crash_text, spec_text(spec), sizeof crash_text - 20);
    strcat(crash_text, "\n");
    static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], report_crash);
}

static int64_t logical_key(const struct spec *spec, int64_t item, int64_t key)
{
    int64_t j = key - spec->key_starts[item];
    return j >= 0 && j < spec->key_lengths[item] ? j : -1;
}

static int64_t logical_row(const struct spec *spec, int64_t item, int64_t row)
{
    int64_t i = row - spec->query_starts[item];
    return i >= 0 && i < spec->query_lengths[item] ? spec->first_row[item] + i : -1;
}

static void fill_query(struct sample *sample)
{
    const struct spec *spec = &sample->spec;
    for (int64_t item = 0; item < spec->batch; item++)
        for (int64_t head = 0; head < spec->heads; head++)
            for (int64_t row = 0; row < spec->rows; row++) {
                int64_t i = logical_row(spec, item, row);
                for (int64_t d = 0; i >= 0 && d < spec->d_k; d++)
                    *(float *)box_at(&sample->query, item, head, row, d) =
                        spec_query(spec, spec->label[item], head, i, d);
            }
}

void *sample_key_at(const struct sample *sample, const struct box *box, int64_t item, int64_t head, int64_t key, int64_t feature)
{
    const int64_t page_keys = sample->spec.page_keys;
    if (page_keys == 0)
        return box_at(box, item, head, key, feature);
    const struct entries own = spec_entries(&sample->spec, item);
    const int64_t entry = key / page_keys;
    if (entry < own.low || entry >= own.high)
        return NULL;
    const int32_t page = ((const int32_t *)sample->tables.data)[item * sample->table_stride + entry];
    return box_at(box, page, head, key % page_keys, feature);
}

static void fill_key(struct sample *sample, int64_t item, int64_t head, int64_t key)
{
    const struct spec *spec = &sample->spec;
    int64_t j = logical_key(spec, item, key);
    for (int64_t d = 0; j >= 0 && d < spec->d_k; d++)
        *(float *)sample_key_at(sample, &sample->key, item, head, key, d) = spec_key(spec, spec->label[item], head, j, d);
    for (int64_t d = 0; j >= 0 && d < spec->d_v; d++)
        *(float *)sample_key_at(sample, &sample->value, item, head, key, d) =
            spec_value(spec, spec->label[item], head, j, d);
}

static void fill_keys(struct sample *sample)
{
    for (int64_t item = 0; item < sample->spec.batch; item++)
        for (int64_t head = 0; head < sample->spec.kv_heads; head++)
            for (int64_t key = 0; key < sample->spec.keys; key++)
                fill_key(sample, item, head, key);
}

/* The key of a column of flags, counted from the item's first; -1 for none of its own. */
static int64_t flagged_key(const struct spec *spec, int64_t item, int64_t column)
{
    if (spec->visible_tail == 0)
        return logical_key(spec, item, column);
    int64_t j = spec->key_lengths[item] - spec->visible_tail + column;
    return j >= 0 ? j : -1;
}

static void put_flag(const struct sample *sample, int64_t item, int64_t head, int64_t row, int64_t column, unsigned char flag)
{
    const struct box *box = &sample->visible;
    if (box->view.dtype == ATTEND_BOOL) {
        *(unsigned char *)box_at(box, item, head, row, column) = flag;
        return;
    }
    const int64_t *stride = box->view.stride;
    const int64_t at = item * stride[0] + head * stride[1] + row * stride[2]; /* whole bytes, and maybe before the first */
    unsigned char *byte = (unsigned char *)box->view.data + at / 8 + column / 8, bit = (unsigned char)(1u << column % 8);
    *byte = (unsigned char)(flag ? *byte | bit : *byte & ~bit);
}

static int64_t visible_columns(const struct spec *spec)
{
    return spec->visible_tail > 0 ? spec->visible_tail : spec->keys;
}

/* Padding is marked visible: only its range may hide it. Columns before the first key of an item that is shorter than the tail are
 * nobody's, and hidden. */
static void fill_visible(struct sample *sample)
{
    const struct spec *spec = &sample->spec;
    for (int64_t item = 0; item < spec->batch; item++)
        for (int64_t head = 0; head < spec->heads; head++)
            for (int64_t row = 0; row < spec->rows; row++)
                for (int64_t column = 0; column < visible_columns(spec); column++) {
                    int64_t i = logical_row(spec, item, row), j = flagged_key(spec, item, column);
                    if ((i < 0 && spec->packed_queries) || (j < 0 && spec->packed_keys && spec->visible_tail == 0))
                        continue; /* another item's */
                    const unsigned char unused = spec->visible_tail == 0 || i < 0;
                    put_flag(sample, item, head, row, column,
                             i < 0 || j < 0 ? unused : spec_visible(spec, spec->label[item], head, i, j));
                }
}

/* Eight flags are one byte of the box, whose strides then count bits. */
static void make_visible(struct sample *sample, unsigned shared)
{
    const struct spec *spec = &sample->spec;
    int64_t extent[4] = { spec->batch, spec->heads, spec->rows, visible_columns(spec) };
    if (spec->with_bits)
        extent[3] = (extent[3] + 7) / 8;
    box_make(&sample->visible, spec->visible_layout, shared, ATTEND_BOOL, extent, spec->side);
    if (!spec->with_bits)
        return;
    sample->visible.view.dtype = ATTEND_BIT;
    for (int axis = 0; axis < 3; axis++)
        sample->visible.view.stride[axis] *= 8;
}

static void fill_bias(struct sample *sample)
{
    const struct spec *spec = &sample->spec;
    for (int64_t item = 0; item < spec->batch; item++)
        for (int64_t head = 0; head < spec->heads; head++)
            for (int64_t row = 0; row < spec->rows; row++)
                for (int64_t key = 0; key < spec->keys; key++) {
                    int64_t i = logical_row(spec, item, row), j = logical_key(spec, item, key);
                    if (i >= 0 && j >= 0)
                        *(float *)box_at(&sample->bias, item, head, row, key) = spec_bias(spec, spec->label[item], head, i, j);
                }
}

/* Entries up to the last one that names a page with keys. */
static int64_t count_entries(const struct sample *sample)
{
    int64_t count = 0;
    for (int64_t item = 0; item < sample->spec.batch; item++) {
        const int64_t high = spec_entries(&sample->spec, item).high, end = item * sample->table_stride + high;
        count = high > 0 && end > count ? end : count;
    }
    return count;
}

/* Numbers pages from 0 on in the order of the tables and returns how many there are; the other entries are no page. */
static int64_t number_pages(struct sample *sample, int64_t entries)
{
    int32_t *table = (int32_t *)sample->tables.data;
    int64_t pages = 0;
    for (int64_t n = 0; n < entries; n++)
        table[n] = n % 2 ? INT32_MAX : -7;
    for (int64_t item = 0; item < sample->spec.batch; item++) {
        const struct entries own = spec_entries(&sample->spec, item);
        for (int64_t n = item * sample->table_stride + own.low; n < item * sample->table_stride + own.high; n++)
            if (table[n] < 0 || table[n] == INT32_MAX) /* named already where items share a table */
                table[n] = (int32_t)pages++;
    }
    return pages;
}

/* Gives the pages with keys any place among all. */
static void shuffle_pages(struct sample *sample, struct dice *dice, int64_t entries)
{
    int32_t *table = (int32_t *)sample->tables.data, *places = calloc((size_t)sample->pages + 1, sizeof *places);
    if (!places)
        abort();
    for (int64_t page = 0; page < sample->pages; page++) {
        const int64_t other = dice_between(dice, 0, page);
        places[page] = places[other];
        places[other] = (int32_t)page;
    }
    for (int64_t n = 0; n < entries; n++)
        if (table[n] >= 0 && table[n] != INT32_MAX)
            table[n] = places[table[n]];
    free(places);
}

/* The last entry stands before a guard page. */
static void make_tables(struct sample *sample)
{
    const struct spec *spec = &sample->spec;
    struct dice dice = { .seed = spec->seed ^ 0x9a9e };
    for (int64_t item = 0; item < spec->batch; item++) {
        const int64_t high = spec_entries(spec, item).high;
        sample->table_stride = high > sample->table_stride ? high : sample->table_stride;
    }
    sample->table_stride = spec->kv_shared & SHARED_ITEMS ? 0 : sample->table_stride + dice_between(&dice, 0, 2);
    const int64_t entries = count_entries(sample);
    guarded_make(&sample->tables, (size_t)entries * sizeof(int32_t), GUARD_AFTER, 0);
    sample->pages = number_pages(sample, entries) + spec->spare_pages;
    shuffle_pages(sample, &dice, entries);
}

static void make_pages(struct sample *sample)
{
    const struct spec *spec = &sample->spec;
    make_tables(sample);
    const int64_t key[4] = { sample->pages, spec->kv_heads, spec->page_keys, spec->d_k };
    const int64_t value[4] = { sample->pages, spec->kv_heads, spec->page_keys, spec->d_v };
    if (spec->one_pool) {
        box_make_pool(&sample->key, &sample->value, key, value, spec->side);
        return;
    }
    box_make(&sample->key, spec->kv_layout, spec->kv_shared & SHARED_HEADS, ATTEND_F32, key, spec->side);
    box_make(&sample->value, spec->kv_layout, spec->kv_shared & SHARED_HEADS, ATTEND_F32, value, spec->side);
}

static void make_keys(struct sample *sample)
{
    const struct spec *spec = &sample->spec;
    const int64_t key[4] = { spec->batch, spec->kv_heads, spec->keys, spec->d_k };
    const int64_t value[4] = { spec->batch, spec->kv_heads, spec->keys, spec->d_v };
    const unsigned shared = spec->kv_shared | (spec->packed_keys ? SHARED_ITEMS : 0u);
    if (spec->page_keys > 0) {
        make_pages(sample);
        return;
    }
    box_make(&sample->key, spec->kv_layout, shared, ATTEND_F32, key, spec->side);
    box_make(&sample->value, spec->kv_layout, shared, ATTEND_F32, value, spec->side);
}

static void make_inputs(struct sample *sample)
{
    const struct spec *spec = &sample->spec;
    int64_t query[4] = { spec->batch, spec->heads, spec->rows, spec->d_k };
    int64_t key[4] = { spec->batch, spec->kv_heads, spec->keys, spec->d_k };
    int64_t value[4] = { spec->batch, spec->kv_heads, spec->keys, spec->d_v };
    const unsigned queries = spec->packed_queries ? SHARED_ITEMS : 0;
    if (spec->one_buffer) {
        box_make_packed(&sample->query, &sample->key, &sample->value, query, key, value, spec->side);
    } else {
        box_make(&sample->query, spec->query_layout, spec->query_shared | queries, ATTEND_F32, query, spec->side);
        make_keys(sample);
    }
    fill_query(sample);
    fill_keys(sample);
    if (spec->with_bias) {
        int64_t pairs[4] = { spec->batch, spec->heads, spec->rows, spec->keys };
        box_make(&sample->bias, spec->bias_layout, spec->bias_shared | queries, ATTEND_F32, pairs, spec->side);
        fill_bias(sample);
    }
    if (spec->visibility == VISIBLE_ALL)
        return;
    static const unsigned shared[] = {
        [VISIBLE_BY_KEY] = SHARED_HEADS | SHARED_ROWS, [VISIBLE_BATCH] = SHARED_ITEMS | SHARED_HEADS
    };
    make_visible(sample, queries | (spec->visibility == VISIBLE_FULL ? 0 : shared[spec->visibility]));
    fill_visible(sample);
}

static void make_outputs(struct sample *sample)
{
    const struct spec *spec = &sample->spec;
    int64_t output[4] = { spec->batch, spec->heads, spec->rows, spec->d_v };
    int64_t lse[4] = { spec->batch, spec->heads, spec->rows, 1 };
    int64_t pairs[4] = { spec->batch, spec->heads, spec->rows, spec->keys };
    int64_t sums[4] = { spec->batch, spec->heads, 1, spec->keys };
    const unsigned queries = spec->packed_queries ? SHARED_ITEMS : 0, keys = spec->packed_keys ? SHARED_ITEMS : 0;
    box_make(&sample->output, spec->output_layout, queries, ATTEND_F32, output, spec->side);
    if (spec->with_lse)
        box_make(&sample->lse, spec->output_layout, queries, ATTEND_F32, lse, spec->side);
    if (spec->with_weights)
        box_make(&sample->weights, spec->output_layout, queries, ATTEND_F32, pairs, spec->side);
    if (spec->with_scores)
        box_make(&sample->scores, spec->output_layout, queries, ATTEND_F32, pairs, spec->side);
    if (spec->with_key_sums)
        box_make(&sample->key_sums, spec->output_layout, keys, ATTEND_F32, sums, spec->side);
    if (!spec->with_partials)
        return;
    box_make(&sample->maximum, spec->output_layout, queries, ATTEND_F32, lse, spec->side);
    box_make(&sample->total, spec->output_layout, queries, ATTEND_F32, lse, spec->side);
}

/* The arrays end at a guard page, too. */
static const int64_t *place_array(struct sample *sample, int which, bool wanted, const int64_t *values)
{
    int64_t *array = (int64_t *)sample->arrays.data + which * (sample->spec.batch + 1);
    memcpy(array, values, (size_t)sample->spec.batch * sizeof *array);
    return wanted ? array : NULL;
}

/* Starts, and where the last item ends. */
static const int64_t *place_offsets(struct sample *sample, int which, bool wanted, const int64_t *starts, const int64_t *lengths)
{
    const int64_t batch = sample->spec.batch;
    int64_t *array = (int64_t *)sample->arrays.data + which * (batch + 1);
    memcpy(array, starts, (size_t)batch * sizeof *array);
    array[batch] = batch > 0 ? starts[batch - 1] + lengths[batch - 1] : 0;
    return wanted ? array : NULL;
}

static void set_numbers(struct sample *sample)
{
    const struct spec *spec = &sample->spec;
    guarded_make(&sample->numbers, 2 * (size_t)spec->heads * sizeof(float), GUARD_AFTER, 0);
    float *slopes = (float *)sample->numbers.data, *sinks = slopes + spec->heads;
    for (int64_t head = 0; head < spec->heads; head++) {
        slopes[head] = spec_slope(spec, head);
        sinks[head] = spec_sink(spec, head);
    }
    if (spec->usual_slopes && attend_alibi_slopes(spec->heads, slopes) != ATTEND_OK)
        abort();
    sample->args.alibi_slopes = spec->with_alibi ? slopes : NULL;
    sample->args.sinks = spec->with_sinks ? sinks : NULL;
}

static void set_arrays(struct sample *sample)
{
    const struct spec *spec = &sample->spec;
    attend_args *args = &sample->args;
    guarded_make(&sample->arrays, 8 * (size_t)(spec->batch + 1) * sizeof(int64_t), GUARD_AFTER, 0);
    args->query_starts = place_array(sample, 0, spec->with_query_starts, spec->query_starts);
    args->query_lengths = place_array(sample, 1, spec->with_query_lengths, spec->query_lengths);
    args->key_starts = place_array(sample, 2, spec->with_key_starts, spec->key_starts);
    args->positions = place_array(sample, 3, spec->diagonal == ATTEND_DIAGONAL_POSITION, spec->positions);
    args->key_lengths = place_array(sample, 4, spec->with_key_lengths, spec->key_lengths);
    args->prefix_lengths = place_array(sample, 5, spec->with_prefix, spec->prefix_lengths);
    args->query_offsets = place_offsets(sample, 6, spec->packed_queries, spec->query_starts, spec->query_lengths);
    args->key_offsets = place_offsets(sample, 7, spec->packed_keys, spec->key_starts, spec->key_lengths);
}

static void set_problem(attend_problem *problem, const struct spec *spec)
{
    *problem = (attend_problem)ATTEND_PROBLEM_INIT;
    problem->batch = spec->batch;
    problem->heads = spec->heads;
    problem->kv_heads = spec->kv_heads;
    problem->rows = spec->rows;
    problem->keys = spec->keys;
    problem->d_k = spec->d_k;
    problem->d_v = spec->d_v;
    problem->flags = spec->flags;
    problem->scale = spec->scale;
    problem->causal = spec->causal;
    problem->diagonal = spec->diagonal;
    problem->window_left = spec->window_left;
    problem->window_right = spec->window_right;
    problem->softcap = spec->softcap;
    problem->page_keys = spec->page_keys;
}

void sample_make(struct sample *sample, const struct spec *spec)
{
    memset(sample, 0, sizeof *sample);
    sample->spec = *spec;
    announce(spec);
    set_problem(&sample->problem, spec);
    make_inputs(sample);
    make_outputs(sample);
    attend_args *args = &sample->args;
    *args = (attend_args)ATTEND_ARGS_INIT;
    args->query = &sample->query.view;
    args->key = &sample->key.view;
    args->value = &sample->value.view;
    args->output = &sample->output.view;
    args->lse = spec->with_lse ? &sample->lse.view : NULL;
    args->weights = spec->with_weights ? &sample->weights.view : NULL;
    args->scores = spec->with_scores ? &sample->scores.view : NULL;
    args->visible = spec->visibility != VISIBLE_ALL ? &sample->visible.view : NULL;
    args->visible_tail = spec->visibility != VISIBLE_ALL ? spec->visible_tail : 0;
    args->bias = spec->with_bias ? &sample->bias.view : NULL;
    args->key_sums = spec->with_key_sums ? &sample->key_sums.view : NULL;
    args->maximum = spec->with_partials ? &sample->maximum.view : NULL;
    args->total = spec->with_partials ? &sample->total.view : NULL;
    args->block_tables = spec->page_keys > 0 ? (const int32_t *)sample->tables.data : NULL;
    args->table_stride = sample->table_stride;
    args->pages = sample->pages;
    set_arrays(sample);
    set_numbers(sample);
}

void sample_free(struct sample *sample)
{
    struct box *boxes[] = { &sample->query,   &sample->key,    &sample->value,    &sample->visible, &sample->bias,    &sample->output,
                            &sample->lse,     &sample->weights, &sample->scores,  &sample->key_sums, &sample->maximum, &sample->total };
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++)
        box_free(boxes[i]);
    guarded_free(&sample->arrays);
    guarded_free(&sample->numbers);
    guarded_free(&sample->tables);
}

void sample_reset(struct sample *sample)
{
    struct box *boxes[] = { &sample->output,   &sample->lse,     &sample->weights, &sample->scores,
                            &sample->key_sums, &sample->maximum, &sample->total };
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++)
        if (boxes[i]->memory.map)
            guarded_poison(&boxes[i]->memory);
}

/* seen[(item, kv head, key)]: some row sees that key. The numbers must still be finite. */
static bool *find_seen_keys(const struct sample *sample)
{
    const struct spec *spec = &sample->spec;
    bool *seen = calloc((size_t)(spec->batch * spec->kv_heads * spec->keys) + 1, sizeof *seen);
    double *scores = malloc(((size_t)spec->keys + 1) * sizeof *scores);
    if (!seen || !scores)
        abort();
    for (int64_t item = 0; item < spec->batch; item++)
        for (int64_t head = 0; head < spec->heads; head++)
            for (int64_t row = 0; row < spec->rows; row++) {
                struct oracle_row truth = { .scores = scores };
                oracle_attend_row(&sample->problem, &sample->args, item, head, row, &truth);
                int64_t kv_head = head / (spec->heads / spec->kv_heads);
                for (int64_t key = 0; key < spec->keys; key++)
                    seen[(item * spec->kv_heads + kv_head) * spec->keys + key] |= scores[key] > -INFINITY;
            }
    free(scores);
    return seen;
}

/* Nowhere for a key without a place. */
static void put_bits(void *element, uint32_t bits)
{
    if (element)
        memcpy(element, &bits, sizeof bits);
}

static void poison_key(struct sample *sample, int64_t item, int64_t head, int64_t key)
{
    static const uint32_t poisons[] = {
        0x7fc00000, 0xffc12345, 0x7f800001, 0x7f800000, 0xff800000, 0x7e967699 /* 1e38 */, 0xfe967699
    };
    uint64_t bits = counter_bits(sample->spec.seed, (uint64_t)((item * 64 + head) * 4096 + key));
    uint32_t poison = poisons[bits % (sizeof poisons / sizeof *poisons)];
    for (int64_t d = 0; d < sample->spec.d_k; d++)
        put_bits(sample_key_at(sample, &sample->key, item, head, key, d), poison);
    for (int64_t d = 0; d < sample->spec.d_v; d++)
        put_bits(sample_key_at(sample, &sample->value, item, head, key, d), poison);
}

/* Marks the elements of real keys in the memory of either box. */
static void mark_keys(const struct sample *sample, const struct box *box, const struct guarded *memory, bool *used)
{
    const struct spec *spec = &sample->spec;
    for (int64_t item = 0; item < spec->batch; item++)
        for (int64_t head = 0; head < spec->kv_heads; head++)
            for (int64_t key = 0; key < spec->keys; key++)
                for (int64_t d = 0; logical_key(spec, item, key) >= 0 && d < box->extent[3]; d++) {
                    unsigned char *element = sample_key_at(sample, box, item, head, key, d);
                    memset(used + (element - memory->data), true, box->element);
                }
}

/* Values may lie in the pages of keys. */
static void trap_padding(struct sample *sample, struct box *box, const struct box *lodger)
{
    bool *used = calloc(box->memory.bytes + 1, sizeof *used);
    if (!used)
        abort();
    mark_keys(sample, box, &box->memory, used);
    if (lodger)
        mark_keys(sample, lodger, &box->memory, used);
    guarded_trap_unused(&box->memory, used);
    free(used);
}

void sample_poison_hidden(struct sample *sample)
{
    const struct spec *spec = &sample->spec;
    if (spec->kv_shared)
        return; /* what is padding for one item is in use for another */
    bool *seen = find_seen_keys(sample);
    for (int64_t item = 0; item < spec->batch; item++)
        for (int64_t head = 0; head < spec->kv_heads; head++)
            for (int64_t key = 0; key < spec->keys; key++)
                if (!seen[(item * spec->kv_heads + head) * spec->keys + key] &&
                    !(spec->packed_keys && logical_key(spec, item, key) < 0))
                    poison_key(sample, item, head, key);
    free(seen);
    if (spec->one_buffer)
        return;
    trap_padding(sample, &sample->key, spec->one_pool ? &sample->value : NULL);
    if (!spec->one_pool)
        trap_padding(sample, &sample->value, NULL);
}

void sample_poison_some(struct sample *sample)
{
    static const uint32_t poisons[] = { 0x7fc00000, 0xffc12345, 0x7f800001, 0x7f800000, 0xff800000 };
    const struct spec *spec = &sample->spec;
    struct dice dice = { .seed = ~spec->seed };
    struct box *boxes[] = { &sample->query, &sample->key, &sample->value };
    int64_t count = dice_between(&dice, 1, 4);
    for (int64_t i = 0; i < count; i++) {
        struct box *box = boxes[dice_between(&dice, 0, 2)];
        const bool paged = box != &sample->query && spec->page_keys > 0;
        const int64_t extent[4] = { paged ? spec->batch : box->extent[0], box->extent[1], paged ? spec->keys : box->extent[2],
                                    box->extent[3] };
        if (extent[0] * extent[1] * extent[2] * extent[3] == 0)
            continue;
        int64_t at[4];
        for (int axis = 0; axis < 4; axis++)
            at[axis] = dice_between(&dice, 0, extent[axis] - 1);
        void *element = paged ? sample_key_at(sample, box, at[0], at[1], at[2], at[3]) : box_at(box, at[0], at[1], at[2], at[3]);
        put_bits(element, poisons[dice_between(&dice, 0, 4)]);
    }
}

/* Pages of keys and values may be inaccessible and must stay so. */
static void change_inputs(struct sample *sample, void (*change)(struct guarded *))
{
    struct guarded *inputs[] = { &sample->visible.memory, &sample->bias.memory, &sample->arrays, &sample->numbers, &sample->tables };
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        if (inputs[i]->map)
            change(inputs[i]);
}

attend_status sample_forward(struct sample *sample, attend_engine *engine)
{
    change_inputs(sample, guarded_freeze);
    attend_status status = attend_forward(engine, &sample->problem, &sample->args);
    change_inputs(sample, guarded_thaw);
    return status;
}

attend_engine *make_engine(attend_isa isa, int32_t threads, int64_t inline_work)
{
    attend_engine_options options = ATTEND_ENGINE_OPTIONS_INIT;
    options.threads = threads;
    options.bind = ATTEND_BIND_OFF;
    options.isa = isa;
    options.inline_work = inline_work;
    attend_engine *engine = NULL;
    return attend_engine_create(&engine, &options) == ATTEND_OK ? engine : NULL;
}

bool has_isa(attend_isa isa)
{
    attend_isa isas[16];
    size_t count = attend_isa_available(isas, 16);
    for (size_t i = 0; i < count; i++)
        if (isas[i] == isa)
            return true;
    return false;
}
