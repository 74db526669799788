/* What a run would do, told without running it: visible pairs against the rule of the header, key by key, and tiles and computed pairs of
 * problems small enough to count on paper. */
#include "tests/help_suite.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { RANDOM_RUNS = 400, BATCH = 3, HEADS = 4, KV_HEADS = 2, ROWS = 9, KEYS = 70, ROWS_ALL = BATCH * ROWS, KEYS_ALL = BATCH * KEYS };

static int64_t draw(uint64_t *state, int64_t low, int64_t high)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return low + (int64_t)((*state >> 33) % (uint64_t)(high - low + 1));
}

/* A run without queries, keys and values. Tensors have a row for every row of every item and a column for every key. */
struct run {
    attend_problem problem;
    attend_args args;
    attend_tensor visible, bias;
    int64_t query_offsets[BATCH + 1], key_offsets[BATCH + 1];
    int64_t query_starts[BATCH], query_lengths[BATCH], key_starts[BATCH], key_lengths[BATCH], prefix_lengths[BATCH], positions[BATCH];
    unsigned char shown[HEADS][ROWS_ALL][KEYS_ALL]; /* a byte each, or a bit */
    float biases[ROWS_ALL][KEYS_ALL];
};

/* Items have rows and keys of their own; where an axis is not packed they lie in padding. */
static void draw_items(struct run *run, uint64_t *state, bool packed_queries, bool packed_keys)
{
    run->query_offsets[0] = run->key_offsets[0] = 0;
    for (int b = 0; b < BATCH; b++) {
        run->query_lengths[b] = draw(state, 0, ROWS);
        run->key_lengths[b] = draw(state, 0, KEYS);
        run->query_starts[b] = draw(state, 0, ROWS - run->query_lengths[b]);
        run->key_starts[b] = draw(state, 0, KEYS - run->key_lengths[b]);
        run->query_offsets[b + 1] = run->query_offsets[b] + run->query_lengths[b];
        run->key_offsets[b + 1] = run->key_offsets[b] + run->key_lengths[b];
        run->prefix_lengths[b] = draw(state, 0, 100);
        run->positions[b] = draw(state, -80, 80);
    }
    if (packed_queries) {
        run->problem.flags |= ATTEND_PACKED_QUERIES;
        run->problem.rows = ROWS_ALL;
        run->args.query_offsets = run->query_offsets;
    } else {
        run->args.query_starts = run->query_starts;
        run->args.query_lengths = run->query_lengths;
    }
    if (packed_keys) {
        run->problem.flags |= ATTEND_PACKED_KEYS;
        run->problem.keys = KEYS_ALL;
        run->args.key_offsets = run->key_offsets;
    } else {
        run->args.key_starts = run->key_starts;
        run->args.key_lengths = run->key_lengths;
    }
}

static void draw_visible(struct run *run, uint64_t *state)
{
    for (int h = 0; h < HEADS; h++)
        for (int r = 0; r < ROWS_ALL; r++)
            for (int j = 0; j < KEYS_ALL; j++)
                run->shown[h][r][j] = (unsigned char)draw(state, 0, 255) & (unsigned char)draw(state, 0, 255);
    run->args.visible = &run->visible;
    run->args.visible_tail = draw(state, 0, 1) ? draw(state, 1, KEYS) : 0;
    const bool bits = draw(state, 0, 1);
    const int64_t unit = bits ? 8 : 1; /* rows are as many bytes apart either way */
    run->visible = (attend_tensor)ATTEND_TENSOR_INIT;
    run->visible.data = run->shown;
    run->visible.dtype = bits ? ATTEND_BIT : ATTEND_BOOL;
    run->visible.stride[0] = draw(state, 0, 1) * ROWS * KEYS_ALL * unit;
    run->visible.stride[1] = ROWS_ALL * KEYS_ALL * unit;
    run->visible.stride[2] = KEYS_ALL * unit;
    run->visible.stride[3] = 1;
}

static void draw_bias(struct run *run, uint64_t *state)
{
    static const float values[] = { 0, 1, -1e30f, -INFINITY, INFINITY, NAN };
    for (int r = 0; r < ROWS_ALL; r++)
        for (int j = 0; j < KEYS_ALL; j++)
            run->biases[r][j] = values[draw(state, 0, 5)];
    run->args.bias = &run->bias;
    run->bias = (attend_tensor)ATTEND_TENSOR_INIT;
    run->bias.data = run->biases;
    run->bias.stride[0] = ROWS * KEYS_ALL;
    run->bias.stride[2] = KEYS_ALL;
    run->bias.stride[3] = 1;
}

static void draw_run(struct run *run, uint64_t *state)
{
    run->problem = (attend_problem)ATTEND_PROBLEM_INIT;
    run->problem.batch = BATCH, run->problem.heads = HEADS, run->problem.kv_heads = KV_HEADS;
    run->problem.rows = ROWS, run->problem.keys = KEYS, run->problem.d_k = 4, run->problem.d_v = 8;
    run->problem.causal = (int32_t)draw(state, 0, 1);
    run->problem.diagonal = (attend_diagonal)draw(state, 0, 2);
    run->args = (attend_args)ATTEND_ARGS_INIT;
    if (draw(state, 0, 1)) {
        run->problem.flags |= ATTEND_WINDOW;
        run->problem.window_left = draw(state, -1, 20);
        run->problem.window_right = draw(state, -1, 20);
    }
    draw_items(run, state, draw(state, 0, 1), draw(state, 0, 1));
    if (run->problem.diagonal == ATTEND_DIAGONAL_POSITION)
        run->args.positions = run->positions;
    if (draw(state, 0, 1))
        run->args.prefix_lengths = run->prefix_lengths;
    if (draw(state, 0, 1))
        draw_visible(run, state);
    if (draw(state, 0, 1))
        draw_bias(run, state);
}

static bool rule_allows(const struct run *run, int b, int64_t i, int64_t j)
{
    const attend_problem *problem = &run->problem;
    const int64_t diagonals[] = { i + run->key_lengths[b] - run->query_lengths[b], i, run->positions[b] + i };
    const int64_t distance = j - diagonals[problem->diagonal];
    if (run->args.prefix_lengths && j < run->prefix_lengths[b])
        return true;
    if (problem->causal && distance > 0)
        return false;
    if (!(problem->flags & ATTEND_WINDOW))
        return true;
    return (problem->window_left < 0 || distance >= -problem->window_left) &&
           (problem->window_right < 0 || distance <= problem->window_right);
}

/* Rows and keys by their places in the tensors. */
static bool tensors_allow(const struct run *run, int b, int h, int64_t i, int64_t j)
{
    const bool packed_queries = run->args.query_offsets != NULL, packed_keys = run->args.key_offsets != NULL;
    const int64_t row = i + (packed_queries ? run->query_offsets[b] : run->query_starts[b]);
    const int64_t key = j + (packed_keys ? run->key_offsets[b] : run->key_starts[b]);
    if (run->args.bias && run->biases[row + (packed_queries ? 0 : b * ROWS)][key] == -INFINITY)
        return false;
    const int64_t tail = run->args.visible_tail, column = tail ? j - run->key_lengths[b] + tail : key;
    if (!run->args.visible || column < 0)
        return true;
    const bool broadcast = packed_queries || run->visible.stride[0] == 0;
    const unsigned char *shown = run->shown[h][row + (broadcast ? 0 : b * ROWS)];
    return run->visible.dtype == ATTEND_BIT ? shown[column / 8] >> column % 8 & 1 : shown[column];
}

/* The pairs of all heads: those that the rule allows, and those that the tensors allow as well. */
static void count_pairs(const struct run *run, double *allowed, double *visible)
{
    *allowed = *visible = 0;
    for (int b = 0; b < BATCH; b++)
        for (int h = 0; h < HEADS; h++)
            for (int64_t i = 0; i < run->query_lengths[b]; i++)
                for (int64_t j = 0; j < run->key_lengths[b]; j++) {
                    const bool may = rule_allows(run, b, i, j);
                    *allowed += may;
                    *visible += may && tensors_allow(run, b, h, i, j);
                }
}

static double padded_pairs(const struct run *run)
{
    double pairs = 0;
    for (int b = 0; b < BATCH; b++)
        pairs += (double)(run->args.query_offsets ? run->query_lengths[b] : ROWS) *
                 (double)(run->args.key_offsets ? run->key_lengths[b] : KEYS);
    return pairs * HEADS;
}

Test(explain, visible_pairs_are_the_rule, .timeout = 120)
{
    static struct run run;
    attend_engine *engine = need_engine(ATTEND_ISA_AUTO, 2, 0);
    uint64_t state = 1;
    for (int n = 0; n < RANDOM_RUNS; n++) {
        attend_explanation found = ATTEND_EXPLANATION_INIT;
        attend_plan *plan;
        double allowed, visible;
        draw_run(&run, &state);
        count_pairs(&run, &allowed, &visible);
        expect_ok(attend_plan_create(&plan, engine, &run.problem));
        expect_ok(attend_plan_explain(plan, &run.args, &found));
        cr_assert(found.visible_pairs == visible, "run %d: %g visible pairs, should be %g", n, found.visible_pairs, visible);
        cr_assert(found.multiply_adds == allowed * 12, "run %d: %g multiply-adds, should be %g", n, found.multiply_adds, allowed * 12);
        cr_assert(found.padded_pairs == padded_pairs(&run), "run %d: %g padded pairs", n, found.padded_pairs);
        cr_assert(found.computed_pairs >= allowed, "run %d: %g computed pairs, %g allowed", n, found.computed_pairs, allowed);
        attend_plan_destroy(plan);
    }
    attend_engine_destroy(engine);
}

/* One head, a window of 101 keys and a prefix. */
Test(explain, tiles_of_a_prefix, .timeout = 60)
{
    const struct {
        int64_t rows, keys, prefix, full, partial, skipped;
        double computed;
    } cases[] = {
        /* The row sees keys 3995 … 4095, computed from 3984 on. */
        { 1, 4096, 0, 0, 1, 7, 112 },
        { 1, 4096, 1, 0, 2, 6, 1 + 112 },
        { 1, 4096, 512, 1, 1, 6, 512 + 112 },
        { 1, 4096, 600, 1, 2, 5, 600 + 112 },
        { 1, 4096, 3584, 7, 1, 0, 3584 + 112 },
        { 1, 4096, 3585, 7, 1, 0, 4096 }, /* to the end of the tile that both are in */
        { 1, 4096, 3994, 7, 1, 0, 4096 },
        { 1, 4096, 3995, 8, 0, 0, 4096 }, /* no key between them */
        { 1, 4096, 4096, 8, 0, 0, 4096 },
        { 1, 600, 600, 2, 0, 0, 600 },
        /* Two rows of one block: 3994 … 4094 and 3995 … 4095. */
        { 2, 4096, 600, 1, 2, 5, 2 * (600 + 112) },
        { 2, 4096, 3994, 7, 1, 0, 2 * 4096 },
        { 2, 4096, 3995, 7, 1, 0, 2 * 4096 }, /* the first row does not see the last key */
    };
    attend_engine *engine = need_engine(ATTEND_ISA_AUTO, 1, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        attend_problem problem = ATTEND_PROBLEM_INIT;
        attend_args args = ATTEND_ARGS_INIT;
        attend_explanation found = ATTEND_EXPLANATION_INIT;
        attend_plan *plan;
        problem.batch = problem.heads = problem.kv_heads = 1;
        problem.rows = cases[i].rows, problem.keys = cases[i].keys, problem.d_k = problem.d_v = 8;
        problem.flags = ATTEND_WINDOW;
        problem.window_left = 100;
        args.prefix_lengths = &cases[i].prefix;
        expect_ok(attend_plan_create(&plan, engine, &problem));
        expect_ok(attend_plan_explain(plan, &args, &found));
        cr_expect(found.tiles_full == cases[i].full && found.tiles_partial == cases[i].partial &&
                      found.tiles_skipped == cases[i].skipped,
                  "case %zu: %lld full, %lld partial, %lld skipped", i, (long long)found.tiles_full, (long long)found.tiles_partial,
                  (long long)found.tiles_skipped);
        cr_expect(found.computed_pairs == cases[i].computed, "case %zu: %g computed pairs", i, found.computed_pairs);
        attend_plan_destroy(plan);
    }
    attend_engine_destroy(engine);
}

/* The causal rule alone: its ranges begin at key 0 and only end later. */
Test(explain, tiles_of_a_causal_prefix, .timeout = 60)
{
    attend_engine *engine = need_engine(ATTEND_ISA_AUTO, 1, 0);
    attend_problem problem = ATTEND_PROBLEM_INIT;
    attend_args args = ATTEND_ARGS_INIT;
    attend_explanation found = ATTEND_EXPLANATION_INIT;
    attend_plan *plan;
    const int64_t prefix = 512;
    problem.batch = problem.heads = problem.kv_heads = 1;
    problem.rows = 3, problem.keys = 1024, problem.d_k = problem.d_v = 8;
    problem.causal = 1;
    problem.diagonal = ATTEND_DIAGONAL_TOP_LEFT;
    args.prefix_lengths = &prefix;
    expect_ok(attend_plan_create(&plan, engine, &problem));
    expect_ok(attend_plan_explain(plan, &args, &found));
    cr_expect(found.tiles_full == 1 && found.tiles_partial == 0 && found.tiles_skipped == 1);
    cr_expect(found.visible_pairs == 3 * 512 && found.computed_pairs == 3 * 512);
    attend_plan_destroy(plan);
    attend_engine_destroy(engine);
}

static const char *slow_path_of(attend_engine *engine, struct sample *sample)
{
    attend_explanation found = ATTEND_EXPLANATION_INIT;
    attend_plan *plan;
    expect_ok(attend_plan_create(&plan, engine, &sample->problem));
    expect_ok(attend_plan_explain(plan, &sample->args, &found));
    attend_plan_destroy(plan);
    return found.slow_path;
}

static void expect_slow(attend_engine *engine, struct sample *sample, const char *word)
{
    for (int fast_only = 0; fast_only < 2; fast_only++) {
        sample->problem.flags = fast_only ? ATTEND_FAST_ONLY : 0;
        const char *found = slow_path_of(engine, sample);
        cr_expect(word ? found && strstr(found, word) : !found, "%s is slow: %s", word ? word : "nothing", found ? found : "NULL");
        const attend_status status = attend_forward(engine, &sample->problem, &sample->args);
        cr_expect(status == (fast_only && word ? ATTEND_ERR_UNSUPPORTED : ATTEND_OK), "%s: %s", word ? word : "nothing",
                  attend_status_name(status));
    }
}

/* It is told for what the flag refuses, and only then. */
Test(explain, slow_paths, .timeout = 60)
{
    struct spec spec = spec_plain(1, 2, 3, 5, 4, 3);
    struct sample sample;
    spec.with_weights = spec.with_scores = true;
    sample_make(&sample, &spec);
    attend_engine *engine = need_engine(ATTEND_ISA_PORTABLE, 1, 0); /* asked for, so it may be slow */
    expect_slow(engine, &sample, "scores");
    sample.args.scores = NULL;
    expect_slow(engine, &sample, "weights");
    sample.args.weights = NULL;
    expect_slow(engine, &sample, NULL);
    attend_tensor *const tensors[] = { &sample.query.view, &sample.key.view, &sample.value.view };
    static const char *const names[] = { "query", "key", "value" };
    for (int i = 0; i < 3; i++) {
        const int64_t stride = tensors[i]->stride[3];
        tensors[i]->stride[3] = 0;
        expect_slow(engine, &sample, names[i]);
        tensors[i]->stride[3] = stride;
    }
    sample.output.view.data = (float *)sample.output.view.data + 2;
    sample.output.view.stride[3] = -1;
    expect_slow(engine, &sample, "output");
    attend_engine_destroy(engine);
    sample_free(&sample);
}

/* The portable kernel, where it is the only one, has to be asked for. */
Test(explain, slow_kernel, .timeout = 60)
{
    struct spec spec = spec_plain(1, 2, 3, 5, 4, 3);
    struct sample sample;
    attend_isa best;
    sample_make(&sample, &spec);
    attend_isa_available(&best, 1);
    attend_engine *engine = need_engine(ATTEND_ISA_AUTO, 1, 0);
    sample.problem.flags = ATTEND_FAST_ONLY;
    const attend_status status = attend_forward(engine, &sample.problem, &sample.args);
    cr_expect(status == (best == ATTEND_ISA_PORTABLE ? ATTEND_ERR_UNSUPPORTED : ATTEND_OK), "%s", attend_status_name(status));
    attend_engine_destroy(engine);
    sample_free(&sample);
}

/* A caller's struct from before slow_path is filled as far as it goes. */
Test(explain, older_struct, .timeout = 60)
{
    struct spec spec = spec_plain(1, 2, 3, 5, 4, 3);
    struct sample sample;
    attend_explanation found = ATTEND_EXPLANATION_INIT;
    attend_plan *plan;
    spec.with_scores = true;
    sample_make(&sample, &spec);
    attend_engine *engine = need_engine(ATTEND_ISA_AUTO, 1, 0);
    expect_ok(attend_plan_create(&plan, engine, &sample.problem));
    found.struct_size = offsetof(attend_explanation, slow_path);
    found.slow_path = "untouched";
    expect_ok(attend_plan_explain(plan, &sample.args, &found));
    cr_expect(found.visible_pairs == 2 * 3 * 5);
    cr_expect_str_eq(found.slow_path, "untouched");
    found.struct_size -= 1;
    cr_expect(attend_plan_explain(plan, &sample.args, &found) == ATTEND_ERR_ARGUMENT);
    attend_plan_destroy(plan);
    attend_engine_destroy(engine);
    sample_free(&sample);
}

/* Room for M and L of every row of every head, once for packed rows. */
Test(explain, workspace_of_key_sums, .timeout = 60)
{
    attend_engine *engine = need_engine(ATTEND_ISA_AUTO, 1, 0);
    for (int packed = 0; packed < 2; packed++) {
        attend_problem problem = ATTEND_PROBLEM_INIT;
        attend_plan *without, *with;
        problem.batch = 7, problem.heads = problem.kv_heads = 3, problem.rows = 1000, problem.keys = 10;
        problem.d_k = problem.d_v = 8;
        problem.flags = packed ? ATTEND_PACKED_QUERIES : 0;
        expect_ok(attend_plan_create(&without, engine, &problem));
        problem.flags |= ATTEND_KEY_SUMS;
        expect_ok(attend_plan_create(&with, engine, &problem));
        const size_t more = attend_plan_workspace_bytes(with) - attend_plan_workspace_bytes(without);
        const size_t rows = 3 * 1000 * (packed ? 1 : 7);
        cr_expect(more >= 8 * rows && more <= 8 * rows + 8192, "%zu bytes more for %zu rows", more, rows);
        attend_plan_destroy(with);
        attend_plan_destroy(without);
    }
    attend_engine_destroy(engine);
}
