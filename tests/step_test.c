/* Steps: what layers share, read once. Runs with a step give the bytes of runs without, whatever has become of the arrays and the
 * visibility tensor that it was made of. */
#include "tests/help_counter.h"
#include "tests/help_suite.h"

#include <stdlib.h>
#include <string.h>

static attend_plan *need_plan(attend_engine *engine, const struct sample *sample)
{
    attend_plan *plan = NULL;
    expect_ok(attend_plan_create(&plan, engine, &sample->problem));
    return plan;
}

/* Leaves to the step what it decides. */
static void leave_to_step(attend_args *args, const attend_step *step)
{
    args->key_starts = args->key_lengths = args->query_starts = args->query_lengths = NULL;
    args->positions = args->prefix_lengths = args->query_offsets = args->key_offsets = NULL;
    args->visible = NULL;
    args->visible_tail = args->table_stride = args->pages = 0;
    args->block_tables = NULL;
    args->step = step;
}

/* The numbers of a second layer. */
static void change_layer(struct sample *sample)
{
    float *keys = (float *)sample->key.memory.data;
    for (size_t i = 0; i < sample->key.memory.bytes / sizeof *keys; i++)
        keys[i] *= 0.5f;
}

static void run_both(struct sample *without, struct sample *with, const attend_plan *plan)
{
    sample_reset(without);
    sample_reset(with);
    expect_ok(attend_run(plan, &without->args));
    expect_ok(attend_run(plan, &with->args));
    expect_verdict(compare_samples(without, with), "with a step");
}

static void expect_same_with_step(const struct spec *spec, attend_engine *engine)
{
    struct sample without, with;
    attend_step *step = NULL;
    sample_make(&without, spec);
    sample_make(&with, spec);
    attend_plan *plan = need_plan(engine, &with);
    expect_ok(attend_step_create(&step, plan, &with.args));
    guarded_poison(&with.arrays);
    if (with.visible.memory.map)
        guarded_poison(&with.visible.memory);
    if (with.tables.map)
        memset(with.tables.data, 0xff, with.tables.bytes);
    leave_to_step(&with.args, step);
    run_both(&without, &with, plan);
    change_layer(&without);
    change_layer(&with);
    run_both(&without, &with, plan);
    attend_step_destroy(step);
    attend_plan_destroy(plan);
    sample_free(&without);
    sample_free(&with);
}

/* All ways to say which rows and keys there are, and all ways to give flags. */
static void check_random(attend_isa isa)
{
    attend_engine *engines[] = { need_engine(isa, 1, 0), need_engine(isa, 2, IN_TEAM) };
    const uint64_t seed = test_seed(0x57e90000);
    const int64_t count = test_count(150);
    for (int64_t i = 0; i < count; i++) {
        struct spec spec;
        spec_random(&spec, seed + (uint64_t)i, 4e5);
        if (spec.visibility == VISIBLE_ALL && i % 2 && !spec.packed_queries && !spec.packed_keys)
            spec.visibility = (enum visibility)(1 + i / 2 % 3);
        expect_same_with_step(&spec, engines[i / 2 % 2]);
    }
    attend_engine_destroy(engines[0]);
    attend_engine_destroy(engines[1]);
}

ISA_TESTS(step, random_problems, check_random)

/* Decode and more, pages of any size, one table for all items, and an item whose first entries are nobody's. */
static void check_pages(attend_isa isa)
{
    static const int64_t page_sizes[] = { 1, 3, 16, 128, 1024 }, rows[] = { 1, 5, 40 };
    attend_engine *engines[] = { need_engine(isa, 1, 0), need_engine(isa, 2, IN_TEAM) };
    for (size_t number = 0; number < 30; number++) {
        struct spec spec = spec_plain(number, 8, rows[number % 3], 700, 24, 20);
        spec.kv_heads = 2;
        spec.kv_shared = number % 4 == 3 ? SHARED_ITEMS : 0;
        spec.causal = number % 2;
        spec_set_batch(&spec, 3);
        spec_set_keys(&spec, 0, 0, 333);
        spec_set_keys(&spec, 1, 290, 401);
        spec_set_keys(&spec, 2, 700, 0);
        (number % 2 ? spec_set_one_pool : spec_set_pages)(&spec, page_sizes[number % 5], 1);
        expect_same_with_step(&spec, engines[number / 2 % 2]);
    }
    attend_engine_destroy(engines[0]);
    attend_engine_destroy(engines[1]);
}

ISA_TESTS(step, pages, check_pages)

struct broken {
    struct sample sample;
    attend_plan *plan;
    attend_step *step, *other;
    int64_t lengths[2];
};

static void break_plan(struct broken *b) { b->sample.args.step = b->other; }
static void break_lengths(struct broken *b) { b->sample.args.key_lengths = b->lengths; }
static void break_prefix(struct broken *b) { b->sample.args.prefix_lengths = b->lengths; }
static void break_batch(struct broken *b) { b->sample.args.batch = 2; }
static void break_visible(struct broken *b) { b->sample.args.visible = &b->sample.visible.view; }
static void break_tail(struct broken *b) { b->sample.args.visible_tail = 3; }
static void break_tables(struct broken *b) { b->sample.args.block_tables = (const int32_t *)b->sample.tables.data; }
static void break_table_stride(struct broken *b) { b->sample.args.table_stride = b->sample.table_stride; }
static void break_pages(struct broken *b) { b->sample.args.pages = b->sample.pages; }

static const struct {
    const char *names;
    void (*damage)(struct broken *);
} breaks[] = {
    { "args.step was made of another plan", break_plan }, { "args.key_lengths is given", break_lengths },
    { "args.prefix_lengths is given", break_prefix },     { "args.batch, rows or keys is set", break_batch },
    { "args.visible", break_visible },                    { "visible_tail", break_tail },
    { "args.block_tables", break_tables },                { "table_stride", break_table_stride },
    { "pages is given", break_pages },
};

static struct spec small_spec(void)
{
    struct spec spec = spec_plain(1, 2, 5, 40, 8, 8);
    spec_set_batch(&spec, 2);
    spec_set_keys(&spec, 1, 3, 20);
    spec.visibility = VISIBLE_FULL;
    spec_set_pages(&spec, 7, 1);
    return spec;
}

Test(step, refusals_of_runs)
{
    attend_engine *engine = make_engine(ATTEND_ISA_AUTO, 1, 0);
    const struct spec spec = small_spec();
    for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++) {
        struct broken b = { .lengths = { 1, 1 } };
        sample_make(&b.sample, &spec);
        attend_plan *other = need_plan(engine, &b.sample);
        b.plan = need_plan(engine, &b.sample);
        expect_ok(attend_step_create(&b.step, b.plan, &b.sample.args));
        expect_ok(attend_step_create(&b.other, other, &b.sample.args));
        leave_to_step(&b.sample.args, b.step);
        breaks[i].damage(&b);
        cr_expect(attend_run(b.plan, &b.sample.args) == ATTEND_ERR_ARGUMENT, "%s: not refused", breaks[i].names);
        cr_expect(strstr(attend_last_error(), breaks[i].names) != NULL, "'%s' does not say '%s'", attend_last_error(),
                  breaks[i].names);
        attend_step_destroy(b.step);
        attend_step_destroy(b.other);
        attend_plan_destroy(b.plan);
        attend_plan_destroy(other);
        sample_free(&b.sample);
    }
    attend_engine_destroy(engine);
}

static void expect_refused(attend_status status, const char *words)
{
    cr_expect(status == ATTEND_ERR_ARGUMENT, "%s: not refused", words);
    cr_expect(strstr(attend_last_error(), words) != NULL, "'%s' does not say '%s'", attend_last_error(), words);
}

Test(step, refusals_of_steps)
{
    attend_engine *engine = make_engine(ATTEND_ISA_AUTO, 1, 0);
    const struct spec spec = small_spec();
    struct sample sample;
    attend_step *step = NULL, *second = NULL;
    sample_make(&sample, &spec);
    attend_plan *plan = need_plan(engine, &sample);
    expect_refused(attend_step_create(NULL, plan, &sample.args), "step is NULL");
    expect_refused(attend_step_create(&step, NULL, &sample.args), "plan is NULL");
    attend_args args = sample.args;
    args.visible = NULL;
    args.visible_tail = 3;
    expect_refused(attend_step_create(&step, plan, &args), "args.visible_tail is 3");
    args = sample.args;
    args.pages -= 1;
    ((int32_t *)sample.tables.data)[2] = (int32_t)args.pages;
    expect_refused(attend_step_create(&step, plan, &args), "args.block_tables of item 0");
    ((int32_t *)sample.tables.data)[2] = 0;
    args.pages += 1;
    args.deadline = -1; /* wrong, and none of a step's business */
    args.key_sums = args.lse;
    expect_ok(attend_step_create(&step, plan, &args));
    args = sample.args;
    args.step = step;
    expect_refused(attend_step_create(&second, plan, &args), "args.step is given");
    cr_expect_null(second);
    attend_step_destroy(NULL);
    attend_step_destroy(step);
    attend_plan_destroy(plan);
    sample_free(&sample);
    attend_engine_destroy(engine);
}

Test(step, explained_alike)
{
    attend_engine *engine = make_engine(ATTEND_ISA_AUTO, 2, IN_TEAM);
    const struct spec spec = small_spec();
    struct sample sample;
    attend_step *step = NULL;
    sample_make(&sample, &spec);
    attend_plan *plan = need_plan(engine, &sample);
    expect_ok(attend_step_create(&step, plan, &sample.args));
    attend_explanation without = ATTEND_EXPLANATION_INIT, with = ATTEND_EXPLANATION_INIT;
    expect_ok(attend_plan_explain(plan, &sample.args, &without));
    leave_to_step(&sample.args, step);
    expect_ok(attend_plan_explain(plan, &sample.args, &with));
    cr_expect(without.visible_pairs == with.visible_pairs && without.units == with.units &&
              without.computed_pairs == with.computed_pairs && with.visible_pairs > 0);
    attend_step_destroy(step);
    attend_plan_destroy(plan);
    sample_free(&sample);
    attend_engine_destroy(engine);
}

/* An allocator that can be told to have nothing left. */
struct purse {
    bool empty;
    long blocks;
};

static void *take(void *user, size_t bytes, size_t alignment)
{
    struct purse *purse = user;
    void *memory = NULL;
    if (purse->empty || posix_memalign(&memory, alignment, bytes))
        return NULL;
    purse->blocks++;
    return memory;
}

static void give(void *user, void *memory, size_t bytes)
{
    (void)bytes;
    ((struct purse *)user)->blocks--;
    free(memory);
}

Test(step, memory)
{
    struct purse purse = { false, 0 };
    attend_engine_options options = ATTEND_ENGINE_OPTIONS_INIT;
    options.threads = 1;
    options.allocate = take;
    options.release = give;
    options.allocator_user = &purse;
    attend_engine *engine = NULL;
    expect_ok(attend_engine_create(&engine, &options));
    const struct spec spec = small_spec();
    struct sample sample;
    attend_step *step = NULL;
    sample_make(&sample, &spec);
    attend_plan *plan = need_plan(engine, &sample);
    purse.empty = true;
    cr_expect(attend_step_create(&step, plan, &sample.args) == ATTEND_ERR_MEMORY);
    cr_expect_null(step);
    purse.empty = false;
    expect_ok(attend_step_create(&step, plan, &sample.args));
    attend_step_destroy(step);
    attend_plan_destroy(plan);
    sample_free(&sample);
    attend_engine_destroy(engine);
    cr_expect(purse.blocks == 0, "%ld blocks were not released", purse.blocks);
}
