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

/* Those of rows, then the one of keys. */
enum { ROW_RESULTS = 6, RESULTS };

struct result {
    const char *name;
    const struct box *box; /* may be without memory */
};

static void list_results(const struct sample *sample, struct result results[RESULTS])
{
    const struct result all[RESULTS] = { { "lse", &sample->lse },         { "output", &sample->output }, { "weights", &sample->weights },
                                         { "scores", &sample->scores },   { "maximum", &sample->maximum }, { "total", &sample->total },
                                         { "key_sums", &sample->key_sums } };
    memcpy(results, all, sizeof all);
}

/* Where keys are packed, those after the last item are nobody's: their results stay as they are. */
static int64_t count_owned_keys(const struct spec *spec)
{
    return spec->packed_keys ? spec->key_starts[spec->batch - 1] + spec->key_lengths[spec->batch - 1] : spec->keys;
}

static bool is_untouched(const void *element)
{
    return bits_of(element) == poison_word(0) || bits_of(element) == poison_word(1);
}

/* Elements of a row from the first one on that nobody has. */
static const char *judge_untouched(const struct sample *sample, const struct result *result, const int64_t place[3], int64_t from)
{
    for (int64_t x = from; result->box->memory.map && x < result->box->extent[3]; x++)
        if (!is_untouched(box_at(result->box, place[0], place[1], place[2], x)))
            return say(&sample->spec, "%s[%lld][%lld][%lld][%lld] of padding was written", result->name, (long long)place[0],
                       (long long)place[1], (long long)place[2], (long long)x);
    return NULL;
}

static const char *judge_elements(const struct sample *sample, const struct box *box, const char *name,
                                  const int64_t place[3], int64_t count, const double *truth, const double *bounds, double bound)
{
    for (int64_t x = 0; box->memory.map && x < count; x++) {
        void *element = box_at(box, place[0], place[1], place[2], x);
        double allowed = bounds ? bounds[x] : bound;
        if (!is_right(element, truth[x], allowed))
            return say(&sample->spec, "%s[%lld][%lld][%lld][%lld] is %.9g (0x%08x), should be %.9g within %.3g", name,
                       (long long)place[0], (long long)place[1], (long long)place[2], (long long)x,
                       (double)float_of(element), bits_of(element), truth[x], allowed);
    }
    return NULL;
}

/* A weight is judged like an output with values up to 1; that of a hidden key is 0 and nothing else. */
static double weight_bound(const struct sample *sample, const struct truth *truth, int64_t key)
{
    struct oracle_row like = truth->row;
    like.value_max = 1.0;
    return truth->scores[key] == -INFINITY ? 0.0 : oracle_output_bound(&sample->problem, &like);
}

/* A score is judged like an LSE of its size. */
static double score_bound(const struct sample *sample, const struct truth *truth, int64_t key)
{
    struct oracle_row like = truth->row;
    like.lse = truth->scores[key];
    return oracle_lse_bound(&sample->problem, &like);
}

static const char *judge_pairs(const struct sample *sample, const int64_t place[3], const struct truth *truth)
{
    const int64_t keys = count_owned_keys(&sample->spec);
    const char *said = NULL;
    double *bounds = malloc((2 * (size_t)keys + 1) * sizeof *bounds);
    if (!bounds)
        abort();
    for (int64_t key = 0; key < keys; key++) {
        bounds[key] = score_bound(sample, truth, key);
        bounds[keys + key] = weight_bound(sample, truth, key);
    }
    said = judge_elements(sample, &sample->scores, "scores", place, keys, truth->scores, bounds, 0.0);
    if (!said)
        said = judge_elements(sample, &sample->weights, "weights", place, keys, truth->weights, bounds + keys, 0.0);
    if (!said)
        said = judge_untouched(sample, &(struct result){ "scores", &sample->scores }, place, keys);
    if (!said)
        said = judge_untouched(sample, &(struct result){ "weights", &sample->weights }, place, keys);
    free(bounds);
    return said;
}

/* M + ln L is the LSE. A row without keys has -inf and 0, one that sees NaN has NaN twice. */
static bool is_total_right(const struct sample *sample, const void *largest, const void *total, const struct oracle_row *row)
{
    if (isnan(row->lse))
        return bits_of(largest) == 0x7fc00000 && bits_of(total) == 0x7fc00000;
    if (isinf(row->lse))
        return float_of(largest) == -INFINITY && bits_of(total) == 0;
    return fabs((double)float_of(largest) + log((double)float_of(total)) - row->lse) <= oracle_lse_bound(&sample->problem, row);
}

/* A / L is the output; an infinite value shows in A as itself or as NaN. */
static bool is_sum_right(const void *sum, double total, double truth, double bound)
{
    const double a = (double)float_of(sum);
    if (isnan(truth))
        return bits_of(sum) == 0x7fc00000 || (isinf(a) && !isnan(total));
    return total == 0.0 ? bits_of(sum) == 0 : fabs(a / total - truth) <= bound;
}

/* A partial is right when finishing it gives the row. */
static const char *judge_partial(const struct sample *sample, const int64_t place[3], const struct truth *truth)
{
    const void *largest = box_at(&sample->maximum, place[0], place[1], place[2], 0);
    const void *total = box_at(&sample->total, place[0], place[1], place[2], 0);
    const double l = (double)float_of(total), bound = oracle_output_bound(&sample->problem, &truth->row);
    if (!is_total_right(sample, largest, total, &truth->row))
        return say(&sample->spec, "M and L of [%lld][%lld][%lld] are %.9g and %.9g, LSE should be %.9g", (long long)place[0],
                   (long long)place[1], (long long)place[2], (double)float_of(largest), l, truth->row.lse);
    for (int64_t x = 0; x < sample->output.extent[3]; x++) {
        const void *sum = box_at(&sample->output, place[0], place[1], place[2], x);
        if (!is_sum_right(sum, l, truth->output[x], bound))
            return say(&sample->spec, "A[%lld][%lld][%lld][%lld] is %.9g with L %.9g, should give %.9g within %.3g",
                       (long long)place[0], (long long)place[1], (long long)place[2], (long long)x, (double)float_of(sum), l,
                       truth->output[x], bound);
    }
    return NULL;
}

static const char *judge_finished(const struct sample *sample, const int64_t place[3], const struct truth *truth)
{
    const char *said = judge_elements(sample, &sample->output, "output", place, sample->spec.d_v, truth->output, NULL,
                                      oracle_output_bound(&sample->problem, &truth->row));
    return said ? said : judge_pairs(sample, place, truth);
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
    struct result results[RESULTS];
    const bool packed = sample->spec.packed_queries;
    oracle_attend_row(&sample->problem, &sample->args, place[0], place[1], place[2], &truth->row);
    const char *said = NULL;
    if (!truth->row.inside && packed && is_anybodys(sample, place[2]))
        return NULL; /* another item's */
    list_results(sample, results);
    if (!truth->row.inside && (packed || sample->problem.flags & ATTEND_KEEP_PADDING_ROWS)) {
        for (int i = 0; i < ROW_RESULTS && !said; i++)
            said = judge_untouched(sample, &results[i], place, 0);
        return said;
    }
    said = judge_elements(sample, &sample->lse, "lse", place, 1, &truth->row.lse, NULL,
                          oracle_lse_bound(&sample->problem, &truth->row));
    if (said)
        return said;
    return sample->spec.with_partials ? judge_partial(sample, place, truth) : judge_finished(sample, place, truth);
}

static const char *judge_gaps(const struct sample *sample)
{
    struct result results[RESULTS];
    list_results(sample, results);
    for (int i = 0; i < RESULTS; i++)
        if (results[i].box->memory.map && !box_is_clean(results[i].box))
            return say(&sample->spec, "something was written between the elements of %s", results[i].name);
    return NULL;
}

/* Sums of weights over the rows of a head, and how far the library's may be off. */
struct key_truth {
    double *sum, *bound;
};

static void add_weights(struct key_truth *keys, const struct sample *sample, const struct truth *truth)
{
    for (int64_t key = 0; key < sample->spec.keys && truth->row.inside; key++) {
        keys->sum[key] += truth->weights[key];
        keys->bound[key] += weight_bound(sample, truth, key) + fabs(keys->sum[key]) * 0x1p-24;
    }
}

/* Of one head. */
static const char *judge_sums(const struct sample *sample, int64_t item, int64_t head, const struct key_truth *keys)
{
    const struct spec *spec = &sample->spec;
    const int64_t count = count_owned_keys(spec);
    for (int64_t key = 0; sample->key_sums.memory.map && key < count; key++) {
        const int64_t j = key - spec->key_starts[item];
        if (spec->packed_keys && (j < 0 || j >= spec->key_lengths[item]))
            continue;
        const void *sum = box_at(&sample->key_sums, item, head, 0, key);
        if (!is_right(sum, keys->sum[key], keys->bound[key]))
            return say(spec, "key_sums[%lld][%lld][0][%lld] is %.9g, should be %.9g within %.3g", (long long)item, (long long)head,
                       (long long)key, (double)float_of(sum), keys->sum[key], keys->bound[key]);
    }
    return judge_untouched(sample, &(struct result){ "key_sums", &sample->key_sums }, (const int64_t[3]){ item, head, 0 }, count);
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

/* Elements of a row from the first one on that both have. */
struct stretch {
    const struct box *box;
    int64_t first;
};

static const char *compare_elements(struct rows one, struct stretch part, struct rows other, struct stretch other_part, int64_t count,
                                    const char *name)
{
    const bool both = part.box->memory.map && other_part.box->memory.map;
    int64_t row = one.sample->spec.query_starts[one.item] + one.row;
    int64_t other_row = other.sample->spec.query_starts[other.item] + other.row;
    for (int64_t x = 0; both && x < count; x++) {
        uint32_t bits = bits_of(box_at(part.box, one.item, one.head, row, part.first + x));
        uint32_t other_bits = bits_of(box_at(other_part.box, other.item, other.head, other_row, other_part.first + x));
        if (bits != other_bits)
            return say(&other.sample->spec, "%s of item %lld head %lld row %lld, element %lld: 0x%08x and 0x%08x", name,
                       (long long)other.item, (long long)other.head, (long long)other.row, (long long)x, bits,
                       other_bits);
    }
    return NULL;
}

/* Of results with a column for every key, the item's own ones that both have: a chunk of a sequence may end before the whole does. */
static const char *compare_row(struct rows one, struct rows other)
{
    struct result results[RESULTS], others[RESULTS];
    list_results(one.sample, results);
    list_results(other.sample, others);
    const struct spec *spec = &one.sample->spec, *other_spec = &other.sample->spec;
    const int64_t keys = spec->key_lengths[one.item], other_keys = other_spec->key_lengths[other.item];
    const char *said = NULL;
    for (int i = 0; i < ROW_RESULTS && !said; i++) {
        const bool pairs = results[i].box == &one.sample->weights || results[i].box == &one.sample->scores;
        said = compare_elements(one, (struct stretch){ results[i].box, pairs ? spec->key_starts[one.item] : 0 }, other,
                                (struct stretch){ others[i].box, pairs ? other_spec->key_starts[other.item] : 0 },
                                !pairs            ? results[i].box->extent[3]
                                : keys < other_keys ? keys
                                                    : other_keys,
                                results[i].name);
    }
    return said;
}

const char *compare_rows(struct rows one, struct rows other, int64_t count)
{
    const char *said = NULL;
    for (int64_t i = 0; i < count && !said; i++, one.row++, other.row++)
        said = compare_row(one, other);
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
