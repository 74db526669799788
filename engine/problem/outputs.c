/* See outputs.h. */
#include "engine/problem/outputs.h"

#include "engine/base/status.h"

#include <inttypes.h>

static attend_status check_apart(const struct attend__arguments *arguments, const char *output, const struct attend__span *span,
                                 const char *other, const struct attend__span *other_span)
{
    if (!attend__spans_overlap(span, other_span))
        return ATTEND_OK;
    return attend__fail(ATTEND_ERR_ARGUMENT, "args.%s overlaps args.%s; %s must share no memory with other arguments", output, other,
                        arguments->kind);
}

static attend_status check_arrays(const struct attend__arguments *arguments, const char *output, const struct attend__span *span)
{
    attend_status status = ATTEND_OK;
    for (int i = 0; !status && i < arguments->array_count; i++) {
        const struct attend__array_rule *array = &arguments->arrays[i];
        const struct attend__span other = { .first = (uintptr_t)array->data,
                                            .element = array->element,
                                            .extent = { array->count, 1, 1, 1 },
                                            .stride = { array->element, 0, 0, 0 } };
        if (array->data && array->count > 0)
            status = check_apart(arguments, output, span, array->name, &other);
    }
    return status;
}

static attend_status check_output(const struct attend__arguments *arguments, int output)
{
    const struct attend__tensor_rule *rules = arguments->tensors, *rule = &rules[output];
    if (!rule->view->data)
        return ATTEND_OK;
    const struct attend__span span = attend__tensor_span(rule);
    if (attend__span_overlaps_itself(&span))
        return attend__fail(ATTEND_ERR_ARGUMENT,
                            "args.%s has strides %" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64
                            "; the elements of %s must be distinct",
                            rule->name, rule->given->stride[0], rule->given->stride[1], rule->given->stride[2],
                            rule->given->stride[3], arguments->kind);
    attend_status status = ATTEND_OK;
    for (int i = output + 1; !status && i < arguments->tensor_count; i++) {
        const struct attend__span other = attend__tensor_span(&rules[i]);
        if (rules[i].view->data)
            status = check_apart(arguments, rule->name, &span, rules[i].name, &other);
    }
    return status ? status : check_arrays(arguments, rule->name, &span);
}

attend_status attend__tensors_check(const struct attend__arguments *arguments)
{
    attend_status status = ATTEND_OK;
    for (int i = 0; !status && i < arguments->tensor_count; i++)
        status = attend__tensor_check(&arguments->tensors[i]);
    for (int i = 0; !status && i < arguments->outputs; i++)
        status = check_output(arguments, i);
    return status;
}
