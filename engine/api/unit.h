/* From a unit of the schedule to a call of the kernel: where the unit's rows, keys and results lie in the caller's tensors, and what
 * each row may see. Also writes what no kernel does: padding rows, and the hidden ends of scores and weights. */
#ifndef ATTEND__UNIT_H
#define ATTEND__UNIT_H

#include "engine/api/halt.h"
#include "engine/plan/plan.h"

struct attend__unit_work {
    const struct attend__plan *plan;
    struct attend__call call;
    struct attend__schedule schedule;
    attend_progress *progress; /* NULL: not wanted */
    struct attend__halt *halt; /* NULL: the run goes to its end */
};

/* Before the first unit: announces the run to work->progress, and says which pieces are waited for. */
void attend__unit_begin(const struct attend__unit_work *work);

/* The unit as the kernel sees it: its rows, and their details if there are any, are described at the start of a member's scratch. What
 * comes next is not said. */
struct attend__unit attend__unit_describe(const struct attend__unit_work *work, const struct attend__unit_ref *ref, void *scratch);

/* Runs one unit with a member's scratch (plan->scratch_bytes); `next` is the one that the thread will run after it, -1 where that is not
 * known. */
void attend__unit_run(const struct attend__unit_work *work, int64_t unit, int64_t next, void *scratch);

#endif
