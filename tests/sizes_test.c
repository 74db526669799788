/* Sizes that broke other implementations: every length up to two tiles and every kind of width, with the answer in
 * closed form; whole tiles without a visible key before or after the one that counts; rows without keys that fill a
 * whole unit; groups of heads; sizes of zero with and without pointers. */
#include "tests/help_suite.h"

#include <math.h>
#include <string.h>

enum { TILE = 512, MOST = 2 * TILE + 3 };

static void expect_near(const struct box *box, const int64_t place[4], double right, const char *what)
{
    double found = *(float *)box_at(box, place[0], place[1], place[2], place[3]);
    bool same = isinf(right) ? found == right : fabs(found - right) <= 2e-6 * fabs(right);
    cr_assert(same, "%s[%d][%d][%d][%d] is %.9g, should be %.9g", what, (int)place[0], (int)place[1], (int)place[2],
              (int)place[3], found, right);
}

/* All scores 0 over values length-1 … 0: the mean is (length-1)/2, the LSE ln(length). Keys end at the guard page, so
 * a shorter length is a later start. */
struct tails {
    int64_t width;
    struct box query, key, value, output, lse;
    attend_problem problem;
    attend_args args;
};

static void make_tails(struct tails *tails, int64_t width)
{
    int64_t row[4] = { 1, 1, 1, width }, keys[4] = { 1, 1, MOST, width }, one[4] = { 1, 1, 1, 1 };
    tails->width = width;
    box_make(&tails->query, LAYOUT_BHSD, 0, ATTEND_F32, row, GUARD_AFTER);
    box_make(&tails->key, LAYOUT_BHSD, 0, ATTEND_F32, keys, GUARD_AFTER);
    box_make(&tails->value, LAYOUT_BHSD, 0, ATTEND_F32, keys, GUARD_AFTER);
    box_make(&tails->output, LAYOUT_BHSD, 0, ATTEND_F32, row, GUARD_AFTER);
    box_make(&tails->lse, LAYOUT_BHSD, 0, ATTEND_F32, one, GUARD_AFTER);
    for (int64_t key = 0; key < MOST; key++)
        for (int64_t d = 0; d < width; d++) {
            *(float *)box_at(&tails->key, 0, 0, key, d) = (float)(key % 7 - 3);
            *(float *)box_at(&tails->value, 0, 0, key, d) = (float)(MOST - 1 - key);
        }
    memset(tails->query.memory.data, 0, tails->query.memory.bytes);
    tails->problem = (attend_problem){ .struct_size = sizeof tails->problem, .batch = 1, .heads = 1, .kv_heads = 1,
                                       .rows = 1, .keys = MOST, .d_k = width, .d_v = width };
    tails->args = (attend_args)ATTEND_ARGS_INIT;
    tails->args.query = &tails->query.view;
    tails->args.output = &tails->output.view;
    tails->args.lse = &tails->lse.view;
}

static void free_tails(struct tails *tails)
{
    struct box *boxes[] = { &tails->query, &tails->key, &tails->value, &tails->output, &tails->lse };
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++)
        box_free(boxes[i]);
}

static void expect_tail(struct tails *tails, const attend_plan *plan, int64_t length)
{
    attend_tensor key = tails->key.view, value = tails->value.view;
    key.data = box_at(&tails->key, 0, 0, MOST - length, 0);
    value.data = box_at(&tails->value, 0, 0, MOST - length, 0);
    tails->args.key = &key;
    tails->args.value = &value;
    tails->args.keys = length;
    guarded_poison(&tails->output.memory);
    guarded_poison(&tails->lse.memory);
    expect_ok(attend_run(plan, &tails->args));
    expect_near(&tails->lse, (int64_t[4]){ 0, 0, 0, 0 }, log((double)length), "lse");
    for (int64_t d = 0; d < tails->width; d++)
        expect_near(&tails->output, (int64_t[4]){ 0, 0, 0, d }, (double)(length - 1) / 2.0, "output");
}

static void check_tails(attend_isa isa)
{
    static const int64_t widths[] = { 1,  2,  3,  7,  8,  15, 16, 17,  31,  32,  33,
                                      40, 63, 64, 65, 80, 96, 128, 192, 256, 257, 512 };
    static const int64_t lengths[] = { 1,   2,   3,   5,   8,   15,  16,  17,  31,  32,   33,   47,
                                       48,  49,  63,  64,  65,  80,  96,  127, 128, 129,  191,  192,
                                       193, 255, 256, 257, 383, 384, 385, 511, 512, 513,  575,  639,
                                       640, 641, 767, 768, 769, 895, 896, 897, 1023, 1024, 1025, 1027 };
    attend_engine *engine = need_engine(isa, 1, 0);
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        struct tails tails;
        attend_plan *plan;
        make_tails(&tails, widths[w]);
        expect_ok(attend_plan_create(&plan, engine, &tails.problem));
        bool every_length = widths[w] == 3 || widths[w] == 16;
        for (int64_t length = 1; every_length && length <= MOST; length++)
            expect_tail(&tails, plan, length);
        for (size_t i = 0; !every_length && i < sizeof lengths / sizeof *lengths; i++)
            expect_tail(&tails, plan, lengths[i]);
        attend_plan_destroy(plan);
        free_tails(&tails);
    }
    attend_engine_destroy(engine);
}

ISA_TESTS(sizes, tails, check_tails)

/* One head of width 1 with a plane of flags; all queries 1. */
static void make_plane(struct sample *sample, int64_t rows, int64_t keys)
{
    struct spec spec = spec_plain(1, 1, rows, keys, 1, 1);
    spec.visibility = VISIBLE_FULL;
    sample_make(sample, &spec);
    memset(sample->visible.memory.data, 0, sample->visible.memory.bytes);
    for (int64_t row = 0; row < rows; row++)
        *(float *)box_at(&sample->query, 0, 0, row, 0) = 1.0f;
}

static void set_key(struct sample *sample, int64_t key, float score, float value)
{
    *(float *)box_at(&sample->key, 0, 0, key, 0) = score;
    *(float *)box_at(&sample->value, 0, 0, key, 0) = value;
}

static void check_survivor(attend_isa isa)
{
    static const int64_t survivors[] = { 0, 511, 512, 700, 1023, 1024 };
    attend_engine *engine = need_engine(isa, 2, IN_TEAM);
    for (size_t i = 0; i < sizeof survivors / sizeof *survivors; i++) {
        struct sample sample;
        make_plane(&sample, 3, 1025);
        for (int64_t key = 0; key < 1025; key++)
            set_key(&sample, key, 0.0f, 99.0f);
        set_key(&sample, survivors[i], -200.0f, 7.0f);
        for (int64_t row = 0; row < 3; row++)
            *(char *)box_at(&sample.visible, 0, 0, row, survivors[i]) = 1;
        expect_ok(sample_forward(&sample, engine));
        for (int64_t row = 0; row < 3; row++) {
            expect_near(&sample.output, (int64_t[4]){ 0, 0, row, 0 }, 7.0, "output");
            expect_near(&sample.lse, (int64_t[4]){ 0, 0, row, 0 }, -200.0, "lse");
        }
        sample_free(&sample);
    }
    attend_engine_destroy(engine);
}

ISA_TESTS(sizes, survivor_among_dead_tiles, check_survivor)

/* Causal, and of the past only the ten newest keys. */
static void check_newest(attend_isa isa)
{
    enum { LENGTH = 640, NEWEST = 10 };
    attend_engine *engine = need_engine(isa, 2, IN_TEAM);
    struct sample sample;
    make_plane(&sample, LENGTH, LENGTH);
    sample.problem.causal = 1;
    for (int64_t i = 0; i < LENGTH; i++) {
        set_key(&sample, i, 1.0f, 1.0f);
        for (int64_t j = 0; j < LENGTH; j++)
            *(char *)box_at(&sample.visible, 0, 0, i, j) = j > i - NEWEST;
    }
    expect_ok(sample_forward(&sample, engine));
    for (int64_t i = 0; i < LENGTH; i++) {
        double count = i + 1 < NEWEST ? (double)(i + 1) : NEWEST;
        expect_near(&sample.output, (int64_t[4]){ 0, 0, i, 0 }, 1.0, "output");
        expect_near(&sample.lse, (int64_t[4]){ 0, 0, i, 0 }, 1.0 + log(count), "lse");
    }
    sample_free(&sample);
    attend_engine_destroy(engine);
}

ISA_TESTS(sizes, ten_newest_keys, check_newest)

/* Rows [from, to) see nothing; the others see two keys. */
static void check_empty_rows(attend_isa isa)
{
    static const int64_t spans[][3] = { { 450, 0, 6 },   { 450, 444, 450 }, { 450, 0, 220 }, { 450, 180, 420 },
                                        { 450, 0, 450 }, { 13, 6, 12 },     { 1, 0, 1 },     { 12, 0, 11 } };
    attend_engine *engine = need_engine(isa, 2, IN_TEAM);
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
        struct sample sample;
        make_plane(&sample, spans[i][0], 520);
        for (int64_t key = 0; key < 520; key++)
            set_key(&sample, key, 1.0f, key == 3 ? 10.0f : 20.0f);
        for (int64_t row = 0; row < spans[i][0]; row++)
            for (int64_t key = 3; key < 520; key += 510)
                *(char *)box_at(&sample.visible, 0, 0, row, key) = row < spans[i][1] || row >= spans[i][2];
        expect_ok(sample_forward(&sample, engine));
        for (int64_t row = 0; row < spans[i][0]; row++) {
            bool empty = row >= spans[i][1] && row < spans[i][2];
            expect_near(&sample.output, (int64_t[4]){ 0, 0, row, 0 }, empty ? 0.0 : 15.0, "output");
            expect_near(&sample.lse, (int64_t[4]){ 0, 0, row, 0 }, empty ? -INFINITY : 1.0 + log(2.0), "lse");
        }
        sample_free(&sample);
    }
    attend_engine_destroy(engine);
}

ISA_TESTS(sizes, rows_without_keys, check_empty_rows)

/* Query head h uses kv head h / (heads / kv_heads), whose values are 10·(kv head + 1). */
static void check_groups(attend_isa isa)
{
    static const int64_t groups[][2] = { { 4, 2 },  { 6, 1 },  { 6, 2 }, { 6, 3 },
                                         { 28, 4 }, { 12, 2 }, { 5, 5 }, { 64, 4 } };
    attend_engine *engine = need_engine(isa, 2, 0);
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        for (int64_t rows = 1; rows < 10; rows += 8) {
            struct spec spec = spec_plain(1, groups[i][0], rows, 3, 2, 1);
            struct sample sample;
            spec.kv_heads = groups[i][1];
            sample_make(&sample, &spec);
            for (int64_t kv_head = 0; kv_head < spec.kv_heads; kv_head++)
                for (int64_t key = 0; key < 3; key++)
                    *(float *)box_at(&sample.value, 0, kv_head, key, 0) = 10.0f * (float)(kv_head + 1);
            expect_ok(sample_forward(&sample, engine));
            for (int64_t head = 0; head < spec.heads; head++)
                for (int64_t row = 0; row < rows; row++)
                    expect_near(&sample.output, (int64_t[4]){ 0, head, row, 0 },
                                10.0 * (double)(head / (spec.heads / spec.kv_heads) + 1), "output");
            sample_free(&sample);
        }
    attend_engine_destroy(engine);
}

ISA_TESTS(sizes, grouped_heads, check_groups)

/* Everything empty is legal; what is left is judged by the oracle. With `without_data`, empty tensors have no data. */
static void expect_empty_is_legal(attend_engine *engine, const int64_t size[7], bool without_data)
{
    struct spec spec = spec_plain(1, size[1], size[3], size[4], size[5], size[6]);
    struct sample sample;
    spec.kv_heads = size[2];
    spec.flags = size[5] ? 0 : ATTEND_EXPLICIT_SCALE;
    spec.scale = 1.0f;
    spec_set_batch(&spec, size[0]);
    spec.batch = size[0];
    spec.with_weights = spec.with_scores = true;
    sample_make(&sample, &spec);
    struct box *boxes[] = { &sample.query, &sample.key, &sample.value, &sample.output, &sample.lse, &sample.weights,
                            &sample.scores };
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++)
        if (without_data && boxes[i]->memory.bytes == 0)
            boxes[i]->view.data = NULL;
    attend_status status = sample_forward(&sample, engine);
    cr_assert(status == ATTEND_OK, "%s in %s", attend_last_error(), spec_text(&spec));
    expect_verdict(sample_judge(&sample), "an empty size");
    sample_free(&sample);
}

static void check_zero_sizes(attend_isa isa)
{
    static const int64_t sizes[][7] = {
        /* batch, heads, kv_heads, rows, keys, d_k, d_v */
        { 0, 2, 1, 3, 4, 5, 6 }, { 2, 0, 0, 3, 4, 5, 6 }, { 2, 0, 1, 3, 4, 5, 6 }, { 2, 2, 1, 0, 4, 5, 6 },
        { 2, 2, 1, 3, 0, 5, 6 }, { 2, 2, 1, 3, 4, 0, 6 }, { 2, 2, 1, 3, 4, 5, 0 }, { 2, 2, 1, 3, 4, 0, 0 },
        { 2, 2, 1, 3, 0, 0, 0 }, { 0, 0, 0, 0, 0, 0, 0 },
    };
    attend_engine *engines[] = { need_engine(isa, 1, 0), need_engine(isa, 2, IN_TEAM) };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t e = 0; e < 2; e++) {
            expect_empty_is_legal(engines[e], sizes[i], false);
            expect_empty_is_legal(engines[e], sizes[i], true);
        }
    attend_engine_destroy(engines[0]);
    attend_engine_destroy(engines[1]);
}

ISA_TESTS(sizes, sizes_of_zero, check_zero_sizes)

/* Without features every score is scale·0, and the output the mean. */
static void check_no_features(attend_isa isa)
{
    attend_engine *engine = need_engine(isa, 2, 0);
    struct spec spec = spec_plain(1, 1, 2, 700, 0, 1);
    struct sample sample;
    spec.flags = ATTEND_EXPLICIT_SCALE;
    spec.scale = 3.0f;
    sample_make(&sample, &spec);
    for (int64_t key = 0; key < 700; key++)
        *(float *)box_at(&sample.value, 0, 0, key, 0) = (float)key;
    expect_ok(sample_forward(&sample, engine));
    expect_near(&sample.output, (int64_t[4]){ 0, 0, 1, 0 }, 349.5, "output");
    expect_near(&sample.lse, (int64_t[4]){ 0, 0, 1, 0 }, log(700.0), "lse");
    sample.problem.flags = 0;
    cr_assert(sample_forward(&sample, engine) == ATTEND_ERR_ARGUMENT, "1/sqrt(0) was accepted as a scale");
    sample_free(&sample);
    attend_engine_destroy(engine);
}

ISA_TESTS(sizes, no_features, check_no_features)
