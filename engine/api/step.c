/* See step.h. A step is one block of memory: the struct, copies of the arrays, the cut, and visibility as bits. */
#include "engine/api/step.h"

#include "engine/api/engine.h"
#include "engine/base/fpstate.h"
#include "engine/base/sizes.h"
#include "engine/base/status.h"
#include "engine/base/structs.h"
#include "engine/problem/pages.h"

#include <inttypes.h>
#include <string.h>

enum { ARRAYS = 8 };

struct attend_step {
    const attend_plan *plan;
    size_t bytes;
    attend_args args;      /* sizes, arrays and visibility, the rest as in ATTEND_ARGS_INIT */
    attend_tensor visible; /* args.visible, where there is one */
    struct attend__schedule schedule;
};

/* Rows of flags that differ: along axes without stride there is one. */
struct flags {
    int64_t extent[3], columns;
    int64_t row_bytes;
};

static const int64_t **array_of(attend_args *args, int i)
{
    const int64_t **const arrays[ARRAYS] = { &args->key_starts,   &args->key_lengths,   &args->query_starts, &args->query_lengths,
                                             &args->positions,    &args->prefix_lengths, &args->query_offsets, &args->key_offsets };
    return arrays[i];
}

static const char *const array_names[ARRAYS] = { "key_starts",     "key_lengths",    "query_starts",  "query_lengths",
                                                 "positions",      "prefix_lengths", "query_offsets", "key_offsets" };

/* The offsets, which come last, have one entry more. */
static int64_t array_length(int i, int64_t batch)
{
    return batch + (i >= ARRAYS - 2);
}

static struct flags measure_flags(const struct attend__call *call, const struct attend__problem *problem)
{
    const int64_t *stride = call->visible.stride;
    const int64_t extent[3] = { call->batch, problem->heads, call->rows };
    struct flags flags = { .columns = call->visible_tail > 0 ? call->visible_tail : call->keys };
    for (int axis = 0; axis < 3; axis++)
        flags.extent[axis] = stride[axis] == 0 ? 1 : extent[axis];
    flags.row_bytes = attend__divide_up(flags.columns, 64) * 8;
    return flags;
}

/* Places of the parts in the block, each on a cache line of its own; false where the sum does not fit. */
struct places {
    size_t array[ARRAYS], tables, items, units, splits, bits, end;
};

static bool place(size_t *end, size_t *at, int64_t count, size_t size)
{
    *at = *end;
    return attend__size_add_product(end, (size_t)count, size) && attend__size_add_product(end, ATTEND__ALIGNMENT - 1, 1) &&
           (*end &= ~(size_t)(ATTEND__ALIGNMENT - 1), true);
}

static bool find_places(struct places *places, attend_args *args, const struct attend__call *call, int64_t table_entries,
                        const struct flags *flags, const struct attend__schedule *schedule)
{
    size_t ignored;
    places->end = 0;
    bool fits = place(&places->end, &ignored, 1, sizeof(struct attend_step));
    for (int i = 0; i < ARRAYS; i++)
        fits = fits && place(&places->end, &places->array[i], *array_of(args, i) ? array_length(i, call->batch) : 0, sizeof(int64_t));
    fits = fits && place(&places->end, &places->tables, call->batch * table_entries, sizeof *call->block_tables) &&
           place(&places->end, &places->items, call->batch, sizeof *schedule->items) &&
           place(&places->end, &places->units, schedule->count, sizeof *schedule->units) &&
           place(&places->end, &places->splits, schedule->split_count, sizeof *schedule->splits);
    int64_t rows = call->visible.data ? 1 : 0;
    for (int axis = 0; axis < 3; axis++)
        fits = fits && !__builtin_mul_overflow(rows, flags->extent[axis], &rows);
    return fits && place(&places->end, &places->bits, rows, (size_t)flags->row_bytes);
}

/* One row of flags as bits. */
static void pack_row(uint8_t *bits, const struct attend__call *call, const uint8_t *row, int64_t columns)
{
    for (int64_t c = 0; c < columns; c++) {
        const bool seen = call->visible_bits ? row[c / 8] >> c % 8 & 1 : row[c * call->visible.stride[3]] != 0;
        bits[c / 8] |= (uint8_t)(seen << c % 8);
    }
}

static void pack_flags(struct attend_step *step, uint8_t *bits, const struct attend__call *call, const struct flags *flags)
{
    const int64_t *stride = call->visible.stride, *extent = flags->extent;
    for (int64_t b = 0; b < extent[0]; b++)
        for (int64_t h = 0; h < extent[1]; h++)
            for (int64_t r = 0; r < extent[2]; r++) {
                const int64_t at = b * stride[0] + h * stride[1] + r * stride[2];
                uint8_t *to = bits + ((b * extent[1] + h) * extent[2] + r) * flags->row_bytes;
                memset(to, 0, (size_t)flags->row_bytes);
                pack_row(to, call, (const uint8_t *)call->visible.data + (call->visible_bits ? at / 8 : at), flags->columns);
            }
    const int64_t row = flags->row_bytes * 8;
    step->visible = (attend_tensor){ .struct_size = sizeof step->visible, .data = bits, .dtype = ATTEND_BIT };
    step->visible.stride[0] = extent[0] > 1 ? extent[1] * extent[2] * row : 0;
    step->visible.stride[1] = extent[1] > 1 ? extent[2] * row : 0;
    step->visible.stride[2] = extent[2] > 1 ? row : 0;
    step->visible.stride[3] = 1;
    step->args.visible = &step->visible;
    step->args.visible_tail = call->visible_tail;
}

/* Entries of a block table that the step keeps of each item. */
static int64_t entries_kept(const struct attend__problem *problem, const struct attend__call *call)
{
    int64_t entries = 0;
    for (int64_t b = 0; call->block_tables && b < call->batch; b++)
        entries = attend__max(entries, attend__pages_of(problem, call, b).high);
    return entries;
}

static void copy_tables(attend_args *args, int32_t *tables, int64_t entries, const struct attend__problem *problem,
                        const struct attend__call *call)
{
    args->block_tables = call->block_tables ? tables : NULL;
    args->table_stride = entries;
    for (int64_t b = 0; call->block_tables && b < call->batch; b++) {
        const struct attend__range own = attend__pages_of(problem, call, b);
        for (int64_t n = own.low; n < own.high; n++)
            tables[b * entries + n] = call->block_tables[b * call->table_stride + n];
    }
}

static void fill_step(struct attend_step *step, const struct places *places, attend_args *args, const struct attend__call *call,
                      const struct flags *flags, const struct attend__schedule *schedule)
{
    char *memory = (char *)step;
    step->args = *args;
    step->args.visible = NULL; /* the caller's */
    step->args.visible_tail = 0;
    for (int i = 0; i < ARRAYS; i++) {
        const int64_t *given = *array_of(args, i);
        if (!given)
            continue;
        int64_t *copy = (int64_t *)(memory + places->array[i]);
        memcpy(copy, given, (size_t)array_length(i, call->batch) * sizeof *copy);
        *array_of(&step->args, i) = copy;
    }
    step->schedule = *schedule;
    step->schedule.items = (struct attend__item *)(memory + places->items);
    step->schedule.units = (struct attend__unit_ref *)(memory + places->units);
    memcpy(step->schedule.items, schedule->items, (size_t)call->batch * sizeof *schedule->items);
    memcpy(step->schedule.units, schedule->units, (size_t)schedule->count * sizeof *schedule->units);
    step->schedule.splits = (struct attend__split *)(memory + places->splits);
    memcpy(step->schedule.splits, schedule->splits, (size_t)schedule->split_count * sizeof *schedule->splits);
    if (call->visible.data)
        pack_flags(step, (uint8_t *)memory + places->bits, call, flags);
}

/* Leaves of the caller's args what a step holds: the rest is not looked at, and need not even be right. */
static attend_status keep_common(attend_args *args)
{
    attend_args common = ATTEND_ARGS_INIT;
    if (args->step)
        return attend__fail(ATTEND_ERR_ARGUMENT, "args.step is given; a step is made of args without one");
    if (args->visible_tail > 0 && !args->visible)
        return attend__fail(ATTEND_ERR_ARGUMENT, "args.visible_tail is %" PRId64 "; it must be 0 without visible", args->visible_tail);
    common.batch = args->batch;
    common.rows = args->rows;
    common.keys = args->keys;
    common.visible = args->visible;
    common.visible_tail = args->visible_tail;
    common.block_tables = args->block_tables;
    common.table_stride = args->table_stride;
    common.pages = args->pages;
    for (int i = 0; i < ARRAYS; i++)
        *array_of(&common, i) = *array_of(args, i);
    *args = common;
    return ATTEND_OK;
}

/* Makes the step of a checked call, whose cut is in `schedule`. */
static attend_status make_step(attend_step **made, const attend_plan *plan, attend_args *args, const struct attend__call *call,
                               const struct attend__schedule *schedule)
{
    const struct flags flags = measure_flags(call, &plan->plan.problem);
    struct places places;
    attend_step *step = NULL;
    const int64_t entries = entries_kept(&plan->plan.problem, call);
    if (find_places(&places, args, call, entries, &flags, schedule))
        step = attend__allocate(&plan->engine->allocator, places.end);
    if (!step)
        return attend__fail(ATTEND_ERR_MEMORY, "no memory for a step of %" PRId64 " items", call->batch);
    step->plan = plan;
    step->bytes = places.end;
    fill_step(step, &places, args, call, &flags, schedule);
    copy_tables(&step->args, (int32_t *)((char *)step + places.tables), entries, &plan->plan.problem, call);
    *made = step;
    return ATTEND_OK;
}

attend_status attend_step_create(attend_step **step, const attend_plan *plan, const attend_args *caller)
{
    attend_args args;
    attend_engine *engine;
    struct attend__call call;
    if (!step)
        return attend__fail(ATTEND_ERR_ARGUMENT, "step is NULL; it must point to where the handle goes");
    *step = NULL;
    if (!plan)
        return attend__fail(ATTEND_ERR_ARGUMENT, "plan is NULL; it must come from attend_plan_create");
    attend_status status = attend__engine_use(&engine, plan->engine);
    if (!status)
        status = attend__args_read(&args, caller);
    if (!status)
        status = keep_common(&args);
    if (!status)
        status = attend__call_check(&call, &plan->plan.problem, &args, true);
    if (status)
        return status;
    const attend__fpstate state = attend__fpstate_enter();
    struct attend__slot *slot = attend__slots_take(&engine->slots);
    struct attend__schedule schedule;
    attend__plan_lay_out(&plan->plan, slot->memory, &schedule);
    attend__plan_cut(&plan->plan, &call, &schedule);
    status = make_step(step, plan, &args, &call, &schedule);
    attend__slots_give_back(&engine->slots, slot);
    attend__fpstate_leave(state);
    return status;
}

void attend_step_destroy(attend_step *step)
{
    if (step)
        attend__release(&step->plan->engine->allocator, step, step->bytes);
}

attend_status attend__step_apply(attend_args *args, const struct attend__plan *plan)
{
    const attend_step *step = args->step;
    attend_args own = step->args;
    if (&step->plan->plan != plan)
        return attend__fail(ATTEND_ERR_ARGUMENT, "args.step was made of another plan; a step belongs to the plan it was made of");
    if (args->batch != ATTEND_PLANNED || args->rows != ATTEND_PLANNED || args->keys != ATTEND_PLANNED)
        return attend__fail(ATTEND_ERR_ARGUMENT, "args.batch, rows or keys is set; with args.step they must be ATTEND_PLANNED");
    if (args->visible || args->visible_tail != 0)
        return attend__fail(ATTEND_ERR_ARGUMENT, "args.visible or visible_tail is given; with args.step it must be unset");
    if (args->block_tables || args->table_stride != 0 || args->pages != 0)
        return attend__fail(ATTEND_ERR_ARGUMENT, "args.block_tables, table_stride or pages is given; with args.step they must be unset");
    for (int i = 0; i < ARRAYS; i++) {
        if (*array_of(args, i))
            return attend__fail(ATTEND_ERR_ARGUMENT, "args.%s is given; with args.step it must be NULL", array_names[i]);
        *array_of(args, i) = *array_of(&own, i);
    }
    args->batch = own.batch;
    args->rows = own.rows;
    args->keys = own.keys;
    args->visible = own.visible;
    args->visible_tail = own.visible_tail;
    args->block_tables = own.block_tables;
    args->table_stride = own.table_stride;
    args->pages = own.pages;
    return ATTEND_OK;
}

void attend__step_schedule(const attend_step *step, struct attend__schedule *schedule)
{
    schedule->items = step->schedule.items;
    schedule->units = step->schedule.units;
    schedule->count = step->schedule.count;
    schedule->splits = step->schedule.splits;
    schedule->split_count = step->schedule.split_count;
    schedule->unit_rows = step->schedule.unit_rows;
    schedule->work = step->schedule.work;
    schedule->cost = step->schedule.cost;
}
