/* The values in a run's arrays. */
#ifndef ATTEND__ARRAYS_H
#define ATTEND__ARRAYS_H

#include "engine/problem/problem.h"

/* Checks the arrays that `call` points to, whose extents were checked. What is packed gets its extent from the last offset, so that
 * nothing looks beyond it; given_rows and given_keys are the caller's, ATTEND_PLANNED included. */
attend_status attend__arrays_check(struct attend__call *call, const struct attend__problem *problem, int64_t given_rows,
                                   int64_t given_keys);

#endif
