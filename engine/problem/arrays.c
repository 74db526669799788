/* See arrays.h. */
#include "engine/problem/arrays.h"

#include "engine/base/fpstate.h"
#include "engine/base/status.h"

#include <inttypes.h>
#include <math.h>

/* Positions beyond this could overflow when row indices are added. */
#define POSITION_LIMIT (INT64_C(1) << 60)

/* Which rows, or keys, are an item's. */
struct axis {
    const char *name, *extent_name, *flag;
    bool packed;
    const int64_t *starts, *lengths, *offsets;
    int64_t given, *extent; /* given by the caller; planned, or at most as much */
};

static attend_status refuse_array(const struct axis *axis, const char *what, const char *when)
{
    return attend__fail(ATTEND_ERR_ARGUMENT, "args.%s_%s is given; it must be NULL %s %s", axis->name, what, when, axis->flag);
}

/* Starts and lengths: 0 ≤ start, 0 ≤ length, start + length ≤ extent. */
static attend_status check_ranges(const struct axis *axis, int64_t batch)
{
    const int64_t extent = *axis->extent;
    if (axis->offsets)
        return refuse_array(axis, "offsets", "without");
    for (int64_t b = 0; b < batch; b++) {
        const int64_t start = axis->starts ? axis->starts[b] : 0;
        if (start < 0 || start > extent)
            return attend__fail(ATTEND_ERR_ARGUMENT,
                                "args.%s_starts[%" PRId64 "] is %" PRId64 "; it must be between 0 and %s (%" PRId64 ")", axis->name,
                                b, start, axis->extent_name, extent);
        const int64_t length = axis->lengths ? axis->lengths[b] : extent - start;
        if (length < 0 || length > extent - start)
            return attend__fail(ATTEND_ERR_ARGUMENT,
                                "args.%s_lengths[%" PRId64 "] is %" PRId64 "; it must be between 0 and %s - start (%" PRId64
                                ")",
                                axis->name, b, length, axis->extent_name, extent - start);
    }
    return ATTEND_OK;
}

static attend_status check_last_offset(const struct axis *axis, int64_t batch)
{
    const int64_t last = axis->offsets[batch];
    if (axis->given == ATTEND_PLANNED && last > *axis->extent)
        return attend__fail(ATTEND_ERR_CAPACITY, "args.%s_offsets[%" PRId64 "] is %" PRId64 "; the plan was made for at most %" PRId64
                            " %s", axis->name, batch, last, *axis->extent, axis->extent_name);
    if (axis->given != ATTEND_PLANNED && last != axis->given)
        return attend__fail(ATTEND_ERR_ARGUMENT,
                            "args.%s_offsets[%" PRId64 "] is %" PRId64 "; it must be args.%s (%" PRId64 "), or that ATTEND_PLANNED",
                            axis->name, batch, last, axis->extent_name, axis->given);
    return ATTEND_OK;
}

/* From 0 on, never down, to the extent. */
static attend_status check_offsets(const struct axis *axis, int64_t batch)
{
    if (axis->starts)
        return refuse_array(axis, "starts", "with");
    if (axis->lengths)
        return refuse_array(axis, "lengths", "with");
    if (!axis->offsets)
        return attend__fail(ATTEND_ERR_ARGUMENT, "args.%s_offsets is NULL; %s needs batch + 1 offsets", axis->name, axis->flag);
    if (axis->offsets[0] != 0)
        return attend__fail(ATTEND_ERR_ARGUMENT, "args.%s_offsets[0] is %" PRId64 "; it must be 0", axis->name, axis->offsets[0]);
    for (int64_t b = 0; b < batch; b++)
        if (axis->offsets[b + 1] < axis->offsets[b])
            return attend__fail(ATTEND_ERR_ARGUMENT,
                                "args.%s_offsets[%" PRId64 "] is %" PRId64 "; it must be at least the one before (%" PRId64 ")",
                                axis->name, b + 1, axis->offsets[b + 1], axis->offsets[b]);
    attend_status status = check_last_offset(axis, batch);
    if (!status)
        *axis->extent = axis->offsets[batch];
    return status;
}

static attend_status check_axis(const struct axis *axis, int64_t batch)
{
    return axis->packed ? check_offsets(axis, batch) : check_ranges(axis, batch);
}

static attend_status check_positions(const int64_t *positions, int64_t batch, bool wanted)
{
    if (!wanted)
        return positions ? attend__fail(ATTEND_ERR_ARGUMENT,
                                        "args.positions is given; it must be NULL unless problem.diagonal is "
                                        "ATTEND_DIAGONAL_POSITION")
                         : ATTEND_OK;
    if (!positions && batch > 0)
        return attend__fail(ATTEND_ERR_ARGUMENT,
                            "args.positions is NULL; ATTEND_DIAGONAL_POSITION needs the first row's position of every item");
    for (int64_t b = 0; b < batch; b++)
        if (positions[b] < -POSITION_LIMIT || positions[b] > POSITION_LIMIT)
            return attend__fail(ATTEND_ERR_ARGUMENT,
                                "args.positions[%" PRId64 "] is %" PRId64 "; it must be within -2^60 and 2^60", b, positions[b]);
    return ATTEND_OK;
}

static attend_status check_prefixes(const int64_t *lengths, int64_t batch)
{
    for (int64_t b = 0; lengths && b < batch; b++)
        if (lengths[b] < 0)
            return attend__fail(ATTEND_ERR_ARGUMENT, "args.prefix_lengths[%" PRId64 "] is %" PRId64 "; it must be at least 0", b,
                                lengths[b]);
    return ATTEND_OK;
}

static attend_status check_slopes(const float *slopes, int64_t heads)
{
    for (int64_t h = 0; slopes && h < heads; h++)
        if (!isfinite(slopes[h]))
            return attend__fail(ATTEND_ERR_ARGUMENT, "args.alibi_slopes[%" PRId64 "] is %g; it must be finite", h,
                                (double)slopes[h]);
    return ATTEND_OK;
}

static attend_status check_sinks(const float *sinks, int64_t heads)
{
    for (int64_t h = 0; sinks && h < heads; h++)
        if (isnan(sinks[h]) || sinks[h] == INFINITY)
            return attend__fail(ATTEND_ERR_ARGUMENT, "args.sinks[%" PRId64 "] is %g; it must be finite, or -inf for none", h,
                                (double)sinks[h]);
    return ATTEND_OK;
}

/* A host may trap what comparing signalling NaNs raises. */
static attend_status check_heads(const struct attend__call *call, int64_t heads)
{
    if (!call->alibi_slopes && !call->sinks)
        return ATTEND_OK;
    const attend__fpstate state = attend__fpstate_enter();
    attend_status status = check_slopes(call->alibi_slopes, heads);
    if (!status)
        status = check_sinks(call->sinks, heads);
    attend__fpstate_leave(state);
    return status;
}

attend_status attend__arrays_check(struct attend__call *call, const struct attend__problem *problem, int64_t given_rows,
                                   int64_t given_keys)
{
    const struct axis axes[] = {
        { "key", "keys", "ATTEND_PACKED_KEYS", problem->packed_keys, call->key_starts, call->key_lengths, call->key_offsets,
          given_keys, &call->keys },
        { "query", "rows", "ATTEND_PACKED_QUERIES", problem->packed_queries, call->query_starts, call->query_lengths,
          call->query_offsets, given_rows, &call->rows },
    };
    attend_status status = ATTEND_OK;
    for (size_t i = 0; !status && i < sizeof axes / sizeof *axes; i++)
        status = check_axis(&axes[i], call->batch);
    if (!status)
        status = check_positions(call->positions, call->batch, problem->diagonal == ATTEND_DIAGONAL_POSITION);
    if (!status)
        status = check_prefixes(call->prefix_lengths, call->batch);
    if (!status)
        status = check_heads(call, problem->heads);
    return status;
}
