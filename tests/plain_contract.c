/* The contract suite without a test framework, for processors that only an emulator has: every instruction set that is detected
 * computes random problems, half of them with visible NaN and infinities, each in another floating-point state of the host, and their
 * bytes are compared with the reduction contract. Prints a line per set; exit status 1 when some byte differs. With the argument --slack the pages behind the tensors are no traps for the rest of a vector; ATTEND_TEST_SEED and
 * ATTEND_TEST_COUNT as in the suites. */
#include "tests/contract_check.h"
#include "tests/help_counter.h"
#include "tests/help_guard.h"
#include "tests/help_sample.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SETS = 16, VECTOR_BYTES = 64 };

static const struct fpstate_case states[] = { FPSTATE_CASES };
enum { STATES = sizeof states / sizeof *states };

static bool check_set(attend_isa isa, uint64_t seed, int64_t count)
{
    struct contract_check check = { .engine = make_engine(isa, 2, 0), .isa = isa };
    const char *said = check.engine ? NULL : attend_last_error();
    for (int64_t i = 0; i < count && !said; i++) {
        const int64_t state = i / 2 % (STATES + 1);
        check.poisoned = i % 2;
        check.host = state < STATES ? &states[state] : NULL;
        said = contract_check_random(&check, seed + (uint64_t)i);
    }
    attend_engine_destroy(check.engine);
    if (said)
        printf("%s: %s\n", attend_isa_name(isa), said);
    else
        printf("%s: %" PRId64 " random problems have the bytes of the contract\n", attend_isa_name(isa), count);
    return !said;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--slack") == 0)
        guarded_set_slack(VECTOR_BYTES);
    attend_isa isas[MOST_SETS];
    size_t sets = attend_isa_available(isas, MOST_SETS);
    bool same = true;
    for (size_t i = 0; i < sets; i++)
        same &= check_set(isas[i], test_seed(0xc0de4000), test_count(100));
    return same ? EXIT_SUCCESS : EXIT_FAILURE;
}
