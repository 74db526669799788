/* One tensor argument of a run against what it must be. */
#ifndef ATTEND__TENSORS_H
#define ATTEND__TENSORS_H

#include "engine/problem/overlap.h"
#include "engine/problem/problem.h"

struct attend__tensor_rule {
    const char *name;
    const attend_tensor *given; /* NULL: none */
    struct attend__view *view;  /* what comes of it */
    int64_t extent[4];
    attend_dtype dtype;
    bool wanted; /* may be NULL only where it has no element */
    bool *bits;  /* of ATTEND_BOOL: set where ATTEND_BIT was given instead; NULL: that is refused */
};

/* Fills the rule's view, and bits where it has them. */
attend_status attend__tensor_check(const struct attend__tensor_rule *rule);

/* The bytes of a tensor that passed and has data. */
struct attend__span attend__tensor_span(const struct attend__tensor_rule *rule);

#endif
