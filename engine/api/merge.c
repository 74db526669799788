/* Folding parts of the keys that were computed apart, row by row: the kernel's own fold and end. */
#include "engine/api/engine.h"

#include "engine/base/fpstate.h"
#include "engine/base/sizes.h"
#include "engine/problem/parts.h"

#include <math.h>

/* Columns of A that are folded at a time, on the stack: rows that are wider go through the parts once for each. */
enum { FOLD_COLUMNS = 512 };

struct row_place {
    int64_t b, h, r;
};

static float *element(void *data, const int64_t stride[4], struct row_place at, int64_t column)
{
    return (float *)data + at.b * stride[0] + at.h * stride[1] + at.r * stride[2] + column * stride[3];
}

static float number(const attend_tensor *tensor, struct row_place at)
{
    return *element(tensor->data, tensor->stride, at, 0);
}

/* `columns` columns of a part's row, from `first` on, into its sum[]. */
static void read_part(struct attend__partial *partial, const attend_part *part, bool of_partials, struct row_place at, int64_t first,
                      int64_t columns)
{
    partial->largest = number(of_partials ? part->maximum : part->lse, at);
    partial->total = of_partials ? number(part->total, at) : 1.0f;
    for (int64_t c = 0; c < columns; c++)
        partial->sum[c] = *element(part->output->data, part->output->stride, at, first + c);
    for (int64_t c = columns; c < attend__round_up(columns, ATTEND__LANES); c++)
        partial->sum[c] = 0.0f;
}

/* The row's results; M, L and LSE with its last columns, since the first part may lie where they go. */
static void fold_columns(const struct attend__kernel *kernel, const struct attend__merge *merge, struct row_place at, int64_t first,
                         int64_t columns)
{
    float before[FOLD_COLUMNS], after[FOLD_COLUMNS], largest, total, lse;
    struct attend__partial row = { .largest = -INFINITY, .sum = before }, part = { .sum = after };
    for (size_t i = 0; i < merge->part_count; i++) {
        struct attend__partial *into = i == 0 ? &row : &part;
        read_part(into, attend__merge_part(merge, i), merge->of_partials, at, first, columns);
        if (i > 0)
            kernel->fold(&row, &part, columns);
    }
    const bool last = first + columns == merge->d_v;
    const struct attend__finish to = {
        .output = columns > 0 ? element(merge->output.data, merge->output.stride, at, first) : NULL,
        .output_step = merge->output.stride[3],
        .lse = &lse,
        .sink = merge->sinks ? merge->sinks[at.h] : -INFINITY,
        .partial = merge->maximum.data != NULL,
        .largest = &largest,
        .total = &total,
    };
    kernel->finish(&row, &to, columns);
    if (!last)
        return;
    if (merge->lse.data)
        *element(merge->lse.data, merge->lse.stride, at, 0) = lse;
    if (to.partial) {
        *element(merge->maximum.data, merge->maximum.stride, at, 0) = largest;
        *element(merge->total.data, merge->total.stride, at, 0) = total;
    }
}

static void fold_row(const struct attend__kernel *kernel, const struct attend__merge *merge, struct row_place at)
{
    int64_t first = 0;
    do {
        const int64_t columns = attend__min(merge->d_v - first, FOLD_COLUMNS);
        fold_columns(kernel, merge, at, first, columns);
        first += columns;
    } while (first < merge->d_v);
}

attend_status attend_merge(attend_engine *given, const attend_merge_args *args)
{
    attend_engine *engine;
    struct attend__merge merge;
    attend_status status = attend__engine_use(&engine, given);
    if (!status)
        status = attend__merge_check(&merge, args);
    if (status)
        return status;
    const attend__fpstate state = attend__fpstate_enter();
    struct row_place at;
    for (at.b = 0; at.b < merge.batch; at.b++)
        for (at.h = 0; at.h < merge.heads; at.h++)
            for (at.r = 0; at.r < merge.rows; at.r++)
                fold_row(engine->kernel, &merge, at);
    attend__fpstate_leave(state);
    return ATTEND_OK;
}
