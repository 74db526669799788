/* The promise that results are the same bytes whatever surrounds a row: threads, company in the batch, padding,
 * layout, the way that a sequence is cut into calls, grouped or repeated heads, and the instruction set. Problems span
 * several KV tiles and several units. */
#include "tests/help_counter.h"
#include "tests/help_suite.h"

#include <math.h>
#include <string.h>

enum { BASE_PREFILL, BASE_LONG, BASE_DECODE, BASE_WINDOW, BASE_PREFIX, BASE_OPTIONS, BASE_NARROW, BASE_COUNT };

/* The portable set is slow and gets fewer rows of the same lengths. */
static int64_t fewer_rows(attend_isa isa, int64_t rows)
{
    return isa == ATTEND_ISA_PORTABLE ? rows / 6 + 1 : rows;
}

static struct spec base_spec(attend_isa isa, int base)
{
    struct spec spec;
    switch (base) {
    case BASE_PREFILL:
        spec = spec_plain(11, 4, fewer_rows(isa, 200), 1100, 64, 64);
        spec.kv_heads = 2;
        spec.causal = true;
        spec_set_batch(&spec, 3);
        spec_set_keys(&spec, 1, 0, 517);
        spec_set_rows(&spec, 1, 0, spec.rows / 2);
        return spec;
    case BASE_LONG:
        spec = spec_plain(22, 2, fewer_rows(isa, 800), 1700, 24, 40);
        spec.kv_heads = 1;
        spec.visibility = VISIBLE_FULL;
        spec.visible_percent = 95;
        return spec;
    case BASE_DECODE:
        spec = spec_plain(33, 8, 1, 1700, 64, 64);
        spec.kv_heads = 2;
        spec_set_batch(&spec, 4);
        spec_set_keys(&spec, 2, 0, 33);
        return spec;
    case BASE_WINDOW:
        spec = spec_plain(77, 4, fewer_rows(isa, 400), 1500, 32, 48);
        spec.kv_heads = 2;
        spec_set_window(&spec, 300, 70);
        spec_set_batch(&spec, 2);
        spec_set_keys(&spec, 1, 0, 900);
        return spec;
    case BASE_PREFIX: /* whole tiles between the prefix and the window */
        spec = spec_plain(99, 2, fewer_rows(isa, 150), 2300, 24, 24);
        spec.kv_heads = 1;
        spec_set_window(&spec, 90, 0);
        spec_set_batch(&spec, 2);
        spec.with_prefix = spec.with_sinks = true;
        spec.prefix_lengths[0] = 4;
        spec.prefix_lengths[1] = 600;
        return spec;
    case BASE_OPTIONS:
        spec = spec_plain(88, 4, fewer_rows(isa, 300), 1300, 32, 40);
        spec.kv_heads = 2;
        spec.causal = true;
        spec.visibility = VISIBLE_FULL;
        spec.visible_percent = 90;
        spec.softcap = 5.0f;
        spec.with_bias = spec.with_alibi = spec.with_sinks = spec.with_prefix = spec.with_key_sums = true;
        spec.bias_shared = SHARED_HEADS;
        spec.flags |= ATTEND_KEY_SUMS;
        spec_set_window(&spec, 700, 0);
        spec_set_batch(&spec, 2);
        spec_set_keys(&spec, 1, 0, 800);
        spec.prefix_lengths[1] = 60;
        return spec;
    default:
        spec = spec_plain(44, 3, fewer_rows(isa, 70), 600, 33, 1);
        spec.kv_heads = 1;
        spec.causal = true;
        spec.diagonal = ATTEND_DIAGONAL_TOP_LEFT;
        spec_set_batch(&spec, 2);
        return spec;
    }
}

static void check_threads(attend_isa isa)
{
    static const struct {
        int32_t threads;
        int64_t inline_work;
        const char *what;
    } teams[] = {
        { 1, IN_TEAM, "a team of 1" }, { 2, IN_TEAM, "a team of 2" }, { 3, IN_TEAM, "a team of 3" },
        { 7, IN_TEAM, "a team of 7" }, { 2, 0, "the default" },
    };
    attend_engine *alone = need_engine(isa, 1, IN_CALLER);
    for (size_t i = 0; i < sizeof teams / sizeof *teams; i++) {
        attend_engine *engine = need_engine(isa, teams[i].threads, teams[i].inline_work);
        for (int base = 0; base < BASE_COUNT; base++) {
            struct spec spec = base_spec(isa, base);
            struct sample reference;
            run_spec(&reference, &spec, alone);
            expect_same(&reference, &spec, engine, teams[i].what);
            sample_free(&reference);
        }
        attend_engine_destroy(engine);
    }
    attend_engine_destroy(alone);
}

ISA_TESTS(bits, threads, check_threads)

/* For every base: the engine, the base's spec and its results. */
typedef void (*variations_fn)(attend_engine *engine, const struct spec *spec, const struct sample *reference);

static void vary_bases(attend_isa isa, variations_fn vary)
{
    attend_engine *engine = need_engine(isa, 2, IN_TEAM);
    for (int base = 0; base < BASE_COUNT; base++) {
        struct spec spec = base_spec(isa, base);
        struct sample reference;
        run_spec(&reference, &spec, engine);
        vary(engine, &spec, &reference);
        sample_free(&reference);
    }
    attend_engine_destroy(engine);
}

static void vary_company(attend_engine *engine, const struct spec *spec, const struct sample *reference)
{
    for (int64_t item = 0; item < spec->batch; item++) {
        struct spec alone = *spec;
        struct sample sample;
        alone.batch = 1;
        alone.label[0] = spec->label[item];
        alone.key_starts[0] = spec->key_starts[item];
        alone.key_lengths[0] = spec->key_lengths[item];
        alone.query_starts[0] = spec->query_starts[item];
        alone.query_lengths[0] = spec->query_lengths[item];
        alone.prefix_lengths[0] = spec->prefix_lengths[item];
        run_spec(&sample, &alone, engine);
        for (int64_t head = 0; head < spec->heads; head++)
            expect_verdict(compare_rows((struct rows){ reference, item, head, 0 }, (struct rows){ &sample, 0, head, 0 },
                                        spec->query_lengths[item]),
                           "an item alone");
        sample_free(&sample);
    }
}

static void check_company(attend_isa isa)
{
    vary_bases(isa, vary_company);
}

ISA_TESTS(bits, batch_and_items_alone, check_company)

/* `before` and `after` are padding keys; rows get a third of it. */
static void pad_spec(struct spec *spec, int64_t before, int64_t after)
{
    for (int64_t item = 0; item < spec->batch; item++) {
        spec_set_keys(spec, item, before, spec->key_lengths[item]);
        spec_set_rows(spec, item, before / 3, spec->query_lengths[item]);
    }
    spec->keys += before + after;
    spec->rows += before / 3 + after / 3;
}

static void vary_padding(attend_engine *engine, const struct spec *spec, const struct sample *reference)
{
    static const int64_t paddings[][2] = { { 0, 1 },   { 0, 77 },   { 0, 1000 }, { 1, 0 },
                                           { 130, 0 }, { 515, 64 }, { 5, 3 } };
    for (size_t i = 0; i < sizeof paddings / sizeof *paddings; i++) {
        struct spec padded = *spec;
        pad_spec(&padded, paddings[i][0], paddings[i][1]);
        expect_same(reference, &padded, engine, "padding");
        padded.flags |= ATTEND_KEEP_PADDING_ROWS;
        if (i == 5)
            expect_same(reference, &padded, engine, "padding rows kept");
    }
}

static void check_padding(attend_isa isa)
{
    vary_bases(isa, vary_padding);
}

ISA_TESTS(bits, padding_length_and_side, check_padding)

static void vary_layouts(attend_engine *engine, const struct spec *spec, const struct sample *reference)
{
    for (int layout = 0; layout < LAYOUT_COUNT; layout++) {
        struct spec other = *spec;
        other.query_layout = (enum layout)layout;
        other.kv_layout = (enum layout)((layout + 1) % LAYOUT_COUNT);
        other.output_layout = (enum layout)((layout + 2) % LAYOUT_COUNT);
        other.visible_layout = (enum layout)((layout + 3) % LAYOUT_COUNT);
        other.side = layout % 2 ? GUARD_AFTER : GUARD_BEFORE;
        expect_same(reference, &other, engine, "a layout");
    }
}

static void check_layouts(attend_isa isa)
{
    vary_bases(isa, vary_layouts);
    attend_engine *engine = need_engine(isa, 2, IN_TEAM);
    struct spec spec = spec_plain(55, 4, fewer_rows(isa, 530), fewer_rows(isa, 530), 40, 40);
    struct sample reference;
    spec.kv_heads = 2;
    spec_set_batch(&spec, 2);
    run_spec(&reference, &spec, engine);
    spec.one_buffer = true;
    expect_same(&reference, &spec, engine, "query, key and value packed in one buffer");
    sample_free(&reference);
    attend_engine_destroy(engine);
}

ISA_TESTS(bits, layouts, check_layouts)

/* Rows [from, to) of a causal prefill as a call of its own: over the keys so far, or over all keys with a position. */
static void expect_chunk(const struct sample *whole, attend_engine *engine, int64_t from, int64_t to,
                         bool with_positions)
{
    struct spec spec = whole->spec;
    struct sample sample;
    spec.rows = spec.query_lengths[0] = to - from;
    spec.first_row[0] = from;
    spec.diagonal = with_positions ? ATTEND_DIAGONAL_POSITION : ATTEND_DIAGONAL_BOTTOM_RIGHT;
    spec.positions[0] = from;
    if (!with_positions)
        spec.keys = spec.key_lengths[0] = to;
    run_spec(&sample, &spec, engine);
    for (int64_t head = 0; head < spec.heads; head++)
        expect_verdict(compare_rows((struct rows){ whole, 0, head, from }, (struct rows){ &sample, 0, head, 0 },
                                    to - from),
                       with_positions ? "a chunk with a position" : "a chunk over the keys so far");
    sample_free(&sample);
}

static struct spec prefill_spec(int64_t rows, bool windowed)
{
    struct spec spec = spec_plain(66, 2, rows, rows, 32, 32);
    spec.kv_heads = 1;
    spec.causal = true;
    if (windowed)
        spec_set_window(&spec, 300, 0);
    return spec;
}

static void check_chunks(attend_isa isa)
{
    static const int64_t sizes[] = { 5, 140, 570, 1100 };
    attend_engine *engine = need_engine(isa, 2, IN_TEAM);
    struct dice dice = { .seed = test_seed(7) };
    const size_t count = sizeof sizes / sizeof *sizes - (isa == ATTEND_ISA_PORTABLE);
    for (size_t i = 0; i < 2 * count; i++) {
        struct spec spec = prefill_spec(sizes[i / 2], i % 2);
        struct sample whole;
        run_spec(&whole, &spec, engine);
        for (int64_t from = 0, to; from < spec.rows; from = to) {
            to = spec.rows == 5 ? from + 2 + from / 2 : from + dice_between(&dice, 1, 250);
            to = to < spec.rows ? to : spec.rows;
            expect_chunk(&whole, engine, from, to, false);
            expect_chunk(&whole, engine, from, to, true);
        }
        sample_free(&whole);
    }
    attend_engine_destroy(engine);
}

ISA_TESTS(bits, chunks, check_chunks)

static void check_decode(attend_isa isa)
{
    int64_t rows = isa == ATTEND_ISA_PORTABLE ? 530 : 1100;
    attend_engine *engine = need_engine(isa, 2, IN_TEAM);
    for (int windowed = 0; windowed < 2; windowed++) {
        struct spec spec = prefill_spec(rows, windowed);
        struct sample whole;
        run_spec(&whole, &spec, engine);
        for (int64_t row = 0; row < rows; row += row < 20 || (row > 505 && row < 520) ? 1 : 13) {
            expect_chunk(&whole, engine, row, row + 1, false);
            expect_chunk(&whole, engine, row, row + 1, true);
        }
        sample_free(&whole);
    }
    attend_engine_destroy(engine);
}

ISA_TESTS(bits, decode, check_decode)

/* Rows [from, to) of the first item in a call of their own, wherever the base has its diagonal. */
static void expect_rows_alone(const struct sample *whole, attend_engine *engine, int64_t from, int64_t to)
{
    struct spec spec = whole->spec;
    struct sample sample;
    bool top_left = spec.diagonal == ATTEND_DIAGONAL_TOP_LEFT;
    spec.batch = 1;
    spec.positions[0] = from + (top_left ? 0 : spec.key_lengths[0] - spec.query_lengths[0]);
    spec.diagonal = ATTEND_DIAGONAL_POSITION;
    spec.rows = to - from;
    spec.first_row[0] = from;
    spec_set_rows(&spec, 0, 0, to - from);
    run_spec(&sample, &spec, engine);
    for (int64_t head = 0; head < spec.heads; head++)
        expect_verdict(compare_rows((struct rows){ whole, 0, head, from }, (struct rows){ &sample, 0, head, 0 },
                                    to - from),
                       "rows without their neighbours");
    sample_free(&sample);
}

static void vary_neighbours(attend_engine *engine, const struct spec *spec, const struct sample *reference)
{
    int64_t rows = spec->query_lengths[0];
    for (int64_t from = 0, count = 1; from < rows; from += count + 9, count = count % 7 + 1)
        expect_rows_alone(reference, engine, from, from + count < rows ? from + count : rows);
}

static void check_neighbours(attend_isa isa)
{
    vary_bases(isa, vary_neighbours);
}

ISA_TESTS(bits, rows_without_neighbours, check_neighbours)

static void vary_packing(attend_engine *engine, const struct spec *spec, const struct sample *reference)
{
    for (int axes = 1; axes < 4; axes++) {
        struct spec packed = *spec;
        if (axes & 1)
            spec_pack_queries(&packed, axes - 1);
        if (axes & 2)
            spec_pack_keys(&packed, axes);
        expect_same(reference, &packed, engine, "packed");
    }
}

static void check_packing(attend_isa isa)
{
    vary_bases(isa, vary_packing);
}

ISA_TESTS(bits, packed_and_padded, check_packing)

static const int64_t page_sizes[] = { 1, 2, 3, 7, 16, 20, 64, 128, 512, 1024 };

enum { PAGE_SIZES = sizeof page_sizes / sizeof *page_sizes, POOLS = 3 };

/* [page][head][token][feature], [page][token][head][feature], or both tensors in one pool. */
static struct spec paged_spec(const struct spec *contiguous, int64_t page_keys, size_t pool)
{
    struct spec spec = *contiguous;
    spec.kv_layout = pool == 1 ? LAYOUT_BSHD : LAYOUT_BHSD;
    (pool == 2 ? spec_set_one_pool : spec_set_pages)(&spec, page_keys, (int64_t)pool);
    return spec;
}

/* Keys begin and end inside of pages, of most sizes. */
static struct spec cached_spec(int64_t rows, size_t number)
{
    static const int64_t groups[] = { 1, 4, 8 }, widths[][2] = { { 128, 96 }, { 64, 64 }, { 40, 33 } };
    const int64_t kv_heads = rows < 20 ? 2 : 1, *width = widths[number % 3];
    struct spec spec = spec_plain(200 + number, kv_heads * groups[number % 3], rows, 1100, width[0], width[1]);
    spec.kv_heads = kv_heads;
    spec_set_batch(&spec, 3);
    spec_set_keys(&spec, 0, 5, 1037);
    spec_set_keys(&spec, 1, 309, 607);
    spec_set_keys(&spec, 2, 1090, 3);
    spec.causal = number % 2;
    spec.with_sinks = number / 3 % 2;
    if (number % 4 == 1)
        spec_set_window(&spec, 200, 30);
    return spec;
}

/* The number of a problem decides its pools, too: over all of them each page size has each pool. The portable set takes every other
 * size of each problem. */
static void check_pages(attend_isa isa)
{
    const int64_t rows[] = { 1, 4, 17, fewer_rows(isa, 230) };
    const bool few = isa == ATTEND_ISA_PORTABLE;
    attend_engine *engine = need_engine(isa, 2, IN_TEAM);
    for (size_t number = 0; number < 12; number++) {
        struct spec spec = cached_spec(rows[number / 3], number);
        struct sample reference;
        run_spec(&reference, &spec, engine);
        for (size_t i = few ? number % 2 : 0; i < PAGE_SIZES; i += few ? 2 : 1) {
            struct spec paged = paged_spec(&spec, page_sizes[i], (i + number / 3) % POOLS);
            expect_same(&reference, &paged, engine, "pages");
        }
        sample_free(&reference);
    }
    attend_engine_destroy(engine);
}

ISA_TESTS(bits, pages_of_any_size, check_pages)

static void vary_pages(attend_engine *engine, const struct spec *spec, const struct sample *reference)
{
    for (size_t pool = 0; pool < POOLS; pool++) {
        struct spec paged = paged_spec(spec, page_sizes[3 + pool * 2], pool);
        expect_same(reference, &paged, engine, "pages");
        pad_spec(&paged, 37, 5);
        spec_pack_queries(&paged, 1);
        expect_same(reference, &paged, engine, "pages of padded keys, and rows packed");
    }
}

static void check_pages_of_bases(attend_isa isa)
{
    vary_bases(isa, vary_pages);
}

ISA_TESTS(bits, pages_and_options, check_pages_of_bases)

/* Two items with the same numbers, of which the second has fewer keys. */
static struct spec common_spec(int64_t rows)
{
    struct spec spec = spec_plain(300, 4, rows, 800, 32, 24);
    spec.kv_heads = 1;
    spec_set_batch(&spec, 2);
    spec.label[1] = spec.label[0];
    spec_set_keys(&spec, 0, 9, 777);
    spec_set_keys(&spec, 1, 9, 433);
    return spec;
}

/* The first item's pages serve the second as well, but for the one in which it ends; its own are poison. */
static void share_pages(struct sample *sample)
{
    int32_t *table = (int32_t *)sample->tables.data;
    const struct entries own = spec_entries(&sample->spec, 1);
    for (int64_t key = 9; key < (own.high - 1) * sample->spec.page_keys; key++)
        for (int64_t d = 0; d < sample->spec.d_k; d++)
            *(float *)sample_key_at(sample, &sample->key, 1, 0, key, d) = NAN;
    for (int64_t n = own.low; n < own.high - 1; n++)
        table[sample->table_stride + n] = table[n];
}

static void expect_shared(const struct sample *reference, const struct spec *paged, attend_engine *engine)
{
    struct sample sample;
    sample_make(&sample, paged);
    share_pages(&sample);
    expect_ok(sample_forward(&sample, engine));
    expect_verdict(compare_samples(reference, &sample), "pages of two items");
    sample_free(&sample);
}

static void check_shared_pages(attend_isa isa)
{
    static const int64_t rows[] = { 1, 17 };
    attend_engine *engine = need_engine(isa, 2, IN_TEAM);
    for (size_t number = 0; number < 2 * PAGE_SIZES; number++) {
        struct spec spec = common_spec(rows[number % 2]);
        struct spec paged = paged_spec(&spec, page_sizes[number / 2], number % POOLS);
        struct sample reference;
        run_spec(&reference, &spec, engine);
        expect_shared(&reference, &paged, engine);
        paged.kv_shared = SHARED_ITEMS;
        expect_same(&reference, &paged, engine, "one table for all items");
        sample_free(&reference);
    }
    attend_engine_destroy(engine);
}

ISA_TESTS(bits, pages_of_two_items, check_shared_pages)

/* Flags of 8 keys to a byte, and flags of the last keys alone, where the ones before are visible. */
static void vary_flags(attend_engine *engine, const struct spec *spec, const struct sample *reference)
{
    struct spec bits = *spec;
    if (spec->visibility == VISIBLE_ALL)
        return;
    bits.with_bits = true;
    expect_same(reference, &bits, engine, "flags as bits");
    pad_spec(&bits, 13, 5); /* the item's first flag is inside a byte */
    expect_same(reference, &bits, engine, "flags as bits from inside a byte");
    bits = *spec;
    bits.visible_tail = spec->keys;
    expect_same(reference, &bits, engine, "flags of as many last keys as there are");
    bits.visible_tail = spec->keys + 9;
    bits.with_bits = true;
    expect_same(reference, &bits, engine, "flags of more last keys than there are, as bits");
}

static void check_flags(attend_isa isa)
{
    vary_bases(isa, vary_flags);
}

ISA_TESTS(bits, flags_as_bits_and_bytes, check_flags)

/* The weights of a head's rows, added in their order. */
static void expect_ordered_sums(const struct sample *sample, int64_t item, int64_t head)
{
    const struct spec *spec = &sample->spec;
    for (int64_t j = 0; j < spec->key_lengths[item]; j++) {
        const int64_t key = spec->key_starts[item] + j;
        float sum = 0.0f;
        for (int64_t i = 0; i < spec->query_lengths[item]; i++)
            sum += *(float *)box_at(&sample->weights, item, head, spec->query_starts[item] + i, key);
        const float found = *(float *)box_at(&sample->key_sums, item, head, 0, key);
        const bool same = isnan(sum) ? isnan(found) : memcmp(&found, &sum, sizeof sum) == 0;
        cr_assert(same, "the sum of item %lld, head %lld, key %lld is %.9g, its weights give %.9g: %s", (long long)item,
                  (long long)head, (long long)j, (double)found, (double)sum, spec_text(spec));
    }
}

static void check_sums(attend_isa isa)
{
    attend_engine *engine = need_engine(isa, 2, IN_TEAM);
    for (int base = 0; base < 2 * BASE_COUNT; base++) {
        struct spec spec = base_spec(isa, base / 2);
        struct sample sample;
        spec.with_key_sums = spec.with_weights = true;
        spec.flags |= ATTEND_KEY_SUMS;
        sample_make(&sample, &spec);
        if (base % 2)
            sample_poison_some(&sample);
        expect_ok(sample_forward(&sample, engine));
        for (int64_t item = 0; item < spec.batch; item++)
            for (int64_t head = 0; head < spec.heads; head++)
                expect_ordered_sums(&sample, item, head);
        sample_free(&sample);
    }
    attend_engine_destroy(engine);
}

ISA_TESTS(bits, key_sums_add_rows_in_order, check_sums)

/* Options that are given but change nothing. */
static void open_sample(struct sample *sample)
{
    float *slopes = (float *)sample->numbers.data, *sinks = slopes + sample->spec.heads;
    memset(sample->visible.memory.data, 0xff, sample->visible.memory.bytes);
    memset(sample->bias.memory.data, 0, sample->bias.memory.bytes);
    for (int64_t head = 0; head < sample->spec.heads; head++) {
        slopes[head] = 0.0f;
        sinks[head] = -INFINITY;
    }
}

static void vary_openness(attend_engine *engine, const struct spec *spec, const struct sample *reference)
{
    if (spec->visibility != VISIBLE_ALL || spec->with_sinks)
        return;
    for (int bits = 0; bits < 2; bits++) {
        struct spec open = *spec;
        struct sample sample;
        open.visibility = VISIBLE_FULL;
        open.with_bits = bits;
        open.with_bias = open.with_alibi = open.with_sinks = open.with_prefix = true;
        if (!(spec->flags & ATTEND_WINDOW))
            spec_set_window(&open, -1, -1);
        sample_make(&sample, &open);
        open_sample(&sample);
        expect_ok(sample_forward(&sample, engine));
        expect_verdict(compare_samples(reference, &sample), "options that change nothing");
        sample_free(&sample);
    }
}

static void check_openness(attend_isa isa)
{
    vary_bases(isa, vary_openness);
}

ISA_TESTS(bits, options_that_change_nothing, check_openness)

static void vary_groups(attend_engine *engine, const struct spec *spec, const struct sample *reference)
{
    struct spec repeated = *spec;
    repeated.kv_heads = spec->heads;
    repeated.kv_repeat = spec->heads / spec->kv_heads;
    expect_same(reference, &repeated, engine, "repeated heads");
}

static void check_groups(attend_isa isa)
{
    vary_bases(isa, vary_groups);
}

ISA_TESTS(bits, grouped_and_repeated_heads, check_groups)

/* The first available set is the reference of the others. */
struct sets {
    size_t count;
    attend_engine *engine[8];
};

static struct sets make_sets(void)
{
    attend_isa isas[8];
    struct sets sets = { .count = attend_isa_available(isas, 8) };
    if (sets.count < 2)
        cr_skip_test("there is only one instruction set here");
    for (size_t i = 0; i < sets.count; i++)
        sets.engine[i] = need_engine(isas[i], 2, 0);
    return sets;
}

static void free_sets(struct sets *sets)
{
    for (size_t i = 0; i < sets->count; i++)
        attend_engine_destroy(sets->engine[i]);
}

static void expect_sets_agree(const struct sets *sets, const struct spec *spec, void (*poison)(struct sample *))
{
    struct sample reference, sample;
    sample_make(&reference, spec);
    sample_make(&sample, spec);
    if (poison) {
        poison(&reference);
        poison(&sample);
    }
    expect_ok(sample_forward(&reference, sets->engine[0]));
    for (size_t i = 1; i < sets->count; i++) {
        sample_reset(&sample);
        expect_ok(sample_forward(&sample, sets->engine[i]));
        expect_verdict(compare_samples(&reference, &sample), "another instruction set");
    }
    sample_free(&reference);
    sample_free(&sample);
}

Test(bits, instruction_sets_random, .timeout = 170)
{
    struct sets sets = make_sets();
    uint64_t seed = test_seed(0xb1750000);
    int64_t count = test_count(250);
    for (int64_t i = 0; i < count; i++) {
        struct spec spec;
        spec_random(&spec, seed + (uint64_t)i, 5e5);
        expect_sets_agree(&sets, &spec, NULL);
        expect_sets_agree(&sets, &spec, sample_poison_some);
    }
    free_sets(&sets);
}

/* Scores from far apart to beyond what the exponential can hold, and subnormal values. */
Test(bits, instruction_sets_extremes, .timeout = 170)
{
    static const float stretches[] = { 1e-30f, 0.1f, 30.0f, 300.0f, 1e10f, 1e30f };
    struct sets sets = make_sets();
    for (int base = 0; base < BASE_COUNT; base++)
        for (size_t i = 0; i < sizeof stretches / sizeof *stretches; i++) {
            struct spec spec = base_spec(ATTEND_ISA_PORTABLE, base);
            spec.query_stretch = stretches[i];
            spec.value_stretch = i == 0 ? 1e-39f : 1.0f;
            expect_sets_agree(&sets, &spec, NULL);
        }
    free_sets(&sets);
}

/* A product that underflows below zero would leave -0, where a hidden key leaves +0: results hold no -0 at all. */
static void check_zeros(attend_isa isa)
{
    attend_engine *engine = need_engine(isa, 1, 0);
    for (int64_t keys = 2; keys < 1200; keys += 599) {
        struct spec spec = spec_plain(1, 1, 3, keys, 1, 17);
        struct sample sample;
        spec.query_stretch = 0.0f;
        spec.value_stretch = 0.0f;
        sample_make(&sample, &spec);
        for (int64_t row = 0; row < 3; row++)
            *(float *)box_at(&sample.query, 0, 0, row, 0) = 1.0f;
        for (int64_t key = 0; key < keys; key++)
            *(float *)box_at(&sample.key, 0, 0, key, 0) = key ? -3.0f : 0.0f;
        for (int64_t d = 0; d < spec.d_v; d++)
            *(float *)box_at(&sample.value, 0, 0, keys - 1, d) = -0x1p-149f;
        expect_ok(sample_forward(&sample, engine));
        for (int64_t row = 0; row < 3; row++)
            for (int64_t d = 0; d < spec.d_v; d++)
                cr_assert(*(uint32_t *)box_at(&sample.output, 0, 0, row, d) == 0, "a zero with another sign");
        sample_free(&sample);
    }
    attend_engine_destroy(engine);
}

ISA_TESTS(bits, no_negative_zero, check_zeros)
