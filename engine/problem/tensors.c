/* See tensors.h. */
#include "engine/problem/tensors.h"

#include "engine/base/half.h"
#include "engine/base/sizes.h"
#include "engine/base/status.h"
#include "engine/base/structs.h"

#include <inttypes.h>
#include <string.h>

/* Bytes that a tensor may extend to either side of its first element. */
#define REACH_LIMIT (INT64_C(1) << 59)

static attend_status check_dtype(const struct attend__tensor_rule *rule, attend_dtype dtype)
{
    if (rule->bits)
        *rule->bits = dtype == ATTEND_BIT;
    if (dtype == rule->dtype || (rule->bits && dtype == ATTEND_BIT))
        return ATTEND_OK;
    static const char *const names[] = { "ATTEND_F32 (0)", "ATTEND_BF16 (1)", "ATTEND_F16 (2)" };
    return attend__fail(ATTEND_ERR_ARGUMENT, "args.%s has dtype %d; it must be %s", rule->name, (int)dtype,
                        rule->bits ? "ATTEND_BOOL (3) or ATTEND_BIT (4)" : names[rule->dtype]);
}

static bool has_bits(const struct attend__tensor_rule *rule)
{
    return rule->bits && *rule->bits;
}

static int64_t element_bytes(const struct attend__tensor_rule *rule)
{
    return attend__dtype_bytes(rule->dtype);
}

static bool is_empty(const int64_t extent[4])
{
    return extent[0] == 0 || extent[1] == 0 || extent[2] == 0 || extent[3] == 0;
}

/* Every row of bits begins with a byte. */
static attend_status check_bit_strides(const struct attend__tensor_rule *rule, const attend_tensor *tensor)
{
    if (rule->extent[3] > 1 && tensor->stride[3] != 1)
        return attend__fail(ATTEND_ERR_ARGUMENT, "args.%s has feature stride %" PRId64 "; with ATTEND_BIT it must be 1", rule->name,
                            tensor->stride[3]);
    for (int axis = 0; axis < 3; axis++)
        if (rule->extent[axis] > 1 && tensor->stride[axis] % 8 != 0)
            return attend__fail(ATTEND_ERR_ARGUMENT,
                                "args.%s.stride[%d] is %" PRId64 "; with ATTEND_BIT it must be a multiple of 8", rule->name, axis,
                                tensor->stride[axis]);
    return ATTEND_OK;
}

/* The span's extents and strides, without its address; false where a stride does not fit. Bits are counted in whole bytes, which is
 * exact. */
static bool lay_out(const struct attend__tensor_rule *rule, const int64_t stride[4], struct attend__span *span)
{
    const bool bits = has_bits(rule);
    span->element = element_bytes(rule);
    bool fits = true;
    for (int axis = 0; axis < 4; axis++) {
        span->extent[axis] = rule->extent[axis];
        if (bits && axis == 3) {
            span->extent[axis] = attend__divide_up(rule->extent[axis], 8);
            span->stride[axis] = 1;
        } else if (span->extent[axis] == 1) {
            span->stride[axis] = 0; /* of a single element it may be anything */
        } else {
            fits = fits && !__builtin_mul_overflow(bits ? stride[axis] / 8 : stride[axis], span->element, &span->stride[axis]);
        }
    }
    return fits;
}

/* Every element's address must exist: Σ (extent-1)·stride bytes, both ways, without wrapping. The limit lets the overlap of two
 * tensors be solved in 64 bits; no address space comes near it. */
static attend_status check_reach(const struct attend__tensor_rule *rule, const attend_tensor *tensor)
{
    struct attend__span span = { .first = 0 };
    int64_t below = 0, above = 0;
    bool fits = lay_out(rule, tensor->stride, &span);
    for (int axis = 0; fits && axis < 4; axis++) {
        int64_t reach;
        fits = !__builtin_mul_overflow(span.extent[axis] - 1, span.stride[axis], &reach) &&
               !__builtin_add_overflow(reach < 0 ? below : above, reach, reach < 0 ? &below : &above);
    }
    const uintptr_t address = (uintptr_t)tensor->data;
    fits = fits && below >= -REACH_LIMIT && above <= REACH_LIMIT && address >= (uintptr_t)0 - (uintptr_t)below &&
           (uintptr_t)above < UINTPTR_MAX - address - 8;
    if (fits)
        return ATTEND_OK;
    return attend__fail(ATTEND_ERR_ARGUMENT,
                        "args.%s has strides %" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64
                        "; with its extents they leave the address space",
                        rule->name, tensor->stride[0], tensor->stride[1], tensor->stride[2], tensor->stride[3]);
}

/* Of a tensor with elements. */
static attend_status check_memory(const struct attend__tensor_rule *rule, const attend_tensor *tensor)
{
    if (!tensor->data)
        return attend__fail(ATTEND_ERR_ARGUMENT,
                            "args.%s.data is NULL; the tensor has %" PRId64 "x%" PRId64 "x%" PRId64 "x%" PRId64 " elements",
                            rule->name, rule->extent[0], rule->extent[1], rule->extent[2], rule->extent[3]);
    if ((uintptr_t)tensor->data % (uintptr_t)element_bytes(rule))
        return attend__fail(ATTEND_ERR_ARGUMENT, "args.%s.data is %p; it must be aligned to its element of %d bytes",
                            rule->name, tensor->data, (int)element_bytes(rule));
    attend_status status = has_bits(rule) ? check_bit_strides(rule, tensor) : ATTEND_OK;
    return status ? status : check_reach(rule, tensor);
}

attend_status attend__tensor_check(const struct attend__tensor_rule *rule)
{
    memset(rule->view, 0, sizeof *rule->view);
    if (!rule->given && (!rule->wanted || is_empty(rule->extent)))
        return ATTEND_OK;
    if (!rule->given)
        return attend__fail(ATTEND_ERR_ARGUMENT, "args.%s is NULL; the tensor is needed unless it has no element", rule->name);
    attend_tensor tensor;
    char name[64] = "args.";
    strncat(name, rule->name, sizeof name - sizeof "args.");
    attend_status status = attend__struct_read(&tensor, sizeof tensor, sizeof tensor, rule->given, name);
    if (!status)
        status = check_dtype(rule, tensor.dtype);
    if (status)
        return status;
    if (tensor.reserved != 0)
        return attend__fail(ATTEND_ERR_ARGUMENT, "args.%s.reserved is %" PRId32 "; it must be 0", rule->name, tensor.reserved);
    if (is_empty(rule->extent))
        return ATTEND_OK;
    status = check_memory(rule, &tensor);
    if (status)
        return status;
    rule->view->data = tensor.data;
    rule->view->size = element_bytes(rule);
    for (int axis = 0; axis < 4; axis++) /* the stride of a single element may be anything: give it one that fits */
        rule->view->stride[axis] = rule->extent[axis] > 1 ? tensor.stride[axis] : axis == 3;
    return ATTEND_OK;
}

struct attend__span attend__tensor_span(const struct attend__tensor_rule *rule)
{
    struct attend__span span = { .first = (uintptr_t)rule->view->data };
    lay_out(rule, rule->view->stride, &span);
    return span;
}
