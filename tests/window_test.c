/* Windows against other ways to say the same: a visibility tensor that hides the same keys, no window at all, the causal rule, and
 * longer sequences of which the windows see no more. Compared byte for byte. */
#include "tests/help_counter.h"
#include "tests/help_suite.h"

#include <math.h>

static int64_t diagonal_of(const struct spec *spec, int64_t item, int64_t row)
{
    const int64_t i = row - spec->query_starts[item];
    switch (spec->diagonal) {
    case ATTEND_DIAGONAL_TOP_LEFT: return i;
    case ATTEND_DIAGONAL_POSITION: return spec->positions[item] + i;
    default: return i + spec->key_lengths[item] - spec->query_lengths[item];
    }
}

/* Or in the prefix, which the window lets everybody see. */
static bool is_in_window(const struct spec *spec, int64_t item, int64_t row, int64_t key)
{
    if (spec->with_prefix && key - spec->key_starts[item] < spec->prefix_lengths[item])
        return true;
    const int64_t distance = key - spec->key_starts[item] - diagonal_of(spec, item, row);
    return distance < 0 ? spec->window_left < 0 || -distance <= spec->window_left
                        : spec->window_right < 0 || distance <= spec->window_right;
}

/* The window turned into bytes of a visibility tensor, beside what the sample's own tensor hides. */
static void make_twin(struct sample *twin, const struct sample *sample)
{
    struct spec spec = sample->spec;
    spec.flags &= ~ATTEND_WINDOW;
    spec.window_left = spec.window_right = 0;
    spec.visibility = VISIBLE_FULL;
    sample_make(twin, &spec);
    for (int64_t item = 0; item < spec.batch; item++)
        for (int64_t head = 0; head < spec.heads; head++)
            for (int64_t row = 0; row < spec.rows; row++)
                for (int64_t key = 0; key < spec.keys; key++) {
                    const bool seen = !sample->args.visible || *(char *)box_at(&sample->visible, item, head, row, key) != 0;
                    *(char *)box_at(&twin->visible, item, head, row, key) = seen && is_in_window(&sample->spec, item, row, key);
                }
}

/* Hidden keys of the windowed sample hold poison, those of the twin do not. */
static void expect_like_tensor(const struct spec *spec, attend_engine *engine, bool judged)
{
    struct sample sample, twin;
    sample_make(&sample, spec);
    make_twin(&twin, &sample);
    sample_poison_hidden(&sample);
    expect_ok(attend_forward(engine, &sample.problem, &sample.args));
    expect_ok(attend_forward(engine, &twin.problem, &twin.args));
    expect_verdict(compare_samples(&twin, &sample), "a tensor and a window");
    if (judged)
        expect_verdict(sample_judge(&sample), "a window");
    sample_free(&twin);
    sample_free(&sample);
}

static void check_random(attend_isa isa)
{
    attend_engine *engines[] = { need_engine(isa, 1, 0), need_engine(isa, 2, IN_TEAM) };
    const uint64_t seed = test_seed(0x31d00000);
    const int64_t count = test_count(250);
    for (int64_t i = 0; i < count; i++) {
        struct spec spec;
        spec_random(&spec, seed + (uint64_t)i, isa == ATTEND_ISA_PORTABLE ? 3e5 : 1.5e6);
        if (spec.packed_queries || spec.packed_keys || spec.visible_tail > 0)
            continue; /* the twin's tensor is one of padded items and all keys, in bytes */
        spec.with_bits = false;
        if (!(spec.flags & ATTEND_WINDOW))
            spec_set_window(&spec, i % 100, i % 7);
        expect_like_tensor(&spec, engines[i % 2], false);
    }
    attend_engine_destroy(engines[0]);
    attend_engine_destroy(engines[1]);
}

ISA_TESTS(window, random_equals_tensor, check_random)

/* Windows that begin and end beside the edges of vectors, register tiles, chains and KV tiles. */
static void check_edges(attend_isa isa)
{
    static const int64_t sides[][2] = { { 0, 0 },   { 1, 0 },   { 0, 1 },     { 15, 16 },   { 63, 64 },   { 128, 0 },
                                        { 511, 0 }, { 512, 0 }, { 513, 0 },   { 0, 511 },   { 0, 512 },   { 0, 513 },
                                        { 511, 513 }, { -1, 3 }, { 3, -1 },   { 1024, 1 } };
    static const int64_t positions[] = { -520, -3, 0, 500, 1010, 1530, 2060 };
    attend_engine *engine = need_engine(isa, 2, IN_TEAM);
    for (size_t s = 0; s < sizeof sides / sizeof *sides; s++)
        for (size_t p = 0; p < sizeof positions / sizeof *positions; p++) {
            struct spec spec = spec_plain(s * 16 + p, 2, 25, 1537, 5, 6);
            spec.kv_heads = 1;
            spec.diagonal = ATTEND_DIAGONAL_POSITION;
            spec.positions[0] = positions[p];
            spec.with_scores = spec.with_weights = p % 2;
            spec_set_window(&spec, sides[s][0], sides[s][1]);
            expect_like_tensor(&spec, engine, true);
        }
    attend_engine_destroy(engine);
}

ISA_TESTS(window, edges_of_tiles, check_edges)

static void expect_equal(attend_engine *engine, const struct spec *one, const struct spec *other, const char *what)
{
    struct sample first;
    run_spec(&first, one, engine);
    expect_same(&first, other, engine, what);
    sample_free(&first);
}

static struct spec usual_spec(attend_diagonal diagonal, bool causal)
{
    struct spec spec = spec_plain(91, 4, 70, 1100, 24, 17);
    spec.kv_heads = 2;
    spec.causal = causal;
    spec.diagonal = diagonal;
    spec.positions[0] = 600;
    spec_set_batch(&spec, 2);
    spec_set_keys(&spec, 1, 130, 640);
    return spec;
}

/* The left side is unbounded, or reaches past every key; the right one likewise, or is 0. */
static void check_wide(attend_isa isa)
{
    static const int64_t wide[] = { -1, 1169, INT64_MAX };
    attend_engine *engine = need_engine(isa, 2, IN_TEAM);
    for (int diagonal = 0; diagonal <= ATTEND_DIAGONAL_POSITION; diagonal++)
        for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
            const struct spec all = usual_spec((attend_diagonal)diagonal, false);
            const struct spec causal = usual_spec((attend_diagonal)diagonal, true);
            struct spec windowed = all;
            spec_set_window(&windowed, wide[i], wide[(i + 1) % 3]);
            expect_equal(engine, &all, &windowed, "a window that hides nothing");
            windowed.causal = true;
            expect_equal(engine, &causal, &windowed, "a window that hides nothing, causal");
            spec_set_window(&windowed, wide[i], 0);
            expect_equal(engine, &causal, &windowed, "a window to the left, causal");
            windowed.causal = false;
            expect_equal(engine, &causal, &windowed, "a window to the left");
        }
    attend_engine_destroy(engine);
}

ISA_TESTS(window, wide_equals_none_or_causal, check_wide)

static void copy_key(struct sample *to, int64_t to_key, const struct sample *from, int64_t key)
{
    for (int64_t head = 0; head < from->spec.kv_heads; head++) {
        for (int64_t d = 0; d < from->spec.d_k; d++)
            *(float *)box_at(&to->key, 0, head, to_key, d) = *(float *)box_at(&from->key, 0, head, key, d);
        for (int64_t d = 0; d < from->spec.d_v; d++)
            *(float *)box_at(&to->value, 0, head, to_key, d) = *(float *)box_at(&from->value, 0, head, key, d);
    }
}

/* The same sequence behind `before` keys that no window reaches, and before `after` such keys. */
static void expect_longer(attend_engine *engine, const struct sample *sample, int64_t before, int64_t after)
{
    struct spec spec = sample->spec;
    struct sample longer;
    spec.keys += before + after;
    spec.key_lengths[0] = spec.keys;
    spec.positions[0] += before;
    sample_make(&longer, &spec);
    for (int64_t key = 0; key < sample->spec.keys; key++)
        copy_key(&longer, before + key, sample, key);
    sample_poison_hidden(&longer);
    expect_ok(sample_forward(&longer, engine));
    expect_verdict(compare_samples(sample, &longer), "keys that no window reaches");
    sample_free(&longer);
}

/* Whole KV tiles before, since results depend on a key's place; anything after. */
static void check_appended(attend_isa isa)
{
    static const int64_t before[] = { 0, 512, 1024 }, after[] = { 0, 1, 100, 512, 700 };
    attend_engine *engine = need_engine(isa, 2, IN_TEAM);
    struct spec spec = spec_plain(92, 2, 90, 700, 32, 40);
    struct sample sample;
    spec.kv_heads = 1;
    spec.diagonal = ATTEND_DIAGONAL_POSITION;
    spec.positions[0] = 560;
    spec_set_window(&spec, 255, 20);
    sample_make(&sample, &spec);
    expect_ok(sample_forward(&sample, engine));
    for (size_t b = 0; b < sizeof before / sizeof *before; b++)
        for (size_t a = 0; a < sizeof after / sizeof *after; a++)
            expect_longer(engine, &sample, before[b], after[a]);
    sample_free(&sample);
    attend_engine_destroy(engine);
}

ISA_TESTS(window, appended_keys, check_appended)

/* The furthest positions and the widest windows: an empty row of zeros, or everything in sight. */
static void check_far(attend_isa isa)
{
    static const int64_t positions[] = { -(INT64_C(1) << 60), INT64_C(1) << 60 };
    attend_engine *engine = need_engine(isa, 1, 0);
    for (int far = 0; far < 2; far++) {
        struct spec spec = spec_plain(93, 1, 7, 600, 8, 8), none = spec;
        struct sample sample;
        spec.diagonal = ATTEND_DIAGONAL_POSITION;
        spec.positions[0] = positions[far];
        spec_set_window(&spec, INT64_MAX, INT64_MAX);
        expect_equal(engine, &none, &spec, "everything is in sight from far away");
        spec_set_window(&spec, far ? (INT64_C(1) << 60) - 600 : -1, far ? -1 : (INT64_C(1) << 60) - 7);
        sample_make(&sample, &spec);
        expect_ok(sample_forward(&sample, engine));
        expect_verdict(sample_judge(&sample), "nothing is in sight from far away");
        cr_expect(*(float *)box_at(&sample.lse, 0, 0, 0, 0) == -INFINITY);
        sample_free(&sample);
    }
    attend_engine_destroy(engine);
}

ISA_TESTS(window, far_positions, check_far)
