/* See units.h. */
#include "engine/plan/units.h"

#include "engine/base/sizes.h"
#include "engine/kernel/kernel.h"
#include "engine/plan/cascade.h"

#include <string.h>

enum {
    UNITS_PER_THREAD = 8, /* so that the last units leave a thread idle for a few per cent of the run at most */
    /* Units' worth of work, per thread, that comes last in pieces: what one thread still has to do when another finds nothing left is
     * a piece at most. */
    PIECEMEAL_UNITS = 2,
    PIECES = 4,
    PACKING_ROWS = 6,     /* to bring a key and to pack it costs about as much as this many rows' work on it */
    SPLIT_ROWS_MOST = 128, /* of units that are cut by keys: a partial is rows / 1024 of the keys and values that it stands for */
    SLOT_BYTES_LEAST = 16 << 20, SLOT_BYTES_PER_THREAD = 1 << 20, /* for partials, at most */
    BUCKETS_PER_DOUBLING = 4,
    BUCKETS = 64 * BUCKETS_PER_DOUBLING
};

static int64_t item_units(const struct attend__problem *problem, const struct attend__item *item, int64_t unit_rows)
{
    return problem->kv_heads * attend__divide_up(item->rows * problem->group, unit_rows);
}

/* A unit's value sums are visited once per tile, beside the tile's keys and values, so they should leave most of the cache to those:
 * a quarter. Keys of one tile are visited once, and the sums are a strip's; their memory, for calls that give visibility or want
 * weights, should still be in proportion. */
int64_t attend__unit_rows(const struct attend__problem *problem, int64_t l2_bytes)
{
    enum { L2_DEFAULT = 1 << 20, L2_LEAST = 256 << 10, L2_MOST = 8 << 20 };
    const int64_t l2 = attend__clamp(l2_bytes > 0 ? l2_bytes : L2_DEFAULT, L2_LEAST, L2_MOST);
    const int64_t sums = problem->keys <= ATTEND__KV_TILE ? l2 : l2 / 4;
    int64_t rows = ATTEND__UNIT_ROWS_MOST;
    while (rows / 2 >= ATTEND__UNIT_ROWS_LEAST && rows * (int64_t)sizeof(float) > sums / (problem->d_v + 1))
        rows /= 2;
    return rows;
}

static bool has_padding_rows(const struct attend__problem *problem, const struct attend__call *call,
                             const struct attend__item *item)
{
    return !problem->keep_padding_rows && !problem->packed_queries && item->rows < call->rows;
}

/* The last units of the last heads, which are cut into pieces. One thread never waits for another. */
struct tail {
    int64_t heads, units; /* of each of them */
    int64_t heads_left;   /* heads that have rows, from the present item on */
};

static struct tail tail_of(int64_t heads, int threads)
{
    if (threads == 1 || heads == 0)
        return (struct tail){ .heads_left = heads };
    const int64_t units = PIECEMEAL_UNITS * (int64_t)threads, tail_heads = attend__min(heads, units);
    return (struct tail){ tail_heads, attend__divide_up(units, tail_heads), heads };
}

/* Units that the pieces add: a tail has fewer than twice the units that it must have. */
static int64_t most_added(int threads)
{
    return (PIECES - 1) * 2 * PIECEMEAL_UNITS * (int64_t)threads;
}

/* Full units of one kv head, at most. Each of the items that share packed rows may end with a unit that is not full. */
static int64_t most_full_units(const struct attend__problem *problem, int64_t unit_rows)
{
    const int64_t rows = problem->rows * problem->group; /* fits: it is part of the query's size */
    const int64_t items = problem->packed_queries ? attend__min(problem->batch, problem->rows) : 1;
    const int64_t units = items + (rows - items) / unit_rows;
    return rows == 0 ? 0 : units;
}

/* Clearing units, at most. */
static int64_t most_clearing(const struct attend__problem *problem, int64_t batch)
{
    return problem->packed_queries ? 0 : batch * problem->heads; /* fits likewise */
}

int64_t attend__split_slots(const struct attend__split *split)
{
    return split->tiles == 0 ? 0 : 1 + split->tiles - split->first_tiles;
}

static bool is_diagnosed(const struct attend__call *call)
{
    return call->scores.data || call->weights.data;
}

/* A thread on its own has nothing to gain. */
static bool may_split(const struct attend__problem *problem, int threads)
{
    return threads > 1 && problem->keys > ATTEND__KV_TILE;
}

/* Each item may be part of a cascade, and each cascade has two. */
static int64_t most_cascading(const struct attend__problem *problem)
{
    const int64_t more_than_memory = INT64_C(1) << 56;
    const int64_t both = attend__min(problem->batch * problem->kv_heads, more_than_memory); /* fits: it is part of the keys' size */
    return problem->shared_prefixes ? both * 3 / 2 : 0;
}

/* Rows are split whose cost is more than a share of the whole: there are fewer of them than shares, and of their pieces twice as many
 * at most. */
static int64_t most_splits(const struct attend__problem *problem, int threads)
{
    return may_split(problem, threads) ? (int64_t)threads * UNITS_PER_THREAD : 0;
}

/* Room for the partials of as many splits as there may be, or of fewer where that would be out of proportion. */
static int64_t most_slot_floats(const struct attend__problem *problem, int threads, int64_t units)
{
    const int64_t rows = attend__min(problem->rows * problem->group, SPLIT_ROWS_MOST);
    const int64_t splits = attend__min(most_splits(problem, threads), units) + most_cascading(problem);
    const int64_t tiles = attend__divide_up(problem->keys, ATTEND__KV_TILE);
    const int64_t most = attend__max(SLOT_BYTES_LEAST, (int64_t)threads * SLOT_BYTES_PER_THREAD) / (int64_t)sizeof(float);
    int64_t floats;
    if (splits == 0 || rows == 0)
        return 0;
    if (__builtin_mul_overflow(splits, tiles, &floats) ||
        __builtin_mul_overflow(floats, attend__slot_floats(rows, problem->d_v), &floats))
        return most;
    return attend__min(floats, most);
}

bool attend__units_room(struct attend__cut_room *room, const struct attend__problem *problem, int threads, int64_t unit_rows)
{
    int64_t units = problem->kv_heads * most_full_units(problem, unit_rows);
    if (__builtin_mul_overflow(units, problem->packed_queries ? 1 : problem->batch, &units))
        return false;
    units = attend__max(units, (int64_t)threads * UNITS_PER_THREAD * 2);
    room->splits = most_splits(problem, threads) + most_cascading(problem);
    room->slot_floats = most_slot_floats(problem, threads, units);
    const int64_t added = most_clearing(problem, problem->batch) + most_added(threads) + 2 * room->splits;
    return !__builtin_add_overflow(units, added, &room->units);
}

/* Full units unless that leaves threads without work: then halves, quarters and so on. */
static int64_t choose_unit_rows(const struct attend__schedule *schedule, const struct attend__problem *problem,
                                int64_t batch, int threads, int64_t unit_rows, int64_t most_units)
{
    int64_t rows = unit_rows;
    while (rows / 2 >= ATTEND__UNIT_ROWS_LEAST) {
        int64_t now = 0, halved = 0;
        for (int64_t b = 0; b < batch; b++) {
            now += item_units(problem, &schedule->items[b], rows);
            halved += item_units(problem, &schedule->items[b], rows / 2);
        }
        if (now >= (int64_t)threads * UNITS_PER_THREAD || halved + most_clearing(problem, batch) > most_units)
            break;
        rows /= 2;
    }
    return rows;
}

struct attend__item_rows attend__unit_item_rows(const struct attend__problem *problem, int64_t first, int64_t rows)
{
    const int64_t first_row = first / problem->group, last_row = (first + rows - 1) / problem->group;
    return (struct attend__item_rows){ first_row, last_row - first_row + 1 };
}

struct attend__range attend__unit_union(const struct attend__problem *problem, const struct attend__item *item, int64_t first,
                                        int64_t rows)
{
    const struct attend__item_rows own = attend__unit_item_rows(problem, first, rows);
    return attend__rows_union(problem, item, own.first, own.count);
}

double attend__unit_pairs(const struct attend__problem *problem, const struct attend__item *item, int64_t first, int64_t rows)
{
    const struct attend__item_rows own = attend__unit_item_rows(problem, first, rows);
    const double share = (double)rows / (double)own.count;
    return attend__range_pairs(problem, item, own.first, own.count) * share;
}

/* In pairs, packing included. */
static double unit_cost(const struct attend__problem *problem, const struct attend__item *item, int64_t first, int64_t rows)
{
    const struct attend__range seen = attend__unit_union(problem, item, first, rows);
    const int64_t packed = attend__shared_prefix(problem, item) + seen.high - seen.low;
    return attend__unit_pairs(problem, item, first, rows) + PACKING_ROWS * (double)packed;
}

/* Bucket 0 holds the longest units; a bucket spans a factor of 1.25 or less. */
static int bucket_of(double cost)
{
    uint64_t bits;
    const double at_least_one = cost < 1.0 ? 1.0 : cost;
    memcpy(&bits, &at_least_one, sizeof bits);
    const int64_t quarter_doublings = (int64_t)(bits >> 50) - INT64_C(1023) * BUCKETS_PER_DOUBLING;
    return (int)(BUCKETS - 1 - attend__min(quarter_doublings, BUCKETS - 1));
}

/* Hands every unit with its bucket to one of the two passes: counting, or placing. */
struct placing {
    int64_t at[BUCKETS];
    struct attend__unit_ref *units; /* NULL while counting */
    struct attend__split *splits;   /* likewise */
    int64_t split_count, slot_floats; /* taken so far */
    const struct attend__cut_room *room;
    double share; /* units that cost more are split; 0: none is */
    int64_t rows_most; /* of a unit */
};

static void take_unit(struct placing *placing, int bucket, struct attend__unit_ref unit)
{
    if (placing->units)
        placing->units[placing->at[bucket]] = unit;
    placing->at[bucket]++;
}

static int64_t split_floats(const struct attend__problem *problem, const struct attend__split *split)
{
    return attend__split_slots(split) * attend__slot_floats(split->rows, problem->d_v);
}

/* Gives the split its slots; returns its number. */
static int64_t take_split(struct placing *placing, const struct attend__problem *problem, const struct attend__split *split)
{
    if (placing->splits) {
        placing->splits[placing->split_count] = *split;
        placing->splits[placing->split_count].slot = placing->slot_floats;
    }
    placing->slot_floats += split_floats(problem, split);
    return placing->split_count++;
}

/* Pieces of about a share each. */
static int64_t pieces_of(const struct placing *placing, double cost, int64_t tiles)
{
    return placing->share > 0 ? attend__min((int64_t)(cost / placing->share) + 1, tiles) : attend__min(tiles, 1);
}

static void place_pieces(struct placing *placing, const struct attend__split *split, struct attend__unit_ref unit, double cost)
{
    for (int64_t p = 0, left = split->tiles; p < split->pieces; p++, left -= unit.tiles) {
        unit.tiles = attend__divide_up(left, split->pieces - p);
        unit.tile = split->tile + split->tiles - left;
        take_unit(placing, bucket_of(cost * (double)unit.tiles / (double)split->tiles), unit);
    }
}

/* Cuts the unit's keys into pieces of nearly equal size, about a share each, and hands these on; false where that is not possible. */
static bool take_pieces(struct placing *placing, const struct attend__problem *problem, const struct attend__item *item,
                        struct attend__unit_ref unit, double cost)
{
    const struct attend__range seen = attend__unit_union(problem, item, unit.first, unit.rows);
    const int64_t begin = attend__shared_prefix(problem, item) > 0 ? 0 : seen.low / ATTEND__KV_TILE;
    const int64_t tiles = attend__divide_up(seen.high, ATTEND__KV_TILE) - begin;
    const int64_t pieces = pieces_of(placing, cost, tiles);
    if (unit.rows > SPLIT_ROWS_MOST || pieces < 2 || placing->split_count == placing->room->splits)
        return false;
    const struct attend__split split = { .item = unit.item, .kv_head = unit.kv_head, .first = unit.first, .rows = unit.rows,
                                         .tile = begin, .tiles = tiles, .pieces = pieces,
                                         .first_tiles = attend__divide_up(tiles, pieces), .cascade = -1 };
    if (split_floats(problem, &split) > placing->room->slot_floats - placing->slot_floats)
        return false;
    unit.split = take_split(placing, problem, &split);
    place_pieces(placing, &split, unit, cost);
    return true;
}

/* What the cascade's items have after the tiles of the cascade, for one kv head: a split each. */
static void take_cascading(struct placing *placing, const struct attend__problem *problem, const struct attend__item *items,
                           struct attend__split split, int64_t tiles)
{
    const struct attend__item *item = &items[split.item];
    const struct attend__range seen = attend__unit_union(problem, item, 0, split.rows);
    split.tile = tiles;
    split.tiles = attend__max(attend__divide_up(seen.high, ATTEND__KV_TILE) - tiles, 0);
    const double share = (double)split.tiles / (double)(tiles + split.tiles), cost = share * unit_cost(problem, item, 0, split.rows);
    split.pieces = pieces_of(placing, cost, split.tiles);
    split.first_tiles = attend__min(split.tiles, 1);
    struct attend__unit_ref unit = { .item = split.item, .kv_head = split.kv_head, .rows = split.rows };
    unit.split = take_split(placing, problem, &split);
    place_pieces(placing, &split, unit, cost);
}

/* Room that a cascade takes for all kv heads; pieces as few as may be. */
static int64_t cascade_floats(const struct attend__problem *problem, const struct attend__item *items,
                              const struct attend__cascade *cascade, int64_t b, int64_t pieces)
{
    int64_t floats = pieces * attend__slot_floats(cascade->rows, problem->d_v) * attend__divide_up(cascade->tiles, pieces);
    for (int64_t i = b; i < b + cascade->items; i++) {
        const int64_t slots = attend__divide_up(items[i].keys, ATTEND__KV_TILE) - cascade->tiles;
        floats += attend__max(slots, 0) * attend__slot_floats(items[i].rows * problem->group, problem->d_v);
    }
    return floats * problem->kv_heads;
}

/* Cuts the items of a cascade: for each kv head the shared tiles with the rows of all items, and then what each item has beside them.
 * false where there is no room for so many partials. */
static bool take_cascade(struct placing *placing, const struct attend__problem *problem, const struct attend__item *items,
                         const struct attend__cascade *cascade, int64_t b)
{
    const double cost = (double)(cascade->rows + PACKING_ROWS) * (double)(cascade->tiles * ATTEND__KV_TILE);
    const int64_t pieces = pieces_of(placing, cost, cascade->tiles);
    const int64_t splits = (cascade->items + 1) * problem->kv_heads;
    if (splits > placing->room->splits - placing->split_count ||
        cascade_floats(problem, items, cascade, b, pieces) > placing->room->slot_floats - placing->slot_floats)
        return false;
    for (int64_t head = 0; head < problem->kv_heads; head++) {
        const struct attend__split shared = { .item = b, .kv_head = head, .rows = cascade->rows, .tiles = cascade->tiles,
                                              .pieces = pieces, .first_tiles = attend__divide_up(cascade->tiles, pieces),
                                              .items = cascade->items, .feeds = placing->split_count + 1, .cascade = -1 };
        struct attend__unit_ref unit = { .item = b, .kv_head = head, .rows = cascade->rows, .items = cascade->items };
        unit.split = take_split(placing, problem, &shared);
        place_pieces(placing, &shared, unit, cost);
        int64_t row = 0;
        for (int64_t i = b; i < b + cascade->items; i++) {
            const int64_t rows = items[i].rows * problem->group;
            take_cascading(placing, problem, items, (struct attend__split){ .item = i, .kv_head = head, .rows = rows,
                                                                            .cascade = unit.split, .cascade_row = row }, cascade->tiles);
            row += rows;
        }
    }
    return true;
}

/* As many units as full ones would be, but of nearly equal size. */
static int64_t even_step(int64_t rows, int64_t unit_rows)
{
    const int64_t count = attend__max(attend__divide_up(rows, unit_rows), 1);
    return attend__max(attend__round_up(attend__divide_up(rows, count), ATTEND__BLOCK_ROWS), ATTEND__BLOCK_ROWS);
}

/* Writing a row costs about as much as a few pairs. */
static void take_clear_units(struct placing *placing, const struct attend__problem *problem, const struct attend__call *call,
                             const struct attend__item *item, int64_t b)
{
    if (!has_padding_rows(problem, call, item))
        return;
    const int bucket = bucket_of((double)(call->rows - item->rows));
    for (int64_t head = 0; head < problem->heads; head++)
        take_unit(placing, bucket, (struct attend__unit_ref){ .item = b, .kv_head = ATTEND__CLEAR_UNIT, .first = head });
}

static int64_t piece_of(int64_t step)
{
    const int64_t rows = attend__round_up(attend__divide_up(step, PIECES), ATTEND__BLOCK_ROWS);
    return attend__min(attend__max(rows, ATTEND__UNIT_ROWS_LEAST), step);
}

/* Units of one head follow each other: while one is computed its keys and values stay in cache for the next. The cost of a unit is the
 * same in every head that is cut alike, and worth remembering where units are short. */
static void take_item(struct placing *placing, const struct attend__schedule *schedule, const struct attend__problem *problem,
                      const struct attend__call *call, int64_t b, struct tail *tail)
{
    enum { REMEMBERED = 64 };
    double costs[REMEMBERED];
    const struct attend__item *item = &schedule->items[b];
    const int64_t rows = item->rows * problem->group, step = even_step(rows, schedule->unit_rows);
    const int64_t tail_begins = attend__max(attend__divide_up(rows, step) - tail->units, 0) * step;
    const int64_t tail_head = tail->heads_left - tail->heads; /* the first of the tail, in this item's count */
    if (rows > 0)
        tail->heads_left -= problem->kv_heads;
    for (int64_t head = 0; head < problem->kv_heads; head++) {
        const int64_t pieces_begin = head < tail_head ? rows : tail_begins;
        const bool known = head > 0 && head != tail_head;
        int64_t count;
        for (int64_t first = 0, n = 0; first < rows; first += count, n++) {
            count = attend__min(first < pieces_begin ? step : piece_of(step), rows - first);
            const double cost = known && n < REMEMBERED ? costs[n] : unit_cost(problem, item, first, count);
            const struct attend__unit_ref unit = { .item = b, .kv_head = head, .first = first, .rows = count };
            if (n < REMEMBERED)
                costs[n] = cost;
            if (placing->share == 0 || cost <= placing->share || !take_pieces(placing, problem, item, unit, cost))
                take_unit(placing, bucket_of(cost), unit);
        }
    }
    take_clear_units(placing, problem, call, item, b);
}

static void take_items(struct placing *placing, const struct attend__schedule *schedule, const struct attend__problem *problem,
                       const struct attend__call *call, struct tail tail)
{
    const bool cascades = problem->shared_prefixes && call->block_tables && !is_diagnosed(call);
    for (int64_t b = 0; b < call->batch;) {
        struct attend__cascade cascade = { .items = 1 };
        if (cascades)
            cascade = attend__cascade_from(problem, call, schedule->items, b, attend__min(SPLIT_ROWS_MOST, placing->rows_most),
                                           placing->rows_most);
        if (cascade.items > 1 && take_cascade(placing, problem, schedule->items, &cascade, b)) {
            tail.heads_left -= cascade.items * problem->kv_heads;
            for (int64_t i = b; i < b + cascade.items; i++)
                take_clear_units(placing, problem, call, &schedule->items[i], i);
            b += cascade.items;
        } else {
            take_item(placing, schedule, problem, call, b++, &tail);
        }
    }
}

/* Of all units, in pairs; what each of them packs is not less than this says. */
static double whole_cost(const struct attend__schedule *schedule, const struct attend__problem *problem,
                         const struct attend__call *call)
{
    double cost = 0;
    for (int64_t b = 0; b < call->batch; b++) {
        const struct attend__item *item = &schedule->items[b];
        if (item->rows == 0)
            continue;
        const int64_t rows = item->rows * problem->group, units = attend__divide_up(rows, schedule->unit_rows);
        const struct attend__range seen = attend__rows_union(problem, item, 0, item->rows);
        const int64_t keys = attend__shared_prefix(problem, item) + seen.high - seen.low;
        cost += attend__range_pairs(problem, item, 0, item->rows) * (double)problem->group +
                PACKING_ROWS * (double)units * (double)keys;
    }
    return cost * (double)problem->kv_heads;
}

void attend__units_cut(struct attend__schedule *schedule, const struct attend__problem *problem,
                       const struct attend__call *call, int threads, int64_t unit_rows, const struct attend__cut_room *room)
{
    double pairs = 0;
    int64_t heads = 0; /* that have rows */
    for (int64_t b = 0; b < call->batch; b++) {
        schedule->items[b] = attend__item_of(problem, call, b);
        heads += schedule->items[b].rows > 0 ? problem->kv_heads : 0;
        pairs += attend__range_pairs(problem, &schedule->items[b], 0, schedule->items[b].rows);
    }
    schedule->work = pairs * (double)problem->heads * (double)(problem->d_k + problem->d_v);
    schedule->unit_rows = choose_unit_rows(schedule, problem, call->batch, threads, unit_rows, room->units);

    struct placing placing = { .units = NULL, .room = room, .share = 0, .rows_most = unit_rows };
    const double cost = whole_cost(schedule, problem, call);
    schedule->cost = cost * (double)(problem->d_k + problem->d_v);
    if (may_split(problem, threads) && !is_diagnosed(call)) /* what costs more than a fair share is, by as many as there should be units at least */
        placing.share = cost / ((double)threads * UNITS_PER_THREAD);

    take_items(&placing, schedule, problem, call, tail_of(heads, threads));
    int64_t total = 0;
    for (int i = 0; i < BUCKETS; i++) {
        const int64_t size = placing.at[i];
        placing.at[i] = total;
        total += size;
    }
    placing.units = schedule->units;
    placing.splits = schedule->splits;
    placing.split_count = placing.slot_floats = 0;
    take_items(&placing, schedule, problem, call, tail_of(heads, threads));
    schedule->count = total;
    schedule->split_count = placing.split_count;
}
