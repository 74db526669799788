/* See parts.h. */
#include "engine/problem/parts.h"

#include "engine/base/status.h"
#include "engine/base/structs.h"
#include "engine/problem/tensors.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Element counts of four sizes up to here are checked by the strides' reach, tensor by tensor. */
#define SIZE_LIMIT (INT64_C(1) << 56)

enum role { OUTPUT, LSE, MAXIMUM, TOTAL, ROLES };

static const char *const role_names[ROLES] = { "output", "lse", "maximum", "total" };

/* The four tensors of a result or of a part. */
struct bundle {
    char name[ROLES][48];
    struct attend__view view[ROLES];
    struct attend__tensor_rule rule[ROLES];
};

const attend_part *attend__merge_part(const struct attend__merge *merge, size_t i)
{
    return (const attend_part *)(const void *)((const char *)merge->parts + i * merge->part_bytes);
}

static attend_status check_sizes(const attend_merge_args *given)
{
    const struct {
        const char *name;
        int64_t value;
    } sizes[] = { { "batch", given->batch }, { "heads", given->heads }, { "rows", given->rows }, { "d_v", given->d_v } };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (sizes[i].value < 0 || sizes[i].value > SIZE_LIMIT)
            return attend__fail(ATTEND_ERR_ARGUMENT, "args.%s is %" PRId64 "; it must be between 0 and 2^56", sizes[i].name,
                                sizes[i].value);
    if (given->part_count > 0 && !given->parts)
        return attend__fail(ATTEND_ERR_ARGUMENT, "args.parts is NULL; part_count is %zu", given->part_count);
    return ATTEND_OK;
}

static attend_status check_sinks(const attend_merge_args *given)
{
    if (given->sinks && given->maximum)
        return attend__fail(ATTEND_ERR_ARGUMENT,
                            "args.sinks is given with args.maximum; sinks enter a finished result only, which has no partials");
    for (int64_t h = 0; given->sinks && h < given->heads; h++)
        if (isnan(given->sinks[h]) || given->sinks[h] == INFINITY)
            return attend__fail(ATTEND_ERR_ARGUMENT, "args.sinks[%" PRId64 "] is %g; it must be finite, or -inf for none", h,
                                (double)given->sinks[h]);
    return ATTEND_OK;
}

static attend_status check_bundle(struct bundle *bundle, const char *prefix, const attend_merge_args *sizes,
                                  const attend_tensor *const given[ROLES], const bool wanted[ROLES])
{
    for (int role = 0; role < ROLES; role++) {
        snprintf(bundle->name[role], sizeof bundle->name[role], "%s%s", prefix, role_names[role]);
        bundle->rule[role] = (struct attend__tensor_rule){
            .name = bundle->name[role],
            .given = given[role],
            .view = &bundle->view[role],
            .extent = { sizes->batch, sizes->heads, sizes->rows, role == OUTPUT ? sizes->d_v : 1 },
            .dtype = ATTEND_F32,
            .wanted = wanted[role],
        };
        attend_status status = attend__tensor_check(&bundle->rule[role]);
        if (status)
            return status;
    }
    return ATTEND_OK;
}

static attend_status check_pair(const char *prefix, const attend_tensor *maximum, const attend_tensor *total)
{
    if (!maximum == !total)
        return ATTEND_OK;
    return attend__fail(ATTEND_ERR_ARGUMENT, "args.%s%s is NULL and %s is not; partials need both", prefix,
                        maximum ? "total" : "maximum", maximum ? "maximum" : "total");
}

static bool is_same(const struct attend__view *a, const struct attend__view *b)
{
    return a->data == b->data && memcmp(a->stride, b->stride, sizeof a->stride) == 0;
}

static attend_status check_apart(const struct bundle *result, int role, const struct bundle *other, int from, bool first_part)
{
    const struct attend__span span = attend__tensor_span(&result->rule[role]);
    for (int i = from; i < ROLES; i++) {
        if (!other->view[i].data || (first_part && i == role && is_same(&result->view[role], &other->view[i])))
            continue;
        const struct attend__span other_span = attend__tensor_span(&other->rule[i]);
        if (attend__spans_overlap(&span, &other_span))
            return attend__fail(ATTEND_ERR_ARGUMENT,
                                "args.%s overlaps args.%s; a result may be the first part's tensor of the same name, with the same "
                                "strides, and share no other memory",
                                result->name[role], other->name[i]);
    }
    return ATTEND_OK;
}

static attend_status check_result(const struct bundle *result)
{
    attend_status status = ATTEND_OK;
    for (int role = 0; role < ROLES && !status; role++) {
        if (!result->view[role].data)
            continue;
        const struct attend__span span = attend__tensor_span(&result->rule[role]);
        if (attend__span_overlaps_itself(&span))
            return attend__fail(ATTEND_ERR_ARGUMENT, "args.%s has elements that share memory; those of a result must be distinct",
                                result->name[role]);
        status = check_apart(result, role, result, role + 1, false);
    }
    return status;
}

static attend_status check_part(const struct attend__merge *merge, const attend_merge_args *given, const struct bundle *result, size_t i)
{
    attend_part part;
    struct bundle bundle;
    char prefix[32];
    snprintf(prefix, sizeof prefix, "parts[%zu].", i);
    attend_status status = attend__struct_read(&part, sizeof part, sizeof part, attend__merge_part(merge, i), "args.parts[]");
    if (!status && attend__merge_part(merge, i)->struct_size != merge->part_bytes)
        status = attend__fail(ATTEND_ERR_ARGUMENT, "args.%sstruct_size is %zu; it must be that of the first part, %zu", prefix,
                              attend__merge_part(merge, i)->struct_size, merge->part_bytes);
    if (!status)
        status = check_pair(prefix, part.maximum, part.total);
    if (status)
        return status;
    const bool partial = merge->of_partials;
    if (!part.maximum == partial || !part.lse != partial)
        return attend__fail(ATTEND_ERR_ARGUMENT,
                            "args.%slse is %s and maximum is %s; a part has either, and all parts have the same as the first", prefix,
                            part.lse ? "given" : "NULL", part.maximum ? "given" : "NULL");
    const attend_tensor *const tensors[ROLES] = { part.output, part.lse, part.maximum, part.total };
    status = check_bundle(&bundle, prefix, given, tensors, (const bool[ROLES]){ true, !partial, partial, partial });
    for (int role = 0; role < ROLES && !status; role++)
        if (result->view[role].data)
            status = check_apart(result, role, &bundle, 0, i == 0);
    return status;
}

attend_status attend__merge_check(struct attend__merge *merge, const attend_merge_args *caller)
{
    attend_merge_args given;
    struct bundle result;
    attend_status status = attend__struct_read(&given, sizeof given, sizeof given, caller, "args");
    if (!status)
        status = check_sizes(&given);
    if (!status)
        status = check_pair("", given.maximum, given.total);
    if (!status)
        status = check_sinks(&given);
    if (status)
        return status;
    const attend_tensor *const tensors[ROLES] = { given.output, given.lse, given.maximum, given.total };
    status = check_bundle(&result, "", &given, tensors, (const bool[ROLES]){ true, false, false, false });
    if (!status)
        status = check_result(&result);
    *merge = (struct attend__merge){
        .batch = given.batch, .heads = given.heads, .rows = given.rows, .d_v = given.d_v,
        .parts = given.parts, .part_count = given.part_count,
        .output = result.view[OUTPUT], .lse = result.view[LSE], .maximum = result.view[MAXIMUM], .total = result.view[TOTAL],
        .sinks = given.sinks,
    };
    if (status || given.part_count == 0)
        return status;
    merge->part_bytes = given.parts->struct_size;
    merge->of_partials = given.parts->maximum != NULL;
    for (size_t i = 0; i < given.part_count && !status; i++)
        status = check_part(merge, &given, &result, i);
    return status;
}
