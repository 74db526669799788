/* What the Criterion suites share: one test per instruction set from one body, and checks that print a verdict. */
#ifndef ATTEND_TESTS_HELP_SUITE_H
#define ATTEND_TESTS_HELP_SUITE_H

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/kernel/kernels.def"
#include "tests/help_sample.h"

#include <criterion/criterion.h>
#include <string.h>

/* Defines a test suite/name_<set> for every set that is built (name_portable, name_avx2, …), which calls body(isa) or is
 * skipped where the processor lacks the set. */
#define ISA_TESTS(suite, name, body) ATTEND__EACH_KERNEL(ISA_TEST, suite, name, body)
#define ISA_TEST(set, isa, suite, name, body)                                    \
    Test(suite, name##_##set, .timeout = 170)                                    \
    {                                                                            \
        if (!has_isa(isa))                                                       \
            cr_skip_test("%s is not available here", attend_isa_name(isa));      \
        body(isa);                                                               \
    }

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

static inline void run_spec(struct sample *sample, const struct spec *spec, attend_engine *engine)
{
    sample_make(sample, spec);
    expect_ok(sample_forward(sample, engine));
}

/* Runs the variant and compares all its real rows with those of the reference. */
static inline void expect_same(const struct sample *reference, const struct spec *variant, attend_engine *engine,
                        const char *what)
{
    struct sample sample;
    run_spec(&sample, variant, engine);
    expect_verdict(compare_samples(reference, &sample), what);
    sample_free(&sample);
}

/* A call that was refused with this status and a message that has the word; `how` tells which call. */
static inline void expect_refusal(attend_status found, attend_status status, const char *word, const char *how)
{
    cr_expect(found == status, "%s: the status is %s, should be %s (%s)", how, attend_status_name(found),
              attend_status_name(status), attend_last_error());
    cr_expect(strstr(attend_last_error(), word), "%s: the message does not name %s: %s", how, word,
              attend_last_error());
}

/* Jobs never run in the caller; always. */
enum { IN_TEAM = -1 };
static const int64_t IN_CALLER = INT64_MAX;

#endif
