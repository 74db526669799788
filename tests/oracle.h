/* The oracle: attention of one row by the formula, in plain float64 loops over the caller's tensors. It shares no code
 * with the library, reads only what the row may see, and is slow. Tests, benchmarks and examples judge by it. */
#ifndef ATTEND_TESTS_ORACLE_H
#define ATTEND_TESTS_ORACLE_H

#include "attend/attend.h"

#include <stdbool.h>

struct oracle_row {
    /* given: room for the row's results; each may be NULL */
    double *output;  /* [d_v] */
    double *weights; /* [keys], absolute; 0 where hidden */
    double *scores;  /* [keys], absolute; -inf where hidden */
    /* found */
    bool inside;        /* false: a padding row */
    int64_t visible;    /* visible keys */
    double lse;         /* -inf without visible keys (or none above -inf), NaN where a NaN or +inf score is visible */
    double reach;       /* largest |scale|·Σ|q_d·k_d| + |bias| + slope·|distance| over the visible keys: R of the error bounds */
    double value_max;   /* largest finite |v| over the visible keys, 0 if none */
};

/* item and head are absolute, and so is row: in the query tensor, so that where queries are packed it counts the rows of all
 * items and tells of another item's row that it is not inside. Where keys are packed, `keys` are those of all items. Arrays, starts
 * and lengths are read as attend_args says. Partials are not: results are those of the finished row. */
void oracle_attend_row(const attend_problem *problem, const attend_args *args, int64_t item, int64_t head, int64_t row,
                       struct oracle_row *result);

/* The library's error bounds for float32 (up to 2k keys): LSE and one output element. With softcap they grow by 5e-7 and 1e-6 of
 * the largest score that it leaves. */
double oracle_lse_bound(const attend_problem *problem, const struct oracle_row *row);
double oracle_output_bound(const attend_problem *problem, const struct oracle_row *row);

#endif
