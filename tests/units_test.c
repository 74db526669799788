/* The cut of a run into units, a pure function: every row of every head exactly once, longest units first, small ones last, and never
 * more units than were promised room for. */
#include "engine/plan/units.h"

#include "engine/kernel/kernel.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { RANDOM_CUTS = 3000, ITEMS_MOST = 12 };

struct cut {
    struct attend__problem problem;
    struct attend__call call;
    struct attend__schedule schedule;
    int64_t unit_rows;
    struct attend__cut_room room;
    int threads;
};

static int64_t draw(uint64_t *state, int64_t low, int64_t high)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return low + (int64_t)((*state >> 33) % (uint64_t)(high - low + 1));
}

/* 0 is the causal rule on the right. */
static int64_t draw_side(uint64_t *state)
{
    switch (draw(state, 0, 3)) {
    case 0: return 0;
    case 1: return draw(state, 0, 700);
    default: return ATTEND__UNBOUNDED;
    }
}

static void make_cut(struct cut *cut)
{
    if (cut->unit_rows == 0)
        cut->unit_rows = attend__unit_rows(&cut->problem, 1 << 20);
    cr_assert(attend__units_room(&cut->room, &cut->problem, cut->threads, cut->unit_rows));
    /* One more, which stays as it is. */
    cut->schedule.items = calloc((size_t)cut->call.batch + 1, sizeof *cut->schedule.items);
    cut->schedule.units = calloc((size_t)cut->room.units + 1, sizeof *cut->schedule.units);
    cut->schedule.splits = calloc((size_t)cut->room.splits + 1, sizeof *cut->schedule.splits);
    cr_assert(cut->schedule.items && cut->schedule.units && cut->schedule.splits);
    cut->schedule.units[cut->room.units].item = cut->schedule.splits[cut->room.splits].item = -7;
    attend__units_cut(&cut->schedule, &cut->problem, &cut->call, cut->threads, cut->unit_rows, &cut->room);
    cr_assert(cut->schedule.count <= cut->room.units && cut->schedule.units[cut->room.units].item == -7, "%lld units, room for %lld",
              (long long)cut->schedule.count, (long long)cut->room.units);
    cr_assert(cut->schedule.split_count <= cut->room.splits && cut->schedule.splits[cut->room.splits].item == -7,
              "%lld splits, room for %lld", (long long)cut->schedule.split_count, (long long)cut->room.splits);
}

static void free_cut(struct cut *cut)
{
    free(cut->schedule.items);
    free(cut->schedule.units);
    free(cut->schedule.splits);
}

/* Pieces of each split take its tiles once and in order of their numbers, and its slots lie in the room, apart from each other. */
static void expect_splits(const struct cut *cut)
{
    int64_t slot = 0;
    for (int64_t s = 0; s < cut->schedule.split_count; s++) {
        const struct attend__split *split = &cut->schedule.splits[s];
        const struct attend__range seen =
            attend__unit_union(&cut->problem, &cut->schedule.items[split->item], split->first, split->rows);
        int64_t pieces = 0, tiles = 0;
        unsigned char *taken = calloc((size_t)split->tiles + 1, 1);
        for (int64_t u = 0; u < cut->schedule.count; u++) {
            const struct attend__unit_ref *unit = &cut->schedule.units[u];
            if (unit->tiles == 0 || unit->split != s)
                continue;
            cr_assert(unit->item == split->item && unit->kv_head == split->kv_head && unit->first == split->first &&
                      unit->rows == split->rows);
            cr_assert(unit->tile != split->tile || unit->tiles == split->first_tiles);
            pieces++;
            tiles += unit->tiles;
            for (int64_t t = unit->tile - split->tile; t < unit->tile - split->tile + unit->tiles; t++)
                cr_assert(t >= 0 && t < split->tiles && taken[t]++ == 0, "tile %lld of %lld", (long long)t, (long long)split->tiles);
        }
        cr_assert(pieces == split->pieces && pieces >= 2 && tiles == split->tiles);
        cr_assert(split->tile * ATTEND__KV_TILE <= seen.low && (split->tile + tiles) * ATTEND__KV_TILE >= seen.high);
        cr_assert(split->slot == slot, "slot %lld, should be %lld", (long long)split->slot, (long long)slot);
        slot += attend__split_slots(split) * attend__slot_floats(split->rows, cut->problem.d_v);
        free(taken);
    }
    cr_assert(slot <= cut->room.slot_floats);
}

/* Every row of the group of every head is in one unit, and padding rows of every head are cleared once where there are any. */
static void expect_partition(const struct cut *cut)
{
    const struct attend__problem *problem = &cut->problem;
    const int64_t rows_most = problem->rows * problem->group;
    unsigned char *seen = calloc((size_t)(cut->call.batch * problem->kv_heads * rows_most) + 1, 1);
    int64_t cleared = 0, rows = 0, must_clear = 0, must_compute = 0;
    for (int64_t u = 0; u < cut->schedule.count; u++) {
        const struct attend__unit_ref *unit = &cut->schedule.units[u];
        if (unit->kv_head == ATTEND__CLEAR_UNIT) {
            cleared++;
            continue;
        }
        cr_assert(unit->rows > 0 && unit->rows <= cut->unit_rows);
        if (unit->tiles > 0 && unit->tile != cut->schedule.splits[unit->split].tile)
            continue; /* the rows of the first piece */
        unsigned char *row = seen + (unit->item * problem->kv_heads + unit->kv_head) * rows_most + unit->first;
        for (int64_t r = 0; r < unit->rows; r++)
            cr_assert(row[r]++ == 0, "row %lld is in two units", (long long)(unit->first + r));
        rows += unit->rows;
    }
    for (int64_t b = 0; b < cut->call.batch; b++) {
        must_compute += cut->schedule.items[b].rows * problem->heads;
        must_clear += !problem->packed_queries && cut->schedule.items[b].rows < cut->call.rows ? problem->heads : 0;
    }
    cr_assert(rows == must_compute, "%lld rows of %lld", (long long)rows, (long long)must_compute);
    cr_assert(cleared == must_clear);
    free(seen);
}

static double pairs_of(const struct cut *cut, int64_t u)
{
    const struct attend__unit_ref *unit = &cut->schedule.units[u];
    const double share = unit->tiles > 0 ? (double)unit->tiles / (double)cut->schedule.splits[unit->split].tiles : 1;
    return attend__unit_pairs(&cut->problem, &cut->schedule.items[unit->item], unit->first, unit->rows) * share;
}

/* A run of some problem; lengths and offsets are the caller's, for ITEMS_MOST items and one more. */
static struct cut draw_cut(uint64_t *state, int64_t *lengths, int64_t *offsets)
{
    const int64_t kv_heads = draw(state, 1, 9), group = draw(state, 1, 4);
    const int64_t rows = draw(state, 1, draw(state, 0, 1) ? 2000 : 8), keys = rows + draw(state, 0, 1) * draw(state, 0, 60000);
    struct cut cut = {
        .problem = { .batch = draw(state, 1, ITEMS_MOST), .heads = kv_heads * group, .kv_heads = kv_heads, .group = group,
                     .rows = rows, .keys = keys, .d_k = 64, .d_v = draw(state, 0, 1) ? 64 : 512,
                     .left = draw_side(state), .right = draw_side(state), .packed_queries = draw(state, 0, 1) },
        .threads = (int)draw(state, 1, draw(state, 0, 1) ? 3 : 64),
        .unit_rows = draw(state, 0, 1) ? 0 : ATTEND__UNIT_ROWS_LEAST,
    };
    cut.call = (struct attend__call){ .batch = draw(state, 1, cut.problem.batch), .rows = rows, .keys = keys };
    for (int64_t b = 0; b < cut.call.batch; b++)
        lengths[b] = draw(state, 0, rows);
    offsets[0] = 0;
    for (int64_t b = 0; b < cut.call.batch; b++) {
        const int64_t left = rows - offsets[b], some = draw(state, 0, 1) ? left : left > 0;
        offsets[b + 1] = b + 1 < cut.call.batch ? offsets[b] + draw(state, 0, some) : rows;
    }
    if (cut.problem.packed_queries)
        cut.call.query_offsets = offsets;
    else if (draw(state, 0, 1))
        cut.call.key_lengths = cut.call.query_lengths = lengths;
    if (draw(state, 0, 1))
        cut.call.prefix_lengths = lengths;
    return cut;
}

Test(units, every_row_once)
{
    uint64_t state = 1;
    for (int i = 0; i < RANDOM_CUTS; i++) {
        int64_t lengths[ITEMS_MOST], offsets[ITEMS_MOST + 1];
        struct cut cut = draw_cut(&state, lengths, offsets);
        make_cut(&cut);
        expect_partition(&cut);
        expect_splits(&cut);
        free_cut(&cut);
    }
}

/* Generation: few rows, many keys, fewer heads than threads. */
Test(units, keys_are_cut_where_rows_are_few)
{
    for (int threads = 1; threads <= 64; threads *= 2) {
        struct cut cut = {
            .problem = { .batch = 1, .heads = 32, .kv_heads = 8, .group = 4, .rows = 1, .keys = 65536, .d_k = 128, .d_v = 128,
                         .left = ATTEND__UNBOUNDED, .right = 0, .diagonal = ATTEND_DIAGONAL_BOTTOM_RIGHT },
            .call = { .batch = 1, .rows = 1, .keys = 65536 },
            .threads = threads,
        };
        make_cut(&cut);
        expect_partition(&cut);
        expect_splits(&cut);
        cr_expect(cut.schedule.split_count == (threads == 1 ? 0 : 8), "%d threads: %lld splits", threads,
                  (long long)cut.schedule.split_count);
        cr_expect(threads == 1 || cut.schedule.count >= 8 * threads, "%d threads: %lld units", threads, (long long)cut.schedule.count);
        free_cut(&cut);
    }
}

/* A long generation among short ones and a prefill is cut, and what has enough units is not. */
Test(units, only_what_is_long_is_cut)
{
    static const int64_t keys[] = { 60000, 600, 2048, 700 }, rows[] = { 1, 1, 300, 2 };
    struct cut cut = {
        .problem = { .batch = 4, .heads = 8, .kv_heads = 2, .group = 4, .rows = 300, .keys = 60000, .d_k = 128, .d_v = 128,
                     .left = ATTEND__UNBOUNDED, .right = 0, .diagonal = ATTEND_DIAGONAL_BOTTOM_RIGHT },
        .call = { .batch = 4, .rows = 300, .keys = 60000, .key_lengths = keys, .query_lengths = rows },
        .threads = 4,
    };
    make_cut(&cut);
    expect_partition(&cut);
    expect_splits(&cut);
    int64_t of_item[4] = { 0 };
    for (int64_t s = 0; s < cut.schedule.split_count; s++)
        of_item[cut.schedule.splits[s].item]++;
    cr_expect(of_item[0] == 2 && of_item[1] == 0 && of_item[3] == 0, "%lld, %lld, %lld splits", (long long)of_item[0],
              (long long)of_item[1], (long long)of_item[3]);
    free_cut(&cut);
    cut.problem.batch = cut.call.batch = 64;
    cut.call.key_lengths = cut.call.query_lengths = NULL;
    cut.call.rows = cut.problem.rows = 1;
    make_cut(&cut);
    cr_expect(cut.schedule.split_count == 0, "128 equal units for 4 threads, of which %lld are cut", (long long)cut.schedule.split_count);
    free_cut(&cut);
}

static int64_t most_units(const struct attend__problem *problem, int threads)
{
    struct attend__cut_room room;
    cr_assert(attend__units_room(&room, problem, threads, ATTEND__UNIT_ROWS_LEAST));
    return room.units;
}

/* Packed rows: the room is what the worst lengths take, and does not grow with the batch beyond that. */
Test(units, room_for_packed_rows)
{
    enum { UNIT = ATTEND__UNIT_ROWS_LEAST };
    const struct {
        int64_t batch, rows, group, units;
    } cases[] = {
        { 1, 240 * UNIT, 1, 240 },
        { 2, 240 * UNIT, 1, 240 + 1 },                        /* 1 row, then the rest */
        { 1000, 1000, 1, 1000 },                              /* a row each */
        { 1000000, 1000, 1, 1000 },
        { 100, 240 * UNIT + 100, 1, 240 + 100 },              /* one row more than full units each */
        { 10, 1000, 4, 10 + (4000 - 10) / UNIT },
        { 0, 0, 1, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct attend__problem problem = { .batch = cases[i].batch, .heads = 3 * cases[i].group, .kv_heads = 3,
                                           .group = cases[i].group, .rows = cases[i].rows, .packed_queries = true };
        const struct attend__problem none = { .packed_queries = true };
        /* What a single thread has room for in any case. */
        const int64_t least = most_units(&none, 1), pieces = least - 16;
        const int64_t capacity = most_units(&problem, 1);
        const int64_t units = 3 * cases[i].units > 16 ? 3 * cases[i].units : 16;
        cr_expect(capacity == units + pieces, "case %zu: room for %lld units, should be %lld", i, (long long)capacity,
                  (long long)(units + pieces));
    }
    /* Sizes whose products would not fit without packing. */
    const struct attend__problem large = { .batch = INT64_C(1) << 56, .heads = 1 << 12, .kv_heads = 1 << 12, .group = 1,
                                           .rows = INT64_C(1) << 50, .packed_queries = true };
    cr_expect(most_units(&large, 4096) > INT64_C(1) << 62);
}

/* Keys of the prefix are work like others. */
Test(units, the_prefix_counts)
{
    static const int64_t prefixes[] = { 0, 1000 };
    struct cut cut = {
        .problem = { .batch = 2, .heads = 2, .kv_heads = 1, .group = 2, .rows = 512, .keys = 2048, .d_k = 64, .d_v = 64,
                     .left = 100, .right = 0, .diagonal = ATTEND_DIAGONAL_BOTTOM_RIGHT },
        .call = { .batch = 2, .rows = 512, .keys = 2048, .prefix_lengths = prefixes },
        .threads = 2,
    };
    make_cut(&cut);
    const double window = 512 * 101, all = 2 * window + 512 * 1000;
    double pairs = 0;
    for (int64_t u = 0; u < cut.schedule.count; u++)
        pairs += pairs_of(&cut, u);
    cr_expect(pairs == 2 * all, "%g pairs, should be %g", pairs, 2 * all);
    cr_expect(cut.schedule.work == 2 * all * 128, "%g multiply-adds", cut.schedule.work);
    cr_expect(cut.schedule.units[0].item == 1, "the item with a prefix comes first");
    free_cut(&cut);
}

/* What a thread may still have to do when another finds nothing left. */
Test(units, the_last_are_small)
{
    /* Everything, causal, a window. */
    static const int64_t sides[][2] = { { ATTEND__UNBOUNDED, ATTEND__UNBOUNDED }, { ATTEND__UNBOUNDED, 0 }, { 100, 0 } };
    for (size_t s = 0; s < sizeof sides / sizeof *sides; s++)
        for (int threads = 1; threads <= 16; threads *= 2) {
            struct cut cut = {
                .problem = { .batch = 8, .heads = 12, .kv_heads = 12, .group = 1, .rows = 512, .keys = 512, .d_k = 64, .d_v = 64,
                             .left = sides[s][0], .right = sides[s][1] },
                .call = { .batch = 8, .rows = 512, .keys = 512 },
                .threads = threads,
            };
            make_cut(&cut);
            double total = 0;
            for (int64_t u = 0; u < cut.schedule.count; u++)
                total += pairs_of(&cut, u);
            const double share = pairs_of(&cut, cut.schedule.count - 1) * threads / total;
            cr_expect(threads == 1 || share < 0.03, "%d threads: the last unit is %.3f of a thread's work", threads, share);
            cr_expect(pairs_of(&cut, 0) * threads / total < 0.2);
            free_cut(&cut);
        }
}

/* Items without rows at the end of the batch have no units to cut. */
Test(units, the_last_with_rows_are_small)
{
    static const int64_t lengths[] = { 512, 512, 512, 512, 512, 512, 0, 0 };
    struct cut cut = {
        .problem = { .batch = 8, .heads = 12, .kv_heads = 12, .group = 1, .rows = 512, .keys = 512, .d_k = 64, .d_v = 64 },
        .call = { .batch = 8, .rows = 512, .keys = 512, .query_lengths = lengths },
        .threads = 2,
    };
    make_cut(&cut);
    int64_t small = 0;
    for (int64_t u = 0; u < cut.schedule.count; u++)
        small += cut.schedule.units[u].kv_head != ATTEND__CLEAR_UNIT && cut.schedule.units[u].rows <= 512 / 3;
    cr_expect(small >= 8, "%lld small units", (long long)small);
    free_cut(&cut);
}

Test(units, longest_first)
{
    static const int64_t lengths[] = { 16, 700, 300, 1024 };
    struct cut cut = {
        .problem = { .batch = 4, .heads = 4, .kv_heads = 2, .group = 2, .rows = 1024, .keys = 1024, .d_k = 64, .d_v = 64,
                     .left = ATTEND__UNBOUNDED, .right = ATTEND__UNBOUNDED },
        .call = { .batch = 4, .rows = 1024, .keys = 1024, .key_lengths = lengths, .query_lengths = lengths },
        .threads = 2,
    };
    make_cut(&cut);
    for (int64_t u = 1; u < cut.schedule.count; u++)
        if (cut.schedule.units[u].kv_head != ATTEND__CLEAR_UNIT && cut.schedule.units[u - 1].kv_head != ATTEND__CLEAR_UNIT)
            cr_expect(pairs_of(&cut, u) <= pairs_of(&cut, u - 1) * 1.25, "unit %lld", (long long)u);
    free_cut(&cut);
}

/* Sane whatever the topology reports, and whatever the widths: whole blocks within the bounds, fewer where sums are wide. */
Test(units, rows_of_a_full_unit)
{
    static const int64_t caches[] = { 0, 1, 32 << 10, 256 << 10, 1 << 20, 2 << 20, INT64_C(1) << 40, INT64_MAX };
    static const int64_t widths[] = { 0, 1, 64, 128, 512, 4096, INT64_C(1) << 40 };
    for (size_t c = 0; c < sizeof caches / sizeof *caches; c++)
        for (int64_t keys = 512; keys <= 513; keys++) {
            int64_t former = ATTEND__UNIT_ROWS_MOST;
            for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
                const struct attend__problem problem = { .keys = keys, .d_v = widths[w] };
                const int64_t rows = attend__unit_rows(&problem, caches[c]);
                cr_expect(rows >= ATTEND__UNIT_ROWS_LEAST && rows <= former && rows % ATTEND__BLOCK_ROWS == 0, "%lld rows",
                          (long long)rows);
                former = rows;
            }
        }
    const struct attend__problem one_tile = { .keys = 512, .d_v = 256 }, tiles = { .keys = 513, .d_v = 256 };
    cr_expect(attend__unit_rows(&one_tile, 1 << 20) == 768);
    cr_expect(attend__unit_rows(&tiles, 1 << 20) == 192 && attend__unit_rows(&tiles, 0) == 192);
    cr_expect(attend__unit_rows(&tiles, 2 << 20) == 384);
}
