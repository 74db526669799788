/* Plans as the public handle: a made plan and the engine that runs it. */
#include "engine/api/engine.h"

#include "engine/base/fpstate.h"
#include "engine/base/status.h"

#include <string.h>

attend_status attend__engine_plan(attend_engine *engine, struct attend__plan *plan, const attend_problem *given)
{
    struct attend__problem problem;
    const attend__fpstate state = attend__fpstate_enter(); /* the default scale is rounded in it */
    attend_status status = attend__problem_check(&problem, given);
    attend__fpstate_leave(state);
    if (!status && problem.fast_only && engine->kernel_is_fallback)
        status = attend__fail(ATTEND_ERR_UNSUPPORTED,
                              "problem.flags has ATTEND_FAST_ONLY and options.isa is auto; with it the portable kernel, the only one "
                              "here, must be asked for");
    if (!status)
        status = attend__plan_make(plan, &problem, engine->kernel, attend__engine_threads(engine), engine->machine->l2_bytes);
    if (!status && engine->team)
        status = attend__team_reserve(engine->team, plan->scratch_bytes);
    if (!status)
        status = attend__slots_reserve(&engine->slots, plan->workspace_bytes);
    return status;
}

attend_status attend_plan_create(attend_plan **plan, attend_engine *given, const attend_problem *problem)
{
    if (!plan)
        return attend__fail(ATTEND_ERR_ARGUMENT, "plan is NULL; it must point to where the handle goes");
    *plan = NULL;
    attend_engine *engine;
    attend_status status = attend__engine_use(&engine, given);
    if (status)
        return status;
    attend_plan *made = attend__allocate(&engine->allocator, sizeof *made);
    if (!made)
        return attend__fail(ATTEND_ERR_MEMORY, "no memory for a plan of %zu bytes", sizeof *made);
    made->engine = engine;
    status = attend__engine_plan(engine, &made->plan, problem);
    if (status)
        attend__release(&engine->allocator, made, sizeof *made);
    else
        *plan = made;
    return status;
}

void attend_plan_destroy(attend_plan *plan)
{
    if (plan)
        attend__release(&plan->engine->allocator, plan, sizeof *plan);
}

size_t attend_plan_workspace_bytes(const attend_plan *plan)
{
    return plan ? plan->plan.workspace_bytes : 0;
}

attend_status attend_run(const attend_plan *plan, const attend_args *args)
{
    if (!plan)
        return attend__fail(ATTEND_ERR_ARGUMENT, "plan is NULL; it must come from attend_plan_create");
    attend_engine *engine;
    attend_status status = attend__engine_use(&engine, plan->engine);
    return status ? status : attend__engine_run(engine, &plan->plan, args);
}

attend_status attend_forward(attend_engine *given, const attend_problem *problem, const attend_args *args)
{
    attend_engine *engine;
    struct attend__plan plan;
    attend_status status = attend__engine_use(&engine, given);
    if (!status)
        status = attend__engine_plan(engine, &plan, problem);
    return status ? status : attend__engine_run(engine, &plan, args);
}
