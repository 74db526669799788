/* See unit.h. */
#include "engine/api/unit.h"

#include "engine/base/sizes.h"

#include <math.h>

/* The element at (b, h, r, f); NULL stays NULL. */
static float *element(const struct attend__view *view, int64_t b, int64_t h, int64_t r, int64_t f)
{
    if (!view->data)
        return NULL;
    return (float *)view->data + b * view->stride[0] + h * view->stride[1] + r * view->stride[2] + f * view->stride[3];
}

static void fill(float *target, int64_t step, int64_t from, int64_t to, float value)
{
    for (int64_t i = from; i < to; i++)
        target[i * step] = value;
}

/* Absolute keys before and after the row's range: never visible, and no kernel writes them. */
static void fill_outside(const struct attend__view *view, int64_t b, int64_t h, int64_t r, int64_t low, int64_t high,
                         int64_t keys, float value)
{
    if (!view->data)
        return;
    float *row = element(view, b, h, r, 0);
    fill(row, view->stride[3], 0, low, value);
    fill(row, view->stride[3], high, keys, value);
}

static void describe_row(const struct attend__unit_work *work, const struct attend__item *item, int64_t b, int64_t h, int64_t i,
                         struct attend__row *row)
{
    const struct attend__call *call = &work->call;
    const struct attend__range range = attend__row_range(&work->plan->problem, item, i);
    const int64_t r = item->row_start + i;
    row->query = element(&call->query, b, h, r, 0);
    row->output = element(&call->output, b, h, r, 0);
    row->lse = element(&call->lse, b, h, r, 0);
    row->scores = element(&call->scores, b, h, r, item->key_start);
    row->weights = element(&call->weights, b, h, r, item->key_start);
    row->visible = NULL;
    if (call->visible.data) {
        const int64_t *stride = call->visible.stride;
        row->visible = (const uint8_t *)call->visible.data + b * stride[0] + h * stride[1] + r * stride[2] +
                       item->key_start * stride[3];
    }
    row->low = range.low;
    row->high = range.high;
    const int64_t low = item->key_start + range.low, high = item->key_start + range.high;
    fill_outside(&call->scores, b, h, r, low, high, call->keys, -INFINITY);
    fill_outside(&call->weights, b, h, r, low, high, call->keys, 0.0f);
}

static void attend_unit(const struct attend__unit_work *work, const struct attend__unit_ref *ref, void *scratch)
{
    const struct attend__problem *problem = &work->plan->problem;
    const struct attend__call *call = &work->call;
    const struct attend__item *item = &work->schedule.items[ref->item];
    struct attend__row *row = scratch;
    int64_t i = ref->first / problem->group, h = ref->first % problem->group;
    for (int64_t m = 0; m < ref->rows; m++) {
        describe_row(work, item, ref->item, ref->kv_head * problem->group + h, i, &row[m]);
        if (++h == problem->group) {
            h = 0;
            i++;
        }
    }
    const struct attend__unit unit = {
        .row = row,
        .rows = ref->rows,
        .key = element(&call->key, ref->item, ref->kv_head, item->key_start, 0),
        .value = element(&call->value, ref->item, ref->kv_head, item->key_start, 0),
        .key_stride = call->key.stride[2],
        .value_stride = call->value.stride[2],
        .d_k = problem->d_k,
        .d_v = problem->d_v,
        .query_step = call->query.stride[3],
        .key_step = call->key.stride[3],
        .value_step = call->value.stride[3],
        .output_step = call->output.stride[3],
        .visible_step = call->visible.stride[3],
        .scores_step = call->scores.stride[3],
        .weights_step = call->weights.stride[3],
        .scale = problem->scale,
    };
    work->plan->kernel->run(&unit, (char *)scratch + work->plan->rows_bytes);
}

static void clear_row(const struct attend__unit_work *work, int64_t b, int64_t h, int64_t r)
{
    const struct attend__call *call = &work->call;
    if (call->output.data)
        fill(element(&call->output, b, h, r, 0), call->output.stride[3], 0, work->plan->problem.d_v, 0.0f);
    if (call->lse.data)
        *element(&call->lse, b, h, r, 0) = -INFINITY;
    fill_outside(&call->scores, b, h, r, 0, 0, call->keys, -INFINITY);
    fill_outside(&call->weights, b, h, r, 0, 0, call->keys, 0.0f);
}

static void clear_padding(const struct attend__unit_work *work, const struct attend__unit_ref *ref)
{
    const struct attend__item *item = &work->schedule.items[ref->item];
    for (int64_t r = 0; r < work->call.rows; r++)
        if (r < item->row_start || r >= item->row_start + item->rows)
            clear_row(work, ref->item, ref->first, r);
}

static int64_t unit_multiply_adds(const struct attend__unit_work *work, const struct attend__unit_ref *ref)
{
    if (ref->kv_head == ATTEND__CLEAR_UNIT)
        return 0;
    const struct attend__problem *problem = &work->plan->problem;
    return (int64_t)(attend__unit_pairs(problem, &work->schedule.items[ref->item], ref->first, ref->rows) *
                     (double)(problem->d_k + problem->d_v));
}

void attend__unit_run(const struct attend__unit_work *work, int64_t unit, void *scratch)
{
    const struct attend__unit_ref *ref = &work->schedule.units[unit];
    if (ref->kv_head == ATTEND__CLEAR_UNIT)
        clear_padding(work, ref);
    else
        attend_unit(work, ref, scratch);
    if (work->progress)
        __atomic_fetch_add(&work->progress->done, unit_multiply_adds(work, ref), __ATOMIC_RELAXED);
}

void attend__unit_begin(const struct attend__unit_work *work)
{
    if (!work->progress)
        return;
    int64_t total = 0;
    for (int64_t unit = 0; unit < work->schedule.count; unit++)
        total += unit_multiply_adds(work, &work->schedule.units[unit]);
    __atomic_store_n(&work->progress->done, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&work->progress->total, total, __ATOMIC_RELAXED);
}
