/* Checks of one run's arguments. See problem.h. */
#include "engine/problem/problem.h"

#include "engine/base/sizes.h"
#include "engine/base/status.h"
#include "engine/base/structs.h"
#include "engine/problem/overlap.h"

#include <inttypes.h>
#include <string.h>

/* Positions beyond this could overflow when row indices are added. */
#define POSITION_LIMIT (INT64_C(1) << 60)

/* Bytes that a tensor may extend to either side of its first element. */
#define REACH_LIMIT (INT64_C(1) << 59)

enum { TENSORS = 8, OUTPUTS = 4, ARRAYS = 5 };

/* One tensor argument; the outputs come first. */
struct tensor_rule {
    const char *name;
    const attend_tensor *given;
    struct attend__view *view;
    int64_t extent[4];
    attend_dtype dtype;
    bool wanted;
};

struct array_rule {
    const char *name;
    const int64_t *given;
};

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

static attend_status check_dtype(const char *name, attend_dtype dtype, attend_dtype wanted)
{
    if (dtype == wanted)
        return ATTEND_OK;
    attend_status status = wanted == ATTEND_F32 && (dtype == ATTEND_BF16 || dtype == ATTEND_F16) ? ATTEND_ERR_UNSUPPORTED
                                                                                                  : ATTEND_ERR_ARGUMENT;
    return attend__fail(status, "args.%s has dtype %d; it must be %s", name, (int)dtype,
                        wanted == ATTEND_BOOL ? "ATTEND_BOOL (3)" : "ATTEND_F32 (0)");
}

static int64_t element_bytes(attend_dtype dtype)
{
    return dtype == ATTEND_BOOL ? 1 : 4;
}

static bool is_empty(const int64_t extent[4])
{
    return extent[0] == 0 || extent[1] == 0 || extent[2] == 0 || extent[3] == 0;
}

/* Every element's address must exist: Σ (extent-1)·stride bytes, both ways, without wrapping. The limit lets the overlap of two
 * tensors be solved in 64 bits; no address space comes near it. */
static attend_status check_reach(const struct tensor_rule *rule, const attend_tensor *tensor)
{
    int64_t below = 0, above = 0;
    bool fits = true;
    for (int axis = 0; axis < 4; axis++) {
        int64_t reach;
        fits = fits && !__builtin_mul_overflow(rule->extent[axis] - 1, tensor->stride[axis], &reach) &&
               !__builtin_mul_overflow(reach, element_bytes(rule->dtype), &reach) &&
               !__builtin_add_overflow(reach < 0 ? below : above, reach, reach < 0 ? &below : &above);
    }
    const uintptr_t address = (uintptr_t)tensor->data;
    fits = fits && below >= -REACH_LIMIT && above <= REACH_LIMIT && address >= (uintptr_t)0 - (uintptr_t)below && (uintptr_t)above < UINTPTR_MAX - address - 8;
    if (fits)
        return ATTEND_OK;
    return attend__fail(ATTEND_ERR_ARGUMENT,
                        "args.%s has strides %" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64
                        "; with its extents they leave the address space",
                        rule->name, tensor->stride[0], tensor->stride[1], tensor->stride[2], tensor->stride[3]);
}

static attend_status check_tensor(const struct tensor_rule *rule)
{
    memset(rule->view, 0, sizeof *rule->view);
    if (!rule->given && (!rule->wanted || is_empty(rule->extent)))
        return ATTEND_OK;
    if (!rule->given)
        return attend__fail(ATTEND_ERR_ARGUMENT, "args.%s is NULL; the tensor is needed unless it has no element", rule->name);
    attend_tensor tensor;
    char name[32] = "args.";
    strcat(name, rule->name);
    attend_status status = attend__struct_read(&tensor, sizeof tensor, sizeof tensor, rule->given, name);
    if (!status)
        status = check_dtype(rule->name, tensor.dtype, rule->dtype);
    if (status)
        return status;
    if (tensor.reserved != 0)
        return attend__fail(ATTEND_ERR_ARGUMENT, "args.%s.reserved is %" PRId32 "; it must be 0", rule->name, tensor.reserved);
    if (is_empty(rule->extent))
        return ATTEND_OK;
    if (!tensor.data)
        return attend__fail(ATTEND_ERR_ARGUMENT,
                            "args.%s.data is NULL; the tensor has %" PRId64 "x%" PRId64 "x%" PRId64 "x%" PRId64 " elements",
                            rule->name, rule->extent[0], rule->extent[1], rule->extent[2], rule->extent[3]);
    if ((uintptr_t)tensor.data % (uintptr_t)element_bytes(rule->dtype))
        return attend__fail(ATTEND_ERR_ARGUMENT, "args.%s.data is %p; it must be aligned to its element of %d bytes",
                            rule->name, tensor.data, (int)element_bytes(rule->dtype));
    status = check_reach(rule, &tensor);
    if (status)
        return status;
    rule->view->data = tensor.data;
    for (int axis = 0; axis < 4; axis++) /* the stride of a single element may be anything: give it one that fits */
        rule->view->stride[axis] = rule->extent[axis] > 1 ? tensor.stride[axis] : axis == 3;
    return ATTEND_OK;
}

static struct attend__span span_of(const struct tensor_rule *rule)
{
    const int64_t element = element_bytes(rule->dtype);
    struct attend__span span = { .first = (uintptr_t)rule->view->data, .element = element };
    for (int axis = 0; axis < 4; axis++) {
        span.extent[axis] = rule->extent[axis];
        span.stride[axis] = rule->view->stride[axis] * element;
    }
    return span;
}

static attend_status check_output(const struct tensor_rule *rules, int output, const struct array_rule *arrays, int64_t batch)
{
    const struct tensor_rule *rule = &rules[output];
    if (!rule->view->data)
        return ATTEND_OK;
    const struct attend__span span = span_of(rule);
    if (attend__span_overlaps_itself(&span))
        return attend__fail(ATTEND_ERR_ARGUMENT,
                            "args.%s has strides %" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64
                            "; the elements of an output must be distinct",
                            rule->name, rule->given->stride[0], rule->given->stride[1], rule->given->stride[2],
                            rule->given->stride[3]);
    for (int other = output + 1; other < TENSORS; other++) {
        if (!rules[other].view->data)
            continue;
        const struct attend__span other_span = span_of(&rules[other]);
        if (attend__spans_overlap(&span, &other_span))
            return attend__fail(ATTEND_ERR_ARGUMENT, "args.%s overlaps args.%s; an output must share no memory", rule->name,
                                rules[other].name);
    }
    for (int i = 0; i < ARRAYS; i++) {
        if (!arrays[i].given || batch == 0)
            continue;
        const struct attend__span array = {
            .first = (uintptr_t)arrays[i].given, .element = 8, .extent = { batch, 1, 1, 1 }, .stride = { 8, 0, 0, 0 }
        };
        if (attend__spans_overlap(&span, &array))
            return attend__fail(ATTEND_ERR_ARGUMENT, "args.%s overlaps args.%s; an output must share no memory", rule->name,
                                arrays[i].name);
    }
    return ATTEND_OK;
}

/* Starts and lengths of one axis: 0 ≤ start, 0 ≤ length, start + length ≤ extent. */
static attend_status check_ranges(const char *axis, const char *extent_name, const int64_t *starts, const int64_t *lengths,
                                  int64_t extent, int64_t batch)
{
    for (int64_t b = 0; b < batch; b++) {
        const int64_t start = starts ? starts[b] : 0;
        if (start < 0 || start > extent)
            return attend__fail(ATTEND_ERR_ARGUMENT,
                                "args.%s_starts[%" PRId64 "] is %" PRId64 "; it must be between 0 and %s (%" PRId64 ")", axis, b,
                                start, extent_name, extent);
        const int64_t length = lengths ? lengths[b] : extent - start;
        if (length < 0 || length > extent - start)
            return attend__fail(ATTEND_ERR_ARGUMENT,
                                "args.%s_lengths[%" PRId64 "] is %" PRId64 "; it must be between 0 and %s - start (%" PRId64
                                ")",
                                axis, b, length, extent_name, extent - start);
    }
    return ATTEND_OK;
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

static attend_status check_arrays(const struct attend__call *call, const struct attend__problem *problem)
{
    attend_status status =
        check_ranges("key", "keys", call->key_starts, call->key_lengths, call->keys, call->batch);
    if (!status)
        status = check_ranges("query", "rows", call->query_starts, call->query_lengths, call->rows, call->batch);
    if (!status)
        status = check_positions(call->positions, call->batch, problem->diagonal == ATTEND_DIAGONAL_POSITION);
    return status;
}

static attend_status check_tensors(struct attend__call *call, const struct attend__problem *problem, const attend_args *given,
                                   bool shape_only)
{
    const int64_t b = call->batch, h = problem->heads, g = problem->kv_heads, r = call->rows, k = call->keys;
    const int64_t d_k = problem->d_k, d_v = problem->d_v;
    const struct tensor_rule rules[TENSORS] = {
        { "output", given->output, &call->output, { b, h, r, d_v }, ATTEND_F32, !shape_only },
        { "lse", given->lse, &call->lse, { b, h, r, 1 }, ATTEND_F32, false },
        { "weights", given->weights, &call->weights, { b, h, r, k }, ATTEND_F32, false },
        { "scores", given->scores, &call->scores, { b, h, r, k }, ATTEND_F32, false },
        { "query", given->query, &call->query, { b, h, r, d_k }, ATTEND_F32, !shape_only },
        { "key", given->key, &call->key, { b, g, k, d_k }, ATTEND_F32, !shape_only },
        { "value", given->value, &call->value, { b, g, k, d_v }, ATTEND_F32, !shape_only },
        { "visible", given->visible, &call->visible, { b, h, r, k }, ATTEND_BOOL, false },
    };
    const struct array_rule arrays[ARRAYS] = {
        { "key_starts", call->key_starts },       { "key_lengths", call->key_lengths },
        { "query_starts", call->query_starts },   { "query_lengths", call->query_lengths },
        { "positions", call->positions },
    };
    for (int i = 0; i < TENSORS; i++) {
        attend_status status = check_tensor(&rules[i]);
        if (status)
            return status;
    }
    for (int i = 0; i < OUTPUTS; i++) {
        attend_status status = check_output(rules, i, arrays, b);
        if (status)
            return status;
    }
    return ATTEND_OK;
}

attend_status attend__call_check(struct attend__call *call, const struct attend__problem *problem, const attend_args *given,
                                 bool shape_only)
{
    attend_status status = check_extent(&call->batch, given->batch, problem->batch, "batch");
    if (!status)
        status = check_extent(&call->rows, given->rows, problem->rows, "rows");
    if (!status)
        status = check_extent(&call->keys, given->keys, problem->keys, "keys");
    if (status)
        return status;
    call->key_starts = given->key_starts;
    call->key_lengths = given->key_lengths;
    call->query_starts = given->query_starts;
    call->query_lengths = given->query_lengths;
    call->positions = given->positions;
    status = check_arrays(call, problem);
    return status ? status : check_tensors(call, problem, given, shape_only);
}
