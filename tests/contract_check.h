/* Random problems whose bytes are compared with the reduction contract (contract.h). Knows no test framework: the Criterion suite and
 * the plain program for emulated processors use it alike. */
#ifndef ATTEND_TESTS_CONTRACT_CHECK_H
#define ATTEND_TESTS_CONTRACT_CHECK_H

#include "attend/attend.h"

#include <stdbool.h>
#include <stdint.h>

/* Draws the problem of that seed, runs it on the engine, and compares some rows spread over it. `poisoned` puts NaN and infinities
 * where rows see them. NULL, or a text in static storage that names what differs and the problem. */
const char *contract_check_random(attend_engine *engine, attend_isa isa, uint64_t seed, bool poisoned);

#endif
