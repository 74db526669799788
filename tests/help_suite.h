/* What the Criterion suites share: one test per instruction set from one body, and checks that print a verdict. */
#ifndef ATTEND_TESTS_HELP_SUITE_H
#define ATTEND_TESTS_HELP_SUITE_H

#include "tests/help_sample.h"

#include <criterion/criterion.h>

/* Defines suite/name_portable, suite/name_avx2 and suite/name_avx512, which call body(isa) or are skipped where the
 * set is missing. */
#define ISA_TEST(suite, name, body, isa)                                         \
    Test(suite, name, .timeout = 170)                                            \
    {                                                                            \
        if (!has_isa(isa))                                                       \
            cr_skip_test("%s is not available here", attend_isa_name(isa));      \
        body(isa);                                                               \
    }
#define ISA_TESTS(suite, name, body)                              \
    ISA_TEST(suite, name##_portable, body, ATTEND_ISA_PORTABLE)   \
    ISA_TEST(suite, name##_avx2, body, ATTEND_ISA_AVX2)           \
    ISA_TEST(suite, name##_avx512, body, ATTEND_ISA_AVX512)

static inline void expect_ok(attend_status status)
{
    cr_assert(status == ATTEND_OK, "%s: %s", attend_status_name(status), attend_last_error());
}

/* A verdict of help_sample.h. */
static inline void expect_verdict(const char *said, const char *what)
{
    cr_assert(said == NULL, "%s: %s", what, said ? said : "");
}

static inline attend_engine *need_engine(attend_isa isa, int32_t threads, int64_t inline_work)
{
    attend_engine *engine = make_engine(isa, threads, inline_work);
    cr_assert_not_null(engine, "no engine: %s", attend_last_error());
    return engine;
}

/* Jobs never run in the caller; always. */
enum { IN_TEAM = -1 };
static const int64_t IN_CALLER = INT64_MAX;

#endif
