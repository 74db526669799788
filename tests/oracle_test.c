/* Seeded random problems of every kind against the float64 oracle: output, LSE, scores and weights within the published
 * bounds, for every instruction set that runs here. Inputs must come out as they went in. */
#include "tests/help_counter.h"
#include "tests/help_suite.h"

/* Multiply-adds per problem and problems per set. The portable set is slow and gets smaller ones. */
static double largest_work(attend_isa isa)
{
    return isa == ATTEND_ISA_PORTABLE ? 5e5 : 4e6;
}

static uint64_t hash_inputs(const struct sample *sample)
{
    return guarded_hash(&sample->query.memory) ^ guarded_hash(&sample->key.memory) * 3 ^
           guarded_hash(&sample->value.memory) * 5 ^ guarded_hash(&sample->visible.memory) * 7 ^
           guarded_hash(&sample->arrays) * 11 ^ guarded_hash(&sample->tables) * 13;
}

static void check_sample(attend_engine *engine, attend_isa isa, const struct spec *spec)
{
    struct sample sample;
    sample_make(&sample, spec);
    uint64_t before = hash_inputs(&sample);
    attend_status status = sample_forward(&sample, engine);
    cr_assert(status == ATTEND_OK, "%s in %s", attend_last_error(), spec_text(spec));
    cr_assert(hash_inputs(&sample) == before, "inputs were modified: %s", spec_text(spec));
    expect_verdict(sample_judge(&sample), attend_isa_name(isa));
    sample_free(&sample);
}

static void check_random(attend_isa isa)
{
    attend_engine *engines[] = { need_engine(isa, 1, 0), need_engine(isa, 2, IN_TEAM) };
    uint64_t seed = test_seed(0x5eed0000);
    int64_t count = test_count(isa == ATTEND_ISA_PORTABLE ? 300 : 1000);
    for (int64_t i = 0; i < count; i++) {
        struct spec spec;
        spec_random(&spec, seed + (uint64_t)i, largest_work(isa));
        check_sample(engines[i % 2], isa, &spec);
    }
    attend_engine_destroy(engines[0]);
    attend_engine_destroy(engines[1]);
}

ISA_TESTS(oracle, random_problems, check_random)

/* The bounds must hold at the widths and lengths of models, which random problems rarely meet together. */
static void check_models(attend_isa isa)
{
    static const int64_t sizes[][6] = {
        /* heads, kv_heads, rows, keys, d_k, d_v */
        { 2, 2, 65, 512, 64, 64 },   { 4, 4, 17, 384, 32, 32 },    { 8, 2, 1, 2048, 128, 128 },
        { 7, 1, 5, 1025, 128, 128 }, { 2, 1, 1, 2048, 256, 256 },  { 2, 2, 33, 333, 96, 96 },
        { 2, 1, 3, 1500, 192, 128 }, { 4, 1, 1, 777, 576, 512 },
    };
    attend_engine *engine = need_engine(isa, 2, IN_TEAM);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t *size = sizes[i];
        struct spec spec = spec_plain(i, size[0], size[2], size[3], size[4], size[5]);
        spec.kv_heads = size[1];
        spec.causal = i % 2;
        spec.value_shift = i % 3 ? 0.0f : 2.0f;
        check_sample(engine, isa, &spec);
    }
    attend_engine_destroy(engine);
}

ISA_TESTS(oracle, sizes_of_models, check_models)
