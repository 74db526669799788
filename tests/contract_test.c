/* The kernels' bytes against the reduction contract written out in plain loops, on random problems of every kind, visible NaN and
 * infinities included. The other suites show that all ways of computing a row agree; this one, with what. */
#include "tests/contract_check.h"
#include "tests/help_counter.h"
#include "tests/help_suite.h"

static void check_problems(attend_isa isa, uint64_t default_seed, bool poisoned)
{
    const struct contract_check check = { .engine = need_engine(isa, 2, 0), .isa = isa, .poisoned = poisoned };
    const uint64_t seed = test_seed(default_seed);
    const int64_t count = test_count(150);
    for (int64_t i = 0; i < count; i++)
        expect_verdict(contract_check_random(&check, seed + (uint64_t)i), attend_isa_name(isa));
    attend_engine_destroy(check.engine);
}

static void check_random(attend_isa isa)
{
    check_problems(isa, 0xc0de0000, false);
}

static void check_poisoned(attend_isa isa)
{
    check_problems(isa, 0xc0de8000, true);
}

ISA_TESTS(contract, random_problems, check_random)
ISA_TESTS(contract, visible_poison, check_poisoned)
