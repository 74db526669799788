/* Caches in pages: the block tables of a run. */
#ifndef ATTEND__PAGES_H
#define ATTEND__PAGES_H

#include "engine/problem/visible.h"

/* Entries low ≤ n < high of item b's table name the pages that hold its keys; both 0 for none. */
struct attend__range attend__pages_of(const struct attend__problem *problem, const struct attend__call *call, int64_t b);

/* Block tables of `batch` items, as given. */
struct attend__tables {
    const int32_t *data;
    int64_t stride, batch, pages;
    int64_t entries; /* from the first one on that were checked, gaps included; 0 before */
};

/* Checks entries low ≤ n < high of item b's table; both 0 for none. */
attend_status attend__table_check(struct attend__tables *tables, struct attend__range own, int64_t b);

/* Checks the pages that `call` points to, whose ranges of keys were checked. Reads the entries of pages that hold an item's keys and no
 * others. */
attend_status attend__pages_check(struct attend__call *call, const struct attend__problem *problem, const attend_args *given);

#endif
