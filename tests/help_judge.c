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

/* Columns of a row of results that somebody's keys have: where keys are packed, those after the last item stay as they are. */
static int64_t columns_of(const struct sample *sample, const struct box *box)
{
    const struct spec *spec = &sample->spec;
    const bool pairs = box == &sample->weights || box == &sample->scores;
    return pairs && spec->packed_keys ? spec->key_starts[spec->batch - 1] + spec->key_lengths[spec->batch - 1] : box->extent[3];
}

static const char *judge_elements(const struct sample *sample, const struct box *box, const char *name,
                                  const int64_t place[3], const double *truth, const double *bounds, double bound)
{
    if (!box->memory.map)
        return NULL;
    for (int64_t x = 0; x < columns_of(sample, box); x++) {
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

/* A partial is right when finishing it gives the row: A / L and M + ln L. */
static const char *judge_partial(const struct sample *sample, const int64_t place[3], const struct truth *truth)
{
    const void *largest = box_at(&sample->maximum, place[0], place[1], place[2], 0);
    const void *total = box_at(&sample->total, place[0], place[1], place[2], 0);
    const double m = (double)float_of(largest), l = (double)float_of(total), lse = truth->row.lse;
    const bool none = isinf(lse), known = isnan(lse) ? bits_of(largest) == 0x7fc00000 && bits_of(total) == 0x7fc00000
                                          : none     ? m == -INFINITY && bits_of(total) == 0
                                                     : fabs(m + log(l) - lse) <= oracle_lse_bound(&sample->problem, &truth->row);
    if (!known)
        return say(&sample->spec, "M and L of [%lld][%lld][%lld] are %.9g and %.9g, LSE should be %.9g", (long long)place[0],
                   (long long)place[1], (long long)place[2], m, l, lse);
    const double bound = oracle_output_bound(&sample->problem, &truth->row);
    for (int64_t x = 0; x < sample->output.extent[3]; x++) {
        const double a = (double)float_of(box_at(&sample->output, place[0], place[1], place[2], x));
        if (isnan(truth->output[x]) ? isfinite(a) : none ? a != 0.0 : !(fabs(a / l - truth->output[x]) <= bound))
            return say(&sample->spec, "A[%lld][%lld][%lld][%lld] is %.9g with L %.9g, should give %.9g within %.3g",
                       (long long)place[0], (long long)place[1], (long long)place[2], (long long)x, a, l, truth->output[x], bound);
    }
    return NULL;
}

/* Where queries are packed, rows after the last item belong to nobody. */
static bool is_anybodys(const struct sample *sample, int64_t row)
{
    const struct spec *spec = &sample->spec;
    const int64_t last = spec->batch - 1;
    return row < spec->query_starts[last] + spec->query_lengths[last];
}

static const char *judge_row(const struct sample *sample, const int64_t place[3], struct truth *truth)
{
    const struct box *boxes[] = { &sample->output, &sample->lse, &sample->weights, &sample->scores, &sample->maximum, &sample->total };
    static const char *const names[] = { "output", "lse", "weights", "scores", "maximum", "total" };
    const bool packed = sample->spec.packed_queries;
    oracle_attend_row(&sample->problem, &sample->args, place[0], place[1], place[2], &truth->row);
    const char *said = NULL;
    if (!truth->row.inside && packed && is_anybodys(sample, place[2]))
        return NULL; /* another item's */
    if (!truth->row.inside && (packed || sample->problem.flags & ATTEND_KEEP_PADDING_ROWS)) {
        for (int i = 0; i < 6 && !said; i++)
            said = judge_untouched(sample, boxes[i], names[i], place);
        return said;
    }
    if (sample->maximum.memory.map)
        said = judge_partial(sample, place, truth);
    if (said || sample->maximum.memory.map)
        return said;
    said = judge_elements(sample, &sample->lse, "lse", place, &truth->row.lse, NULL,
                          oracle_lse_bound(&sample->problem, &truth->row));
    if (!said)
        said = judge_elements(sample, &sample->output, "output", place, truth->output, NULL,
                              oracle_output_bound(&sample->problem, &truth->row));
    return said ? said : judge_pairs(sample, place, truth);
}

static const char *judge_gaps(const struct sample *sample)
{
    const struct box *boxes[] = { &sample->output,   &sample->lse,     &sample->weights, &sample->scores,
                                  &sample->key_sums, &sample->maximum, &sample->total };
    for (int i = 0; i < 7; i++)
        if (boxes[i]->memory.map && !box_is_clean(boxes[i]))
            return say(&sample->spec, "something was written between the elements of result %d", i);
    return NULL;
}

/* Sums of weights over the rows of a head, and how far the library's may be off. */
struct key_truth {
    double *sum, *bound;
};

static void add_weights(struct key_truth *keys, const struct sample *sample, const struct truth *truth)
{
    struct oracle_row like = truth->row;
    like.value_max = 1.0;
    const double bound = oracle_output_bound(&sample->problem, &like);
    for (int64_t key = 0; key < sample->spec.keys && truth->row.inside; key++) {
        keys->sum[key] += truth->weights[key];
        keys->bound[key] += bound + fabs(keys->sum[key]) * 0x1p-24;
    }
}

/* Of one head; keys that are no item's stay untouched where keys are packed. */
static const char *judge_sums(const struct sample *sample, int64_t item, int64_t head, const struct key_truth *keys)
{
    const struct spec *spec = &sample->spec;
    for (int64_t key = 0; sample->key_sums.memory.map && key < spec->keys; key++) {
        const int64_t j = key - spec->key_starts[item];
        if (spec->packed_keys && (j < 0 || j >= spec->key_lengths[item]))
            continue;
        const void *sum = box_at(&sample->key_sums, item, head, 0, key);
        if (!is_right(sum, keys->sum[key], keys->bound[key]))
            return say(spec, "key_sums[%lld][%lld][0][%lld] is %.9g, should be %.9g within %.3g", (long long)item, (long long)head,
                       (long long)key, (double)float_of(sum), keys->sum[key], keys->bound[key]);
    }
    return NULL;
}

static const char *judge_head(const struct sample *sample, int64_t item, int64_t head, struct truth *truth, struct key_truth *keys)
{
    const struct spec *spec = &sample->spec;
    const char *said = NULL;
    memset(keys->sum, 0, (size_t)spec->keys * sizeof *keys->sum);
    memset(keys->bound, 0, (size_t)spec->keys * sizeof *keys->bound);
    for (int64_t row = 0; row < spec->rows && !said; row++) {
        said = judge_row(sample, (const int64_t[3]){ item, head, row }, truth);
        add_weights(keys, sample, truth);
    }
    return said ? said : judge_sums(sample, item, head, keys);
}

const char *sample_judge(const struct sample *sample)
{
    const struct spec *spec = &sample->spec;
    const char *said = judge_gaps(sample);
    struct truth truth;
    struct key_truth keys = { calloc((size_t)spec->keys + 1, sizeof(double)), calloc((size_t)spec->keys + 1, sizeof(double)) };
    if (!keys.sum || !keys.bound)
        abort();
    make_truth(&truth, spec);
    for (int64_t item = 0; item < spec->batch; item++)
        for (int64_t head = 0; head < spec->heads && !said; head++)
            said = judge_head(sample, item, head, &truth, &keys);
    free_truth(&truth);
    free(keys.sum);
    free(keys.bound);
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

static const char *compare_sums(const struct sample *one, const struct sample *other, int64_t item, int64_t head)
{
    const bool both = one->key_sums.memory.map && other->key_sums.memory.map;
    for (int64_t j = 0; both && j < one->spec.key_lengths[item]; j++) {
        uint32_t bits = bits_of(box_at(&one->key_sums, item, head, 0, one->spec.key_starts[item] + j));
        uint32_t other_bits = bits_of(box_at(&other->key_sums, item, head, 0, other->spec.key_starts[item] + j));
        if (bits != other_bits)
            return say(&other->spec, "key sum of item %lld head %lld key %lld: 0x%08x and 0x%08x", (long long)item, (long long)head,
                       (long long)j, bits, other_bits);
    }
    return NULL;
}

const char *compare_samples(const struct sample *one, const struct sample *other)
{
    const char *said = NULL;
    for (int64_t item = 0; item < one->spec.batch; item++)
        for (int64_t head = 0; head < one->spec.heads && !said; head++) {
            said = compare_rows((struct rows){ one, item, head, 0 }, (struct rows){ other, item, head, 0 },
                                one->spec.query_lengths[item]);
            if (!said)
                said = compare_sums(one, other, item, head);
        }
    return said;
}
