/* Cutting a run into units, the pieces that one thread takes at a time: pure functions of the problem and the call's lengths. A unit
 * is some rows of one kv head of one item, counted over all rows of its group: row m of the group is row m / group of query head
 * m mod group, so that neighbours see nearly the same keys. The cut decides who computes what and when, never a result. */
#ifndef ATTEND__UNITS_H
#define ATTEND__UNITS_H

#include "engine/problem/visible.h"

#include <stdint.h>

enum { ATTEND__CLEAR_UNIT = -1 }; /* as kv_head: the unit writes the item's padding rows of query head `first` */

struct attend__unit_ref {
    int64_t item, kv_head;
    int64_t first, rows; /* of the group */
};

/* A run cut into units, longest first. items[] and units[] are the caller's memory. */
struct attend__schedule {
    struct attend__item *items;     /* [call.batch] */
    struct attend__unit_ref *units; /* [count] */
    int64_t count;
    int64_t unit_rows;              /* of a full unit */
    double work;                    /* multiply-adds of the visible pairs */
    float *maximum, *total;         /* [call.batch][heads][call.rows] as the plan has room for: M and L of every row; NULL without
                                       problem.key_sums. The batch of packed queries is 1 */
};

/* Rows of a full unit on a machine whose cores have second-level caches of l2_bytes (0: not known). */
int64_t attend__unit_rows(const struct attend__problem *problem, int64_t l2_bytes);

/* Most units that any run of the problem is cut into, for a team of `threads` and full units of unit_rows; -1 if that does not fit. */
int64_t attend__units_capacity(const struct attend__problem *problem, int threads, int64_t unit_rows);

/* Rows of the item. */
struct attend__item_rows {
    int64_t first, count;
};

/* The item's rows that `rows` rows of the group from `first` on belong to; rows > 0. */
struct attend__item_rows attend__unit_item_rows(const struct attend__problem *problem, int64_t first, int64_t rows);

/* Keys that some of `rows` rows of the group from `first` on see, from the shared prefix on; rows > 0. */
struct attend__range attend__unit_union(const struct attend__problem *problem, const struct attend__item *item, int64_t first,
                                        int64_t rows);

/* Visible pairs of `rows` rows of the group from `first` on, the heads of a row that the unit shares with another counted evenly. */
double attend__unit_pairs(const struct attend__problem *problem, const struct attend__item *item, int64_t first, int64_t rows);

/* Fills items and units, which hold `capacity` (of attend__units_capacity) entries. */
void attend__units_cut(struct attend__schedule *schedule, const struct attend__problem *problem, const struct attend__call *call,
                       int threads, int64_t unit_rows, int64_t capacity);

#endif
