/* Arguments, checked once: everything behind this header may rely on what is stated here. Knows shapes and pointers, touches no
 * tensor. */
#ifndef ATTEND__PROBLEM_H
#define ATTEND__PROBLEM_H

#include "attend/attend.h"

#include <stdbool.h>

/* A side without end: it reaches past every key from any position, and sums with positions, rows and keys fit int64_t. */
#define ATTEND__UNBOUNDED (INT64_C(1) << 61)

/* A plan's problem. Sizes are ≥ 0; element counts of all tensors fit int64_t; heads = kv_heads·group. */
struct attend__problem {
    int64_t batch, heads, kv_heads, group, rows, keys, d_k, d_v;
    float scale;
    int64_t left, right; /* keys seen on either side of the diagonal, 0 … ATTEND__UNBOUNDED: window and causal rule in one */
    attend_diagonal diagonal;
    bool keep_padding_rows;
};

/* A tensor of the call; strides are all 0 where data is NULL, which happens for empty or unwanted tensors only. */
struct attend__view {
    char *data;
    int64_t stride[4]; /* in elements */
};

/* One run's arguments. Extents are at most the problem's; arrays hold legal values; outputs overlap nothing. */
struct attend__call {
    int64_t batch, rows, keys;
    struct attend__view query, key, value, output, lse, weights, scores, visible;
    const int64_t *key_starts, *key_lengths, *query_starts, *query_lengths, *positions; /* NULL: not given */
};

/* Checks a problem and computes what follows from it. Called with the floating-point state of fpstate.h. */
attend_status attend__problem_check(struct attend__problem *problem, const attend_problem *given);

/* Checks a run's arguments, as read by attend__struct_read, against its problem. With `shape_only` the tensors may be missing (and are then not looked at). */
attend_status attend__call_check(struct attend__call *call, const struct attend__problem *problem, const attend_args *given,
                                 bool shape_only);

#endif
