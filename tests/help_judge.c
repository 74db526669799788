/* The verdicts of help_sample.h. */
#include "tests/help_sample.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char verdict[2048];

__attribute__((format(printf, 2, 3))) static const char *say(const struct spec *spec, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(verdict, sizeof verdict, format, arguments);
    va_end(arguments);
    snprintf(verdict + length, sizeof verdict - (size_t)length, "\n    %s\n    rerun with ATTEND_TEST_SEED=0x%llx",
             spec_text(spec), (unsigned long long)spec->seed);
    return verdict;
}

static uint32_t bits_of(const void *element)
{
    uint32_t bits;
    memcpy(&bits, element, sizeof bits);
    return bits;
}

static float float_of(const void *element)
{
    float value;
    memcpy(&value, element, sizeof value);
    return value;
}

/* NaN only where NaN is due, and then the one that is ever written; infinities exactly; the rest within the bound. */
static bool is_right(const void *element, double truth, double bound)
{
    if (isnan(truth))
        return bits_of(element) == 0x7fc00000;
    if (isinf(truth))
        return (double)float_of(element) == truth;
    return fabs((double)float_of(element) - truth) <= bound;
}

/* One row's room for the oracle. */
struct truth {
    struct oracle_row row;
    double *output, *weights, *scores;
};

static void make_truth(struct truth *truth, const struct spec *spec)
{
    truth->output = malloc(((size_t)spec->d_v + 1) * sizeof(double));
    truth->weights = malloc(((size_t)spec->keys + 1) * sizeof(double));
    truth->scores = malloc(((size_t)spec->keys + 1) * sizeof(double));
    if (!truth->output || !truth->weights || !truth->scores)
        abort();
    truth->row = (struct oracle_row){ .output = truth->output, .weights = truth->weights, .scores = truth->scores };
}

static void free_truth(struct truth *truth)
{
    free(truth->output);
    free(truth->weights);
    free(truth->scores);
}

static const char *judge_elements(const struct sample *sample, const struct box *box, const char *name,
                                  const int64_t place[3], const double *truth, const double *bounds, double bound)
{
    if (!box->memory.map)
        return NULL;
    for (int64_t x = 0; x < box->extent[3]; x++) {
        void *element = box_at(box, place[0], place[1], place[2], x);
        double allowed = bounds ? bounds[x] : bound;
        if (!is_right(element, truth[x], allowed))
            return say(&sample->spec, "%s[%lld][%lld][%lld][%lld] is %.9g (0x%08x), should be %.9g within %.3g", name,
                       (long long)place[0], (long long)place[1], (long long)place[2], (long long)x,
                       (double)float_of(element), bits_of(element), truth[x], allowed);
    }
    return NULL;
}

/* A score is judged like an LSE of its size; a weight like an output with values up to 1. */
static const char *judge_pairs(const struct sample *sample, const int64_t place[3], const struct truth *truth)
{
    struct oracle_row like = truth->row;
    const char *said = NULL;
    double *bounds = malloc(((size_t)sample->spec.keys + 1) * sizeof *bounds);
    if (!bounds)
        abort();
    for (int64_t key = 0; key < sample->spec.keys; key++) {
        like.lse = truth->scores[key];
        bounds[key] = oracle_lse_bound(&sample->problem, &like);
    }
    like.value_max = 1.0;
    said = judge_elements(sample, &sample->scores, "scores", place, truth->scores, bounds, 0.0);
    if (!said)
        said = judge_elements(sample, &sample->weights, "weights", place, truth->weights, NULL,
                              oracle_output_bound(&sample->problem, &like));
    free(bounds);
    return said;
}

static const char *judge_untouched(const struct sample *sample, const struct box *box, const char *name,
                                   const int64_t place[3])
{
    for (int64_t x = 0; box->memory.map && x < box->extent[3]; x++) {
        uint32_t bits = bits_of(box_at(box, place[0], place[1], place[2], x));
        if (bits != poison_word(0) && bits != poison_word(1))
            return say(&sample->spec, "%s[%lld][%lld][%lld][%lld] of a padding row was written", name,
                       (long long)place[0], (long long)place[1], (long long)place[2], (long long)x);
    }
    return NULL;
}

static const char *judge_row(const struct sample *sample, const int64_t place[3], struct truth *truth)
{
    const struct box *boxes[] = { &sample->output, &sample->lse, &sample->weights, &sample->scores };
    static const char *const names[] = { "output", "lse", "weights", "scores" };
    oracle_attend_row(&sample->problem, &sample->args, place[0], place[1], place[2], &truth->row);
    const char *said = NULL;
    if (!truth->row.inside && sample->problem.flags & ATTEND_KEEP_PADDING_ROWS) {
        for (int i = 0; i < 4 && !said; i++)
            said = judge_untouched(sample, boxes[i], names[i], place);
        return said;
    }
    said = judge_elements(sample, &sample->lse, "lse", place, &truth->row.lse, NULL,
                          oracle_lse_bound(&sample->problem, &truth->row));
    if (!said)
        said = judge_elements(sample, &sample->output, "output", place, truth->output, NULL,
                              oracle_output_bound(&sample->problem, &truth->row));
    return said ? said : judge_pairs(sample, place, truth);
}

static const char *judge_gaps(const struct sample *sample)
{
    const struct box *boxes[] = { &sample->output, &sample->lse, &sample->weights, &sample->scores };
    for (int i = 0; i < 4; i++)
        if (boxes[i]->memory.map && !box_is_clean(boxes[i]))
            return say(&sample->spec, "something was written between the elements of result %d", i);
    return NULL;
}

const char *sample_judge(const struct sample *sample)
{
    const struct spec *spec = &sample->spec;
    const char *said = judge_gaps(sample);
    struct truth truth;
    make_truth(&truth, spec);
    for (int64_t item = 0; item < spec->batch; item++)
        for (int64_t head = 0; head < spec->heads; head++)
            for (int64_t row = 0; row < spec->rows && !said; row++)
                said = judge_row(sample, (const int64_t[3]){ item, head, row }, &truth);
    free_truth(&truth);
    return said;
}

static const char *compare_elements(struct rows one, const struct box *box, struct rows other,
                                    const struct box *other_box, const char *name)
{
    int64_t row = one.sample->spec.query_starts[one.item] + one.row;
    int64_t other_row = other.sample->spec.query_starts[other.item] + other.row;
    for (int64_t x = 0; box->memory.map && other_box->memory.map && x < box->extent[3]; x++) {
        uint32_t bits = bits_of(box_at(box, one.item, one.head, row, x));
        uint32_t other_bits = bits_of(box_at(other_box, other.item, other.head, other_row, x));
        if (bits != other_bits)
            return say(&other.sample->spec, "%s of item %lld head %lld row %lld, element %lld: 0x%08x and 0x%08x", name,
                       (long long)other.item, (long long)other.head, (long long)other.row, (long long)x, bits,
                       other_bits);
    }
    return NULL;
}

const char *compare_rows(struct rows one, struct rows other, int64_t count)
{
    const char *said = NULL;
    for (int64_t i = 0; i < count && !said; i++, one.row++, other.row++) {
        said = compare_elements(one, &one.sample->lse, other, &other.sample->lse, "lse");
        if (!said)
            said = compare_elements(one, &one.sample->output, other, &other.sample->output, "output");
    }
    return said;
}

const char *compare_samples(const struct sample *one, const struct sample *other)
{
    const char *said = NULL;
    for (int64_t item = 0; item < one->spec.batch; item++)
        for (int64_t head = 0; head < one->spec.heads && !said; head++)
            said = compare_rows((struct rows){ one, item, head, 0 }, (struct rows){ other, item, head, 0 },
                                one->spec.query_lengths[item]);
    return said;
}
