/* Runs whose keys are cut into pieces, and cascades of items that begin with the same pages: whoever computes which tile for whom, results
 * have the bits that one thread gives each row by itself. */
#include "tests/help_suite.h"

enum { PROBLEMS = 8, SPLIT_TEAMS = 3 };

static const int32_t split_teams[SPLIT_TEAMS] = { 2, 3, 7 };

/* Few rows and many keys. */
static struct spec generation_spec(size_t number)
{
    static const int64_t rows[] = { 1, 3, 9 }, groups[] = { 1, 2, 4, 7, 16 };
    struct spec spec = spec_plain(500 + number, 2 * groups[number % 5], rows[number % 3], 2700, 16, 24);
    spec.kv_heads = 2;
    spec.causal = number % 2;
    spec.with_sinks = number % 3 == 1;
    spec.with_alibi = number % 4 == 2;
    spec.with_prefix = number % 5 == 3;
    spec.prefix_lengths[0] = 600;
    if (number % 5 == 3)
        spec_set_window(&spec, 800, 0);
    if (number % 4 == 3) {
        spec.visibility = VISIBLE_FULL;
        spec.visible_percent = 80;
    }
    return spec;
}

static attend_explanation explain(const struct sample *sample, attend_engine *engine)
{
    attend_plan *plan;
    attend_explanation explanation = ATTEND_EXPLANATION_INIT;
    expect_ok(attend_plan_create(&plan, engine, &sample->problem));
    expect_ok(attend_plan_explain(plan, &sample->args, &explanation));
    attend_plan_destroy(plan);
    return explanation;
}

/* A long item among short ones: only its keys are cut. */
static void check_pieces(attend_isa isa)
{
    attend_engine *alone = need_engine(isa, 1, IN_CALLER);
    for (size_t number = 0; number < PROBLEMS; number++) {
        struct spec spec = generation_spec(number);
        struct sample reference;
        spec_set_batch(&spec, 3);
        spec_set_keys(&spec, 1, 100, 40);
        spec_set_keys(&spec, 2, 5, 0);
        run_spec(&reference, &spec, alone);
        for (size_t i = 0; i < SPLIT_TEAMS; i++) {
            attend_engine *engine = need_engine(isa, split_teams[i], IN_TEAM);
            const attend_explanation explanation = explain(&reference, engine);
            cr_expect(explanation.pieces > 0, "problem %zu is not cut for %d threads", number, split_teams[i]);
            expect_same(&reference, &spec, engine, "keys in pieces");
            attend_engine_destroy(engine);
        }
        sample_free(&reference);
    }
    attend_engine_destroy(alone);
}

ISA_TESTS(generation, keys_in_pieces, check_pieces)

/* Partials, and runs that go on from them: what they begin with belongs to the first piece. */
static void check_resumed_pieces(attend_isa isa)
{
    attend_engine *alone = need_engine(isa, 1, IN_CALLER), *team = need_engine(isa, 3, IN_TEAM);
    for (size_t number = 0; number < PROBLEMS; number += 2) {
        struct spec spec = generation_spec(number);
        struct sample one, other;
        spec.with_sinks = false;
        spec.with_partials = true;
        run_spec(&one, &spec, alone);
        run_spec(&other, &spec, team);
        expect_verdict(compare_samples(&one, &other), "partials of pieces");
        one.args.resume = other.args.resume = 1;
        expect_ok(sample_forward(&one, alone));
        expect_ok(sample_forward(&other, team));
        expect_verdict(compare_samples(&one, &other), "pieces that go on from partials");
        sample_free(&one);
        sample_free(&other);
    }
    attend_engine_destroy(alone);
    attend_engine_destroy(team);
}

ISA_TESTS(generation, resumed_pieces, check_resumed_pieces)

/* A step, whose cut is made once, used by runs on several threads at a time has counters and slots for each of them. */
static void check_step_of_pieces(attend_isa isa)
{
    attend_engine *engine = need_engine(isa, 3, IN_TEAM), *alone = need_engine(isa, 1, IN_CALLER);
    for (size_t number = 0; number < PROBLEMS; number++) {
        struct spec spec = generation_spec(number);
        struct sample reference, sample;
        attend_plan *plan;
        attend_step *step;
        run_spec(&reference, &spec, alone);
        sample_make(&sample, &spec);
        expect_ok(attend_plan_create(&plan, engine, &sample.problem));
        expect_ok(attend_step_create(&step, plan, &sample.args));
        attend_args args = ATTEND_ARGS_INIT;
        args.query = sample.args.query;
        args.key = sample.args.key;
        args.value = sample.args.value;
        args.output = sample.args.output;
        args.lse = sample.args.lse;
        args.sinks = sample.args.sinks;
        args.alibi_slopes = sample.args.alibi_slopes;
        args.step = step;
        for (int layer = 0; layer < 3; layer++) {
            sample_reset(&sample);
            expect_ok(attend_run(plan, &args));
            expect_verdict(compare_samples(&reference, &sample), "a step whose keys are cut");
        }
        attend_step_destroy(step);
        attend_plan_destroy(plan);
        sample_free(&reference);
        sample_free(&sample);
    }
    attend_engine_destroy(engine);
    attend_engine_destroy(alone);
}

ISA_TESTS(generation, step_of_pieces, check_step_of_pieces)

/* Items with the same keys, of which they have more or fewer, in the same pages. */
static struct spec cascade_spec(size_t number)
{
    static const int64_t pages[] = { 1, 7, 16, 128, 512, 1024 }, lengths[] = { 2600, 1700, 2599, 1030, 2600, 400, 512 };
    struct spec spec = generation_spec(number);
    spec.with_prefix = false;
    spec_set_window(&spec, -1, -1);
    spec_set_batch(&spec, 7);
    spec_set_pages(&spec, pages[number % 6], 2);
    spec.kv_shared = SHARED_ITEMS;
    for (int64_t item = 0; item < spec.batch; item++) {
        spec.label[item] = spec.label[0];
        spec_set_keys(&spec, item, 9 * (int64_t)(number % 2), lengths[item]);
        if (number % 3 == 2)
            spec_set_rows(&spec, item, 0, item % 4);
    }
    return spec;
}

static void check_cascades(attend_isa isa)
{
    attend_engine *alone = need_engine(isa, 1, IN_CALLER);
    for (size_t number = 0; number < PROBLEMS; number++) {
        struct spec spec = cascade_spec(number);
        struct sample reference, sample;
        run_spec(&reference, &spec, alone);
        spec.flags |= ATTEND_SHARED_PREFIXES;
        sample_make(&sample, &spec);
        for (size_t i = 0; i <= SPLIT_TEAMS; i++) {
            attend_engine *engine = i < SPLIT_TEAMS ? need_engine(isa, split_teams[i], IN_TEAM) : alone;
            const attend_explanation explanation = explain(&sample, engine);
            cr_expect(explanation.shared_tiles > 0, "problem %zu shares nothing", number);
            cr_expect(explanation.computed_pairs == explain(&reference, engine).computed_pairs);
            expect_same(&reference, &spec, engine, "a cascade");
            if (i < SPLIT_TEAMS)
                attend_engine_destroy(engine);
        }
        sample_free(&reference);
        sample_free(&sample);
    }
    attend_engine_destroy(alone);
}

ISA_TESTS(generation, cascades, check_cascades)

/* Every item's first `pages` pages become the first item's. */
static void share_first_pages(struct sample *sample, int64_t pages)
{
    int32_t *table = (int32_t *)sample->tables.data;
    for (int64_t item = 1; item < sample->spec.batch; item++) {
        const int64_t both = spec_entries(&sample->spec, item).high;
        for (int64_t n = 0; n < pages && n < both; n++)
            table[item * sample->table_stride + n] = table[n];
    }
}

/* Items with keys of their own behind the pages that they share: a cascade ends where tables part, and what it computes is what each item
 * would have read. A tile is 32 pages. */
static void check_parting_tables(attend_isa isa)
{
    static const int64_t shared[] = { 0, 1, 31, 32, 33, 63, 64, 65, 100 };
    attend_engine *engine = need_engine(isa, 3, IN_TEAM);
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        struct spec spec = generation_spec(4 * (i % 2));
        struct sample without, with;
        spec_set_batch(&spec, 3);
        spec_set_keys(&spec, 2, 0, 2000);
        spec_set_pages(&spec, 16, 0);
        sample_make(&without, &spec);
        spec.flags |= ATTEND_SHARED_PREFIXES;
        sample_make(&with, &spec);
        share_first_pages(&without, shared[i]);
        share_first_pages(&with, shared[i]);
        cr_expect(explain(&with, engine).shared_tiles == shared[i] / 32 * 2 * spec.kv_heads, "%lld pages: %lld tiles are shared",
                  (long long)shared[i], (long long)explain(&with, engine).shared_tiles);
        expect_ok(sample_forward(&without, engine));
        expect_ok(sample_forward(&with, engine));
        expect_verdict(compare_samples(&without, &with), "tables that part");
        sample_free(&without);
        sample_free(&with);
    }
    attend_engine_destroy(engine);
}

ISA_TESTS(generation, tables_that_part, check_parting_tables)

/* With a window the first keys are out of sight, and weights written out need all of a row's tiles: then there is no cascade. */
Test(generation, no_cascade)
{
    attend_engine *engine = need_engine(ATTEND_ISA_AUTO, 2, IN_TEAM);
    for (int which = 0; which < 2; which++) {
        struct spec spec = cascade_spec(0);
        struct sample reference, sample;
        if (which == 0)
            spec_set_window(&spec, 300, 0);
        else
            spec.with_weights = true;
        run_spec(&reference, &spec, engine);
        spec.flags |= ATTEND_SHARED_PREFIXES;
        sample_make(&sample, &spec);
        cr_expect(explain(&sample, engine).shared_tiles == 0);
        expect_same(&reference, &spec, engine, "no cascade");
        sample_free(&reference);
        sample_free(&sample);
    }
    attend_engine_destroy(engine);
}

/* A cascade's progress comes to its end like any other run's. */
Test(generation, progress)
{
    attend_engine *engine = need_engine(ATTEND_ISA_AUTO, 3, IN_TEAM);
    for (size_t number = 0; number < PROBLEMS; number++) {
        struct spec spec = cascade_spec(number);
        struct sample sample;
        attend_progress progress = { -1, -1 };
        spec.flags |= ATTEND_SHARED_PREFIXES;
        sample_make(&sample, &spec);
        sample.args.progress = &progress;
        expect_ok(sample_forward(&sample, engine));
        const double all = explain(&sample, engine).multiply_adds;
        cr_expect(progress.total > 0 && progress.done == progress.total, "%lld of %lld", (long long)progress.done,
                  (long long)progress.total);
        cr_expect((double)progress.total > 0.99 * all && (double)progress.total <= all, "%lld of %g", (long long)progress.total, all);
        sample_free(&sample);
    }
    attend_engine_destroy(engine);
}
