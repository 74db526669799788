/* Tensors of a call that are written, against everything else that it has: an output has distinct elements and overlaps nothing. */
#ifndef ATTEND__OUTPUTS_H
#define ATTEND__OUTPUTS_H

#include "engine/problem/tensors.h"

/* One array argument: count elements of `element` bytes each. */
struct attend__array_rule {
    const char *name;
    const void *data; /* NULL: none */
    int64_t count, element;
};

struct attend__arguments {
    const struct attend__tensor_rule *tensors; /* [tensor_count], those that are written first */
    int outputs, tensor_count;
    const struct attend__array_rule *arrays; /* [array_count] */
    int array_count;
    const char *kind; /* of what is written, with its article */
};

/* Checks every tensor by its rule, and then the outputs. */
attend_status attend__tensors_check(const struct attend__arguments *arguments);

#endif
