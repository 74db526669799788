/* See visible.h. */
#include "engine/problem/visible.h"

#include "engine/base/sizes.h"

struct attend__item attend__item_of(const struct attend__problem *problem, const struct attend__call *call, int64_t b)
{
    struct attend__item item;
    item.key_start = call->key_starts ? call->key_starts[b] : 0;
    item.keys = call->key_lengths ? call->key_lengths[b] : call->keys - item.key_start;
    item.row_start = call->query_starts ? call->query_starts[b] : 0;
    item.rows = call->query_lengths ? call->query_lengths[b] : call->rows - item.row_start;
    if (item.keys == 0)
        item.key_start = 0; /* or it might point one past the last key */
    switch (problem->diagonal) {
    case ATTEND_DIAGONAL_TOP_LEFT: item.diagonal = 0; break;
    case ATTEND_DIAGONAL_POSITION: item.diagonal = call->positions[b]; break;
    default: item.diagonal = item.keys - item.rows; break;
    }
    return item;
}

struct attend__range attend__row_range(const struct attend__problem *problem, const struct attend__item *item, int64_t i)
{
    struct attend__range range = { 0, item->keys };
    if (problem->causal)
        range.high = attend__clamp(item->diagonal + i + 1, 0, item->keys);
    return range;
}

double attend__range_pairs(const struct attend__problem *problem, const struct attend__item *item, int64_t first, int64_t count)
{
    if (!problem->causal)
        return (double)count * (double)item->keys;
    /* Rows up to `none` see nothing, rows from `all` on see every key, those between one more each. */
    const int64_t none = attend__clamp(-item->diagonal, first, first + count);
    const int64_t all = attend__clamp(item->keys - item->diagonal, none, first + count);
    const double slope_low = (double)(item->diagonal + none + 1), slope_high = (double)(item->diagonal + all);
    const double slope = all > none ? (slope_low + slope_high) / 2 * (double)(all - none) : 0.0;
    return slope + (double)(first + count - all) * (double)item->keys;
}
