/* One run: check the arguments, cut them into units, have the units run, by the team or by the caller. */
#include "engine/api/engine.h"

#include "engine/api/key_sums.h"
#include "engine/api/step.h"
#include "engine/base/fpstate.h"
#include "engine/base/sizes.h"
#include "engine/base/status.h"
#include "engine/base/structs.h"

#include <string.h>

static void run_unit(void *argument, int64_t unit, int64_t next, int member, void *scratch)
{
    (void)member;
    attend__unit_run(argument, unit, next, scratch);
}

static void sum_keys(void *argument, int64_t piece, int64_t next, int member, void *scratch)
{
    (void)next, (void)member;
    attend__key_sums_run(argument, piece, scratch);
}

/* All pieces of a pass, by the team or, inline, in the caller with its scratch. */
static void run_pass(attend_engine *engine, bool in_caller, struct attend__job *job, void *scratch)
{
    if (!in_caller) {
        attend__team_run(engine->team, job);
        return;
    }
    const int64_t last = job->units - 1;
    for (int64_t unit = 0; unit <= last; unit++)
        job->run(job->argument, unit, unit < last ? unit + 1 : -1, 0, scratch);
}

static void run_scheduled(attend_engine *engine, struct attend__unit_work *work, void *scratch)
{
    const bool in_caller = attend__engine_runs_inline(engine, work->schedule.cost);
    atomic_fetch_add_explicit(&engine->jobs, 1, memory_order_relaxed);
    if (in_caller && work->schedule.count > 0)
        atomic_fetch_add_explicit(&engine->inline_jobs, 1, memory_order_relaxed);
    struct attend__job units = { .units = work->schedule.count, .run = run_unit, .argument = work };
    struct attend__job sums = { .units = attend__key_sums_count(work), .run = sum_keys, .argument = work };
    run_pass(engine, in_caller, &units, scratch);
    run_pass(engine, in_caller, &sums, scratch);
}

static attend_status check_workspace(const struct attend__plan *plan, const attend_args *args)
{
    if (!args->workspace && args->workspace_bytes > 0)
        return attend__fail(ATTEND_ERR_ARGUMENT, "args.workspace is NULL with workspace_bytes %zu; give memory, or 0 bytes",
                            args->workspace_bytes);
    if (!args->workspace)
        return ATTEND_OK;
    if ((uintptr_t)args->workspace % ATTEND__ALIGNMENT)
        return attend__fail(ATTEND_ERR_ARGUMENT, "args.workspace is %p; it must be aligned to %d bytes", args->workspace,
                            ATTEND__ALIGNMENT);
    if (args->workspace_bytes < plan->workspace_bytes)
        return attend__fail(ATTEND_ERR_CAPACITY, "args.workspace_bytes is %zu; the plan needs %zu", args->workspace_bytes,
                            plan->workspace_bytes);
    return ATTEND_OK;
}

attend_status attend__engine_run(attend_engine *engine, const struct attend__plan *plan, const attend_args *caller)
{
    attend_args args;
    struct attend__unit_work work = { .plan = plan };
    attend_status status = attend__args_read(&args, caller);
    if (!status && args.step)
        status = attend__step_apply(&args, plan);
    if (!status)
        status = attend__call_check(&work.call, &plan->problem, &args, false);
    if (!status)
        status = check_workspace(plan, &args);
    if (status)
        return status;
    struct attend__halt halt = { .cancel = work.call.cancel, .deadline = work.call.deadline };
    work.halt = halt.cancel || halt.deadline > 0 ? &halt : NULL;
    work.progress = args.progress;
    struct attend__slot *slot = args.workspace ? NULL : attend__slots_take(&engine->slots);
    const attend__fpstate state = attend__fpstate_enter();
    void *scratch = attend__plan_lay_out(plan, slot ? slot->memory : args.workspace, &work.schedule);
    if (args.step)
        attend__step_schedule(args.step, &work.schedule);
    else
        attend__plan_cut(plan, &work.call, &work.schedule);
    attend__unit_begin(&work);
    run_scheduled(engine, &work, scratch);
    attend__fpstate_leave(state);
    if (slot)
        attend__slots_give_back(&engine->slots, slot);
    return attend__halt_status(&halt);
}
