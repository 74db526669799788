/* A plan: the checked problem, the kernel that computes it, and how much memory a run takes. Plain data made by a pure function;
 * runs nothing and owns nothing. */
#ifndef ATTEND__PLAN_H
#define ATTEND__PLAN_H

#include "engine/kernel/kernel.h"
#include "engine/plan/units.h"

struct attend__plan {
    struct attend__problem problem;
    const struct attend__kernel *kernel;
    int threads;             /* members that units are cut for; at least 1 */
    int64_t unit_rows;       /* of a full unit */
    struct attend__cut_room room;
    size_t rows_bytes;       /* of the row descriptions that precede the kernel's own scratch */
    size_t details_bytes;    /* of their details, which follow them */
    size_t sums_bytes;       /* of one tile's key sums of a group's heads, which come last */
    size_t scratch_bytes;    /* of one member: rows, details, the kernel's, sums */
    size_t items_bytes, units_bytes, splits_bytes, waiting_bytes, slots_bytes;
    size_t partials_bytes;   /* of M and L of every row, half each; 0 without problem.key_sums */
    size_t workspace_bytes;  /* of one run: items, units, splits, partials, slots, and a member's scratch for running in the caller */
};

/* For cores with second-level caches of l2_bytes, 0 for not known. Fails with ARGUMENT when the memory's size does not fit. */
attend_status attend__plan_make(struct attend__plan *plan, const struct attend__problem *problem,
                                const struct attend__kernel *kernel, int threads, int64_t l2_bytes);

/* Lays a run's workspace out. Returns the part that serves as a member's scratch. */
void *attend__plan_lay_out(const struct attend__plan *plan, void *workspace, struct attend__schedule *schedule);

/* Cuts a run into units in that workspace. */
void attend__plan_cut(const struct attend__plan *plan, const struct attend__call *call, struct attend__schedule *schedule);

#endif
