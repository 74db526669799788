/* Items next to each other whose first pages are the same: what they share is computed once for all of them. A pure function of block
 * tables and ranges. */
#ifndef ATTEND__CASCADE_H
#define ATTEND__CASCADE_H

#include "engine/problem/visible.h"

struct attend__cascade {
    int64_t items; /* from the one asked about on; 1: it shares nothing with the next */
    int64_t tiles; /* whole KV tiles that all of them begin with */
    int64_t rows;  /* of the group of a kv head, of all items together */
};

/* The cascade that begins with item b. Its items have at most row_most rows in a group, and rows_most together; all of them see all of its
 * tiles. */
struct attend__cascade attend__cascade_from(const struct attend__problem *problem, const struct attend__call *call,
                                            const struct attend__item *items, int64_t b, int64_t row_most, int64_t rows_most);

#endif
