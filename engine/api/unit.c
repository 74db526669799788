/* See unit.h. */
#include "engine/api/unit.h"

#include "engine/base/sizes.h"

#include <math.h>
#include <string.h>

/* The element at (b, h, r, f); NULL stays NULL. */
static void *element(const struct attend__view *view, int64_t b, int64_t h, int64_t r, int64_t f)
{
    if (!view->data)
        return NULL;
    const int64_t at = b * view->stride[0] + h * view->stride[1] + r * view->stride[2] + f * view->stride[3];
    return view->data + at * view->size;
}

static void fill(float *target, int64_t step, int64_t from, int64_t to, float value)
{
    for (int64_t i = from; i < to; i++)
        target[i * step] = value;
}

/* A row of scores or weights where no key is visible and no kernel writes: outside the item's keys, and between its prefix and the row's
 * range. */
static void fill_outside(const struct attend__view *view, int64_t b, int64_t h, int64_t r, const struct attend__item *item,
                         int64_t prefix, const struct attend__row *seen, int64_t keys, float value)
{
    if (!view->data)
        return;
    float *row = element(view, b, h, r, 0);
    const bool none = seen->low >= seen->high;
    const int64_t low = none ? prefix : seen->low, high = none ? prefix : seen->high;
    fill(row, view->stride[3], 0, item->key_start, value);
    fill(row, view->stride[3], item->key_start + prefix, item->key_start + low, value);
    fill(row, view->stride[3], item->key_start + high, keys, value);
}

/* The flags of a row of keys, from column 0 on. */
static const uint8_t *visible_row(const struct attend__call *call, int64_t b, int64_t h, int64_t r)
{
    if (!call->visible.data)
        return NULL;
    const int64_t *stride = call->visible.stride;
    const int64_t at = b * stride[0] + h * stride[1] + r * stride[2];
    return (const uint8_t *)call->visible.data + (call->visible_bits ? at / 8 : at);
}

/* M and L of a row: the caller's, or those that wait for the key sums. */
static float *row_number(const struct attend__view *view, float *kept, const struct attend__unit_work *work, int64_t b, int64_t h,
                         int64_t r)
{
    if (view->data)
        return element(view, b, h, r, 0);
    if (!kept || !work->call.key_sums.data)
        return NULL;
    const struct attend__problem *problem = &work->plan->problem;
    const int64_t item = problem->packed_queries ? 0 : b;
    return kept + (item * problem->heads + h) * problem->rows + r;
}

/* What not every call has. */
static void describe_details(const struct attend__unit_work *work, const struct attend__item *item, int64_t b, int64_t h, int64_t i,
                             struct attend__row_details *details)
{
    const struct attend__call *call = &work->call;
    const int64_t r = item->row_start + i;
    *details = (struct attend__row_details){
        .visible = visible_row(call, b, h, r),
        .bias = element(&call->bias, b, h, r, item->key_start),
        .diagonal = item->diagonal + i,
        .slope = call->alibi_slopes ? call->alibi_slopes[h] : 0.0f,
        .sink = call->sinks ? call->sinks[h] : -INFINITY,
        .largest = row_number(&call->maximum, work->schedule.maximum, work, b, h, r),
        .total = row_number(&call->total, work->schedule.total, work, b, h, r),
        .scores = element(&call->scores, b, h, r, item->key_start),
        .weights = element(&call->weights, b, h, r, item->key_start),
    };
}

static bool wants_details(const struct attend__call *call)
{
    return call->visible.data || call->bias.data || call->alibi_slopes || call->sinks || call->maximum.data || call->key_sums.data ||
           call->scores.data || call->weights.data;
}

/* Goes from row to row of a group's heads: to the next head, or from the last head to the first of the next row. An address and no
 * pointer, since it may end up outside the tensor; steps in bytes, 0 where there is no tensor. */
struct walk {
    uintptr_t at;
    uintptr_t next_head, next_row;
};

static struct walk walk_from(const struct attend__view *view, int64_t b, int64_t h, int64_t r, int64_t group)
{
    const int64_t size = view->size; /* 0 where there is no tensor */
    return (struct walk){ (uintptr_t)element(view, b, h, r, 0), (uintptr_t)(view->stride[1] * size),
                          (uintptr_t)((view->stride[2] - (group - 1) * view->stride[1]) * size) };
}

static void walk_on(struct walk *walk, bool to_next_row)
{
    walk->at += to_next_row ? walk->next_row : walk->next_head;
}

static struct attend__range piece_keys(const struct attend__unit_ref *ref)
{
    return (struct attend__range){ ref->tile * ATTEND__KV_TILE, (ref->tile + ref->tiles) * ATTEND__KV_TILE };
}

/* A cascade: the rows of its items see all of its tiles. */
static void describe_shared_tiles(const struct attend__unit_ref *ref, struct attend__unit *unit)
{
    const struct attend__range keys = piece_keys(ref);
    unit->low = keys.low;
    unit->high = keys.high;
    unit->alike = !unit->masked;
}

/* What the rows see together, and whether each of them sees all of that. The keys between the prefix and the union are seen by none. */
static void describe_union(const struct attend__unit_work *work, const struct attend__unit_ref *ref, struct attend__unit *unit)
{
    const struct attend__problem *problem = &work->plan->problem;
    const struct attend__item *item = &work->schedule.items[ref->item];
    const struct attend__item_rows own = attend__unit_item_rows(problem, ref->first, ref->rows);
    const struct attend__range some = attend__rows_union(problem, item, own.first, own.count);
    const struct attend__range shared = attend__rows_shared(problem, item, own.first, own.count);
    if (ref->items > 0) {
        describe_shared_tiles(ref, unit);
        return;
    }
    unit->prefix = attend__shared_prefix(problem, item);
    unit->low = unit->prefix > 0 ? 0 : some.low;
    unit->high = attend__range_is_empty(some) ? unit->prefix : some.high;
    unit->gap_low = unit->prefix;
    unit->gap_high = unit->prefix > 0 && !attend__range_is_empty(some) ? some.low : unit->prefix;
    unit->alike = unit->prefix == 0 && !unit->masked && !attend__range_is_empty(some) && shared.low == some.low &&
                  shared.high == some.high;
}

/* The unit's rows, and their details where there are any. */
static void describe_rows_of_item(const struct attend__unit_work *work, const struct attend__unit_ref *ref, struct attend__row *row,
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
        row[m] = (struct attend__row){ (const void *)query.at, (void *)output.at, (float *)lse.at, range.low, range.high };
        if (details)
            describe_details(work, item, ref->item, first_head + h, i, &details[m]);
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

static void describe_rows(const struct attend__unit_work *work, const struct attend__unit_ref *ref, struct attend__row *row,
                          struct attend__row_details *details, bool alike)
{
    if (ref->items == 0)
        describe_rows_of_item(work, ref, row, details, alike);
    struct attend__unit_ref one = { .kv_head = ref->kv_head };
    for (int64_t i = 0, first = 0; i < ref->items; i++, first += one.rows) {
        one.item = ref->item + i;
        one.rows = work->schedule.items[one.item].rows * work->plan->problem.group;
        describe_rows_of_item(work, &one, row + first, details ? details + first : NULL, false);
    }
}

/* Where the keys or values of the unit's kv head lie. */
static struct attend__places places_of(const struct attend__unit_work *work, const struct attend__view *view,
                                       const struct attend__unit_ref *ref, const struct attend__item *item)
{
    const struct attend__problem *problem = &work->plan->problem;
    const struct attend__call *call = &work->call;
    const bool paged = problem->page_keys > 0;
    return (struct attend__places){
        .base = paged ? element(view, 0, ref->kv_head, 0, 0) : element(view, ref->item, ref->kv_head, item->key_start, 0),
        .dtype = problem->kv_dtype,
        .stride = view->stride[2],
        .step = view->stride[3],
        .pages = paged && item->keys > 0 ? call->block_tables + ref->item * call->table_stride : NULL,
        .page_keys = problem->page_keys,
        .page_stride = view->stride[0],
        .first = item->key_start,
    };
}

/* Rows first … first + rows - 1 of planes consecutive heads. */
static struct attend__region region_of(const struct attend__view *view, int64_t b, int64_t h, int64_t first, int64_t rows,
                                       int64_t planes, int64_t width)
{
    const int64_t size = view->size;
    return (struct attend__region){ element(view, b, h, first, 0), width * size,  rows,
                                    view->stride[2] * size,        planes,        view->stride[1] * size,       NULL };
}

/* Keys that the unit, or piece, sees. */
static struct attend__range keys_of(const struct attend__problem *problem, const struct attend__item *item,
                                    const struct attend__unit_ref *ref)
{
    if (ref->items > 0)
        return piece_keys(ref);
    const struct attend__range seen = attend__unit_union(problem, item, ref->first, ref->rows);
    if (ref->tiles == 0)
        return seen;
    return (struct attend__range){ attend__clamp(seen.low, piece_keys(ref).low, piece_keys(ref).high),
                                   attend__clamp(seen.high, piece_keys(ref).low, piece_keys(ref).high) };
}

/* Of the first tile that the next unit sees, the keys that this unit leaves untouched. */
static struct attend__range new_keys(const struct attend__unit_work *work, const struct attend__unit_ref *ref,
                                     const struct attend__unit_ref *then)
{
    const struct attend__problem *problem = &work->plan->problem;
    const struct attend__item *item = &work->schedule.items[then->item];
    const struct attend__range next = keys_of(problem, item, then);
    const int64_t tile = next.low / ATTEND__KV_TILE * ATTEND__KV_TILE;
    struct attend__range fresh = { tile, attend__min(next.high, tile + ATTEND__KV_TILE) };
    if (then->item == ref->item && then->kv_head == ref->kv_head) {
        const struct attend__range own = keys_of(problem, item, ref);
        if (own.low / ATTEND__KV_TILE * ATTEND__KV_TILE <= tile)
            fresh.low = attend__max(fresh.low, own.high);
    }
    return fresh;
}

/* Where the thread's next unit lies. */
struct next_unit {
    struct attend__region region[ATTEND__NEXT_REGIONS];
    struct attend__keys_ahead keys;
};

/* Its queries and output. Elements that are no neighbours, and rows of several items, are left to the processor. */
static int regions_of_next(const struct attend__unit_work *work, const struct attend__unit_ref *then, struct attend__region *region)
{
    const struct attend__problem *problem = &work->plan->problem;
    const struct attend__call *call = &work->call;
    const struct attend__item *item = &work->schedule.items[then->item];
    const int64_t group = problem->group, b = then->item;
    const struct attend__item_rows own = attend__unit_item_rows(problem, then->first, then->rows);
    const int64_t first_row = item->row_start + own.first;
    int regions = 0;
    if (then->items > 0)
        return 0;
    if (call->query.stride[3] == 1)
        region[regions++] = region_of(&call->query, b, then->kv_head * group, first_row, own.count, group, problem->d_k);
    if (call->output.stride[3] == 1)
        region[regions++] = region_of(&call->output, b, then->kv_head * group, first_row, own.count, group, problem->d_v);
    return regions;
}

static void look_ahead(const struct attend__unit_work *work, const struct attend__unit_ref *ref, int64_t next,
                       struct attend__unit *unit, struct next_unit *ahead)
{
    if (next < 0)
        return;
    const struct attend__unit_ref *then = &work->schedule.units[next];
    if (then->kv_head == ATTEND__CLEAR_UNIT)
        return;
    const struct attend__range keys = new_keys(work, ref, then);
    ahead->keys.key = places_of(work, &work->call.key, then, &work->schedule.items[then->item]);
    ahead->keys.value = places_of(work, &work->call.value, then, &work->schedule.items[then->item]);
    ahead->keys.low = keys.low;
    ahead->keys.high = keys.high;
    unit->keys_ahead = &ahead->keys;
    unit->next = ahead->region;
    unit->nexts = regions_of_next(work, then, ahead->region);
}

/* Where scores and weights have no key that a row could see. */
static void fill_rows(const struct attend__unit_work *work, const struct attend__unit_ref *ref, const struct attend__unit *unit)
{
    const struct attend__problem *problem = &work->plan->problem;
    const struct attend__call *call = &work->call;
    const struct attend__item *item = &work->schedule.items[ref->item];
    for (int64_t m = 0; m < ref->rows; m++) {
        const int64_t h = ref->kv_head * problem->group + (ref->first + m) % problem->group;
        const int64_t r = item->row_start + (ref->first + m) / problem->group;
        fill_outside(&call->scores, ref->item, h, r, item, unit->prefix, &unit->row[m], call->keys, -INFINITY);
        fill_outside(&call->weights, ref->item, h, r, item, unit->prefix, &unit->row[m], call->keys, 0.0f);
    }
}

struct attend__unit attend__unit_describe(const struct attend__unit_work *work, const struct attend__unit_ref *ref, void *scratch)
{
    const struct attend__plan *plan = work->plan;
    const struct attend__problem *problem = &plan->problem;
    const struct attend__call *call = &work->call;
    const struct attend__item *item = &work->schedule.items[ref->item];
    struct attend__row *row = scratch;
    struct attend__row_details *details =
        wants_details(call) ? (struct attend__row_details *)((char *)scratch + plan->rows_bytes) : NULL;
    /* Every field, or the compiler would clear the struct first, which shows in short units. */
    struct attend__unit unit = {
        .row = row,
        .details = details,
        .rows = ref->rows,
        .key = places_of(work, &call->key, ref, item),
        .value = places_of(work, &call->value, ref, item),
        .d_k = problem->d_k,
        .d_v = problem->d_v,
        .query_dtype = problem->query_dtype,
        .output_dtype = problem->output_dtype,
        .query_step = call->query.stride[3],
        .output_step = call->output.stride[3],
        .visible_step = call->visible.stride[3],
        .visible_column = call->visible_tail > 0 ? call->visible_tail - item->keys : item->key_start,
        .visible_bits = call->visible_bits,
        .bias_step = call->bias.stride[3],
        .masked = call->visible.data || call->bias.data,
        .biased = call->bias.data != NULL,
        .distant = call->alibi_slopes != NULL,
        .sunken = call->sinks != NULL,
        .partial = call->maximum.data != NULL,
        .resume = call->resume,
        .diagnosed = call->scores.data || call->weights.data,
        .slots = NULL,
        .slot_count = 0,
        .shared_slots = NULL,
        .shared_count = 0,
        .shared_rows = 0,
        .shared_first = 0,
        .apart = false,
        .softcap = problem->softcap,
        .halted = work->halt ? attend__halt_asked : NULL,
        .halted_argument = work->halt,
        .scores_step = call->scores.stride[3],
        .weights_step = call->weights.stride[3],
        .scale = problem->scale,
        .low = 0,
        .high = 0,
        .prefix = 0,
        .gap_low = 0,
        .gap_high = 0,
        .alike = false,
        .next = NULL,
        .nexts = 0,
        .keys_ahead = NULL,
    };
    describe_union(work, ref, &unit);
    describe_rows(work, ref, row, details, unit.alike);
    return unit;
}

/* Makes the unit the piece that `ref` says, with empty slots. What is resumed from belongs to the first piece. */
static void become_piece(struct attend__unit *unit, const struct attend__unit_work *work, const struct attend__unit_ref *ref)
{
    const struct attend__split *split = &work->schedule.splits[ref->split];
    const struct attend__range keys = piece_keys(ref);
    const int64_t slot_floats = attend__slot_floats(ref->rows, unit->d_v), before = ref->tile - split->tile;
    const bool first = before == 0 && split->cascade < 0;
    unit->slots = work->schedule.slots + split->slot + (before == 0 ? 0 : (1 + before - split->first_tiles) * slot_floats);
    unit->apart = !first;
    unit->resume = unit->resume && first;
    unit->low = attend__clamp(unit->low, keys.low, keys.high);
    unit->high = attend__clamp(unit->high, keys.low, keys.high);
    for (int64_t s = 0; s < (first ? 1 : ref->tiles); s++)
        memset(unit->slots + s * slot_floats + attend__slot_numbers(ref->rows), 0, (size_t)ref->rows * sizeof *unit->slots);
}

static void *kernel_scratch(const struct attend__plan *plan, void *scratch)
{
    return (char *)scratch + plan->rows_bytes + plan->details_bytes;
}

static void join_pieces(const struct attend__unit_work *work, const struct attend__split *split, void *scratch)
{
    const struct attend__unit_ref ref = { .item = split->item, .kv_head = split->kv_head, .first = split->first, .rows = split->rows };
    struct attend__unit unit = attend__unit_describe(work, &ref, scratch);
    unit.slots = work->schedule.slots + split->slot;
    unit.slot_count = attend__split_slots(split);
    if (split->cascade >= 0) {
        const struct attend__split *cascade = &work->schedule.splits[split->cascade];
        unit.shared_slots = work->schedule.slots + cascade->slot;
        unit.shared_count = attend__split_slots(cascade);
        unit.shared_rows = cascade->rows;
        unit.shared_first = split->cascade_row;
    }
    work->plan->kernel->join(&unit, kernel_scratch(work->plan, scratch));
}

static void count_down(const struct attend__unit_work *work, int64_t split, void *scratch)
{
    if (__atomic_sub_fetch(&work->schedule.waiting[split], 1, __ATOMIC_ACQ_REL) == 0)
        join_pieces(work, &work->schedule.splits[split], scratch);
}

/* Whoever finishes the last piece that some rows wait for joins them. A cascade's pieces are waited for by all its items. */
static void finish_piece(const struct attend__unit_work *work, const struct attend__unit_ref *ref, void *scratch)
{
    const struct attend__split *split = &work->schedule.splits[ref->split];
    if (split->items == 0)
        count_down(work, ref->split, scratch);
    for (int64_t i = 0; i < split->items; i++)
        count_down(work, split->feeds + i, scratch);
}

static void attend_unit(const struct attend__unit_work *work, const struct attend__unit_ref *ref, int64_t next, void *scratch)
{
    const struct attend__plan *plan = work->plan;
    struct attend__unit unit = attend__unit_describe(work, ref, scratch);
    struct next_unit ahead;
    look_ahead(work, ref, next, &unit, &ahead);
    if (unit.diagnosed)
        fill_rows(work, ref, &unit);
    if (ref->tiles > 0)
        become_piece(&unit, work, ref);
    plan->kernel->run(&unit, kernel_scratch(plan, scratch));
    if (ref->tiles > 0)
        finish_piece(work, ref, scratch);
}

/* Rows first … last - 1 of the output. Rows without gaps between them are one piece, which the C library clears without reading it
 * first. */
static void clear_output(const struct attend__view *output, int64_t b, int64_t h, int64_t first, int64_t last, int64_t d_v)
{
    const size_t size = (size_t)output->size; /* +0 is all bits 0 in every type */
    const int64_t together = output->stride[3] != 1 ? 1 : output->stride[2] != d_v ? d_v : (last - first) * d_v; /* neighbours */
    if (together > d_v) {
        memset(element(output, b, h, first, 0), 0, (size_t)together * size);
        return;
    }
    for (int64_t r = first; r < last; r++)
        for (int64_t d = 0; d < d_v; d += together)
            memset(element(output, b, h, r, d), 0, (size_t)together * size);
}

/* One number of each of rows first … last - 1. */
static void fill_numbers(const struct attend__view *view, int64_t b, int64_t h, int64_t first, int64_t last, float value)
{
    if (view->data)
        fill(element(view, b, h, 0, 0), view->stride[2], first, last, value);
}

static void clear_rows(const struct attend__unit_work *work, int64_t b, int64_t h, int64_t first, int64_t last)
{
    const struct attend__call *call = &work->call;
    if (first >= last)
        return;
    if (call->output.data)
        clear_output(&call->output, b, h, first, last, work->plan->problem.d_v);
    fill_numbers(&call->lse, b, h, first, last, -INFINITY);
    fill_numbers(&call->maximum, b, h, first, last, -INFINITY);
    fill_numbers(&call->total, b, h, first, last, 0.0f);
    for (int64_t r = first; r < last; r++) {
        if (call->scores.data)
            fill(element(&call->scores, b, h, r, 0), call->scores.stride[3], 0, call->keys, -INFINITY);
        if (call->weights.data)
            fill(element(&call->weights, b, h, r, 0), call->weights.stride[3], 0, call->keys, 0.0f);
    }
}

static void clear_padding(const struct attend__unit_work *work, const struct attend__unit_ref *ref)
{
    const struct attend__item *item = &work->schedule.items[ref->item];
    clear_rows(work, ref->item, ref->first, 0, item->row_start);
    clear_rows(work, ref->item, ref->first, item->row_start + item->rows, work->call.rows);
}

/* Of the tiles that the unit's rows see, those that are the piece's, all alike. */
static double share_of_tiles(const struct attend__unit_work *work, const struct attend__unit_ref *ref)
{
    if (ref->tiles == 0)
        return 1;
    const struct attend__split *split = &work->schedule.splits[ref->split];
    return (double)ref->tiles / (double)(split->cascade >= 0 ? split->tile + split->tiles : split->tiles);
}

static int64_t unit_multiply_adds(const struct attend__unit_work *work, const struct attend__unit_ref *ref)
{
    if (ref->kv_head == ATTEND__CLEAR_UNIT)
        return 0;
    const struct attend__problem *problem = &work->plan->problem;
    double pairs = 0;
    if (ref->items == 0)
        pairs = attend__unit_pairs(problem, &work->schedule.items[ref->item], ref->first, ref->rows) * share_of_tiles(work, ref);
    for (int64_t i = 0; i < ref->items; i++) {
        const struct attend__item *item = &work->schedule.items[ref->item + i];
        const struct attend__split *own = &work->schedule.splits[work->schedule.splits[ref->split].feeds + i];
        pairs += attend__unit_pairs(problem, item, 0, own->rows) * (double)ref->tiles / (double)(own->tile + own->tiles);
    }
    return (int64_t)(pairs * (double)(problem->d_k + problem->d_v));
}

void attend__unit_run(const struct attend__unit_work *work, int64_t unit, int64_t next, void *scratch)
{
    const struct attend__unit_ref *ref = &work->schedule.units[unit];
    if (work->halt && attend__halt_asked(work->halt))
        return;
    if (ref->kv_head == ATTEND__CLEAR_UNIT)
        clear_padding(work, ref);
    else
        attend_unit(work, ref, next, scratch);
    if (work->progress)
        __atomic_fetch_add(&work->progress->done, unit_multiply_adds(work, ref), __ATOMIC_RELAXED);
}

void attend__unit_begin(const struct attend__unit_work *work)
{
    for (int64_t s = 0; s < work->schedule.split_count; s++) {
        const struct attend__split *split = &work->schedule.splits[s];
        work->schedule.waiting[s] = split->pieces + (split->cascade >= 0 ? work->schedule.splits[split->cascade].pieces : 0);
    }
    if (!work->progress)
        return;
    int64_t total = 0;
    for (int64_t unit = 0; unit < work->schedule.count; unit++)
        total += unit_multiply_adds(work, &work->schedule.units[unit]);
    __atomic_store_n(&work->progress->done, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&work->progress->total, total, __ATOMIC_RELAXED);
}
