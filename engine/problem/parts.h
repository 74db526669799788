/* Arguments of a merge, checked once. */
#ifndef ATTEND__PARTS_H
#define ATTEND__PARTS_H

#include "engine/problem/problem.h"

/* Results overlap nothing but the first part's tensors of the same name, which are then the same. */
struct attend__merge {
    int64_t batch, heads, rows, d_v;
    const attend_part *parts; /* elements are part_bytes apart */
    size_t part_count, part_bytes;
    bool of_partials;         /* parts have maximum and total; otherwise lse */
    struct attend__view output, lse, maximum, total;
    const float *sinks;       /* NULL: none */
};

attend_status attend__merge_check(struct attend__merge *merge, const attend_merge_args *caller);

const attend_part *attend__merge_part(const struct attend__merge *merge, size_t i);

#endif
