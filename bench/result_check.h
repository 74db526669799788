/* Judges the result of a run by the oracle, on rows drawn from the whole. Knows nothing of time. */
#ifndef BENCH_RESULT_CHECK_H
#define BENCH_RESULT_CHECK_H

#include "attend/attend.h"

#include <stdbool.h>

struct result_check {
    int rows;                   /* rows compared */
    double output_error, lse_error; /* largest differences to the oracle */
    double output_share, lse_share; /* largest difference divided by its bound */
    double output_relative; /* largest difference divided by the largest |v| that the row sees */
};

/* Compares about `rows` rows of args' output and LSE (both must be given, and query_offsets where packed must end at the problem's
 * rows) with the oracle: the first and last row of the first and last item, and others drawn from `seed`. False: error[size] names the first row that is beyond its
 * bound (to which an output of a half type adds its rounding), in one line, or tells that memory is short. */
bool result_check_rows(struct result_check *check, const attend_problem *problem, const attend_args *args, int rows,
                       uint64_t seed, char *error, size_t size);

#endif
