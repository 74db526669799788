/* See contract_check.h. */
#include "tests/contract_check.h"

#include "tests/contract.h"
#include "tests/help_sample.h"

#include <stdio.h>
#include <string.h>

enum { ROWS_PER_PROBLEM = 24, MOST_COLUMNS = 4096 };

static char verdict[1024];

static const float *element(const attend_tensor *tensor, const int64_t *place, int64_t d)
{
    const float *data = tensor->data;
    return data + place[0] * tensor->stride[0] + place[1] * tensor->stride[1] + place[2] * tensor->stride[2] +
           d * tensor->stride[3];
}

static const char *judge_number(const struct sample *sample, const char *name, const int64_t *place, int64_t d, float found,
                                float expected)
{
    if (memcmp(&found, &expected, sizeof found) == 0)
        return NULL;
    snprintf(verdict, sizeof verdict, "%s[%ld][%ld][%ld][%ld] is %a, the contract says %a: %s", name, (long)place[0],
             (long)place[1], (long)place[2], (long)d, (double)found, (double)expected, spec_text(&sample->spec));
    return verdict;
}

/* place: item, head, row. */
static const char *judge_row(const struct sample *sample, const int64_t *place)
{
    static float output[MOST_COLUMNS];
    float lse;
    const char *said = NULL;
    contract_attend_row(&sample->problem, &sample->args, place[0], place[1], place[2], output, &lse);
    for (int64_t d = 0; d < sample->problem.d_v && !said; d++)
        said = judge_number(sample, "output", place, d, *element(sample->args.output, place, d), output[d]);
    if (!said && sample->args.lse)
        said = judge_number(sample, "LSE", place, 0, *element(sample->args.lse, place, 0), lse);
    return said;
}

/* Real rows spread over the whole problem. */
static const char *judge_rows(const struct sample *sample)
{
    const struct spec *spec = &sample->spec;
    int64_t total = 0;
    for (int64_t b = 0; b < spec->batch; b++)
        total += spec->query_lengths[b] * spec->heads;
    const int64_t step = total / ROWS_PER_PROBLEM + 1;
    int64_t number = 0;
    const char *said = NULL;
    for (int64_t b = 0; b < spec->batch; b++)
        for (int64_t h = 0; h < spec->heads; h++)
            for (int64_t r = 0; r < spec->query_lengths[b] && !said; r++)
                if (number++ % step == 0)
                    said = judge_row(sample, (int64_t[]){ b, h, spec->query_starts[b] + r });
    return said;
}

/* The run in the host's state, which must be the same afterwards. Nothing else may happen between the two changes of the state. */
static const char *run_sample(const struct contract_check *check, struct sample *sample)
{
    const uint64_t usual = fpstate_get();
    const uint64_t entered = check->host ? fpstate_enter(check->host->state) : usual;
    const attend_status status = sample_forward(sample, check->engine);
    const uint64_t left = fpstate_get();
    fpstate_set(usual);
    if (status)
        return attend_last_error();
    if (!check->host || left == entered)
        return NULL;
    snprintf(verdict, sizeof verdict, "the state of the host (%s) is another after the run: %s", check->host->name,
             spec_text(&sample->spec));
    return verdict;
}

const char *contract_check_random(const struct contract_check *check, uint64_t seed)
{
    struct spec spec;
    struct sample sample;
    spec_random(&spec, seed, check->isa == ATTEND_ISA_PORTABLE ? 5e5 : 4e6); /* the portable set is slow */
    sample_make(&sample, &spec);
    if (check->poisoned)
        sample_poison_some(&sample);
    const char *said = run_sample(check, &sample);
    if (!said)
        said = judge_rows(&sample);
    sample_free(&sample);
    return said;
}
