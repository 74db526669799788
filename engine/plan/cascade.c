/* See cascade.h. */
#include "engine/plan/cascade.h"

#include "engine/base/sizes.h"
#include "engine/kernel/kernel.h"

/* Whole tiles of the item that a cascade could take: those that every row sees all of, without the tail of visibility, which every item
 * has somewhere else. A window leaves the first keys behind. */
static int64_t whole_tiles(const struct attend__problem *problem, const struct attend__call *call, const struct attend__item *item)
{
    if (item->rows == 0 || problem->left != ATTEND__UNBOUNDED)
        return 0;
    const int64_t seen = attend__rows_shared(problem, item, 0, item->rows).high;
    return attend__max(attend__min(seen, item->keys - call->visible_tail), 0) / ATTEND__KV_TILE;
}

/* Whole tiles, at most `tiles`, that items b and c begin with in the same pages. */
static int64_t tiles_shared(const struct attend__problem *problem, const struct attend__call *call, const struct attend__item *items,
                            int64_t b, int64_t c, int64_t tiles)
{
    const int64_t start = items[b].key_start, page_keys = problem->page_keys;
    tiles = attend__min(tiles, whole_tiles(problem, call, &items[c]));
    if (items[c].key_start != start)
        return 0;
    const int32_t *one = call->block_tables + b * call->table_stride, *other = call->block_tables + c * call->table_stride;
    const int64_t end = start + tiles * ATTEND__KV_TILE;
    for (int64_t page = start / page_keys; page * page_keys < end; page++)
        if (one[page] != other[page])
            return attend__max(page * page_keys - start, 0) / ATTEND__KV_TILE;
    return tiles;
}

/* One more item is worth it unless the others would have to give up most of what they share. */
struct attend__cascade attend__cascade_from(const struct attend__problem *problem, const struct attend__call *call,
                                            const struct attend__item *items, int64_t b, int64_t row_most, int64_t rows_most)
{
    struct attend__cascade cascade = { 1, whole_tiles(problem, call, &items[b]), items[b].rows * problem->group };
    if (cascade.tiles == 0 || cascade.rows > row_most)
        return cascade;
    for (int64_t c = b + 1; c < call->batch; c++) {
        const int64_t rows = items[c].rows * problem->group, tiles = tiles_shared(problem, call, items, b, c, cascade.tiles);
        if (rows > row_most || cascade.rows + rows > rows_most || tiles == 0 ||
            (cascade.items > 1 && 2 * tiles < cascade.tiles))
            break;
        cascade.items++;
        cascade.tiles = tiles;
        cascade.rows += rows;
    }
    return cascade;
}
