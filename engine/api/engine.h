/* The engine and plan objects behind the public handles. */
#ifndef ATTEND__ENGINE_H
#define ATTEND__ENGINE_H

#include "engine/api/slots.h"
#include "engine/base/forks.h"
#include "engine/base/log.h"
#include "engine/base/machine.h"
#include "engine/plan/plan.h"
#include "engine/threads/placement.h"
#include "engine/threads/team.h"

#include <stdatomic.h>

struct attend_engine {
    struct attend__allocator allocator;
    struct attend__log log;
    struct attend__process owner; /* whose team it is: a forked child has the memory but not the threads */
    const struct attend__kernel *kernel;
    bool kernel_is_fallback; /* the portable one, which nobody asked for */
    const struct attend__machine *machine;
    struct attend__placement placement;
    bool *in_mask; /* [machine->cpu_count] */
    double quota;
    int threads_requested;
    int64_t inline_work;
    struct attend__team *team; /* NULL: everything runs in the caller */
    struct attend__slots slots;
    atomic_llong jobs, inline_jobs;
};

struct attend_plan {
    struct attend_engine *engine;
    struct attend__plan plan;
};

/* The engine itself, or the process's default engine for NULL; fails for an engine that was forked away from. */
attend_status attend__engine_use(attend_engine **engine, attend_engine *given);

/* Makes plan and the engine's memory ready for running `problem`. */
attend_status attend__engine_plan(attend_engine *engine, struct attend__plan *plan, const attend_problem *problem);

/* Runs a checked plan on its engine. */
attend_status attend__engine_run(attend_engine *engine, const struct attend__plan *plan, const attend_args *args);

/* Would a job of such a cost (attend__schedule) run in the caller? */
bool attend__engine_runs_inline(const attend_engine *engine, double cost);

/* Team members, or 1 where the caller does the work: what units are cut for. */
int attend__engine_threads(const attend_engine *engine);

#endif
