/* Do two strided sets of elements share a byte? Exact, and pure arithmetic: nothing is read. */
#ifndef ATTEND__OVERLAP_H
#define ATTEND__OVERLAP_H

#include <stdbool.h>
#include <stdint.h>

enum { ATTEND__SPAN_AXES = 4 };

/* The bytes of a tensor: an element of `element` bytes at `first` + Σ index·stride. All extents > 0, and every address of the
 * span fits the address space. */
struct attend__span {
    uintptr_t first;
    int64_t element;
    int64_t extent[ATTEND__SPAN_AXES];
    int64_t stride[ATTEND__SPAN_AXES]; /* in bytes */
};

/* False as well when the question would take more than a bounded search, which strides of real layouts do not need. */
bool attend__spans_overlap(const struct attend__span *a, const struct attend__span *b);

/* Do two different elements of one span share a byte? Bounded likewise. */
bool attend__span_overlaps_itself(const struct attend__span *span);

#endif
