/* The reduction contract by its words: one row in plain float32 loops with the C library's fmaf, in the order that the contract
 * fixes. Shares no code with the library; where the kernels' bytes differ from these, one of the two breaks the contract. */
#ifndef ATTEND_TESTS_CONTRACT_H
#define ATTEND_TESTS_CONTRACT_H

#include "attend/attend.h"

/* One row inside its item's query range. */
struct contract_row {
    /* given: room for the row's results */
    float *output;            /* [d_v]; A where args ask for partials. With args.resume it holds the earlier A, if there was a key */
    float *scores, *weights;  /* [keys], absolute; both or neither */
    /* found; with args.resume the first two hold the earlier partial */
    float maximum, total, lse;
};

/* item and head are absolute, and row is the query tensor's. */
void contract_attend_row(const attend_problem *problem, const attend_args *args, int64_t item, int64_t head, int64_t row,
                         struct contract_row *result);

#endif
