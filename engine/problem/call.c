/* Checks of one run's arguments. See problem.h. */
#include "engine/problem/problem.h"

#include "engine/base/status.h"
#include "engine/base/structs.h"
#include "engine/problem/arrays.h"
#include "engine/problem/outputs.h"
#include "engine/problem/pages.h"

#include <inttypes.h>
#include <stddef.h>

enum { TENSORS = 12, OUTPUTS = 7 };

attend_status attend__args_read(attend_args *args, const attend_args *caller)
{
    const size_t without_options = offsetof(attend_args, bias);
    return attend__struct_read(args, sizeof *args, without_options, caller, "args");
}

static attend_status check_extent(int64_t *extent, int64_t given, int64_t planned, const char *name)
{
    if (given == ATTEND_PLANNED)
        given = planned;
    if (given < 0)
        return attend__fail(ATTEND_ERR_ARGUMENT, "args.%s is %" PRId64 "; it must be at least 0, or ATTEND_PLANNED", name,
                            given);
    if (given > planned)
        return attend__fail(ATTEND_ERR_CAPACITY, "args.%s is %" PRId64 "; the plan was made for at most %" PRId64, name,
                            given, planned);
    *extent = given;
    return ATTEND_OK;
}

static attend_status check_extents(struct attend__call *call, const struct attend__problem *problem, const attend_args *given)
{
    attend_status status = check_extent(&call->batch, given->batch, problem->batch, "batch");
    if (!status)
        status = check_extent(&call->rows, given->rows, problem->rows, "rows");
    if (!status)
        status = check_extent(&call->keys, given->keys, problem->keys, "keys");
    return status;
}

/* Sinks, weights and key sums need the final M and L of a row, which partials are not. */
static attend_status check_partials(const struct attend__problem *problem, const attend_args *given)
{
    const bool partials = given->maximum != NULL;
    if (partials != (given->total != NULL))
        return attend__fail(ATTEND_ERR_ARGUMENT, "args.%s is NULL; maximum and total must be given together",
                            partials ? "total" : "maximum");
    if (partials && problem->output_dtype != ATTEND_F32)
        return attend__fail(ATTEND_ERR_ARGUMENT,
                            "args.maximum is given and problem.output_dtype is %d; partials are ATTEND_F32 (0)",
                            (int)problem->output_dtype);
    if (given->resume != 0 && given->resume != 1)
        return attend__fail(ATTEND_ERR_ARGUMENT, "args.resume is %" PRId32 "; it must be 0 or 1", given->resume);
    if (given->resume && !partials)
        return attend__fail(ATTEND_ERR_ARGUMENT, "args.resume is 1; it must be 0 without maximum and total");
    if (given->key_sums && !problem->key_sums)
        return attend__fail(ATTEND_ERR_ARGUMENT,
                            "args.key_sums is given; it must be NULL unless problem.flags has ATTEND_KEY_SUMS");
    const struct {
        const char *name;
        bool given;
    } finished[] = { { "sinks", given->sinks != NULL },
                     { "weights", given->weights != NULL },
                     { "scores", given->scores != NULL },
                     { "key_sums", given->key_sums != NULL } };
    for (size_t i = 0; partials && i < sizeof finished / sizeof *finished; i++)
        if (finished[i].given)
            return attend__fail(ATTEND_ERR_ARGUMENT, "args.%s is given; it must be NULL with maximum and total",
                                finished[i].name);
    return ATTEND_OK;
}

/* With `shape_only` the visibility tensor may be missing beside its tail. */
static attend_status check_options(const attend_args *given, bool shape_only)
{
    if (given->visible_tail < 0)
        return attend__fail(ATTEND_ERR_ARGUMENT, "args.visible_tail is %" PRId64 "; it must be at least 0", given->visible_tail);
    if (given->visible_tail > 0 && !given->visible && !shape_only)
        return attend__fail(ATTEND_ERR_ARGUMENT, "args.visible_tail is %" PRId64 "; it must be 0 without visible",
                            given->visible_tail);
    if (given->reserved != 0)
        return attend__fail(ATTEND_ERR_ARGUMENT, "args.reserved is %" PRId32 "; it must be 0", given->reserved);
    if (given->deadline < 0)
        return attend__fail(ATTEND_ERR_ARGUMENT, "args.deadline is %" PRId64 "; it must be at least 0", given->deadline);
    return ATTEND_OK;
}

static void take_options(struct attend__call *call, const attend_args *given)
{
    call->key_starts = given->key_starts;
    call->key_lengths = given->key_lengths;
    call->query_starts = given->query_starts;
    call->query_lengths = given->query_lengths;
    call->positions = given->positions;
    call->query_offsets = given->query_offsets;
    call->key_offsets = given->key_offsets;
    call->prefix_lengths = given->prefix_lengths;
    call->alibi_slopes = given->alibi_slopes;
    call->sinks = given->sinks;
    call->visible_tail = given->visible_tail;
    call->resume = given->resume != 0;
    call->cancel = given->cancel;
    call->deadline = given->deadline;
}

/* What is packed has all items on its row axis. */
static attend_status check_tensors(struct attend__call *call, const struct attend__problem *problem, const attend_args *given,
                                   bool shape_only)
{
    const int64_t b = problem->packed_queries ? 1 : call->batch, kb = problem->packed_keys ? 1 : call->batch;
    const int64_t h = problem->heads, g = problem->kv_heads, r = call->rows, k = call->keys;
    const bool paged = problem->page_keys > 0;
    const int64_t key_batch = paged ? call->pages : kb, places = paged ? problem->page_keys : k;
    const int64_t d_k = problem->d_k, d_v = problem->d_v, columns = call->visible_tail > 0 ? call->visible_tail : k;
    /* Outputs come first. */
    const struct attend__tensor_rule rules[TENSORS] = {
        { "output", given->output, &call->output, { b, h, r, d_v }, problem->output_dtype, !shape_only, NULL },
        { "lse", given->lse, &call->lse, { b, h, r, 1 }, ATTEND_F32, false, NULL },
        { "weights", given->weights, &call->weights, { b, h, r, k }, ATTEND_F32, false, NULL },
        { "scores", given->scores, &call->scores, { b, h, r, k }, ATTEND_F32, false, NULL },
        { "key_sums", given->key_sums, &call->key_sums, { kb, h, 1, k }, ATTEND_F32, false, NULL },
        { "maximum", given->maximum, &call->maximum, { b, h, r, 1 }, ATTEND_F32, false, NULL },
        { "total", given->total, &call->total, { b, h, r, 1 }, ATTEND_F32, false, NULL },
        { "query", given->query, &call->query, { b, h, r, d_k }, problem->query_dtype, !shape_only, NULL },
        { "key", given->key, &call->key, { key_batch, g, places, d_k }, problem->kv_dtype, !shape_only, NULL },
        { "value", given->value, &call->value, { key_batch, g, places, d_v }, problem->kv_dtype, !shape_only, NULL },
        { "visible", given->visible, &call->visible, { b, h, r, columns }, ATTEND_BOOL, false, &call->visible_bits },
        { "bias", given->bias, &call->bias, { b, h, r, k }, ATTEND_F32, false, NULL },
    };
    const struct attend__array_rule arrays[] = {
        { "key_starts", call->key_starts, call->batch, 8 },
        { "key_lengths", call->key_lengths, call->batch, 8 },
        { "query_starts", call->query_starts, call->batch, 8 },
        { "query_lengths", call->query_lengths, call->batch, 8 },
        { "positions", call->positions, call->batch, 8 },
        { "query_offsets", call->query_offsets, call->batch + 1, 8 },
        { "key_offsets", call->key_offsets, call->batch + 1, 8 },
        { "prefix_lengths", call->prefix_lengths, call->batch, 8 },
        { "alibi_slopes", call->alibi_slopes, h, 4 },
        { "sinks", call->sinks, h, 4 },
        { "block_tables", call->block_tables, call->table_entries, 4 },
    };
    return attend__tensors_check(&(struct attend__arguments){ rules, OUTPUTS, TENSORS, arrays, sizeof arrays / sizeof *arrays, "an output" });
}

attend_status attend__call_check(struct attend__call *call, const struct attend__problem *problem, const attend_args *given,
                                 bool shape_only)
{
    *call = (struct attend__call){ .batch = 0 };
    attend_status status = check_extents(call, problem, given);
    if (!status)
        status = check_partials(problem, given);
    if (!status)
        status = check_options(given, shape_only);
    if (status)
        return status;
    take_options(call, given);
    status = attend__arrays_check(call, problem, given->rows, given->keys);
    if (!status)
        status = attend__pages_check(call, problem, given);
    if (!status)
        status = check_tensors(call, problem, given, shape_only);
    if (!status && problem->fast_only && !shape_only)
        status = attend__call_check_fast(call);
    return status;
}
