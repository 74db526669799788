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
    attend_dtype query_dtype, kv_dtype, output_dtype; /* types of numbers */
    float scale;
    int64_t left, right; /* keys seen on either side of the diagonal, 0 … ATTEND__UNBOUNDED: window and causal rule in one */
    attend_diagonal diagonal;
    float softcap; /* 0: none */
    bool keep_padding_rows;
    bool packed_queries, packed_keys; /* rows, keys: of all items together */
    int64_t page_keys; /* 0: keys do not lie in pages */
    bool shared_prefixes; /* runs look for items that begin with the same pages */
    bool key_sums;  /* runs may ask for them */
    bool fast_only; /* refuse what would be slow */
};

/* A tensor of the call; strides and size are all 0 where data is NULL, which happens for empty or unwanted tensors only. */
struct attend__view {
    char *data;
    int64_t stride[4]; /* in elements */
    int64_t size;      /* bytes of an element; 1 for bits */
};

/* One run's arguments. Extents are at most the problem's; arrays hold legal values; outputs overlap nothing. The batch stride of what
 * is packed is 0: an item's place is in its row or key indices alone, and the extent ends with the last item. */
struct attend__call {
    int64_t batch, rows, keys;
    struct attend__view query, key, value, output, lse, weights, scores, visible, bias, key_sums, maximum, total;
    bool visible_bits;     /* visible counts bits: ATTEND_BIT */
    int64_t visible_tail;  /* columns of visible where they are those of an item's last keys; 0: one for every key */
    const int64_t *key_starts, *key_lengths, *query_starts, *query_lengths, *positions; /* NULL: not given */
    const int64_t *query_offsets, *key_offsets, *prefix_lengths;                        /* likewise */
    const float *alibi_slopes, *sinks;                                                  /* likewise */
    const int32_t *block_tables; /* with problem.page_keys: of item b from b·table_stride on; NULL: no item has keys */
    int64_t table_entries;       /* from the first one on that are looked at, gaps included */
    int64_t table_stride, pages; /* entries from item to item; pages of the key and value tensors, whose batch axis they are */
    bool resume;           /* from the partials in output, maximum and total */
    const int32_t *cancel; /* NULL: none */
    int64_t deadline;      /* of CLOCK_MONOTONIC in ns; 0: none */
};

/* Checks a problem and computes what follows from it. Called with the floating-point state of fpstate.h. */
attend_status attend__problem_check(struct attend__problem *problem, const attend_problem *given);

/* Copies a caller's arguments, of this header or an older one. */
attend_status attend__args_read(attend_args *args, const attend_args *caller);

/* Checks a run's arguments, as read by attend__args_read, against its problem. With `shape_only` the tensors may be missing (and are
 * then not looked at) and may be slow to compute. */
attend_status attend__call_check(struct attend__call *call, const struct attend__problem *problem, const attend_args *given,
                                 bool shape_only);

/* What of the tensors makes the run slow, which ATTEND_FAST_ONLY refuses, in a few words; NULL: nothing. */
const char *attend__call_slow_path(const struct attend__call *call);

/* Refuses that. */
attend_status attend__call_check_fast(const struct attend__call *call);

#endif
