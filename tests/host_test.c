/* Results are the same bytes whatever the host does around a call: its floating-point state, a plan used again with
 * other lengths, many callers at once, scratch of its own. And the host's state is the same afterwards. */
#include "tests/help_counter.h"
#include "tests/help_fpstate.h"
#include "tests/help_suite.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct spec host_spec(uint64_t seed, int64_t rows)
{
    struct spec spec = spec_plain(seed, 4, rows, 700, 32, 20);
    spec.kv_heads = 2;
    spec.causal = true;
    spec_set_batch(&spec, 3);
    spec_set_keys(&spec, 1, 3, 601);
    spec_set_rows(&spec, 2, 1, rows - 1 - rows / 3);
    return spec;
}

static const struct fpstate_case states[] = { FPSTATE_CASES };

struct host_case {
    attend_isa isa;
    int32_t threads;
    int64_t inline_work;
    bool planned; /* made before the state changes: only the run happens in it */
};

/* The run, and which bits of the state it changed. Nothing else may happen between the two changes of the state. */
static attend_status run_in_state(attend_engine *engine, const attend_plan *plan, struct sample *sample, uint64_t state,
                                  uint64_t *changed)
{
    uint64_t usual = fpstate_get();
    uint64_t entered = fpstate_enter(state);
    attend_status status = plan ? attend_run(plan, &sample->args) : sample_forward(sample, engine);
    *changed = fpstate_get() ^ entered;
    fpstate_set(usual);
    return status;
}

/* Small and subnormal products, where flushing and rounding show. */
static struct spec delicate_spec(uint64_t seed, int64_t rows)
{
    struct spec spec = host_spec(seed, rows);
    spec.value_stretch = 1e-38f;
    spec.query_stretch = 3.0f;
    return spec;
}

static void expect_state_harmless(const struct host_case *host, const struct spec *spec, size_t which)
{
    attend_engine *engine = need_engine(host->isa, host->threads, host->inline_work);
    attend_plan *plan = NULL;
    struct sample reference, sample;
    uint64_t changed;
    run_spec(&reference, spec, engine);
    sample_make(&sample, spec);
    if (host->planned)
        expect_ok(attend_plan_create(&plan, engine, &sample.problem));
    expect_ok(run_in_state(engine, plan, &sample, states[which].state, &changed));
    expect_verdict(compare_samples(&reference, &sample), states[which].name);
    cr_assert(changed == 0, "%s: the state changed in 0x%llx", states[which].name, (unsigned long long)changed);
    attend_plan_destroy(plan);
    sample_free(&reference);
    sample_free(&sample);
    attend_engine_destroy(engine);
}

static void check_states(attend_isa isa, bool planned)
{
    const struct host_case hosts[] = { { isa, 1, IN_CALLER, planned }, { isa, 2, IN_TEAM, planned } };
    for (size_t which = 0; which < sizeof states / sizeof *states; which++)
        for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
            struct spec many = delicate_spec(1, 30), few = delicate_spec(2, 3);
            expect_state_harmless(&hosts[i], &many, which);
            expect_state_harmless(&hosts[i], &few, which);
        }
}

/* The calls around a run divide too: quotas, scales, shares of units. */
static attend_status use_everything(const attend_problem *problem, const attend_args *args)
{
    attend_engine_options options = ATTEND_ENGINE_OPTIONS_INIT;
    attend_explanation explanation = ATTEND_EXPLANATION_INIT;
    attend_engine_info info = ATTEND_ENGINE_INFO_INIT;
    attend_engine *engine;
    attend_plan *plan;
    double rate;
    options.threads = 2;
    attend_status status = attend_engine_create(&engine, &options);
    if (status)
        return status;
    status = attend_plan_create(&plan, engine, problem);
    if (!status)
        status = attend_plan_explain(plan, args, &explanation);
    if (!status)
        status = attend_engine_describe(engine, &info);
    if (!status)
        status = attend_engine_measure(engine, ATTEND_MEASURE_READ, problem, sizeof *problem, &rate);
    attend_plan_destroy(plan);
    attend_engine_destroy(engine);
    return status;
}

Test(host, other_calls_in_any_state, .timeout = 60)
{
    struct spec spec = spec_plain(1, 7, 100, 90, 24, 24);
    struct sample sample;
    spec.kv_heads = 1;
    spec.causal = true;
    sample_make(&sample, &spec);
    for (size_t which = 0; which < sizeof states / sizeof *states; which++) {
        uint64_t usual = fpstate_get();
        uint64_t entered = fpstate_enter(states[which].state);
        attend_status status = use_everything(&sample.problem, &sample.args);
        uint64_t changed = fpstate_get() ^ entered;
        fpstate_set(usual);
        cr_assert(status == ATTEND_OK && changed == 0, "%s: %s, the state changed in 0x%llx", states[which].name,
                  attend_status_name(status), (unsigned long long)changed);
    }
    sample_free(&sample);
}

static void check_states_of_run(attend_isa isa)
{
    check_states(isa, true);
}

static void check_states_of_forward(attend_isa isa)
{
    check_states(isa, false);
}

ISA_TESTS(host, float_state_in_run, check_states_of_run)
ISA_TESTS(host, float_state_in_forward, check_states_of_forward)

/* A team that is started in another state must not inherit it. */
static void check_states_of_create(attend_isa isa)
{
    for (size_t which = 0; which < sizeof states / sizeof *states && which < 4; which++) {
        struct spec spec = delicate_spec(3, 20);
        attend_engine *usual_engine = need_engine(isa, 2, IN_TEAM);
        uint64_t usual = fpstate_get();
        uint64_t entered = fpstate_enter(states[which].state);
        attend_engine *engine = make_engine(isa, 2, IN_TEAM);
        uint64_t changed = fpstate_get() ^ entered;
        fpstate_set(usual);
        cr_assert((changed & ~FPSTATE_STICKY) == 0, "%s: create changed the state", states[which].name);
        cr_assert_not_null(engine);
        struct sample reference, sample;
        run_spec(&reference, &spec, usual_engine);
        run_spec(&sample, &spec, engine);
        expect_verdict(compare_samples(&reference, &sample), states[which].name);
        sample_free(&reference);
        sample_free(&sample);
        attend_engine_destroy(engine);
        attend_engine_destroy(usual_engine);
    }
}

ISA_TESTS(host, float_state_in_create, check_states_of_create)

/* One plan for the capacity; runs of other sizes, lengths and starts must equal plans made for them alone. */
static void check_plan_reuse(attend_isa isa)
{
    static const int64_t sizes[][3] = { { 3, 30, 700 }, { 1, 1, 513 }, { 2, 7, 1 },  { 3, 29, 699 },
                                        { 1, 0, 20 },   { 2, 30, 0 },  { 3, 2, 640 } };
    attend_engine *engine = need_engine(isa, 2, 0);
    struct spec capacity = host_spec(4, 30);
    struct sample whole;
    attend_plan *plan;
    run_spec(&whole, &capacity, engine);
    expect_ok(attend_plan_create(&plan, engine, &whole.problem));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct spec spec = spec_plain(50 + i, 4, sizes[i][1], sizes[i][2], 32, 20);
        struct sample fresh, again;
        spec.kv_heads = 2;
        spec.causal = true;
        spec_set_batch(&spec, sizes[i][0]);
        spec_set_keys(&spec, 0, spec.keys / 3, spec.keys / 2);
        spec_set_rows(&spec, 0, spec.rows / 4, spec.rows / 2);
        run_spec(&fresh, &spec, engine);
        sample_make(&again, &spec);
        again.args.batch = spec.batch;
        again.args.rows = spec.rows;
        again.args.keys = spec.keys;
        expect_ok(attend_run(plan, &again.args));
        expect_verdict(compare_samples(&fresh, &again), "a plan used again");
        expect_verdict(sample_judge(&again), "a plan used again");
        sample_free(&fresh);
        sample_free(&again);
    }
    sample_reset(&whole);
    expect_ok(attend_run(plan, &whole.args));
    expect_verdict(sample_judge(&whole), "the plan at its capacity, last");
    attend_plan_destroy(plan);
    sample_free(&whole);
    attend_engine_destroy(engine);
}

ISA_TESTS(host, plan_used_again, check_plan_reuse)

enum { CALLERS = 8, ROUNDS = 12 };

struct caller {
    const attend_plan *plan;
    attend_engine *engine;
    struct sample reference, sample;
    pthread_barrier_t *start;
    attend_status status;
    bool differs;
};

/* Planned runs and one-shot calls by turns. Criterion's asserts belong to the main thread, so the caller only notes. */
static void *call_repeatedly(void *argument)
{
    struct caller *caller = argument;
    pthread_barrier_wait(caller->start);
    for (int round = 0; round < ROUNDS && !caller->status && !caller->differs; round++) {
        sample_reset(&caller->sample);
        caller->status = round % 4 == 3 ? sample_forward(&caller->sample, caller->engine)
                                        : attend_run(caller->plan, &caller->sample.args);
        const struct guarded *one = &caller->reference.output.memory, *other = &caller->sample.output.memory;
        caller->differs = memcmp(one->data, other->data, one->bytes) != 0;
    }
    return NULL;
}

static void start_callers(struct caller *callers, attend_engine *engine, const attend_plan *plan,
                          pthread_barrier_t *start)
{
    for (int i = 0; i < CALLERS; i++) {
        struct spec spec = host_spec(60 + (uint64_t)i, 30);
        callers[i] = (struct caller){ .plan = plan, .engine = engine, .start = start };
        run_spec(&callers[i].reference, &spec, engine);
        sample_make(&callers[i].sample, &spec);
    }
}

static void expect_callers_agree(attend_isa isa, int64_t inline_work, int32_t slots)
{
    attend_engine_options options = ATTEND_ENGINE_OPTIONS_INIT;
    options.threads = 2;
    options.bind = ATTEND_BIND_OFF;
    options.isa = isa;
    options.inline_work = inline_work;
    options.slots = slots;
    attend_engine *engine;
    expect_ok(attend_engine_create(&engine, &options));
    static struct caller callers[CALLERS];
    pthread_t threads[CALLERS];
    pthread_barrier_t start;
    attend_plan *plan;
    struct spec spec = host_spec(60, 30);
    struct sample shape;
    sample_make(&shape, &spec);
    expect_ok(attend_plan_create(&plan, engine, &shape.problem));
    pthread_barrier_init(&start, NULL, CALLERS);
    start_callers(callers, engine, plan, &start);
    for (int i = 0; i < CALLERS; i++)
        cr_assert(pthread_create(&threads[i], NULL, call_repeatedly, &callers[i]) == 0);
    for (int i = 0; i < CALLERS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < CALLERS; i++) {
        cr_assert(callers[i].status == ATTEND_OK, "caller %d: %s", i, attend_status_name(callers[i].status));
        cr_assert(!callers[i].differs, "caller %d got other bytes", i);
        sample_free(&callers[i].reference);
        sample_free(&callers[i].sample);
    }
    sample_free(&shape);
    attend_plan_destroy(plan);
    attend_engine_destroy(engine);
    pthread_barrier_destroy(&start);
}

static void check_callers(attend_isa isa)
{
    expect_callers_agree(isa, IN_TEAM, 0);
    expect_callers_agree(isa, IN_TEAM, 2);
    expect_callers_agree(isa, IN_CALLER, 1);
    expect_callers_agree(isa, 0, 3);
}

ISA_TESTS(host, concurrent_callers, check_callers)

/* Between guard pages: a byte too many is a crash. */
static void check_workspace(attend_isa isa)
{
    attend_engine *engine = need_engine(isa, 2, 0);
    for (int64_t rows = 1; rows < 100; rows += 31) {
        struct spec spec = host_spec(70, rows);
        struct sample reference, sample;
        attend_plan *plan;
        run_spec(&reference, &spec, engine);
        sample_make(&sample, &spec);
        expect_ok(attend_plan_create(&plan, engine, &sample.problem));
        size_t bytes = attend_plan_workspace_bytes(plan);
        struct guarded workspace;
        guarded_make(&workspace, (bytes + 63) / 64 * 64, rows % 2 ? GUARD_AFTER : GUARD_BEFORE, 0);
        sample.args.workspace = workspace.data;
        sample.args.workspace_bytes = bytes;
        expect_ok(attend_run(plan, &sample.args));
        expect_verdict(compare_samples(&reference, &sample), "workspace of the caller");
        guarded_free(&workspace);
        attend_plan_destroy(plan);
        sample_free(&reference);
        sample_free(&sample);
    }
    attend_engine_destroy(engine);
}

ISA_TESTS(host, workspace_of_the_caller, check_workspace)

/* Every NaN that is written is 0x7fc00000, whatever NaN came in. sample_judge insists on it. */
static void check_nan(attend_isa isa)
{
    static const uint32_t nans[] = { 0x7fc00000, 0xffc00001, 0x7f800001, 0xffbfffff, 0x7fffffff };
    attend_engine *engine = need_engine(isa, 2, 0);
    for (size_t i = 0; i < sizeof nans / sizeof *nans; i++)
        for (int64_t rows = 1; rows < 20; rows += 9) {
            struct spec spec = spec_plain(80 + i, 2, rows, 600, 17, 19);
            struct sample sample;
            spec.with_weights = spec.with_scores = true;
            sample_make(&sample, &spec);
            memcpy(box_at(&sample.query, 0, 0, rows - 1, 16), &nans[i], 4);
            memcpy(box_at(&sample.value, 0, 1, 599, 3), &nans[i], 4);
            expect_ok(sample_forward(&sample, engine));
            expect_verdict(sample_judge(&sample), "NaN");
            sample_free(&sample);
        }
    attend_engine_destroy(engine);
}

ISA_TESTS(host, one_nan, check_nan)
