/* Ranges of keys against their definition, key by key, and sums of them against the ranges: pure functions of numbers. */
#include "engine/problem/visible.h"

#include <criterion/criterion.h>
#include <string.h>

enum { RANDOM_PROBLEMS = 4000 };

__extension__ typedef __int128 wide;

static int64_t draw(uint64_t *state, int64_t low, int64_t high)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return low + (int64_t)((*state >> 20) % (uint64_t)(high - low + 1));
}

/* Within the rows and keys, or as far as positions and windows go. */
static int64_t draw_far(uint64_t *state, int64_t low, int64_t limit)
{
    return draw(state, 0, 3) ? draw(state, low, 60) : draw(state, low < 0 ? -limit : limit - 60, limit);
}

struct drawn {
    struct attend__problem problem;
    struct attend__item item;
};

static struct drawn draw_problem(uint64_t *state)
{
    struct attend__item item = { .keys = draw(state, 0, 40), .rows = draw(state, 1, 40),
                                 .diagonal = draw_far(state, -60, INT64_C(1) << 60) };
    item.prefix = draw(state, 0, 1) ? draw(state, 0, item.keys) : 0;
    const struct attend__problem problem = {
        .left = draw(state, 0, 3) ? draw_far(state, 0, INT64_C(1) << 60) : ATTEND__UNBOUNDED,
        .right = draw(state, 0, 3) ? draw_far(state, 0, INT64_C(1) << 60) : ATTEND__UNBOUNDED,
    };
    return (struct drawn){ problem, item };
}

static bool sees(const struct drawn *drawn, int64_t i, int64_t j)
{
    if (j < drawn->item.prefix)
        return true;
    const wide distance = (wide)j - drawn->item.diagonal - i;
    return distance >= -(wide)drawn->problem.left && distance <= drawn->problem.right;
}

static bool is_inside(struct attend__range range, int64_t j)
{
    return j >= range.low && j < range.high;
}

/* Key j of those that ranges are about. */
static bool is_shared(const struct drawn *drawn, int64_t j)
{
    return j < attend__shared_prefix(&drawn->problem, &drawn->item);
}

Test(visible, ranges_are_the_rule)
{
    uint64_t state = 1;
    for (int n = 0; n < RANDOM_PROBLEMS; n++) {
        const struct drawn drawn = draw_problem(&state);
        for (int64_t i = 0; i < drawn.item.rows; i++) {
            const struct attend__range range = attend__row_range(&drawn.problem, &drawn.item, i);
            cr_assert(attend__shared_prefix(&drawn.problem, &drawn.item) <= range.low);
            cr_assert(range.low <= range.high && range.high <= drawn.item.keys);
            for (int64_t j = 0; j < drawn.item.keys; j++)
                cr_assert((is_inside(range, j) || is_shared(&drawn, j)) == sees(&drawn, i, j), "problem %d, row %ld, key %ld", n,
                          (long)i, (long)j);
        }
    }
}

Test(visible, rows_together)
{
    uint64_t state = 2;
    for (int n = 0; n < RANDOM_PROBLEMS; n++) {
        const struct drawn drawn = draw_problem(&state);
        const int64_t first = draw(&state, 0, drawn.item.rows - 1), count = draw(&state, 1, drawn.item.rows - first);
        const struct attend__range some = attend__rows_union(&drawn.problem, &drawn.item, first, count);
        const struct attend__range shared = attend__rows_shared(&drawn.problem, &drawn.item, first, count);
        int64_t pairs = 0;
        for (int64_t j = 0; j < drawn.item.keys; j++) {
            int64_t rows = 0;
            for (int64_t i = first; i < first + count; i++)
                rows += sees(&drawn, i, j);
            const bool ranged = !is_shared(&drawn, j);
            cr_assert(is_inside(some, j) == (ranged && rows > 0), "problem %d, key %ld", n, (long)j);
            cr_assert(is_inside(shared, j) == (ranged && rows == count), "problem %d, key %ld", n, (long)j);
            pairs += rows;
        }
        const double found = attend__range_pairs(&drawn.problem, &drawn.item, first, count);
        cr_assert(found == (double)pairs, "problem %d: %g pairs, should be %ld", n, found, (long)pairs);
    }
}

/* One step of a row moves either end by one key at most, and never back. */
Test(visible, ends_move_slowly)
{
    uint64_t state = 3;
    for (int n = 0; n < RANDOM_PROBLEMS; n++) {
        const struct drawn drawn = draw_problem(&state);
        struct attend__range former = attend__row_range(&drawn.problem, &drawn.item, 0);
        for (int64_t i = 1; i < drawn.item.rows; i++) {
            const struct attend__range range = attend__row_range(&drawn.problem, &drawn.item, i);
            cr_assert(range.low == former.low || range.low == former.low + 1, "problem %d, row %ld", n, (long)i);
            cr_assert(range.high == former.high || range.high == former.high + 1, "problem %d, row %ld", n, (long)i);
            former = range;
        }
    }
}

/* An item's part of the axes, by offsets, and a prefix that ends with its keys. */
Test(visible, packed_items)
{
    static const int64_t rows[] = { 0, 3, 3, 7 }, keys[] = { 0, 5, 9, 9 }, prefixes[] = { 2, 100, 1 };
    static const struct attend__item items[] = {
        { .key_start = 0, .keys = 5, .row_start = 0, .rows = 3, .diagonal = 2, .prefix = 2 },
        { .key_start = 5, .keys = 4, .row_start = 3, .rows = 0, .diagonal = 4, .prefix = 4 },
        { .key_start = 0, .keys = 0, .row_start = 3, .rows = 4, .diagonal = -4, .prefix = 0 },
    };
    const struct attend__problem problem = { .packed_queries = true, .packed_keys = true };
    const struct attend__call call = { .batch = 3, .rows = 7, .keys = 9, .query_offsets = rows, .key_offsets = keys,
                                       .prefix_lengths = prefixes };
    for (int64_t b = 0; b < 3; b++) {
        const struct attend__item item = attend__item_of(&problem, &call, b);
        cr_expect(memcmp(&item, &items[b], sizeof item) == 0, "item %ld", (long)b);
    }
}

/* Numbers too large to count through: a million rows and keys. */
Test(visible, pairs_of_large_problems)
{
    const struct {
        int64_t left, right, prefix;
        double pairs;
    } rules[] = {
        { ATTEND__UNBOUNDED, ATTEND__UNBOUNDED, 0, 1e12 },
        { ATTEND__UNBOUNDED, 0, 0, 1e6 * 1000001 / 2 },
        { ATTEND__UNBOUNDED, 0, 1000, 1e6 * 1000001 / 2 + 1000.0 * 999 / 2 },
        { 255, 0, 0, 256e6 - 255.0 * 256 / 2 },
        { 0, 0, 0, 1e6 },
        { 0, 0, 1000, 1000e6 + 999e3 },
        { 100, 100, 0, 201e6 - 100.0 * 101 },
        { 100, 100, 1000000, 1e12 },
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const struct attend__item item = { .keys = 1000000, .rows = 1000000, .prefix = rules[i].prefix };
        const struct attend__problem problem = { .left = rules[i].left, .right = rules[i].right };
        cr_expect(attend__range_pairs(&problem, &item, 0, item.rows) == rules[i].pairs, "rule %zu", i);
    }
}
