/* New keys into caches: every bit where it belongs and none elsewhere, contiguous and in pages; a generation whose steps have the bytes of
 * one-shot attention; refusals that leave the caches alone. */
#include "tests/help_counter.h"
#include "tests/help_suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITEMS = 3, MOST_ENTRIES = 4096 };

/* ---- placement, against a copy of the cache that is written element by element ---- */

enum packing { BY_ROWS, BY_LENGTHS, BY_OFFSETS, PACKINGS };

struct placement {
    int64_t batch, kv_heads, d_k, d_v, rows, keys, page_keys; /* rows: of an item */
    attend_dtype dtype;
    enum layout cache_layout, new_layout;
    enum packing packing;
    bool with_lengths, one_table;
    struct box key, value, new_key, new_value;
    int64_t lengths[ITEMS], counts[ITEMS], offsets[ITEMS + 1];
    int32_t tables[MOST_ENTRIES];
    int64_t entries; /* of an item */
    attend_append_args args;
};

static const char *placement_text(const struct placement *p)
{
    static char text[240];
    snprintf(text, sizeof text, "dtype=%d b%lld g%lld k%lld v%lld rows=%lld keys=%lld page=%lld cache=%s new=%s packing=%d one_table=%d",
             (int)p->dtype, (long long)p->batch, (long long)p->kv_heads, (long long)p->d_k, (long long)p->d_v, (long long)p->rows,
             (long long)p->keys, (long long)p->page_keys, layout_name(p->cache_layout), layout_name(p->new_layout), (int)p->packing,
             (int)p->one_table);
    return text;
}

/* Any bits of the type in the lower bytes, a fifth of them signalling NaNs. */
static uint32_t draw_bits(uint64_t bits, attend_dtype dtype)
{
    const uint32_t nans[] = { [ATTEND_F32] = 0x7f800001, [ATTEND_BF16] = 0x7f81, [ATTEND_F16] = 0x7c01 };
    const uint32_t payloads[] = { [ATTEND_F32] = 0x3fffff, [ATTEND_BF16] = 0x3f, [ATTEND_F16] = 0x1ff };
    const uint32_t any = (uint32_t)(bits >> 32);
    return bits % 5 == 0 ? nans[dtype] | (any & payloads[dtype]) : any;
}

static void fill(struct box *box, uint64_t seed)
{
    uint64_t place = 0;
    for (int64_t b = 0; b < box->extent[0]; b++)
        for (int64_t g = 0; g < box->extent[1]; g++)
            for (int64_t r = 0; r < box->extent[2]; r++)
                for (int64_t d = 0; d < box->extent[3]; d++) {
                    const uint32_t word = draw_bits(counter_bits(seed, place++), box->view.dtype);
                    const uint16_t half = (uint16_t)word;
                    memcpy(box_at(box, b, g, r, d), box->element == 2 ? (const void *)&half : &word, box->element);
                }
}

/* Pages in mixed order; entries that hold no new key name none. */
static void make_tables(struct placement *p, struct dice *dice, int64_t *pages)
{
    const int64_t tables = p->one_table ? 1 : p->batch;
    p->entries = (p->keys + p->page_keys - 1) / p->page_keys;
    *pages = tables * p->entries + 2;
    cr_assert(*pages <= MOST_ENTRIES);
    for (int64_t n = 0; n < tables * p->entries; n++) {
        const int64_t other = dice_between(dice, 0, n);
        p->tables[n] = p->tables[other];
        p->tables[other] = (int32_t)n + 1;
    }
    for (int64_t b = 0; b < tables && !p->one_table; b++)
        for (int64_t n = 0; n < p->entries; n++) {
            const int64_t first = n * p->page_keys, past = first + p->page_keys;
            if (p->counts[b] == 0 || past <= p->lengths[b] || first >= p->lengths[b] + p->counts[b])
                p->tables[b * p->entries + n] = n % 2 ? -1 : INT32_MAX;
        }
}

static void draw_lengths(struct placement *p, struct dice *dice)
{
    for (int64_t b = 0; b < p->batch; b++) {
        p->counts[b] = p->packing == BY_ROWS ? p->rows : dice_between(dice, 0, p->rows);
        p->lengths[b] = p->with_lengths ? dice_between(dice, 0, p->keys - p->counts[b]) : 0;
        p->offsets[b + 1] = p->offsets[b] + p->counts[b];
    }
}

static void draw(struct placement *p, uint64_t seed)
{
    static const int64_t pages[] = { 0, 0, 1, 3, 16, 1024 };
    struct dice dice = { seed, 0 };
    memset(p, 0, sizeof *p);
    p->batch = dice_between(&dice, 1, ITEMS);
    p->kv_heads = dice_between(&dice, 1, 3);
    p->d_k = dice_between(&dice, 1, 20);
    p->d_v = dice_between(&dice, 1, 20);
    p->rows = dice_between(&dice, 0, 40);
    p->keys = p->rows + dice_between(&dice, 0, 60);
    p->page_keys = dice_pick(&dice, pages, sizeof pages / sizeof *pages);
    p->cache_layout = (enum layout)dice_between(&dice, 0, LAYOUT_COUNT - 1);
    p->new_layout = (enum layout)dice_between(&dice, 0, LAYOUT_COUNT - 1);
    p->packing = (enum packing)dice_between(&dice, 0, PACKINGS - 1);
    p->with_lengths = dice_between(&dice, 0, 3) > 0;
    p->one_table = dice_between(&dice, 0, 4) == 0;
    p->dtype = (attend_dtype)dice_between(&dice, ATTEND_F32, ATTEND_F16);
    draw_lengths(p, &dice);
}

static void make_boxes(struct placement *p, int64_t pages, uint64_t seed)
{
    const bool packed = p->packing == BY_OFFSETS;
    const int64_t items = p->page_keys ? pages : p->batch, places = p->page_keys ? p->page_keys : p->keys;
    const int64_t new_items = packed ? 1 : p->batch, rows = packed ? p->offsets[p->batch] : p->rows;
    box_make(&p->key, p->cache_layout, 0, p->dtype, (const int64_t[]){ items, p->kv_heads, places, p->d_k }, GUARD_AFTER);
    box_make(&p->value, p->cache_layout, 0, p->dtype, (const int64_t[]){ items, p->kv_heads, places, p->d_v }, GUARD_BEFORE);
    box_make(&p->new_key, p->new_layout, 0, p->dtype, (const int64_t[]){ new_items, p->kv_heads, rows, p->d_k }, GUARD_AFTER);
    box_make(&p->new_value, p->new_layout, 0, p->dtype, (const int64_t[]){ new_items, p->kv_heads, rows, p->d_v }, GUARD_BEFORE);
    fill(&p->new_key, seed + 1);
    fill(&p->new_value, seed + 2);
}

static void set_args(struct placement *p, int64_t pages)
{
    attend_append_args args = ATTEND_APPEND_ARGS_INIT;
    args.batch = p->batch;
    args.kv_heads = p->kv_heads;
    args.d_k = p->d_k;
    args.d_v = p->d_v;
    args.rows = p->packing == BY_OFFSETS ? p->offsets[p->batch] : p->rows;
    args.keys = p->keys;
    args.new_key = &p->new_key.view;
    args.new_value = &p->new_value.view;
    args.key = &p->key.view;
    args.value = &p->value.view;
    args.lengths = p->with_lengths ? p->lengths : NULL;
    args.new_lengths = p->packing == BY_LENGTHS ? p->counts : NULL;
    args.new_offsets = p->packing == BY_OFFSETS ? p->offsets : NULL;
    args.page_keys = p->page_keys;
    args.block_tables = p->page_keys ? p->tables : NULL;
    args.table_stride = p->page_keys && !p->one_table ? p->entries : 0;
    args.pages = pages;
    p->args = args;
}

/* What the cache's memory must hold afterwards. */
static void write_expected(const struct placement *p, const struct box *cache, const struct box *fresh, unsigned char *expected)
{
    for (int64_t b = 0; b < p->batch; b++)
        for (int64_t r = 0; r < p->counts[b]; r++)
            for (int64_t g = 0; g < p->kv_heads; g++)
                for (int64_t d = 0; d < cache->extent[3]; d++) {
                    const int64_t j = p->lengths[b] + r;
                    const int32_t *table = p->tables + (p->one_table ? 0 : b * p->entries);
                    const unsigned char *to = p->page_keys ? box_at(cache, table[j / p->page_keys], g, j % p->page_keys, d)
                                                           : box_at(cache, b, g, j, d);
                    const bool packed = p->packing == BY_OFFSETS;
                    memcpy(expected + (to - cache->memory.data),
                           box_at(fresh, packed ? 0 : b, g, packed ? p->offsets[b] + r : r, d), cache->element);
                }
}

static unsigned char *copy_of(const struct box *box)
{
    unsigned char *copy = malloc(box->memory.bytes + 1);
    cr_assert_not_null(copy);
    memcpy(copy, box->memory.data, box->memory.bytes);
    return copy;
}

static void check_placement(uint64_t seed, attend_engine *engine)
{
    struct placement p;
    int64_t pages = 0;
    draw(&p, seed);
    if (p.page_keys)
        make_tables(&p, &(struct dice){ seed + 3, 0 }, &pages);
    make_boxes(&p, pages, seed);
    set_args(&p, pages);
    unsigned char *key = copy_of(&p.key), *value = copy_of(&p.value);
    write_expected(&p, &p.key, &p.new_key, key);
    write_expected(&p, &p.value, &p.new_value, value);
    guarded_freeze(&p.new_key.memory);
    guarded_freeze(&p.new_value.memory);
    const attend_status status = attend_append(engine, &p.args);
    cr_assert(status == ATTEND_OK, "%s: %s; seed %#llx", attend_last_error(), placement_text(&p), (unsigned long long)seed);
    cr_assert(memcmp(key, p.key.memory.data, p.key.memory.bytes) == 0, "keys: %s; seed %#llx", placement_text(&p),
              (unsigned long long)seed);
    cr_assert(memcmp(value, p.value.memory.data, p.value.memory.bytes) == 0, "values: %s; seed %#llx", placement_text(&p),
              (unsigned long long)seed);
    free(key), free(value);
    box_free(&p.key), box_free(&p.value), box_free(&p.new_key), box_free(&p.new_value);
}

Test(append, random_places, .timeout = 170)
{
    attend_engine *engine = need_engine(ATTEND_ISA_AUTO, 1, 0);
    const uint64_t seed = test_seed(0xa99e0000);
    const int64_t count = test_count(3000);
    for (int64_t i = 0; i < count; i++)
        check_placement(seed + (uint64_t)i, engine);
    attend_engine_destroy(engine);
}

/* ---- a generation ---- */

enum { HEADS = 4, KV_HEADS = 2, D_K = 24, D_V = 20, STEPS = 220, KEYS = 640, SEQUENCES = 2 };

static const int64_t prefilled[SEQUENCES] = { 400, 311 };

struct cache {
    float *key, *value;
    attend_tensor key_view, value_view;
    int64_t page_keys, pages, entries; /* 0: contiguous */
    int32_t *tables;
    attend_plan *prefill, *step;
};

struct generation {
    struct sample whole; /* causal attention over all rows at once */
    attend_engine *engine;
    int64_t lengths[SEQUENCES], with_new[SEQUENCES];
    float output[SEQUENCES * HEADS * KEYS * D_V], lse[SEQUENCES * HEADS * KEYS];
};

static void *need_memory(size_t bytes)
{
    void *memory = malloc(bytes);
    cr_assert_not_null(memory);
    memset(memory, 0xff, bytes);
    return memory;
}

static attend_plan *need_plan(const struct generation *generation, const struct cache *cache, int64_t rows)
{
    attend_problem problem = generation->whole.problem;
    attend_plan *plan = NULL;
    problem.rows = rows;
    problem.keys = KEYS;
    problem.page_keys = cache->page_keys;
    problem.flags |= cache->page_keys ? ATTEND_PAGED_KEYS : 0;
    expect_ok(attend_plan_create(&plan, generation->engine, &problem));
    return plan;
}

/* Items take pages by turns, the highest first. */
static void make_cache(struct cache *cache, const struct generation *generation, int64_t page_keys)
{
    const int64_t places = page_keys ? page_keys : KEYS;
    *cache = (struct cache){ .page_keys = page_keys };
    cache->entries = page_keys ? (KEYS + page_keys - 1) / page_keys : 0;
    cache->pages = SEQUENCES * cache->entries;
    const size_t keys = (size_t)((page_keys ? cache->pages : SEQUENCES) * KV_HEADS * places);
    cache->key = need_memory(keys * D_K * sizeof(float));
    cache->value = need_memory(keys * D_V * sizeof(float));
    cache->key_view = attend_view_bhsd(cache->key, KV_HEADS, places, D_K);
    cache->value_view = attend_view_bhsd(cache->value, KV_HEADS, places, D_V);
    cache->tables = need_memory((size_t)(cache->pages + 1) * sizeof *cache->tables);
    for (int64_t b = 0; b < SEQUENCES; b++)
        for (int64_t n = 0; n < cache->entries; n++)
            cache->tables[b * cache->entries + n] = (int32_t)(cache->pages - 1 - n * SEQUENCES - b);
    cache->prefill = need_plan(generation, cache, KEYS);
    cache->step = need_plan(generation, cache, 1);
}

static void free_cache(struct cache *cache)
{
    attend_plan_destroy(cache->prefill);
    attend_plan_destroy(cache->step);
    free(cache->key), free(cache->value), free(cache->tables);
}

/* Every item's own rows from lengths[b] on, gathered from the whole sample. */
static attend_tensor gather(const struct generation *generation, const struct box *box, int64_t rows, float *memory)
{
    const int64_t heads = box->extent[1], width = box->extent[3];
    for (int64_t b = 0; b < SEQUENCES; b++)
        for (int64_t h = 0; h < heads; h++)
            for (int64_t r = 0; r < rows && generation->lengths[b] + r < box->extent[2]; r++)
                for (int64_t d = 0; d < width; d++)
                    memcpy(&memory[((b * heads + h) * rows + r) * width + d], box_at(box, b, h, generation->lengths[b] + r, d),
                           sizeof *memory);
    return attend_view_bhsd(memory, heads, rows, width);
}

static void append_new(struct generation *generation, struct cache *cache, int64_t rows, const int64_t *counts)
{
    float *memory = need_memory((size_t)(SEQUENCES * KV_HEADS * rows * (D_K + D_V)) * sizeof *memory);
    const attend_tensor key = gather(generation, &generation->whole.key, rows, memory);
    const attend_tensor value = gather(generation, &generation->whole.value, rows, memory + SEQUENCES * KV_HEADS * rows * D_K);
    attend_append_args args = ATTEND_APPEND_ARGS_INIT;
    args.batch = SEQUENCES;
    args.kv_heads = KV_HEADS;
    args.d_k = D_K;
    args.d_v = D_V;
    args.rows = rows;
    args.keys = KEYS;
    args.new_key = &key;
    args.new_value = &value;
    args.key = &cache->key_view;
    args.value = &cache->value_view;
    args.lengths = generation->lengths;
    args.new_lengths = counts;
    args.page_keys = cache->page_keys;
    args.block_tables = cache->page_keys ? cache->tables : NULL;
    args.table_stride = cache->entries;
    args.pages = cache->pages;
    expect_ok(attend_append(generation->engine, &args));
    free(memory);
}

static void attend_to(struct generation *generation, const struct cache *cache, int64_t rows, const int64_t *counts)
{
    float *memory = need_memory((size_t)(SEQUENCES * HEADS * rows * D_K) * sizeof *memory);
    const attend_tensor query = gather(generation, &generation->whole.query, rows, memory);
    const attend_tensor output = attend_view_bhsd(generation->output, HEADS, rows, D_V);
    const attend_tensor lse = attend_view_bhsd(generation->lse, HEADS, rows, 1);
    attend_args args = ATTEND_ARGS_INIT;
    args.query = &query;
    args.key = &cache->key_view;
    args.value = &cache->value_view;
    args.output = &output;
    args.lse = &lse;
    args.rows = rows;
    args.query_lengths = counts;
    args.key_lengths = generation->with_new;
    args.block_tables = cache->page_keys ? cache->tables : NULL;
    args.table_stride = cache->entries;
    args.pages = cache->pages;
    memset(generation->output, 0xff, sizeof generation->output);
    memset(generation->lse, 0xff, sizeof generation->lse);
    expect_ok(attend_run(rows == 1 ? cache->step : cache->prefill, &args));
    free(memory);
}

static void expect_rows(const struct generation *generation, int64_t rows, const int64_t *counts, const char *what)
{
    for (int64_t b = 0; b < SEQUENCES; b++)
        for (int64_t h = 0; h < HEADS; h++)
            for (int64_t r = 0; r < counts[b]; r++) {
                const int64_t at = (b * HEADS + h) * rows + r, row = generation->lengths[b] + r;
                cr_assert(memcmp(&generation->lse[at], box_at(&generation->whole.lse, b, h, row, 0), sizeof(float)) == 0,
                          "%s: LSE of item %lld, head %lld, row %lld", what, (long long)b, (long long)h, (long long)row);
                for (int64_t d = 0; d < D_V; d++)
                    cr_assert(memcmp(&generation->output[at * D_V + d], box_at(&generation->whole.output, b, h, row, d),
                                     sizeof(float)) == 0,
                              "%s: output of item %lld, head %lld, row %lld, column %lld", what, (long long)b, (long long)h,
                              (long long)row, (long long)d);
            }
}

static void advance(struct generation *generation, struct cache *caches, size_t count, int64_t rows, const int64_t *counts)
{
    for (int64_t b = 0; b < SEQUENCES; b++)
        generation->with_new[b] = generation->lengths[b] + counts[b];
    for (size_t i = 0; i < count; i++) {
        append_new(generation, &caches[i], rows, counts);
        attend_to(generation, &caches[i], rows, counts);
        expect_rows(generation, rows, counts, caches[i].page_keys ? "pages" : "contiguous");
    }
    memcpy(generation->lengths, generation->with_new, sizeof generation->lengths);
}

static void check_generation(attend_isa isa)
{
    static struct generation generation;
    static const int64_t page_sizes[] = { 0, 1, 16, 1024 }, one[SEQUENCES] = { 1, 1 };
    enum { CACHES = sizeof page_sizes / sizeof *page_sizes };
    struct cache caches[CACHES];
    struct spec spec = spec_plain(5, HEADS, KEYS, KEYS, D_K, D_V);
    spec.kv_heads = KV_HEADS;
    spec.causal = true;
    spec_set_batch(&spec, SEQUENCES);
    for (int64_t b = 0; b < SEQUENCES; b++) {
        spec_set_keys(&spec, b, 0, prefilled[b] + STEPS);
        spec_set_rows(&spec, b, 0, prefilled[b] + STEPS);
    }
    sample_make(&generation.whole, &spec);
    generation.engine = need_engine(isa, 2, 0);
    expect_ok(sample_forward(&generation.whole, generation.engine));
    for (size_t i = 0; i < CACHES; i++)
        make_cache(&caches[i], &generation, page_sizes[i]);
    advance(&generation, caches, CACHES, prefilled[0], prefilled);
    for (int step = 0; step < STEPS; step++)
        advance(&generation, caches, CACHES, 1, one);
    for (size_t i = 0; i < CACHES; i++)
        free_cache(&caches[i]);
    sample_free(&generation.whole);
    attend_engine_destroy(generation.engine);
}

ISA_TESTS(append, generation_is_one_shot, check_generation)

/* ---- refusals, one broken rule each ---- */

/* 2 items with 1 and 2 keys of 6, 2 new ones each; 2 KV heads; pages of 2 keys. */
struct fixture {
    float memory[2 * 2 * 6 * 4 * 2]; /* both caches */
    float new_memory[2 * 2 * 2 * 4 * 2];
    attend_tensor key, value, new_key, new_value;
    int64_t lengths[2], new_lengths[2], new_offsets[3];
    int32_t tables[2 * 3];
    attend_append_args args;
};

static void set_up(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    for (size_t i = 0; i < sizeof f->memory / sizeof *f->memory; i++)
        f->memory[i] = (float)i;
    f->key = attend_view_bhsd(f->memory, 2, 6, 4);
    f->value = attend_view_bhsd(f->memory + 2 * 2 * 6 * 4, 2, 6, 3);
    f->new_key = attend_view_bhsd(f->new_memory, 2, 2, 4);
    f->new_value = attend_view_bhsd(f->new_memory + 2 * 2 * 2 * 4, 2, 2, 3);
    f->lengths[0] = 1, f->lengths[1] = 2;
    f->new_lengths[0] = f->new_lengths[1] = 2;
    f->args = (attend_append_args)ATTEND_APPEND_ARGS_INIT;
    f->args.batch = f->args.kv_heads = f->args.rows = 2;
    f->args.d_k = 4, f->args.d_v = 3, f->args.keys = 6;
    f->args.new_key = &f->new_key, f->args.new_value = &f->new_value;
    f->args.key = &f->key, f->args.value = &f->value;
    f->args.lengths = f->lengths, f->args.new_lengths = f->new_lengths;
}

/* Caches of 2 bytes an element, one right behind the other. */
static void set_up_half(struct fixture *f)
{
    set_up(f);
    f->value.data = (char *)f->memory + 2 * 96;
    f->key.dtype = f->value.dtype = f->new_key.dtype = f->new_value.dtype = ATTEND_BF16;
}

/* Entries 0 and 1 of item 0 and entry 1 of item 1 get keys. */
static void set_up_pages(struct fixture *f)
{
    static const int32_t tables[] = { 3, 1, -1, -1, 5, -1 };
    set_up(f);
    memcpy(f->tables, tables, sizeof tables);
    f->key = attend_view_bhsd(f->key.data, 2, 2, 4);
    f->value = attend_view_bhsd(f->value.data, 2, 2, 3);
    f->args.page_keys = 2;
    f->args.block_tables = f->tables;
    f->args.table_stride = 3;
    f->args.pages = 6;
}

/* Of 3 new keys: 1 and 2. */
static void set_up_packed(struct fixture *f)
{
    static const int64_t offsets[] = { 0, 1, 3 };
    set_up(f);
    memcpy(f->new_offsets, offsets, sizeof offsets);
    f->new_key = attend_view_bhsd(f->new_key.data, 2, 3, 4);
    f->new_value = attend_view_bhsd(f->new_value.data, 2, 3, 3);
    f->args.rows = 3;
    f->args.new_lengths = NULL;
    f->args.new_offsets = f->new_offsets;
}

static void expect_refused(struct fixture *f, attend_status wanted, const char *says)
{
    const struct fixture before = *f;
    const attend_status status = attend_append(NULL, &f->args);
    cr_expect(status == wanted, "'%s' is %s, should be %s", says, attend_status_name(status), attend_status_name(wanted));
    cr_expect(strstr(attend_last_error(), says) != NULL, "'%s' does not say '%s'", attend_last_error(), says);
    cr_expect(memcmp(&before, f, sizeof before) == 0, "'%s': something was written", says);
}

/* Breaking it is refused; without, the same call is right. */
#define REFUSED(name, set, status, says, ...)           \
    Test(append, refuses_##name, .timeout = 60)         \
    {                                                   \
        struct fixture f;                               \
        set(&f);                                        \
        expect_ok(attend_append(NULL, &f.args));        \
        set(&f);                                        \
        __VA_ARGS__;                                    \
        expect_refused(&f, ATTEND_ERR_##status, says);  \
    }

REFUSED(struct_size, set_up, ARGUMENT, "args.struct_size", f.args.struct_size = 8)
REFUSED(batch, set_up, ARGUMENT, "args.batch is -1", f.args.batch = -1)
REFUSED(kv_heads, set_up, ARGUMENT, "args.kv_heads is -2", f.args.kv_heads = -2)
REFUSED(d_k, set_up, ARGUMENT, "args.d_k is -1", f.args.d_k = -1)
REFUSED(d_v, set_up, ARGUMENT, "args.d_v is", f.args.d_v = INT64_MAX)
REFUSED(rows, set_up, ARGUMENT, "args.rows is -1", f.args.rows = -1)
REFUSED(keys, set_up, ARGUMENT, "args.keys is -1", f.args.keys = -1)
REFUSED(page_keys, set_up_pages, ARGUMENT, "args.page_keys is -1", f.args.page_keys = -1)
REFUSED(pages, set_up_pages, ARGUMENT, "args.pages is -1", f.args.pages = -1)
REFUSED(many_pages, set_up_pages, ARGUMENT, "args.pages is 2147483648", f.args.pages = INT64_C(1) << 31)
REFUSED(table_stride, set_up_pages, ARGUMENT, "args.table_stride is -1", f.args.table_stride = -1)
REFUSED(long_table_stride, set_up_pages, ARGUMENT, "args.table_stride is", f.args.table_stride = INT64_C(1) << 56)
REFUSED(short_table_stride, set_up_pages, ARGUMENT, "args.table_stride is 1", f.args.table_stride = 1)
REFUSED(tables_missing, set_up_pages, ARGUMENT, "args.block_tables is NULL", f.args.block_tables = NULL)
REFUSED(tables_unpaged, set_up, ARGUMENT, "args.block_tables is given", f.args.block_tables = f.tables)
REFUSED(stride_unpaged, set_up, ARGUMENT, "args.table_stride is given", f.args.table_stride = 3)
REFUSED(pages_unpaged, set_up, ARGUMENT, "args.pages is given", f.args.pages = 6)
REFUSED(block_negative, set_up_pages, ARGUMENT, "args.block_tables of item 1 has block -1 at entry 1", f.tables[4] = -1)
REFUSED(block_beyond, set_up_pages, ARGUMENT, "args.block_tables of item 0 has block 6 at entry 1", f.tables[1] = 6)
REFUSED(length_negative, set_up, ARGUMENT, "args.lengths[1] is -1", f.lengths[1] = -1)
REFUSED(new_length_negative, set_up, ARGUMENT, "args.new_lengths[1] is -1", f.new_lengths[1] = -1)
REFUSED(new_length_beyond, set_up, ARGUMENT, "args.new_lengths[1] is 3", f.new_lengths[1] = 3)
REFUSED(length_lowest, set_up, ARGUMENT, "args.lengths[0] is -9223372036854775808", f.lengths[0] = INT64_MIN)
REFUSED(capacity, set_up, CAPACITY, "the cache holds 6", f.lengths[1] = 5)
REFUSED(capacity_pages, set_up_pages, CAPACITY, "the cache holds 6", f.lengths[1] = 5)
REFUSED(capacity_highest, set_up, CAPACITY, "the cache holds 6", f.lengths[1] = INT64_MAX)
REFUSED(capacity_without_new, set_up, CAPACITY, "args.lengths of item 1 is 7", f.lengths[1] = 7; f.new_lengths[1] = 0)
REFUSED(capacity_packed, set_up_packed, CAPACITY, "the cache holds 6", f.lengths[1] = 5)
REFUSED(first_offset, set_up_packed, ARGUMENT, "args.new_offsets[0] is 1", f.new_offsets[0] = 1)
REFUSED(falling_offset, set_up_packed, ARGUMENT, "args.new_offsets[2] is 3", f.new_offsets[1] = 4)
REFUSED(last_offset, set_up_packed, ARGUMENT, "args.new_offsets[2] is 2", f.new_offsets[2] = 2)
REFUSED(offsets_and_lengths, set_up_packed, ARGUMENT, "args.new_lengths is given", f.args.new_lengths = f.new_lengths)
REFUSED(key_missing, set_up, ARGUMENT, "args.key is NULL", f.args.key = NULL)
REFUSED(value_missing, set_up, ARGUMENT, "args.value is NULL", f.args.value = NULL)
REFUSED(new_key_missing, set_up, ARGUMENT, "args.new_key is NULL", f.args.new_key = NULL)
REFUSED(new_value_missing, set_up, ARGUMENT, "args.new_value is NULL", f.args.new_value = NULL)
REFUSED(data_missing, set_up, ARGUMENT, "args.new_value.data is NULL", f.new_value.data = NULL)
REFUSED(misaligned, set_up, ARGUMENT, "args.key.data", f.key.data = (char *)f.key.data + 2)
REFUSED(dtype, set_up, ARGUMENT, "args.value has dtype 1; it must be ATTEND_F32 (0)", f.value.dtype = ATTEND_BF16)
REFUSED(half_key, set_up, ARGUMENT, "args.value has dtype 0; it must be ATTEND_F16 (2)", f.key.dtype = ATTEND_F16)
REFUSED(float_new_key, set_up_half, ARGUMENT, "args.new_key has dtype 0; it must be ATTEND_BF16 (1)", f.new_key.dtype = ATTEND_F32)
REFUSED(other_new_value, set_up_half, ARGUMENT, "args.new_value has dtype 2; it must be", f.new_value.dtype = ATTEND_F16)
REFUSED(half_misaligned, set_up_half, ARGUMENT, "args.new_key.data", f.new_key.data = (char *)f.new_key.data + 1)
REFUSED(half_overlap, set_up_half, ARGUMENT, "args.key overlaps args.value", f.value.data = (char *)f.memory + 2 * 95)
REFUSED(key_size, set_up, ARGUMENT, "args.key.struct_size", f.key.struct_size = 8)
REFUSED(new_dtype, set_up, ARGUMENT, "args.new_key has dtype 3", f.new_key.dtype = ATTEND_BOOL)
REFUSED(far_stride, set_up, ARGUMENT, "leave the address space", f.key.stride[0] = INT64_MAX / 2)
REFUSED(broadcast_key, set_up, ARGUMENT, "args.key has strides 0,", f.key.stride[0] = 0)
REFUSED(broadcast_value, set_up, ARGUMENT, "args.value has strides", f.value.stride[3] = 0)
REFUSED(caches_overlap, set_up, ARGUMENT, "args.key overlaps args.value", f.value.data = f.memory + 95)
REFUSED(new_in_cache, set_up, ARGUMENT, "args.key overlaps args.new_value", f.new_value.data = f.memory + 7)
REFUSED(new_in_value, set_up, ARGUMENT, "args.value overlaps args.new_key", f.new_key.data = f.value.data)
REFUSED(lengths_in_cache, set_up, ARGUMENT, "args.value overlaps args.lengths",
        memset(f.value.data, 0, 16);
        f.args.lengths = f.value.data)
REFUSED(tables_in_cache, set_up_pages, ARGUMENT, "args.key overlaps args.block_tables",
        memset(f.key.data, 0, 24);
        f.args.block_tables = f.key.data)
/* One table for all items, of which the first reads more than the last: its third entry is the cache's first value. */
REFUSED(longer_table_in_cache, set_up_pages, ARGUMENT, "args.value overlaps args.block_tables",
        f.value.data = f.memory + 100;
        memset(f.memory + 98, 0, 12);
        f.args.block_tables = (const int32_t *)(const void *)(f.memory + 98);
        f.args.table_stride = 0;
        f.lengths[0] = 3, f.lengths[1] = 0)

Test(append, refuses_null)
{
    cr_expect(attend_append(NULL, NULL) == ATTEND_ERR_ARGUMENT && strstr(attend_last_error(), "args is NULL"));
}

Test(append, newer_struct)
{
    struct {
        struct fixture f;
        char tail[16];
    } newer;
    memset(&newer, 0, sizeof newer);
    set_up(&newer.f); /* args is its last member */
    newer.f.args.struct_size += 8;
    expect_ok(attend_append(NULL, &newer.f.args));
    newer.tail[3] = 1;
    expect_refused(&newer.f, ATTEND_ERR_UNSUPPORTED, "does not know");
}

/* ---- edges ---- */

/* One item, one head, one feature. */
static attend_append_args edge_args(attend_tensor views[4], float cache[2][8], float fresh[2][8], int64_t rows, int64_t keys)
{
    attend_append_args args = ATTEND_APPEND_ARGS_INIT;
    for (int i = 0; i < 2; i++) {
        views[i] = attend_view_bhsd(cache[i], 1, keys, 1);
        views[2 + i] = attend_view_bhsd(fresh[i], 1, rows, 1);
    }
    args.batch = args.kv_heads = args.d_k = args.d_v = 1;
    args.rows = rows;
    args.keys = keys;
    args.key = &views[0], args.value = &views[1], args.new_key = &views[2], args.new_value = &views[3];
    return args;
}

Test(append, capacity_at_its_edge)
{
    float cache[2][8] = { { 9, 9, 9, 9 }, { 9, 9, 9, 9 } }, fresh[2][8] = { { 1, 2 }, { 3, 4 } };
    attend_tensor views[4];
    int64_t past = 1;
    attend_append_args args = edge_args(views, cache, fresh, 2, 3);
    args.lengths = &past;
    expect_ok(attend_append(NULL, &args));
    cr_expect(cache[0][0] == 9 && cache[0][1] == 1 && cache[0][2] == 2 && cache[0][3] == 9);
    cr_expect(cache[1][0] == 9 && cache[1][1] == 3 && cache[1][2] == 4 && cache[1][3] == 9);
    past = 2;
    cr_expect(attend_append(NULL, &args) == ATTEND_ERR_CAPACITY);
    cr_expect(strstr(attend_last_error(), "the cache holds 3") != NULL, "%s", attend_last_error());
    past = 3;
    args.new_lengths = (const int64_t[]){ 0 };
    expect_ok(attend_append(NULL, &args));
}

/* Two items whose tables share a page: the later one's key stays. */
Test(append, shared_page_keeps_the_later_key)
{
    float cache[2][8] = { { 0 } }, fresh[2][8] = { { 1, 2 }, { 3, 4 } };
    const int32_t table = 1;
    attend_tensor views[4];
    attend_append_args args = edge_args(views, cache, fresh, 1, 4);
    args.batch = args.pages = 2;
    args.page_keys = 4;
    args.block_tables = &table;
    expect_ok(attend_append(NULL, &args));
    cr_expect(cache[0][4] == 2 && cache[1][4] == 4 && cache[0][0] == 0 && cache[0][5] == 0);
}

/* Keys and values in one buffer, feature by feature. */
Test(append, interleaved_caches)
{
    float both[8] = { 0 }, fresh[2][8] = { { 1, 2 }, { 3, 4 } };
    attend_tensor views[4];
    float unused[2][8];
    attend_append_args args = edge_args(views, unused, fresh, 2, 4);
    views[0].data = both, views[1].data = both + 1;
    views[0].stride[2] = views[1].stride[2] = 2;
    args.lengths = (const int64_t[]){ 1 };
    expect_ok(attend_append(NULL, &args));
    cr_expect(both[2] == 1 && both[3] == 3 && both[4] == 2 && both[5] == 4 && both[0] == 0 && both[6] == 0);
}

/* Likewise of 2 bytes: signalling and quiet NaNs of both types. */
Test(append, interleaved_half_caches)
{
    const attend_dtype dtypes[] = { ATTEND_BF16, ATTEND_F16 };
    for (int i = 0; i < 2; i++) {
        uint16_t both[8] = { 0 }, fresh[2][2] = { { 0x7f81, 0xffc2 }, { 0x7c01, 0xfe03 } };
        const uint16_t expected[8] = { 0, 0, 0x7f81, 0x7c01, 0xffc2, 0xfe03, 0, 0 };
        attend_tensor views[4];
        float unused[2][8];
        attend_append_args args = edge_args(views, unused, unused, 2, 4);
        views[0].data = both, views[1].data = both + 1, views[2].data = fresh[0], views[3].data = fresh[1];
        views[0].stride[2] = views[1].stride[2] = 2;
        for (int t = 0; t < 4; t++)
            views[t].dtype = dtypes[i];
        args.lengths = (const int64_t[]){ 1 };
        expect_ok(attend_append(NULL, &args));
        cr_expect(memcmp(both, expected, sizeof both) == 0, "dtype %d", (int)dtypes[i]);
    }
}

Test(append, nothing)
{
    float cache[2][8] = { { 0 } }, fresh[2][8] = { { 1, 2 }, { 3, 4 } };
    attend_tensor views[4];
    attend_append_args args = ATTEND_APPEND_ARGS_INIT;
    expect_ok(attend_append(NULL, &args));
    args.new_offsets = (const int64_t[]){ 0 };
    expect_ok(attend_append(NULL, &args));
    args = edge_args(views, cache, fresh, 2, 3);
    args.d_k = 0;
    args.key = args.new_key = NULL;
    expect_ok(attend_append(NULL, &args));
    cr_expect(cache[0][0] == 0 && cache[1][0] == 3 && cache[1][1] == 4);
    args = edge_args(views, cache, fresh, 0, 0);
    args.key = args.value = args.new_key = args.new_value = NULL;
    expect_ok(attend_append(NULL, &args));
    args = edge_args(views, cache, fresh, 0, 3);
    args.page_keys = 2;
    expect_ok(attend_append(NULL, &args));
}
