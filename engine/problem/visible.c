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

static struct attend__range range_between(int64_t low, int64_t high)
{
    return low < high ? (struct attend__range){ low, high } : (struct attend__range){ 0, 0 };
}

struct attend__range attend__row_range(const struct attend__problem *problem, const struct attend__item *item, int64_t i)
{
    const int64_t diagonal = item->diagonal + i;
    return (struct attend__range){ attend__clamp(diagonal - problem->left, 0, item->keys),
                                   attend__clamp(diagonal + problem->right + 1, 0, item->keys) };
}

struct attend__range attend__rows_union(const struct attend__problem *problem, const struct attend__item *item, int64_t first,
                                        int64_t count)
{
    return range_between(attend__row_range(problem, item, first).low, attend__row_range(problem, item, first + count - 1).high);
}

struct attend__range attend__rows_shared(const struct attend__problem *problem, const struct attend__item *item, int64_t first,
                                         int64_t count)
{
    return range_between(attend__row_range(problem, item, first + count - 1).low, attend__row_range(problem, item, first).high);
}

/* Σ of clamp(start + i, 0, most) over i = first … first + count - 1. */
static double clamped_sum(int64_t start, int64_t most, int64_t first, int64_t count)
{
    /* 0 up to `rises`, `most` from `full` on, one more each between them. */
    const int64_t rises = attend__clamp(-start, first, first + count);
    const int64_t full = attend__clamp(most - start, rises, first + count);
    const double least = (double)(start + rises), greatest = (double)(start + full - 1);
    const double slope = full > rises ? (least + greatest) / 2 * (double)(full - rises) : 0.0;
    return slope + (double)(first + count - full) * (double)most;
}

double attend__range_pairs(const struct attend__problem *problem, const struct attend__item *item, int64_t first, int64_t count)
{
    return clamped_sum(item->diagonal + problem->right + 1, item->keys, first, count) -
           clamped_sum(item->diagonal - problem->left, item->keys, first, count);
}
