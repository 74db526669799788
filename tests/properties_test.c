/* What attention must do whatever the numbers are, checked without a reference: constants come back, order does not
 * matter, a shift of all scores does not matter, output is linear in the values, weights are a distribution and
 * reproduce the output, invisible keys change no bit, and nothing overflows. */
#include "tests/help_suite.h"

#include <math.h>
#include <string.h>

static const int64_t lengths[] = { 1, 2, 17, 64, 129, 511, 513, 1024, 1300 };

enum { LENGTHS = sizeof lengths / sizeof *lengths, ROWS = 7 };

/* `heads` on one kv head of width 32; LSE, weights and scores wanted. */
static struct spec usual_spec(uint64_t seed, int64_t keys)
{
    struct spec spec = spec_plain(seed, 2, ROWS, keys, 32, 24);
    spec.kv_heads = 1;
    spec.with_weights = spec.with_scores = true;
    return spec;
}

static float output_of(const struct sample *sample, int64_t head, int64_t row, int64_t d)
{
    return *(float *)box_at(&sample->output, 0, head, row, d);
}

static float lse_of(const struct sample *sample, int64_t head, int64_t row)
{
    return *(float *)box_at(&sample->lse, 0, head, row, 0);
}

static float *value_at(const struct sample *sample, int64_t key, int64_t d)
{
    return box_at(&sample->value, 0, 0, key, d);
}

static float *key_at(const struct sample *sample, int64_t key, int64_t d)
{
    return box_at(&sample->key, 0, 0, key, d);
}

/* The error bound of one output by the oracle, for values up to `most`. */
static double output_bound(const struct sample *sample, int64_t head, int64_t row, double most)
{
    struct oracle_row truth = { 0 };
    oracle_attend_row(&sample->problem, &sample->args, 0, head, row, &truth);
    truth.value_max = most;
    return oracle_output_bound(&sample->problem, &truth);
}

static double lse_bound(const struct sample *sample, int64_t head, int64_t row)
{
    struct oracle_row truth = { 0 };
    oracle_attend_row(&sample->problem, &sample->args, 0, head, row, &truth);
    return oracle_lse_bound(&sample->problem, &truth);
}

static void expect_close(double found, double right, double bound, const char *what)
{
    cr_assert(fabs(found - right) <= bound, "%s: %.9g and %.9g, bound %.3g", what, found, right, bound);
}

/* Values of column d are d - 3.5: so must the output be, to the rounding of a sum of weights. */
static void expect_constants(attend_engine *engine, int64_t keys)
{
    struct spec spec = usual_spec(1, keys);
    struct sample sample;
    sample_make(&sample, &spec);
    for (int64_t key = 0; key < keys; key++)
        for (int64_t d = 0; d < spec.d_v; d++)
            *value_at(&sample, key, d) = (float)d - 3.5f;
    expect_ok(sample_forward(&sample, engine));
    for (int64_t head = 0; head < 2; head++)
        for (int64_t row = 0; row < ROWS; row++)
            for (int64_t d = 0; d < spec.d_v; d++) {
                double constant = (double)d - 3.5;
                expect_close(output_of(&sample, head, row, d), constant, 2e-6 * fabs(constant), "a constant");
            }
    sample_free(&sample);
}

/* Sums to 1, and Σ w·v is the output. */
static void expect_distribution(attend_engine *engine, int64_t keys)
{
    struct spec spec = usual_spec(2, keys);
    struct sample sample;
    spec.visibility = VISIBLE_FULL;
    spec.visible_percent = 80;
    sample_make(&sample, &spec);
    expect_ok(sample_forward(&sample, engine));
    for (int64_t head = 0; head < 2; head++)
        for (int64_t row = 0; row < ROWS; row++) {
            double sum = 0.0, dot = 0.0;
            for (int64_t key = 0; key < keys; key++) {
                double weight = *(float *)box_at(&sample.weights, 0, head, row, key);
                cr_assert(weight >= 0.0 && weight <= 1.0 + 1e-6, "a weight of %.9g", weight);
                sum += weight;
                dot += weight * *value_at(&sample, key, 5);
            }
            bool empty = lse_of(&sample, head, row) == -INFINITY;
            expect_close(sum, empty ? 0.0 : 1.0, 1e-6, "the sum of weights");
            expect_close(dot, output_of(&sample, head, row, 5), 2.0 * output_bound(&sample, head, row, 4.0),
                         "the weighted sum");
        }
    sample_free(&sample);
}

/* Keys and values in reverse order. */
static void expect_order_is_nothing(attend_engine *engine, int64_t keys)
{
    struct spec spec = usual_spec(3, keys);
    struct sample one, other;
    sample_make(&one, &spec);
    sample_make(&other, &spec);
    for (int64_t key = 0; key < keys; key++) {
        memcpy(key_at(&other, key, 0), key_at(&one, keys - 1 - key, 0), (size_t)spec.d_k * sizeof(float));
        memcpy(value_at(&other, key, 0), value_at(&one, keys - 1 - key, 0), (size_t)spec.d_v * sizeof(float));
    }
    expect_ok(sample_forward(&one, engine));
    expect_ok(sample_forward(&other, engine));
    for (int64_t head = 0; head < 2; head++)
        for (int64_t row = 0; row < ROWS; row++) {
            expect_close(lse_of(&other, head, row), lse_of(&one, head, row), 2.0 * lse_bound(&one, head, row),
                         "lse, reversed");
            for (int64_t d = 0; d < spec.d_v; d++)
                expect_close(output_of(&other, head, row, d), output_of(&one, head, row, d),
                             2.0 * output_bound(&one, head, row, 4.0), "output, reversed");
        }
    sample_free(&one);
    sample_free(&other);
}

/* The first feature is 1 in every query and `shift` in every key: all scores move together. */
static void set_shift(struct sample *sample, float shift)
{
    for (int64_t head = 0; head < 2; head++)
        for (int64_t row = 0; row < ROWS; row++)
            *(float *)box_at(&sample->query, 0, head, row, 0) = 1.0f;
    for (int64_t key = 0; key < sample->spec.keys; key++)
        *key_at(sample, key, 0) = shift;
}

static void expect_shift_is_nothing(attend_engine *engine, int64_t keys)
{
    static const float shifts[] = { 1.0f, -30.0f, 1000.0f };
    struct spec spec = usual_spec(4, keys);
    struct sample one, other;
    sample_make(&one, &spec);
    sample_make(&other, &spec);
    set_shift(&one, 0.0f);
    expect_ok(sample_forward(&one, engine));
    for (size_t i = 0; i < sizeof shifts / sizeof *shifts; i++) {
        set_shift(&other, shifts[i]);
        expect_ok(sample_forward(&other, engine));
        double moved = shifts[i] / sqrt((double)spec.d_k);
        for (int64_t head = 0; head < 2; head++)
            for (int64_t row = 0; row < ROWS; row++) {
                double bound = output_bound(&one, head, row, 4.0) + output_bound(&other, head, row, 4.0);
                expect_close(lse_of(&other, head, row), lse_of(&one, head, row) + moved,
                             lse_bound(&one, head, row) + lse_bound(&other, head, row), "lse, shifted");
                for (int64_t d = 0; d < spec.d_v; d++)
                    expect_close(output_of(&other, head, row, d), output_of(&one, head, row, d), bound,
                                 "output, shifted");
            }
    }
    sample_free(&one);
    sample_free(&other);
}

/* Shifts so large that all scores become equal: the mean of the values, and a finite LSE. */
static void expect_large_shift_is_finite(attend_engine *engine, int64_t keys)
{
    static const float shifts[] = { 1e10f, -1e10f, 1e30f, -1e30f };
    struct spec spec = usual_spec(5, keys);
    struct sample sample;
    spec.flags = ATTEND_EXPLICIT_SCALE;
    spec.scale = 1.0f;
    sample_make(&sample, &spec);
    for (size_t i = 0; i < sizeof shifts / sizeof *shifts; i++) {
        set_shift(&sample, shifts[i]);
        expect_ok(sample_forward(&sample, engine));
        for (int64_t head = 0; head < 2; head++)
            for (int64_t row = 0; row < ROWS; row++) {
                expect_close(lse_of(&sample, head, row), shifts[i], fabs(shifts[i]) * 1e-6 + 10.0, "lse, shifted far");
                for (int64_t d = 0; d < spec.d_v; d++)
                    cr_assert(fabsf(output_of(&sample, head, row, d)) <= 4.0f, "output %g for a shift of %g",
                              (double)output_of(&sample, head, row, d), (double)shifts[i]);
            }
    }
    sample_free(&sample);
}

/* output(2·a + b) = 2·output(a) + output(b): the values' columns 0, 1 and 2 hold a, b and 2·a + b. */
static void expect_linear(attend_engine *engine, int64_t keys)
{
    struct spec spec = usual_spec(6, keys);
    struct sample sample;
    sample_make(&sample, &spec);
    for (int64_t key = 0; key < keys; key++)
        *value_at(&sample, key, 2) = 2.0f * *value_at(&sample, key, 0) + *value_at(&sample, key, 1);
    expect_ok(sample_forward(&sample, engine));
    for (int64_t head = 0; head < 2; head++)
        for (int64_t row = 0; row < ROWS; row++)
            expect_close(output_of(&sample, head, row, 2),
                         2.0 * output_of(&sample, head, row, 0) + output_of(&sample, head, row, 1),
                         2.0 * output_bound(&sample, head, row, 12.0), "a linear combination");
    sample_free(&sample);
}

static void expect_appended_change_nothing(attend_engine *engine, int64_t keys)
{
    static const int64_t extra[] = { 1, 15, 64, 600 };
    struct spec spec = usual_spec(7, keys);
    struct sample one, other;
    sample_make(&one, &spec);
    expect_ok(sample_forward(&one, engine));
    for (size_t i = 0; i < sizeof extra / sizeof *extra; i++) {
        struct spec longer = spec;
        longer.keys += extra[i];
        longer.key_lengths[0] = longer.keys;
        longer.visibility = VISIBLE_FULL;
        sample_make(&other, &longer);
        for (int64_t head = 0; head < 2; head++)
            for (int64_t row = 0; row < ROWS; row++)
                for (int64_t key = 0; key < longer.keys; key++)
                    *(char *)box_at(&other.visible, 0, head, row, key) = key < keys;
        expect_ok(sample_forward(&other, engine));
        expect_verdict(compare_samples(&one, &other), "hidden keys appended");
        sample_free(&other);
    }
    sample_free(&one);
}

/* All scores equal and all values equal: any order of summation gives the value, and ln(keys). */
static void expect_equal_values(attend_engine *engine, int64_t keys)
{
    struct spec spec = usual_spec(8, keys);
    struct sample sample;
    spec.query_stretch = 0.0f;
    sample_make(&sample, &spec);
    for (int64_t key = 0; key < keys; key++)
        for (int64_t d = 0; d < spec.d_v; d++)
            *value_at(&sample, key, d) = 0.7f;
    expect_ok(sample_forward(&sample, engine));
    expect_close(output_of(&sample, 0, 0, 0), 0.7f, 0.7e-6 * 2.0, "equal values");
    expect_close(lse_of(&sample, 0, 0), log((double)keys), 4e-7 * (1.0 + log((double)keys)), "lse of equal scores");
    sample_free(&sample);
}

/* One key far above the others gets the whole weight, whatever the size of the scores. */
static void expect_one_winner(attend_engine *engine, int64_t keys)
{
    static const float sizes[] = { 1e3f, 1e6f, 1e20f, 1e37f };
    struct spec spec = usual_spec(9, keys);
    struct sample sample;
    spec.flags = ATTEND_EXPLICIT_SCALE;
    spec.scale = 1.0f;
    sample_make(&sample, &spec);
    int64_t winner = keys * 2 / 3;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        memset(sample.key.memory.data, 0, sample.key.memory.bytes);
        set_shift(&sample, -sizes[i]);
        *key_at(&sample, winner, 0) = sizes[i];
        expect_ok(sample_forward(&sample, engine));
        for (int64_t d = 0; d < spec.d_v; d++)
            cr_assert(output_of(&sample, 1, 3, d) == *value_at(&sample, winner, d), "scores of ±%g: %.9g",
                      (double)sizes[i], (double)output_of(&sample, 1, 3, d));
        cr_assert(lse_of(&sample, 1, 3) == sizes[i]);
    }
    sample_free(&sample);
}

static void check_lengths(attend_isa isa, void (*expect)(attend_engine *, int64_t))
{
    attend_engine *engines[] = { need_engine(isa, 1, 0), need_engine(isa, 2, IN_TEAM) };
    for (int i = 0; i < LENGTHS; i++)
        expect(engines[i % 2], lengths[i]);
    attend_engine_destroy(engines[0]);
    attend_engine_destroy(engines[1]);
}

#define PROPERTY(name, expect)                       \
    static void check_##name(attend_isa isa)         \
    {                                                \
        check_lengths(isa, expect);                  \
    }                                                \
    ISA_TESTS(properties, name, check_##name)

PROPERTY(constant_values, expect_constants)
PROPERTY(weights_are_a_distribution, expect_distribution)
PROPERTY(order_of_keys, expect_order_is_nothing)
PROPERTY(shift_of_scores, expect_shift_is_nothing)
PROPERTY(large_shift_of_scores, expect_large_shift_is_finite)
PROPERTY(linear_in_values, expect_linear)
PROPERTY(appended_hidden_keys, expect_appended_change_nothing)
PROPERTY(equal_values, expect_equal_values)
PROPERTY(one_winner, expect_one_winner)
