/* The reduction contract by its words: one row in plain float32 loops with the C library's fmaf, in the order that the contract
 * fixes. Shares no code with the library; where the kernels' bytes differ from these, one of the two breaks the contract. */
#ifndef ATTEND_TESTS_CONTRACT_H
#define ATTEND_TESTS_CONTRACT_H

#include "attend/attend.h"

/* output[d_v], or A where args ask for partials, and *lse of a row inside the item's query range; item and head are absolute, and row is the
 * query tensor's. */
void contract_attend_row(const attend_problem *problem, const attend_args *args, int64_t item, int64_t head, int64_t row,
                         float *output, float *lse);

#endif
