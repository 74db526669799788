/* See contract_check.h. */
#include "tests/contract_check.h"

#include "tests/contract.h"
#include "tests/help_counter.h"
#include "tests/help_sample.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS_PER_PROBLEM = 24, MOST_COLUMNS = 4096, MOST_KEYS = 8192 };

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

/* Where queries are packed, all items share one place of the tensors. */
static uint64_t earlier_bits(const struct sample *sample, const int64_t *place, int64_t which)
{
    const uint64_t item = sample->spec.packed_queries ? 0 : (uint64_t)place[0];
    return counter_bits(~sample->spec.seed ^ (item << 48 ^ (uint64_t)place[1] << 32 ^ (uint64_t)place[2]), (uint64_t)which);
}

/* M of the partial that a row goes on from: often of the size of scores, now and then so large that either part vanishes. */
static float earlier_maximum(const struct sample *sample, const int64_t *place)
{
    const uint64_t bits = earlier_bits(sample, place, 0);
    switch (bits % 32) {
    case 0: return NAN;
    case 1: return 1e30f;
    case 2: return -1e30f;
    default: return bits % 4 == 3 ? -INFINITY : counter_normal(bits) * 8.0f;
    }
}

/* What stands beside an M of -inf says nothing, and is NaN here. */
static float earlier_total(const struct sample *sample, const int64_t *place)
{
    const float size = counter_normal(earlier_bits(sample, place, 1));
    return isfinite(earlier_maximum(sample, place)) ? 1.0f + size * size * 100.0f : NAN;
}

static float earlier_sum(const struct sample *sample, const int64_t *place, int64_t d)
{
    const uint64_t bits = earlier_bits(sample, place, 2 + d);
    return bits % 128 == 0 ? INFINITY : counter_normal(bits) * earlier_total(sample, place);
}

/* Makes half of the problems with partials go on from earlier ones. */
static void place_earlier(struct sample *sample)
{
    const struct spec *spec = &sample->spec;
    sample->args.resume = spec->with_partials && spec->seed % 2;
    for (int64_t b = 0; b < (sample->args.resume ? spec->batch : 0); b++)
        for (int64_t h = 0; h < spec->heads; h++)
            for (int64_t r = 0; r < spec->rows; r++) {
                const int64_t place[] = { b, h, r };
                *(float *)box_at(&sample->maximum, b, h, r, 0) = earlier_maximum(sample, place);
                *(float *)box_at(&sample->total, b, h, r, 0) = earlier_total(sample, place);
                for (int64_t d = 0; d < spec->d_v; d++)
                    *(float *)box_at(&sample->output, b, h, r, d) = earlier_sum(sample, place, d);
            }
}

/* Room for a row; the pairs are left out where nobody asks for them. */
static struct contract_row *make_row(const struct sample *sample)
{
    static float output[MOST_COLUMNS], scores[MOST_KEYS], weights[MOST_KEYS];
    static struct contract_row row;
    const attend_args *args = &sample->args;
    const bool pairs = args->scores || args->weights || args->key_sums;
    row = (struct contract_row){ .output = output, .scores = pairs ? scores : NULL, .weights = pairs ? weights : NULL };
    return &row;
}

/* place: item, head, row. */
static void attend_row(const struct sample *sample, const int64_t *place, struct contract_row *row)
{
    if (sample->args.resume) {
        row->maximum = earlier_maximum(sample, place);
        row->total = earlier_total(sample, place);
        for (int64_t d = 0; d < sample->problem.d_v; d++)
            row->output[d] = earlier_sum(sample, place, d);
    }
    contract_attend_row(&sample->problem, &sample->args, place[0], place[1], place[2], row);
}

/* Elements [from, from + count) of a row of one result. */
static const char *judge_numbers(const struct sample *sample, const char *name, const attend_tensor *found, const int64_t *place,
                                 int64_t from, int64_t count, const float *expected)
{
    const char *said = NULL;
    for (int64_t d = from; found && d < from + count && !said; d++)
        said = judge_number(sample, name, place, d, *element(found, place, d), expected[d]);
    return said;
}

static const char *judge_row(const struct sample *sample, const int64_t *place)
{
    const attend_args *args = &sample->args;
    const int64_t first = sample->spec.key_starts[place[0]], keys = sample->spec.key_lengths[place[0]];
    struct contract_row *row = make_row(sample);
    attend_row(sample, place, row);
    const char *said = judge_numbers(sample, args->maximum ? "A" : "output", args->output, place, 0, sample->problem.d_v, row->output);
    if (!said)
        said = judge_numbers(sample, "LSE", args->lse, place, 0, 1, &row->lse);
    if (!said)
        said = judge_numbers(sample, "M", args->maximum, place, 0, 1, &row->maximum);
    if (!said)
        said = judge_numbers(sample, "L", args->total, place, 0, 1, &row->total);
    if (!said)
        said = judge_numbers(sample, "scores", args->scores, place, first, keys, row->scores);
    return said ? said : judge_numbers(sample, "weights", args->weights, place, first, keys, row->weights);
}

/* Of one head: the weights of its rows, added in their order. */
static const char *judge_sums(const struct sample *sample)
{
    static float sums[MOST_KEYS];
    const struct spec *spec = &sample->spec;
    if (!sample->args.key_sums || spec->batch == 0)
        return NULL;
    const int64_t item = (int64_t)(spec->seed % (uint64_t)spec->batch), head = (int64_t)(spec->seed / 7 % (uint64_t)spec->heads);
    const int64_t first = spec->key_starts[item], keys = spec->key_lengths[item];
    memset(sums, 0, sizeof sums);
    for (int64_t r = 0; r < spec->query_lengths[item]; r++) {
        struct contract_row *row = make_row(sample);
        attend_row(sample, (const int64_t[]){ item, head, spec->query_starts[item] + r }, row);
        for (int64_t key = first; key < first + keys; key++)
            sums[key] = isnan(sums[key] + row->weights[key]) ? (float)NAN : sums[key] + row->weights[key];
    }
    return judge_numbers(sample, "key_sums", sample->args.key_sums, (const int64_t[]){ item, head, 0 }, first, keys, sums);
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
    place_earlier(&sample);
    const char *said = run_sample(check, &sample);
    if (!said)
        said = judge_rows(&sample);
    if (!said)
        said = judge_sums(&sample);
    sample_free(&sample);
    return said;
}
