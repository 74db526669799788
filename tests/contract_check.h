/* Random problems whose bytes are compared with the reduction contract (contract.h). Knows no test framework: the Criterion suite and
 * the plain program for emulated processors use it alike. */
#ifndef ATTEND_TESTS_CONTRACT_CHECK_H
#define ATTEND_TESTS_CONTRACT_CHECK_H

#include "attend/attend.h"

#include "tests/help_fpstate.h"

#include <stdbool.h>
#include <stdint.h>

struct contract_check {
    attend_engine *engine;
    attend_isa isa;                  /* of the engine */
    bool poisoned;                   /* NaN and infinities stand where rows see them */
    const struct fpstate_case *host; /* the caller's floating-point state during the run; NULL: the usual one */
};

/* Draws the problem of that seed, runs it, and compares all results of some rows spread over it, and the key sums of one head. Half
 * of the problems with partials go on from earlier ones. NULL, or a text in static storage that names what differs and the problem. */
const char *contract_check_random(const struct contract_check *check, uint64_t seed);

#endif
