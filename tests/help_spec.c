/* See help_spec.h. */
#include "tests/help_spec.h"

#include "tests/help_counter.h"

#include <stdarg.h>
#include <stdio.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Around every edge that kernels and plans have: vectors of 4 to 16, score tiles of 6 rows by 64 keys, chunks of 128
 * keys, tiles of 512, units of up to 768 rows of a group. */
static const int64_t row_edges[] = { 0, 1, 1, 1, 2, 3, 5, 6, 7, 11, 12, 13, 16, 17, 48,
                                     63, 65, 120, 192, 199, 260, 383, 385, 769, 800 };
static const int64_t key_edges[] = { 0,   1,   2,   3,   7,   8,   15,  16,  17,   31,   33,   63,  64, 65,
                                     127, 128, 129, 191, 255, 257, 511, 512, 513, 639, 640, 641, 1023, 1025, 1100 };
static const int64_t width_edges[] = { 0,  1,  2,  3,  4,  7,  8,   15,  16,  17,  24,  31,  32,  33, 40,
                                       63, 64, 65, 80, 96, 127, 128, 129, 192, 255, 256, 257, 512, 576, 600 };
static const int64_t page_sizes[] = { 1, 2, 3, 7, 16, 20, 64, 128, 512, 1024 };
static const int64_t group_sizes[] = { 1, 1, 1, 2, 3, 4, 6, 7, 8 };

struct spec spec_plain(uint64_t seed, int64_t heads, int64_t rows, int64_t keys, int64_t d_k, int64_t d_v)
{
    struct spec spec = {
        .seed = seed, .batch = 1, .heads = heads, .kv_heads = heads, .rows = rows, .keys = keys, .d_k = d_k, .d_v = d_v,
        .kv_repeat = 1, .visible_percent = 70, .query_stretch = 1.0f, .value_stretch = 1.0f, .with_lse = true,
    };
    spec.key_lengths[0] = keys;
    spec.query_lengths[0] = rows;
    return spec;
}

void spec_set_batch(struct spec *spec, int64_t batch)
{
    for (int64_t item = 1; item < batch; item++) {
        spec->key_starts[item] = spec->key_starts[0];
        spec->key_lengths[item] = spec->key_lengths[0];
        spec->query_starts[item] = spec->query_starts[0];
        spec->query_lengths[item] = spec->query_lengths[0];
        spec->label[item] = item;
    }
    spec->batch = batch;
}

void spec_set_keys(struct spec *spec, int64_t item, int64_t start, int64_t length)
{
    spec->with_key_starts = spec->with_key_lengths = true;
    spec->key_starts[item] = start;
    spec->key_lengths[item] = length;
}

void spec_set_rows(struct spec *spec, int64_t item, int64_t start, int64_t length)
{
    spec->with_query_starts = spec->with_query_lengths = true;
    spec->query_starts[item] = start;
    spec->query_lengths[item] = length;
}

void spec_set_window(struct spec *spec, int64_t left, int64_t right)
{
    spec->flags |= ATTEND_WINDOW;
    spec->window_left = left;
    spec->window_right = right;
}

double spec_work(const struct spec *spec)
{
    return (double)(spec->batch * spec->heads) * (double)spec->rows * (double)spec->keys *
           (double)(spec->d_k + spec->d_v + 4);
}

void spec_pack_queries(struct spec *spec, int64_t beyond)
{
    int64_t total = 0;
    for (int64_t item = 0; item < spec->batch; item++) {
        spec->query_starts[item] = total;
        total += spec->query_lengths[item];
    }
    spec->rows = total + beyond;
    spec->flags |= ATTEND_PACKED_QUERIES;
    spec->packed_queries = true;
    spec->with_query_starts = spec->with_query_lengths = spec->one_buffer = false;
    spec->query_shared &= ~(unsigned)SHARED_ROWS & ~(unsigned)SHARED_ITEMS;
}

void spec_pack_keys(struct spec *spec, int64_t beyond)
{
    int64_t total = 0;
    for (int64_t item = 0; item < spec->batch; item++) {
        spec->key_starts[item] = total;
        total += spec->key_lengths[item];
    }
    spec->keys = total + beyond;
    spec->flags |= ATTEND_PACKED_KEYS;
    spec->packed_keys = true;
    spec->with_key_starts = spec->with_key_lengths = spec->one_buffer = false;
    spec->kv_shared &= ~(unsigned)SHARED_ITEMS;
}

void spec_set_pages(struct spec *spec, int64_t page_keys, int64_t spare)
{
    spec->flags |= ATTEND_PAGED_KEYS;
    spec->page_keys = page_keys;
    spec->spare_pages = spare;
    spec->one_buffer = false;
}

void spec_set_one_pool(struct spec *spec, int64_t page_keys, int64_t spare)
{
    spec_set_pages(spec, page_keys, spare);
    spec->one_pool = true;
    spec->kv_shared &= ~(unsigned)SHARED_HEADS;
}

struct entries spec_entries(const struct spec *spec, int64_t item)
{
    const int64_t first = spec->key_starts[item], end = first + spec->key_lengths[item];
    if (first == end)
        return (struct entries){ 0, 0 };
    return (struct entries){ first / spec->page_keys, (end - 1) / spec->page_keys + 1 };
}

static int64_t pick_size(struct dice *dice, const int64_t *edges, size_t count, int64_t most)
{
    if (dice_between(dice, 0, 2) == 0)
        return dice_between(dice, 0, most);
    return dice_pick(dice, edges, count);
}

static void pick_sizes(struct spec *spec, struct dice *dice, double work)
{
    int64_t group = dice_pick(dice, group_sizes, COUNT(group_sizes));
    spec->kv_heads = dice_between(dice, 1, 3);
    spec->heads = spec->kv_heads * group;
    spec->batch = dice_between(dice, 1, 4);
    spec->rows = pick_size(dice, row_edges, COUNT(row_edges), 800);
    spec->keys = pick_size(dice, key_edges, COUNT(key_edges), 1100);
    spec->d_k = pick_size(dice, width_edges, COUNT(width_edges), 600);
    spec->d_v = dice_between(dice, 0, 1) ? spec->d_k : pick_size(dice, width_edges, COUNT(width_edges), 600);
    if (dice_between(dice, 0, 7) == 0)
        spec->rows = spec->keys < 300 ? spec->keys : 64;
    while (spec_work(spec) > work) {
        switch (dice_between(dice, 0, 4)) {
        case 0: spec->batch = (spec->batch + 1) / 2; break;
        case 1: spec->kv_heads = 1, spec->heads = group; break;
        case 2: spec->rows = (spec->rows + 1) / 2; break;
        case 3: spec->d_k = (spec->d_k + 1) / 2; break;
        default: spec->d_v = (spec->d_v + 1) / 2; break;
        }
        if (spec->rows == 1 && spec->batch == 1)
            spec->keys = (spec->keys + 1) / 2;
    }
}

/* A start and a length inside [0, extent]: the whole, from the front, from the end, anywhere, or nothing. */
static void pick_range(struct dice *dice, int64_t extent, bool with_start, bool with_length, int64_t *start,
                       int64_t *length)
{
    *start = 0;
    *length = extent;
    if (with_start)
        *start = dice_between(dice, 0, dice_between(dice, 0, extent));
    if (with_length)
        *length = dice_between(dice, 0, 9) == 0 ? 0 : dice_between(dice, (extent - *start) / 2, extent - *start);
    else
        *length = extent - *start;
}

static void pick_ranges(struct spec *spec, struct dice *dice)
{
    spec->with_key_starts = dice_between(dice, 0, 3) == 0;
    spec->with_key_lengths = dice_between(dice, 0, 1) == 0;
    spec->with_query_starts = dice_between(dice, 0, 3) == 0;
    spec->with_query_lengths = dice_between(dice, 0, 2) == 0;
    for (int64_t item = 0; item < spec->batch; item++) {
        spec->label[item] = item;
        pick_range(dice, spec->keys, spec->with_key_starts, spec->with_key_lengths, &spec->key_starts[item],
                   &spec->key_lengths[item]);
        pick_range(dice, spec->rows, spec->with_query_starts, spec->with_query_lengths, &spec->query_starts[item],
                   &spec->query_lengths[item]);
        spec->positions[item] = dice_between(dice, -5, spec->keys + 5);
    }
}

static void pick_options(struct spec *spec, struct dice *dice)
{
    static const int64_t percents[] = { 0, 3, 50, 70, 97, 100 };
    spec->causal = dice_between(dice, 0, 1);
    spec->diagonal = (attend_diagonal)dice_between(dice, 0, 2);
    spec->visibility = dice_between(dice, 0, 1) ? VISIBLE_ALL : (enum visibility)dice_between(dice, 0, 3);
    spec->visible_percent = dice_pick(dice, percents, COUNT(percents));
    if (dice_between(dice, 0, 3) == 0 || spec->d_k == 0) {
        static const float scales[] = { 0.0f, 1.0f, 0.125f, -0.3f, 2.0f };
        spec->flags |= ATTEND_EXPLICIT_SCALE;
        spec->scale = scales[dice_between(dice, 0, (int64_t)COUNT(scales) - 1)];
    }
    static const float stretches[] = { 1.0f, 1.0f, 4.0f, 0.01f };
    spec->query_stretch = stretches[dice_between(dice, 0, (int64_t)COUNT(stretches) - 1)];
    spec->value_stretch = stretches[dice_between(dice, 0, (int64_t)COUNT(stretches) - 1)];
    spec->value_shift = dice_between(dice, 0, 3) == 0 ? 3.0f : 0.0f;
    if (dice_between(dice, 0, 7) == 0)
        spec->flags |= ATTEND_KEEP_PADDING_ROWS;
}

static void pick_layouts(struct spec *spec, struct dice *dice)
{
    spec->query_layout = (enum layout)dice_between(dice, 0, LAYOUT_COUNT - 1);
    spec->kv_layout = (enum layout)dice_between(dice, 0, LAYOUT_COUNT - 1);
    spec->output_layout = (enum layout)dice_between(dice, 0, LAYOUT_COUNT - 1);
    spec->visible_layout = (enum layout)dice_between(dice, 0, LAYOUT_COUNT - 1);
    spec->one_buffer = spec->rows == spec->keys && dice_between(dice, 0, 1);
    if (dice_between(dice, 0, 5) == 0)
        spec->query_shared = (unsigned)dice_between(dice, 0, 7);
    if (dice_between(dice, 0, 5) == 0)
        spec->kv_shared = (unsigned)dice_between(dice, 0, 3);
    spec->side = dice_between(dice, 0, 1) ? GUARD_AFTER : GUARD_BEFORE;
    spec->with_lse = dice_between(dice, 0, 7) != 0;
    spec->with_weights = dice_between(dice, 0, 3) == 0;
    spec->with_scores = dice_between(dice, 0, 3) == 0;
}

static int64_t pick_side(const struct spec *spec, struct dice *dice)
{
    switch (dice_between(dice, 0, 7)) {
    case 0: return -1;
    case 1: return 0;
    case 2: return INT64_MAX;
    case 3: return dice_between(dice, 0, 20);
    default: return pick_size(dice, key_edges, COUNT(key_edges), spec->keys);
    }
}

/* Now and then the item's rows lie so far out that nothing, or all of an unbounded side, is in sight. */
static void pick_window(struct spec *spec, struct dice *dice)
{
    if (dice_between(dice, 0, 1))
        return;
    int64_t left = pick_side(spec, dice);
    spec_set_window(spec, left, pick_side(spec, dice));
    if (dice_between(dice, 0, 15) == 0)
        spec->positions[0] = (dice_between(dice, 0, 1) ? 1 : -1) * (INT64_C(1) << dice_between(dice, 9, 60));
}

static bool one_in(struct dice *dice, int64_t n)
{
    return dice_between(dice, 1, n) == 1;
}

static void pick_scores(struct spec *spec, struct dice *dice)
{
    static const float softcaps[] = { 1.0f, 5.0f, 50.0f };
    if (one_in(dice, 4))
        spec->softcap = softcaps[dice_between(dice, 0, (int64_t)COUNT(softcaps) - 1)];
    spec->with_bias = one_in(dice, 4);
    spec->bias_shared = (unsigned)dice_between(dice, 0, 7) | (one_in(dice, 8) ? SHARED_FEATURES : 0u);
    spec->bias_layout = (enum layout)dice_between(dice, 0, LAYOUT_COUNT - 1);
    spec->with_alibi = one_in(dice, 4);
    spec->usual_slopes = one_in(dice, 2);
    spec->with_sinks = one_in(dice, 4);
}

static void pick_visibility(struct spec *spec, struct dice *dice)
{
    spec->with_prefix = one_in(dice, 4);
    for (int64_t item = 0; item < SPEC_ITEMS; item++)
        spec->prefix_lengths[item] = one_in(dice, 3) ? 0 : dice_between(dice, 0, spec->keys + 3);
    if (spec->visibility == VISIBLE_ALL)
        return;
    spec->with_bits = one_in(dice, 2);
    if (spec->with_bits && spec->visible_layout == LAYOUT_SPREAD)
        spec->visible_layout = LAYOUT_GAPS; /* bits are always neighbours */
    if (one_in(dice, 3))
        spec->visible_tail = dice_between(dice, 1, spec->keys + 3);
}

/* Tensors of pairs grow with the rows and the keys of all items. */
static bool has_many_pairs(const struct spec *spec)
{
    return (double)spec->heads * (double)spec->rows * (double)spec->keys > 4e6;
}

static void pick_packing(struct spec *spec, struct dice *dice)
{
    const bool queries = one_in(dice, 4), keys = one_in(dice, 4);
    const int64_t beyond_rows = dice_between(dice, 0, 2), beyond_keys = dice_between(dice, 0, 2);
    if (queries)
        spec_pack_queries(spec, beyond_rows);
    if (keys)
        spec_pack_keys(spec, beyond_keys);
    if (!(queries || keys) || !has_many_pairs(spec))
        return;
    spec->with_weights = spec->with_scores = spec->with_bias = false;
    spec->visibility = VISIBLE_ALL;
    spec->visible_tail = 0;
    spec->with_bits = false;
}

/* Partials have no softmax yet. */
static void pick_results(struct spec *spec, struct dice *dice)
{
    spec->with_key_sums = one_in(dice, 4);
    spec->with_partials = one_in(dice, 6);
    if (spec->with_partials)
        spec->with_weights = spec->with_scores = spec->with_key_sums = spec->with_sinks = false;
    if (spec->with_key_sums)
        spec->flags |= ATTEND_KEY_SUMS;
}

/* Elements of two pages of every item: what wide keys may add to the pool. */
static bool are_large_pages(const struct spec *spec, int64_t page_keys)
{
    return (double)(2 * spec->batch * spec->kv_heads * page_keys) * (double)(spec->d_k + spec->d_v) > 2e6;
}

static void pick_pages(struct spec *spec, struct dice *dice)
{
    int64_t page_keys = dice_pick(dice, page_sizes, COUNT(page_sizes));
    const int64_t spare = dice_between(dice, 0, 3);
    const bool one_pool = one_in(dice, 3), cascades = one_in(dice, 2);
    if (!one_in(dice, 4) || spec->packed_keys)
        return;
    if (are_large_pages(spec, page_keys))
        page_keys = 20;
    (one_pool ? spec_set_one_pool : spec_set_pages)(spec, page_keys, spare);
    if (cascades)
        spec->flags |= ATTEND_SHARED_PREFIXES;
}

void spec_random(struct spec *spec, uint64_t seed, double work)
{
    struct dice dice = { .seed = seed };
    *spec = spec_plain(seed, 1, 0, 0, 0, 0);
    pick_sizes(spec, &dice, work);
    pick_ranges(spec, &dice);
    pick_options(spec, &dice);
    pick_layouts(spec, &dice);
    pick_window(spec, &dice);
    pick_scores(spec, &dice);
    pick_visibility(spec, &dice);
    pick_packing(spec, &dice);
    pick_results(spec, &dice);
    pick_pages(spec, &dice); /* last, so that the rest of a seed's problem is what it was */
}

struct writer {
    char *at, *end;
};

__attribute__((format(printf, 2, 3))) static void write_text(struct writer *writer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(writer->at, (size_t)(writer->end - writer->at), format, arguments);
    va_end(arguments);
    writer->at += length < writer->end - writer->at ? length : writer->end - writer->at - 1;
}

static void write_array(struct writer *writer, const char *name, bool wanted, const int64_t *values, int64_t count)
{
    if (!wanted)
        return;
    write_text(writer, " %s=", name);
    for (int64_t i = 0; i < count; i++)
        write_text(writer, "%s%lld", i ? "," : "", (long long)values[i]);
}

static void write_options(struct writer *writer, const struct spec *spec)
{
    const struct {
        bool on;
        const char *name;
    } options[] = { { spec->packed_queries, "packed-queries" }, { spec->packed_keys, "packed-keys" },
                    { spec->with_alibi, spec->usual_slopes ? "alibi=usual" : "alibi=random" }, { spec->with_sinks, "sinks" },
                    { spec->with_bits, "bits" },                { spec->with_key_sums, "key-sums" },
                    { spec->with_partials, "partials" } };
    for (size_t i = 0; i < COUNT(options); i++)
        if (options[i].on)
            write_text(writer, " %s", options[i].name);
    write_array(writer, "query_offsets", spec->packed_queries, spec->query_starts, spec->batch);
    write_array(writer, "key_offsets", spec->packed_keys, spec->key_starts, spec->batch);
    if (spec->page_keys > 0)
        write_text(writer, " page=%lld%s%s spare=%lld", (long long)spec->page_keys, spec->one_pool ? " one-pool" : "",
                   spec->flags & ATTEND_SHARED_PREFIXES ? " cascades" : "", (long long)spec->spare_pages);
    write_array(writer, "prefix", spec->with_prefix, spec->prefix_lengths, spec->batch);
    if (spec->softcap > 0)
        write_text(writer, " softcap=%g", (double)spec->softcap);
    if (spec->with_bias)
        write_text(writer, " bias=%s/%u", layout_name(spec->bias_layout), spec->bias_shared);
    if (spec->visible_tail > 0)
        write_text(writer, " tail=%lld", (long long)spec->visible_tail);
}

const char *spec_text(const struct spec *spec)
{
    static const char *const diagonals[] = { "bottom-right", "top-left", "positions" };
    static const char *const visibilities[] = { "all", "full", "by-key", "batch" };
    static char text[1536];
    struct writer writer = { text, text + sizeof text };
    write_text(&writer, "b%lld.h%lld.g%lld.q%lld.k%lld.d%lld.v%lld seed=0x%llx", (long long)spec->batch,
               (long long)spec->heads, (long long)spec->kv_heads, (long long)spec->rows, (long long)spec->keys,
               (long long)spec->d_k, (long long)spec->d_v, (unsigned long long)spec->seed);
    if (spec->causal)
        write_text(&writer, " causal");
    if (spec->flags & ATTEND_WINDOW)
        write_text(&writer, " window=%lld,%lld", (long long)spec->window_left, (long long)spec->window_right);
    if (spec->causal || spec->flags & ATTEND_WINDOW || spec->with_alibi)
        write_text(&writer, " %s", diagonals[spec->diagonal]);
    write_array(&writer, "positions", spec->diagonal == ATTEND_DIAGONAL_POSITION, spec->positions, spec->batch);
    write_array(&writer, "key_starts", spec->with_key_starts, spec->key_starts, spec->batch);
    write_array(&writer, "key_lengths", spec->with_key_lengths, spec->key_lengths, spec->batch);
    write_array(&writer, "query_starts", spec->with_query_starts, spec->query_starts, spec->batch);
    write_array(&writer, "query_lengths", spec->with_query_lengths, spec->query_lengths, spec->batch);
    if (spec->visibility != VISIBLE_ALL)
        write_text(&writer, " visible=%s %lld%% %s", visibilities[spec->visibility], (long long)spec->visible_percent,
                   layout_name(spec->visible_layout));
    write_options(&writer, spec);
    if (spec->flags & ATTEND_EXPLICIT_SCALE)
        write_text(&writer, " scale=%g", (double)spec->scale);
    if (spec->flags & ATTEND_KEEP_PADDING_ROWS)
        write_text(&writer, " keep-padding-rows");
    write_text(&writer, " stretch=%g,%g,%g query=%s/%u kv=%s/%u output=%s%s guard=%s", (double)spec->query_stretch,
               (double)spec->value_stretch, (double)spec->value_shift, layout_name(spec->query_layout),
               spec->query_shared, layout_name(spec->kv_layout), spec->kv_shared, layout_name(spec->output_layout),
               spec->one_buffer ? " one-buffer" : "", spec->side == GUARD_AFTER ? "after" : "before");
    return text;
}

enum purpose { FOR_QUERY, FOR_KEY, FOR_VALUE, FOR_VISIBLE, FOR_BIAS, FOR_HEAD };

static uint64_t place_bits(const struct spec *spec, enum purpose purpose, int64_t label, int64_t head, int64_t row,
                           int64_t feature)
{
    uint64_t outer = ((uint64_t)purpose << 56) ^ ((uint64_t)label << 48) ^ ((uint64_t)head << 32) ^ (uint64_t)row;
    return counter_bits(spec->seed ^ (outer * 0xd1342543de82ef95u), (uint64_t)feature);
}

float spec_query(const struct spec *spec, int64_t label, int64_t head, int64_t row, int64_t feature)
{
    return counter_normal(place_bits(spec, FOR_QUERY, label, head, row, feature)) * spec->query_stretch;
}

float spec_key(const struct spec *spec, int64_t label, int64_t head, int64_t key, int64_t feature)
{
    return counter_normal(place_bits(spec, FOR_KEY, label, head / spec->kv_repeat, key, feature));
}

float spec_value(const struct spec *spec, int64_t label, int64_t head, int64_t key, int64_t feature)
{
    float usual = counter_normal(place_bits(spec, FOR_VALUE, label, head / spec->kv_repeat, key, feature));
    return usual * spec->value_stretch + spec->value_shift;
}

/* Any non-zero byte means visible. The first tiles of some rows are hidden as a whole, and so are some rows. */
unsigned char spec_visible(const struct spec *spec, int64_t label, int64_t head, int64_t row, int64_t key)
{
    static const unsigned char truths[] = { 1, 255, 2, 128 };
    uint64_t row_bits = place_bits(spec, FOR_VISIBLE, label, head, row, INT64_MAX);
    uint64_t bits = place_bits(spec, FOR_VISIBLE, label, head, row, key);
    if (row_bits % 16 == 0 || (row_bits % 16 == 1 && key < (int64_t)(row_bits >> 8 & 1023)))
        return 0;
    return (int64_t)(bits % 100) < spec->visible_percent ? truths[bits >> 32 & 3] : 0;
}

float spec_bias(const struct spec *spec, int64_t label, int64_t head, int64_t row, int64_t key)
{
    static const float large[] = { -1e9f, -2e30f, -65504.0f };
    const unsigned shared = spec->bias_shared;
    label = shared & SHARED_ITEMS ? 0 : label;
    head = shared & SHARED_HEADS ? 0 : head;
    row = shared & SHARED_ROWS ? 0 : row;
    const uint64_t row_bits = place_bits(spec, FOR_BIAS, label, head, row, INT64_MAX);
    const uint64_t bits = place_bits(spec, FOR_BIAS, label, head, row, shared & SHARED_FEATURES ? 0 : key);
    if (bits % 10 == 0)
        return -__builtin_inff();
    if (row_bits % 16 == 0 && (bits >> 8) % 8 >= (row_bits >> 8) % 8) /* a few of the keys, or all */
        return large[(row_bits >> 16) % COUNT(large)];
    return counter_normal(bits);
}

/* From 0 on, some negative: keys far away then count more. */
float spec_slope(const struct spec *spec, int64_t head)
{
    const uint64_t bits = place_bits(spec, FOR_HEAD, 0, head, 0, 0);
    return bits % 4 == 0 ? 0.0f : counter_normal(bits) * 0.05f;
}

float spec_sink(const struct spec *spec, int64_t head)
{
    const uint64_t bits = place_bits(spec, FOR_HEAD, 0, head, 0, 1);
    return bits % 5 == 0 ? -__builtin_inff() : counter_normal(bits) * 4.0f;
}
