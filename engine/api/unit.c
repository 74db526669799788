/* See unit.h. */
#include "engine/api/unit.h"

#include "engine/base/sizes.h"

#include <math.h>
#include <string.h>

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

/* What few calls ask for: a visibility tensor, scores or weights. */
static void describe_details(const struct attend__unit_work *work, const struct attend__item *item, int64_t b, int64_t h, int64_t i,
                             const struct attend__row *row, struct attend__row_details *details)
{
    const struct attend__call *call = &work->call;
    const int64_t r = item->row_start + i;
    details->scores = element(&call->scores, b, h, r, item->key_start);
    details->weights = element(&call->weights, b, h, r, item->key_start);
    details->visible = NULL;
    if (call->visible.data) {
        const int64_t *stride = call->visible.stride;
        details->visible = (const uint8_t *)call->visible.data + b * stride[0] + h * stride[1] + r * stride[2] +
                           item->key_start * stride[3];
    }
    const int64_t low = item->key_start + row->low, high = item->key_start + row->high;
    fill_outside(&call->scores, b, h, r, low, high, call->keys, -INFINITY);
    fill_outside(&call->weights, b, h, r, low, high, call->keys, 0.0f);
}

static bool wants_details(const struct attend__call *call)
{
    return call->visible.data || call->scores.data || call->weights.data;
}

/* Goes from row to row of a group's heads: to the next head, or from the last head to the first of the next row. An address and no
 * pointer, since it may end up outside the tensor; steps in bytes, 0 where there is no tensor. */
struct walk {
    uintptr_t at;
    uintptr_t next_head, next_row;
};

static struct walk walk_from(const struct attend__view *view, int64_t b, int64_t h, int64_t r, int64_t group)
{
    const int64_t size = (int64_t)sizeof(float); /* strides are 0 where there is no tensor */
    return (struct walk){ (uintptr_t)element(view, b, h, r, 0), (uintptr_t)(view->stride[1] * size),
                          (uintptr_t)((view->stride[2] - (group - 1) * view->stride[1]) * size) };
}

static void walk_on(struct walk *walk, bool to_next_row)
{
    walk->at += to_next_row ? walk->next_row : walk->next_head;
}

/* What the rows see together, and whether each of them sees all of that. */
static void describe_union(const struct attend__unit_work *work, const struct attend__unit_ref *ref, struct attend__unit *unit)
{
    const struct attend__problem *problem = &work->plan->problem;
    const struct attend__item *item = &work->schedule.items[ref->item];
    const struct attend__item_rows own = attend__unit_item_rows(problem, ref->first, ref->rows);
    const struct attend__range some = attend__rows_union(problem, item, own.first, own.count);
    const struct attend__range shared = attend__rows_shared(problem, item, own.first, own.count);
    unit->low = some.low;
    unit->high = some.high;
    unit->alike = !unit->details && !attend__range_is_empty(some) && shared.low == some.low && shared.high == some.high;
}

/* The unit's rows, and their details where there are any. */
static void describe_rows(const struct attend__unit_work *work, const struct attend__unit_ref *ref, struct attend__row *row,
                          struct attend__row_details *details, bool alike)
{
    const struct attend__problem *problem = &work->plan->problem;
    const struct attend__call *call = &work->call;
    const struct attend__item *item = &work->schedule.items[ref->item];
    const int64_t group = problem->group, first_head = ref->kv_head * group;
    int64_t i = ref->first / group, h = ref->first % group;
    struct walk query = walk_from(&call->query, ref->item, first_head + h, item->row_start + i, group);
    struct walk output = walk_from(&call->output, ref->item, first_head + h, item->row_start + i, group);
    struct walk lse = walk_from(&call->lse, ref->item, first_head + h, item->row_start + i, group);
    struct attend__range range = attend__row_range(problem, item, i);
    for (int64_t m = 0; m < ref->rows; m++) {
        row[m] = (struct attend__row){ (const float *)query.at, (float *)output.at, (float *)lse.at, range.low, range.high };
        if (details)
            describe_details(work, item, ref->item, first_head + h, i, &row[m], &details[m]);
        const bool row_ends = ++h == group;
        walk_on(&query, row_ends);
        walk_on(&output, row_ends);
        walk_on(&lse, row_ends);
        if (row_ends) {
            h = 0;
            i++;
            if (!alike)
                range = attend__row_range(problem, item, i);
        }
    }
}

/* Rows first … first + rows - 1 of planes consecutive heads. */
static struct attend__region region_of(const struct attend__view *view, int64_t b, int64_t h, int64_t first, int64_t rows,
                                       int64_t planes, int64_t width)
{
    const int64_t size = (int64_t)sizeof(float);
    return (struct attend__region){ element(view, b, h, first, 0), width * size,  rows,
                                    view->stride[2] * size,        planes,        view->stride[1] * size };
}

/* Of the first tile that the next unit sees, the keys that this unit leaves untouched. */
static struct attend__range new_keys(const struct attend__unit_work *work, const struct attend__unit_ref *ref,
                                     const struct attend__unit_ref *then)
{
    const struct attend__problem *problem = &work->plan->problem;
    const struct attend__item *item = &work->schedule.items[then->item];
    const struct attend__range next = attend__unit_union(problem, item, then->first, then->rows);
    const int64_t tile = next.low / ATTEND__KV_TILE * ATTEND__KV_TILE;
    struct attend__range fresh = { tile, attend__min(next.high, tile + ATTEND__KV_TILE) };
    if (then->item == ref->item && then->kv_head == ref->kv_head) {
        const struct attend__range own = attend__unit_union(problem, item, ref->first, ref->rows);
        if (own.low / ATTEND__KV_TILE * ATTEND__KV_TILE <= tile)
            fresh.low = attend__max(fresh.low, own.high);
    }
    return fresh;
}

/* Where the thread's next unit lies: keys and values of its first tile unless they are this unit's, queries, output. Elements that are
 * no neighbours are left to the processor. */
static int regions_of_next(const struct attend__unit_work *work, const struct attend__unit_ref *ref, int64_t next,
                           struct attend__region *region)
{
    if (next < 0)
        return 0;
    const struct attend__problem *problem = &work->plan->problem;
    const struct attend__call *call = &work->call;
    const struct attend__unit_ref *then = &work->schedule.units[next];
    if (then->kv_head == ATTEND__CLEAR_UNIT)
        return 0;
    const struct attend__item *item = &work->schedule.items[then->item];
    const int64_t group = problem->group, b = then->item;
    const struct attend__range keys = new_keys(work, ref, then);
    const struct attend__item_rows own = attend__unit_item_rows(problem, then->first, then->rows);
    const int64_t first_row = item->row_start + own.first;
    int regions = 0;
    if (!attend__range_is_empty(keys) && call->key.stride[3] == 1 && call->value.stride[3] == 1) {
        const int64_t first_key = item->key_start + keys.low, count = keys.high - keys.low;
        region[regions++] = region_of(&call->key, b, then->kv_head, first_key, count, 1, problem->d_k);
        region[regions++] = region_of(&call->value, b, then->kv_head, first_key, count, 1, problem->d_v);
    }
    if (call->query.stride[3] == 1)
        region[regions++] = region_of(&call->query, b, then->kv_head * group, first_row, own.count, group, problem->d_k);
    if (call->output.stride[3] == 1)
        region[regions++] = region_of(&call->output, b, then->kv_head * group, first_row, own.count, group, problem->d_v);
    return regions;
}

static void attend_unit(const struct attend__unit_work *work, const struct attend__unit_ref *ref, int64_t next, void *scratch)
{
    const struct attend__plan *plan = work->plan;
    const struct attend__problem *problem = &plan->problem;
    const struct attend__call *call = &work->call;
    const struct attend__item *item = &work->schedule.items[ref->item];
    struct attend__row *row = scratch;
    struct attend__row_details *details =
        wants_details(call) ? (struct attend__row_details *)((char *)scratch + plan->rows_bytes) : NULL;
    struct attend__unit unit = {
        .row = row,
        .details = details,
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
    describe_union(work, ref, &unit);
    describe_rows(work, ref, row, details, unit.alike);
    unit.nexts = regions_of_next(work, ref, next, unit.next);
    plan->kernel->run(&unit, (char *)scratch + plan->rows_bytes + plan->details_bytes);
}

/* Rows first … last - 1 of the output. Rows without gaps between them are one piece, which the C library clears without reading it
 * first. */
static void clear_output(const struct attend__view *output, int64_t b, int64_t h, int64_t first, int64_t last, int64_t d_v)
{
    float *row = element(output, b, h, first, 0);
    const bool joined = output->stride[3] == 1 && output->stride[2] == d_v;
    if (joined)
        memset(row, 0, (size_t)((last - first) * d_v) * sizeof *row); /* +0 is all bits 0 */
    else
        for (int64_t r = first; r < last; r++, row += output->stride[2])
            fill(row, output->stride[3], 0, d_v, 0.0f);
}

static void clear_rows(const struct attend__unit_work *work, int64_t b, int64_t h, int64_t first, int64_t last)
{
    const struct attend__call *call = &work->call;
    if (first >= last)
        return;
    if (call->output.data)
        clear_output(&call->output, b, h, first, last, work->plan->problem.d_v);
    if (call->lse.data)
        fill(element(&call->lse, b, h, 0, 0), call->lse.stride[2], first, last, -INFINITY);
    for (int64_t r = first; r < last; r++) {
        fill_outside(&call->scores, b, h, r, 0, 0, call->keys, -INFINITY);
        fill_outside(&call->weights, b, h, r, 0, 0, call->keys, 0.0f);
    }
}

static void clear_padding(const struct attend__unit_work *work, const struct attend__unit_ref *ref)
{
    const struct attend__item *item = &work->schedule.items[ref->item];
    clear_rows(work, ref->item, ref->first, 0, item->row_start);
    clear_rows(work, ref->item, ref->first, item->row_start + item->rows, work->call.rows);
}

static int64_t unit_multiply_adds(const struct attend__unit_work *work, const struct attend__unit_ref *ref)
{
    if (ref->kv_head == ATTEND__CLEAR_UNIT)
        return 0;
    const struct attend__problem *problem = &work->plan->problem;
    return (int64_t)(attend__unit_pairs(problem, &work->schedule.items[ref->item], ref->first, ref->rows) *
                     (double)(problem->d_k + problem->d_v));
}

void attend__unit_run(const struct attend__unit_work *work, int64_t unit, int64_t next, void *scratch)
{
    const struct attend__unit_ref *ref = &work->schedule.units[unit];
    if (ref->kv_head == ATTEND__CLEAR_UNIT)
        clear_padding(work, ref);
    else
        attend_unit(work, ref, next, scratch);
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
