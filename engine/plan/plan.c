/* See plan.h. */
#include "engine/plan/plan.h"

#include "engine/base/alloc.h"
#include "engine/base/sizes.h"
#include "engine/base/status.h"

#include <inttypes.h>

/* *total += count·size, rounded up to whole cache lines; *part is the part's size. */
static bool add_part(size_t *total, size_t *part, int64_t count, size_t size)
{
    *part = 0;
    if (count < 0 || !attend__size_add_product(part, (size_t)count, size) ||
        !attend__size_add_product(part, ATTEND__ALIGNMENT - 1, 1))
        return false;
    *part &= ~(size_t)(ATTEND__ALIGNMENT - 1);
    return attend__size_add_product(total, *part, 1);
}

/* M and L of every row take so many cache lines each. */
static int64_t partials_lines(const struct attend__problem *problem)
{
    const int64_t rows = problem->heads * problem->rows * (problem->packed_queries ? 1 : problem->batch);
    return problem->key_sums ? attend__divide_up(rows, ATTEND__ALIGNMENT / (int64_t)sizeof(float)) : 0;
}

attend_status attend__plan_make(struct attend__plan *plan, const struct attend__problem *problem,
                                const struct attend__kernel *kernel, int threads, int64_t l2_bytes)
{
    *plan = (struct attend__plan){ .problem = *problem, .kernel = kernel, .threads = threads };
    plan->unit_rows = attend__unit_rows(problem, l2_bytes);
    const size_t kernel_bytes = kernel->scratch_bytes(problem->d_k, problem->d_v, plan->unit_rows);
    size_t ignored;
    const bool fits =
        kernel_bytes > 0 && attend__units_room(&plan->room, problem, threads, plan->unit_rows) &&
        add_part(&plan->scratch_bytes, &plan->rows_bytes, plan->unit_rows, sizeof(struct attend__row)) &&
        add_part(&plan->scratch_bytes, &plan->details_bytes, plan->unit_rows, sizeof(struct attend__row_details)) &&
        add_part(&plan->scratch_bytes, &ignored, 1, kernel_bytes) &&
        add_part(&plan->scratch_bytes, &plan->sums_bytes, problem->key_sums ? problem->group : 0, ATTEND__KV_TILE * sizeof(float)) &&
        add_part(&plan->workspace_bytes, &plan->items_bytes, problem->batch, sizeof(struct attend__item)) &&
        add_part(&plan->workspace_bytes, &plan->units_bytes, plan->room.units, sizeof(struct attend__unit_ref)) &&
        add_part(&plan->workspace_bytes, &plan->splits_bytes, plan->room.splits, sizeof(struct attend__split)) &&
        add_part(&plan->workspace_bytes, &plan->waiting_bytes, plan->room.splits, sizeof(int64_t)) &&
        add_part(&plan->workspace_bytes, &plan->slots_bytes, plan->room.slot_floats, sizeof(float)) &&
        add_part(&plan->workspace_bytes, &plan->partials_bytes, partials_lines(problem), 2 * (size_t)ATTEND__ALIGNMENT) &&
        add_part(&plan->workspace_bytes, &ignored, 1, plan->scratch_bytes) && plan->workspace_bytes <= INT64_MAX;
    if (!fits)
        return attend__fail(ATTEND_ERR_ARGUMENT,
                            "problem of batch %" PRId64 ", kv_heads %" PRId64 ", rows %" PRId64 ", d_k %" PRId64 ", d_v %" PRId64
                            " is too large; the size of its workspace must fit 63 bits",
                            problem->batch, problem->kv_heads, problem->rows, problem->d_k, problem->d_v);
    return ATTEND_OK;
}

void *attend__plan_lay_out(const struct attend__plan *plan, void *workspace, struct attend__schedule *schedule)
{
    char *memory = workspace;
    schedule->items = (struct attend__item *)memory;
    memory += plan->items_bytes;
    schedule->units = (struct attend__unit_ref *)memory;
    memory += plan->units_bytes;
    schedule->splits = (struct attend__split *)memory;
    memory += plan->splits_bytes;
    schedule->waiting = (int64_t *)memory;
    memory += plan->waiting_bytes;
    schedule->slots = (float *)memory;
    memory += plan->slots_bytes;
    schedule->maximum = plan->problem.key_sums ? (float *)memory : NULL;
    schedule->total = plan->problem.key_sums ? (float *)(memory + plan->partials_bytes / 2) : NULL;
    return memory + plan->partials_bytes;
}

void attend__plan_cut(const struct attend__plan *plan, const struct attend__call *call, struct attend__schedule *schedule)
{
    attend__units_cut(schedule, &plan->problem, call, plan->threads, plan->unit_rows, &plan->room);
}
