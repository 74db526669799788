/* What a run would do, without running it: the same schedule, looked at instead of executed. */
#include "engine/api/engine.h"

#include "engine/base/fpstate.h"
#include "engine/base/sizes.h"
#include "engine/base/status.h"
#include "engine/base/structs.h"

static double count_visible(const struct attend__problem *problem, const struct attend__call *call,
                            const struct attend__item *item, int64_t b)
{
    if (!call->visible.data)
        return attend__range_pairs(problem, item, 0, item->rows) * (double)problem->heads;
    const int64_t *stride = call->visible.stride;
    double pairs = 0;
    for (int64_t h = 0; h < problem->heads; h++)
        for (int64_t i = 0; i < item->rows; i++) {
            const struct attend__range range = attend__row_range(problem, item, i);
            const char *byte = call->visible.data + b * stride[0] + h * stride[1] + (item->row_start + i) * stride[2] +
                               item->key_start * stride[3];
            for (int64_t j = range.low; j < range.high; j++)
                pairs += byte[j * stride[3]] != 0;
        }
    return pairs;
}

/* A kernel computes the scores of a block of register rows against the keys between the lowest and the highest that one of them
 * sees, from the group of lanes on in which the lowest lies. (It evens the rows of the last blocks out, which moves a few pairs.) */
static double count_computed(const struct attend__plan *plan, const struct attend__item *item,
                             const struct attend__unit_ref *unit)
{
    const struct attend__kernel *kernel = plan->kernel;
    double pairs = 0;
    for (int64_t m = 0; m < unit->rows; m += kernel->register_rows) {
        const int64_t rows = attend__min(unit->rows - m, kernel->register_rows);
        const struct attend__range seen = attend__unit_union(&plan->problem, item, unit->first + m, rows);
        pairs += (double)rows * (double)(seen.high - seen.low / ATTEND__LANES * ATTEND__LANES);
    }
    return pairs;
}

static void count_tiles(attend_explanation *explanation, const struct attend__problem *problem,
                        const struct attend__item *item, const struct attend__unit_ref *unit)
{
    const struct attend__item_rows own = attend__unit_item_rows(problem, unit->first, unit->rows);
    const struct attend__range some = attend__rows_union(problem, item, own.first, own.count);
    const struct attend__range shared = attend__rows_shared(problem, item, own.first, own.count);
    const int64_t all = attend__divide_up(item->keys, ATTEND__KV_TILE);
    const int64_t seen = attend__divide_up(some.high, ATTEND__KV_TILE) - some.low / ATTEND__KV_TILE;
    const int64_t full_begin = attend__divide_up(shared.low, ATTEND__KV_TILE);
    const int64_t full_end = shared.high == item->keys ? all : shared.high / ATTEND__KV_TILE;
    const int64_t full = attend__max(full_end - full_begin, 0);
    explanation->tiles_full += full;
    explanation->tiles_partial += seen - full;
    explanation->tiles_skipped += all - seen;
}

static void explain_call(attend_explanation *explanation, const struct attend__plan *plan, const struct attend__call *call,
                         const struct attend__schedule *schedule)
{
    const struct attend__problem *problem = &plan->problem;
    explanation->padded_pairs =
        (double)call->batch * (double)problem->heads * (double)call->rows * (double)call->keys;
    for (int64_t b = 0; b < call->batch; b++)
        explanation->visible_pairs += count_visible(problem, call, &schedule->items[b], b);
    for (int64_t i = 0; i < schedule->count; i++) {
        const struct attend__unit_ref *unit = &schedule->units[i];
        if (unit->kv_head == ATTEND__CLEAR_UNIT) {
            explanation->padding_units++;
            continue;
        }
        explanation->computed_pairs += count_computed(plan, &schedule->items[unit->item], unit);
        count_tiles(explanation, problem, &schedule->items[unit->item], unit);
    }
}

attend_status attend_plan_explain(const attend_plan *object, const attend_args *args, attend_explanation *explanation)
{
    if (!object)
        return attend__fail(ATTEND_ERR_ARGUMENT, "plan is NULL; it must come from attend_plan_create");
    attend_engine *engine;
    const struct attend__plan *plan = &object->plan;
    struct attend__call call;
    attend_args given;
    attend_status status = attend__struct_check(explanation, sizeof *explanation, "explanation");
    if (!status)
        status = attend__engine_use(&engine, object->engine);
    if (!status)
        status = attend__struct_read(&given, sizeof given, sizeof given, args, "args");
    if (!status)
        status = attend__call_check(&call, &plan->problem, &given, true);
    if (status)
        return status;
    const attend__fpstate state = attend__fpstate_enter();
    struct attend__slot *slot = attend__slots_take(&engine->slots);
    struct attend__schedule schedule;
    attend__plan_schedule(plan, &call, slot->memory, &schedule);
    attend_explanation now = {
        .kernel = plan->kernel->name,
        .kv_tile = ATTEND__KV_TILE,
        .register_rows = plan->kernel->register_rows,
        .register_keys = plan->kernel->register_keys,
        .unit_rows = schedule.unit_rows,
        .units = schedule.count,
        .inline_run = attend__engine_runs_inline(engine, schedule.work),
        .workspace_bytes = (int64_t)plan->workspace_bytes,
        .scratch_bytes = (int64_t)plan->scratch_bytes,
        .multiply_adds = schedule.work,
        .inline_limit = engine->inline_work,
        .unit_rows_most = plan->unit_rows,
    };
    explain_call(&now, plan, &call, &schedule);
    attend__slots_give_back(&engine->slots, slot);
    attend__fpstate_leave(state);
    return attend__struct_write(explanation, sizeof now, &now, sizeof now, "explanation");
}
