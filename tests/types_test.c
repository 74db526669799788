/* Runs on bfloat16 and binary16: results have the bits that float32 inputs with the same numbers give, and an output of halves has those
 * bits rounded once, for random problems of every kind and any mix of types. What float32 gives is judged by the other suites. */
#include "bench/half.h"
#include "tests/help_counter.h"
#include "tests/help_suite.h"

#include <math.h>
#include <stdlib.h>

static const attend_dtype types[] = { ATTEND_F32, ATTEND_BF16, ATTEND_F16 };
enum { TYPES = 3 };

static uint16_t rounded(float x, attend_dtype dtype)
{
    uint16_t half;
    half_write(&half, 0, dtype, x);
    return half;
}

/* Every float of the memory, poison between the elements too. */
static void round_floats(struct guarded *memory, attend_dtype dtype)
{
    for (size_t at = 0; dtype != ATTEND_F32 && at < memory->bytes; at += sizeof(float)) {
        float x;
        memcpy(&x, memory->data + at, sizeof x);
        const uint16_t half = rounded(x, dtype);
        x = half_read(&half, 0, dtype);
        memcpy(memory->data + at, &x, sizeof x);
    }
}

static void halve(struct guarded *halves, const struct guarded *floats, enum guard_side side, attend_dtype dtype)
{
    guarded_make(halves, floats->bytes / 2, side, 0);
    for (size_t at = 0; at < floats->bytes; at += sizeof(float)) {
        float x;
        memcpy(&x, floats->data + at, sizeof x);
        const uint16_t half = rounded(x, dtype);
        memcpy(halves->data + at / 2, &half, sizeof half);
    }
}

/* A tensor's memory as halves, between guard pages of its own. */
struct halved {
    struct guarded memory;
    attend_tensor view;
};

/* `owner` is the box in whose memory the tensor lies. */
static const attend_tensor *halve_tensor(struct halved *halved, const struct box *box, const struct box *owner, enum guard_side side,
                                         attend_dtype dtype)
{
    halved->view = box->view;
    if (dtype == ATTEND_F32 || !owner->memory.map)
        halved->view.dtype = dtype;
    else {
        halve(&halved->memory, &owner->memory, side, dtype);
        halved->view.dtype = dtype;
        halved->view.data = halved->memory.data + ((unsigned char *)box->view.data - owner->memory.data) / 2;
    }
    return &halved->view;
}

static const struct box *owner_of(const struct sample *sample, const struct box *box)
{
    return box->memory.map ? box : sample->spec.one_buffer ? &sample->query : &sample->key;
}

struct mix {
    attend_dtype query, kv, output;
};

static void expect_rounded_output(const struct sample *reference, const struct halved *output, attend_dtype dtype)
{
    const struct guarded *floats = &reference->output.memory;
    for (size_t at = 0; at < floats->bytes; at += sizeof(float)) {
        float x;
        uint16_t found;
        memcpy(&x, floats->data + at, sizeof x);
        memcpy(&found, output->memory.data + at / 2, sizeof found);
        cr_assert(found == rounded(x, dtype), "output %zu of type %d is %#06x, float32 has %a: %s\n    rerun with ATTEND_TEST_SEED=0x%llx",
                  at / sizeof(float), (int)dtype, found, (double)x, spec_text(&reference->spec),
                  (unsigned long long)reference->spec.seed);
    }
}

/* The same numbers as halves; the output too, but for partials. */
static void expect_like_floats(const struct sample *reference, const struct sample *untouched, const struct mix *mix,
                               attend_engine *engine)
{
    struct halved query = { 0 }, key = { 0 }, value = { 0 }, output = { 0 };
    struct sample sample;
    const enum guard_side side = reference->spec.side;
    sample_make(&sample, &reference->spec);
    sample.problem.query_dtype = mix->query;
    sample.problem.kv_dtype = mix->kv;
    sample.args.query = halve_tensor(&query, &sample.query, owner_of(&sample, &sample.query), side, mix->query);
    sample.args.key = halve_tensor(&key, &sample.key, owner_of(&sample, &sample.key), side, mix->kv);
    sample.args.value = halve_tensor(&value, &sample.value, owner_of(&sample, &sample.value), side, mix->kv);
    cr_assert(sample_forward(&sample, engine) == ATTEND_OK, "%s in %s", attend_last_error(), spec_text(&sample.spec));
    expect_verdict(compare_samples(reference, &sample), "float32 output");
    if (mix->output != ATTEND_F32 && !sample.spec.with_partials) {
        sample.problem.output_dtype = mix->output;
        sample.args.output = halve_tensor(&output, &untouched->output, &untouched->output, side, mix->output);
        cr_assert(sample_forward(&sample, engine) == ATTEND_OK, "%s in %s", attend_last_error(), spec_text(&sample.spec));
        if (output.memory.map)
            expect_rounded_output(reference, &output, mix->output);
    }
    guarded_free(&query.memory);
    guarded_free(&key.memory);
    guarded_free(&value.memory);
    guarded_free(&output.memory);
    sample_free(&sample);
}

static void check_mix(const struct spec *spec, const struct mix *mix, attend_engine *engine)
{
    struct sample reference, untouched;
    sample_make(&reference, spec);
    sample_make(&untouched, spec);
    round_floats(&reference.query.memory, mix->query);
    round_floats(&reference.key.memory, mix->kv);
    round_floats(&reference.value.memory, mix->kv);
    cr_assert(sample_forward(&reference, engine) == ATTEND_OK, "%s in %s", attend_last_error(), spec_text(spec));
    expect_like_floats(&reference, &untouched, mix, engine);
    sample_free(&reference);
    sample_free(&untouched);
}

static void check_random(attend_isa isa)
{
    attend_engine *engines[] = { need_engine(isa, 1, 0), need_engine(isa, 2, IN_TEAM) };
    const uint64_t seed = test_seed(0x4a1f0000);
    const int64_t count = test_count(isa == ATTEND_ISA_PORTABLE ? 200 : 700);
    for (int64_t i = 0; i < count; i++) {
        struct spec spec;
        struct mix mix = { types[i % TYPES], types[i / TYPES % TYPES], types[i / (TYPES * TYPES) % TYPES] };
        spec_random(&spec, seed + (uint64_t)i, 5e5);
        if (spec.one_buffer)
            mix.kv = mix.query;
        check_mix(&spec, &mix, engines[i % 2]);
    }
    attend_engine_destroy(engines[0]);
    attend_engine_destroy(engines[1]);
}

ISA_TESTS(types, random_problems, check_random)

/* Every mix on a prompt, a step of generation, and widths that no vector divides. */
static void check_all_mixes(attend_isa isa)
{
    static const int64_t sizes[][6] = {
        /* heads, kv_heads, rows, keys, d_k, d_v */
        { 2, 2, 50, 600, 64, 64 }, { 8, 2, 1, 700, 128, 128 }, { 3, 1, 4, 130, 37, 19 }, { 2, 1, 1, 520, 576, 512 },
    };
    attend_engine *engine = need_engine(isa, 2, IN_TEAM);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int m = 0; m < TYPES * TYPES * TYPES; m++) {
            const int64_t *size = sizes[s];
            const struct mix mix = { types[m % TYPES], types[m / TYPES % TYPES], types[m / (TYPES * TYPES)] };
            struct spec spec = spec_plain(s, size[0], size[2], size[3], size[4], size[5]);
            spec.kv_heads = size[1];
            check_mix(&spec, &mix, engine);
        }
    attend_engine_destroy(engine);
}

ISA_TESTS(types, all_mixes, check_all_mixes)

/* One row, one head: every query feature, key feature and value has one number. */
struct uniform {
    attend_dtype dtype;
    int64_t keys;
    float query, key, value;
};

enum { UNIFORM_WIDTH = 64, UNIFORM_KEYS = 1024 };

static void fill_halves(uint16_t *target, int64_t count, float x, attend_dtype dtype)
{
    for (int64_t i = 0; i < count; i++)
        target[i] = rounded(x, dtype);
}

/* Output and LSE of the row; all outputs are alike. */
static void run_uniform(attend_engine *engine, const struct uniform *uniform, float *output, float *lse)
{
    static uint16_t query[UNIFORM_WIDTH], key[UNIFORM_KEYS * UNIFORM_WIDTH], value[UNIFORM_KEYS * UNIFORM_WIDTH], found[UNIFORM_WIDTH];
    const int64_t keys = uniform->keys, width = UNIFORM_WIDTH;
    fill_halves(query, width, uniform->query, uniform->dtype);
    fill_halves(key, keys * width, uniform->key, uniform->dtype);
    fill_halves(value, keys * width, uniform->value, uniform->dtype);
    attend_problem problem = ATTEND_PROBLEM_INIT;
    problem.batch = problem.heads = problem.kv_heads = problem.rows = 1;
    problem.keys = keys;
    problem.d_k = problem.d_v = width;
    problem.query_dtype = problem.kv_dtype = problem.output_dtype = uniform->dtype;
    attend_tensor tensors[] = { attend_view_bhsd(query, 1, 1, width), attend_view_bhsd(key, 1, keys, width),
                                attend_view_bhsd(value, 1, keys, width), attend_view_bhsd(found, 1, 1, width) };
    attend_tensor lse_view = attend_view_bhsd(lse, 1, 1, 1);
    for (int t = 0; t < 4; t++)
        tensors[t].dtype = uniform->dtype;
    attend_args args = ATTEND_ARGS_INIT;
    args.query = &tensors[0];
    args.key = &tensors[1];
    args.value = &tensors[2];
    args.output = &tensors[3];
    args.lse = &lse_view;
    expect_ok(attend_forward(engine, &problem, &args));
    *output = half_read(found, 0, uniform->dtype);
    for (int d = 1; d < UNIFORM_WIDTH; d++)
        cr_expect(found[d] == found[0], "output %d is %#06x, the first is %#06x", d, found[d], found[0]);
}

/* Scores of 320000 are beyond binary16; sums of 1024 equal values would stall in either type. */
static void check_ranges(attend_isa isa)
{
    const struct uniform cases[] = {
        { ATTEND_F16, UNIFORM_KEYS, 200, 200, 1.5f },     { ATTEND_F16, UNIFORM_KEYS, 1, 1, 65504 },
        { ATTEND_F16, UNIFORM_KEYS, 1, -1, -65504 },      { ATTEND_BF16, UNIFORM_KEYS, 1, 1, 1.0078125f },
        { ATTEND_BF16, UNIFORM_KEYS, 1, 1, 0x1.fep116f }, { ATTEND_BF16, UNIFORM_KEYS, 3e15f, 1e15f, 257.0f },
        { ATTEND_F16, 1, 1, 1, 0x1p-24f },                { ATTEND_BF16, 1, 1, 1, 0x1p-133f },
        { ATTEND_F16, UNIFORM_KEYS, 1, 1, 0x1.ffcp-15f },
    };
    attend_engine *engine = need_engine(isa, 1, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float output, lse;
        const uint16_t value = rounded(cases[i].value, cases[i].dtype), query = rounded(cases[i].query, cases[i].dtype);
        const uint16_t key = rounded(cases[i].key, cases[i].dtype);
        const attend_dtype dtype = cases[i].dtype;
        run_uniform(engine, &cases[i], &output, &lse);
        const double expected = 8.0 * half_read(&query, 0, dtype) * half_read(&key, 0, dtype) + log((double)cases[i].keys);
        cr_expect(output == half_read(&value, 0, dtype), "case %zu: the output is %a", i, (double)output);
        cr_expect(fabs((double)lse - expected) <= 4e-7 * (1 + fabs(expected)) + 6e-8 * 8 * fabs(expected),
                  "case %zu: LSE is %.9g, should be %.9g", i, (double)lse, expected);
    }
    attend_engine_destroy(engine);
}

ISA_TESTS(types, ranges, check_ranges)
