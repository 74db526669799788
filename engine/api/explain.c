/* What a run would do, without running it: the same schedule, looked at instead of executed. */
#include "engine/api/engine.h"
#include "engine/api/step.h"

#include "engine/base/fpstate.h"
#include "engine/base/sizes.h"
#include "engine/base/status.h"
#include "engine/base/structs.h"

#include <math.h>
#include <stddef.h>

static int64_t offset_of(const struct attend__view *view, int64_t b, int64_t h, int64_t r, int64_t f)
{
    return b * view->stride[0] + h * view->stride[1] + r * view->stride[2] + f * view->stride[3];
}

/* Does the visibility tensor allow the item's key j? A tail's last column is the item's last key. */
static bool is_allowed(const struct attend__call *call, const struct attend__item *item, int64_t b, int64_t h, int64_t r, int64_t j)
{
    const struct attend__view *visible = &call->visible;
    const int64_t column = call->visible_tail > 0 ? j - item->keys + call->visible_tail : item->key_start + j;
    if (!visible->data || column < 0)
        return true;
    const int64_t offset = offset_of(visible, b, h, r, column);
    if (!call->visible_bits)
        return visible->data[offset] != 0;
    const int64_t bit = visible->stride[3] * column; /* rows begin with a byte */
    return (unsigned char)visible->data[(offset - bit) / 8 + bit / 8] >> bit % 8 & 1;
}

static bool is_visible(const struct attend__call *call, const struct attend__item *item, int64_t b, int64_t h, int64_t r, int64_t j)
{
    const struct attend__view *bias = &call->bias;
    if (!is_allowed(call, item, b, h, r, j))
        return false;
    return !bias->data || ((const float *)(const void *)bias->data)[offset_of(bias, b, h, r, item->key_start + j)] != -INFINITY;
}

static double count_visible(const struct attend__problem *problem, const struct attend__call *call,
                            const struct attend__item *item, int64_t b)
{
    if (!call->visible.data && !call->bias.data)
        return attend__range_pairs(problem, item, 0, item->rows) * (double)problem->heads;
    const int64_t prefix = attend__shared_prefix(problem, item);
    double pairs = 0;
    for (int64_t h = 0; h < problem->heads; h++)
        for (int64_t i = 0; i < item->rows; i++) {
            const struct attend__range range = attend__row_range(problem, item, i);
            for (int64_t j = 0; j < prefix; j++)
                pairs += is_visible(call, item, b, h, item->row_start + i, j);
            for (int64_t j = range.low; j < range.high; j++)
                pairs += is_visible(call, item, b, h, item->row_start + i, j);
        }
    return pairs;
}

/* In every tile a kernel computes the scores of a block of register rows against the keys between the lowest and the highest that
 * one of them sees, from the group of lanes on in which the lowest lies. (It evens the rows of the last blocks out, which moves a few
 * pairs.) */
static double count_computed(const struct attend__plan *plan, const struct attend__item *item,
                             const struct attend__unit_ref *unit)
{
    const struct attend__kernel *kernel = plan->kernel;
    const int64_t prefix = attend__shared_prefix(&plan->problem, item);
    double pairs = 0;
    for (int64_t m = 0; m < unit->rows; m += kernel->register_rows) {
        const int64_t rows = attend__min(unit->rows - m, kernel->register_rows);
        const struct attend__range seen = attend__unit_union(&plan->problem, item, unit->first + m, rows);
        const bool joined = !attend__range_is_empty(seen) && seen.low < attend__round_up(prefix, ATTEND__KV_TILE);
        const int64_t keys = joined ? seen.high : prefix + seen.high - seen.low / ATTEND__LANES * ATTEND__LANES;
        pairs += (double)rows * (double)keys;
    }
    return pairs;
}

/* Tiles that have a key of the prefix or of the range, which begins behind it. */
static int64_t tiles_touched(int64_t prefix, struct attend__range range)
{
    const int64_t tiles = attend__divide_up(prefix, ATTEND__KV_TILE);
    if (attend__range_is_empty(range))
        return tiles;
    return tiles + attend__divide_up(range.high, ATTEND__KV_TILE) - attend__max(range.low / ATTEND__KV_TILE, tiles);
}

/* Tiles of which the range holds every key. */
static int64_t tiles_within(struct attend__range range, int64_t keys)
{
    const int64_t begin = attend__divide_up(range.low, ATTEND__KV_TILE);
    const int64_t end = range.high == keys ? attend__divide_up(keys, ATTEND__KV_TILE) : range.high / ATTEND__KV_TILE;
    return attend__range_is_empty(range) ? 0 : attend__max(end - begin, 0);
}

static void count_tiles(attend_explanation *explanation, const struct attend__problem *problem,
                        const struct attend__item *item, const struct attend__unit_ref *unit)
{
    const struct attend__item_rows own = attend__unit_item_rows(problem, unit->first, unit->rows);
    const struct attend__range some = attend__rows_union(problem, item, own.first, own.count);
    struct attend__range shared = attend__rows_shared(problem, item, own.first, own.count);
    struct attend__range prefix = { 0, attend__shared_prefix(problem, item) };
    const int64_t all = attend__divide_up(item->keys, ATTEND__KV_TILE), seen = tiles_touched(prefix.high, some);
    if (!attend__range_is_empty(shared) && shared.low == prefix.high) {
        shared.low = 0; /* one range from key 0 on */
        prefix.high = 0;
    }
    const int64_t full = tiles_within(prefix, item->keys) + tiles_within(shared, item->keys);
    explanation->tiles_full += full;
    explanation->tiles_partial += seen - full;
    explanation->tiles_skipped += all - seen;
}

/* Rows and keys of an item as the tensors hold them: what is packed has no padding. */
static double count_padded(const struct attend__problem *problem, const struct attend__call *call, const struct attend__item *item)
{
    const int64_t rows = problem->packed_queries ? item->rows : call->rows, keys = problem->packed_keys ? item->keys : call->keys;
    return (double)problem->heads * (double)rows * (double)keys;
}

/* Rows whose keys are cut, as if they were not; tiles of a cascade count for each of its items. */
static void explain_split(attend_explanation *explanation, const struct attend__plan *plan, const struct attend__schedule *schedule,
                          const struct attend__split *split)
{
    const struct attend__unit_ref unit = { .item = split->item, .kv_head = split->kv_head, .first = split->first, .rows = split->rows };
    explanation->shared_tiles += split->items > 0 ? (split->items - 1) * split->tiles : 0;
    if (split->items > 0)
        return;
    explanation->computed_pairs += count_computed(plan, &schedule->items[unit.item], &unit);
    count_tiles(explanation, &plan->problem, &schedule->items[unit.item], &unit);
}

static void explain_call(attend_explanation *explanation, const struct attend__plan *plan, const struct attend__call *call,
                         const struct attend__schedule *schedule)
{
    const struct attend__problem *problem = &plan->problem;
    for (int64_t b = 0; b < call->batch; b++) {
        explanation->padded_pairs += count_padded(problem, call, &schedule->items[b]);
        explanation->visible_pairs += count_visible(problem, call, &schedule->items[b], b);
    }
    for (int64_t i = 0; i < schedule->split_count; i++)
        explain_split(explanation, plan, schedule, &schedule->splits[i]);
    for (int64_t i = 0; i < schedule->count; i++) {
        const struct attend__unit_ref *unit = &schedule->units[i];
        if (unit->kv_head == ATTEND__CLEAR_UNIT) {
            explanation->padding_units++;
            continue;
        }
        explanation->pieces += unit->tiles > 0 && unit->items == 0;
        if (unit->tiles > 0)
            continue; /* the split counts for all its pieces */
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
    const size_t without_slow_path = offsetof(attend_explanation, slow_path);
    attend_status status = attend__struct_check(explanation, without_slow_path, "explanation");
    if (!status)
        status = attend__engine_use(&engine, object->engine);
    if (!status)
        status = attend__args_read(&given, args);
    if (!status && given.step)
        status = attend__step_apply(&given, plan);
    if (!status)
        status = attend__call_check(&call, &plan->problem, &given, true);
    if (status)
        return status;
    const attend__fpstate state = attend__fpstate_enter();
    struct attend__slot *slot = attend__slots_take(&engine->slots);
    struct attend__schedule schedule;
    attend__plan_lay_out(plan, slot->memory, &schedule);
    if (given.step)
        attend__step_schedule(given.step, &schedule);
    else
        attend__plan_cut(plan, &call, &schedule);
    attend_explanation now = {
        .kernel = plan->kernel->name,
        .kv_tile = ATTEND__KV_TILE,
        .register_rows = plan->kernel->register_rows,
        .register_keys = plan->kernel->register_keys,
        .unit_rows = schedule.unit_rows,
        .units = schedule.count,
        .inline_run = attend__engine_runs_inline(engine, schedule.cost),
        .workspace_bytes = (int64_t)plan->workspace_bytes,
        .scratch_bytes = (int64_t)plan->scratch_bytes,
        .multiply_adds = schedule.work,
        .work = schedule.cost,
        .inline_limit = engine->inline_work,
        .unit_rows_most = plan->unit_rows,
        .slow_path = engine->kernel_is_fallback ? "the portable kernel" : attend__call_slow_path(&call),
    };
    explain_call(&now, plan, &call, &schedule);
    attend__slots_give_back(&engine->slots, slot);
    attend__fpstate_leave(state);
    return attend__struct_write(explanation, without_slow_path, &now, sizeof now, "explanation");
}
