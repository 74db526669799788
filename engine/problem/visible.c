/* See visible.h. */
#include "engine/problem/visible.h"

#include "engine/base/sizes.h"

/* The item's part of an axis: between its offsets where packed, otherwise from its start on, and by default to the end. */
static void find_part(int64_t *start, int64_t *count, const int64_t *offsets, const int64_t *starts, const int64_t *lengths,
                      int64_t extent, int64_t b)
{
    if (offsets) {
        *start = offsets[b];
        *count = offsets[b + 1] - offsets[b];
        return;
    }
    *start = starts ? starts[b] : 0;
    *count = lengths ? lengths[b] : extent - *start;
}

struct attend__item attend__item_of(const struct attend__problem *problem, const struct attend__call *call, int64_t b)
{
    struct attend__item item;
    find_part(&item.key_start, &item.keys, call->key_offsets, call->key_starts, call->key_lengths, call->keys, b);
    find_part(&item.row_start, &item.rows, call->query_offsets, call->query_starts, call->query_lengths, call->rows, b);
    if (item.keys == 0)
        item.key_start = 0; /* or it might point one past the last key */
    item.prefix = call->prefix_lengths ? attend__min(call->prefix_lengths[b], item.keys) : 0;
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

int64_t attend__shared_prefix(const struct attend__problem *problem, const struct attend__item *item)
{
    return problem->left == ATTEND__UNBOUNDED ? 0 : item->prefix;
}

/* Without an end on the left a range begins at key 0 and holds the prefix. */
struct attend__range attend__row_range(const struct attend__problem *problem, const struct attend__item *item, int64_t i)
{
    const int64_t diagonal = item->diagonal + i;
    return (struct attend__range){ attend__clamp(diagonal - problem->left, attend__shared_prefix(problem, item), item->keys),
                                   attend__clamp(diagonal + problem->right + 1, item->prefix, item->keys) };
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
    const int64_t prefix = item->prefix, most = item->keys - prefix;
    return (double)count * (double)prefix + clamped_sum(item->diagonal + problem->right + 1 - prefix, most, first, count) -
           clamped_sum(item->diagonal - problem->left - prefix, most, first, count);
}
