/* The kernels' bytes against the reduction contract written out in plain loops, on random problems of every kind, visible NaN and
 * infinities included. The other suites show that all ways of computing a row agree; this one, with what. */
#include "tests/contract.h"
#include "tests/help_counter.h"
#include "tests/help_suite.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS_PER_PROBLEM = 24 };

static float *output_at(const struct sample *sample, int64_t b, int64_t h, int64_t r, int64_t d)
{
    const attend_tensor *output = sample->args.output;
    return (float *)output->data + b * output->stride[0] + h * output->stride[1] + r * output->stride[2] +
           d * output->stride[3];
}

static void check_row(const struct sample *sample, int64_t b, int64_t h, int64_t r)
{
    static float expected[4096];
    float lse;
    contract_attend_row(&sample->problem, &sample->args, b, h, r, expected, &lse);
    for (int64_t d = 0; d < sample->problem.d_v; d++)
        cr_assert(memcmp(&expected[d], output_at(sample, b, h, r, d), sizeof(float)) == 0,
                  "output[%ld][%ld][%ld][%ld] is %a, the contract says %a: %s", (long)b, (long)h, (long)r, (long)d,
                  (double)*output_at(sample, b, h, r, d), (double)expected[d], spec_text(&sample->spec));
    if (!sample->args.lse)
        return;
    const attend_tensor *tensor = sample->args.lse;
    const float *found =
        (const float *)tensor->data + b * tensor->stride[0] + h * tensor->stride[1] + r * tensor->stride[2];
    cr_assert(memcmp(&lse, found, sizeof(float)) == 0, "LSE[%ld][%ld][%ld] is %a, the contract says %a: %s", (long)b,
              (long)h, (long)r, (double)*found, (double)lse, spec_text(&sample->spec));
}

/* Real rows spread over the whole problem. */
static void check_rows(const struct sample *sample)
{
    const struct spec *spec = &sample->spec;
    int64_t total = 0;
    for (int64_t b = 0; b < spec->batch; b++)
        total += spec->query_lengths[b] * spec->heads;
    const int64_t step = total / ROWS_PER_PROBLEM + 1;
    int64_t number = 0;
    for (int64_t b = 0; b < spec->batch; b++)
        for (int64_t h = 0; h < spec->heads; h++)
            for (int64_t r = 0; r < spec->query_lengths[b]; r++)
                if (number++ % step == 0)
                    check_row(sample, b, h, spec->query_starts[b] + r);
}

static void check_problems(attend_isa isa, uint64_t default_seed, bool poison)
{
    attend_engine *engine = need_engine(isa, 2, 0);
    const uint64_t seed = test_seed(default_seed);
    const int64_t count = test_count(150);
    for (int64_t i = 0; i < count; i++) {
        struct spec spec;
        struct sample sample;
        spec_random(&spec, seed + (uint64_t)i, isa == ATTEND_ISA_PORTABLE ? 5e5 : 4e6);
        sample_make(&sample, &spec);
        if (poison)
            sample_poison_some(&sample);
        expect_ok(sample_forward(&sample, engine));
        check_rows(&sample);
        sample_free(&sample);
    }
    attend_engine_destroy(engine);
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
