/* Which keys a row may see, as ranges: pure functions of numbers. The visibility tensor and the bias are not looked at here. */
#ifndef ATTEND__VISIBLE_H
#define ATTEND__VISIBLE_H

#include "engine/problem/problem.h"

/* An item's own rows and keys. */
struct attend__item {
    int64_t key_start, keys;
    int64_t row_start, rows;
    int64_t diagonal; /* of the item's first row, counted from its first key; row i's is diagonal + i */
    int64_t prefix;   /* keys that the causal rule and the window allow to all rows; at most `keys` */
};

/* Keys low ≤ j < high, counted from the item's first key; low = high where none. */
struct attend__range {
    int64_t low, high;
};

static inline bool attend__range_is_empty(struct attend__range range) { return range.low >= range.high; }

struct attend__item attend__item_of(const struct attend__problem *problem, const struct attend__call *call, int64_t b);

/* Keys 0 ≤ j < attend__shared_prefix are seen by every row besides its range. 0 where the ranges hold the prefix already, since they begin
 * at key 0 anyway. */
int64_t attend__shared_prefix(const struct attend__problem *problem, const struct attend__item *item);

/* What row i of the item, counted from its first row, may see from the shared prefix on. Neither end shrinks as i grows, nor grows by more
 * than one per row. */
struct attend__range attend__row_range(const struct attend__problem *problem, const struct attend__item *item, int64_t i);

/* Keys that some of rows first … first + count - 1 see (count > 0): their ranges leave no gap between them. */
struct attend__range attend__rows_union(const struct attend__problem *problem, const struct attend__item *item, int64_t first,
                                        int64_t count);

/* Keys that all of them see. */
struct attend__range attend__rows_shared(const struct attend__problem *problem, const struct attend__item *item, int64_t first,
                                         int64_t count);

/* Σ of the keys seen, shared prefix included, over rows first … first + count - 1. */
double attend__range_pairs(const struct attend__problem *problem, const struct attend__item *item, int64_t first,
                           int64_t count);

#endif
