/* Ending a run before its time: by flag and by deadline, in the caller and in the team, in both passes; what the engine does afterwards;
 * and that others' runs do not notice. Delays are printed and judged against a second only. */
#include "tests/help_suite.h"

#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int64_t read_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Work for seconds, unless it ends early: keys and values are few numbers seen by many heads and rows. */
static struct spec long_spec(attend_isa isa)
{
    struct spec spec = spec_plain(1, isa == ATTEND_ISA_PORTABLE ? 8 : 64, 2048, 4096, 64, 64);
    spec.query_shared = SHARED_HEADS | SHARED_ROWS;
    spec.kv_shared = SHARED_HEADS;
    return spec;
}

struct flag {
    int32_t raised;
    int64_t when;
};

static void *raise_later(void *argument)
{
    struct flag *flag = argument;
    usleep(60000);
    flag->when = read_clock();
    __atomic_store_n(&flag->raised, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void expect_ended(attend_status status, attend_status expected, const char *words, int64_t since)
{
    const double delay = (double)(read_clock() - since) * 1e-6;
    cr_assert(status == expected, "%s: %s", attend_status_name(status), status ? attend_last_error() : "the run went to its end");
    cr_assert(strstr(attend_last_error(), words) != NULL, "'%s' does not say '%s'", attend_last_error(), words);
    cr_log_info("%s: ended after %.2f ms\n", words, delay);
    cr_assert(delay < 1000.0, "%s: ended after %.0f ms", words, delay);
}

static void expect_works(attend_engine *engine)
{
    struct spec spec = spec_plain(5, 4, 40, 700, 16, 16);
    struct sample sample;
    sample_make(&sample, &spec);
    expect_ok(sample_forward(&sample, engine));
    expect_verdict(sample_judge(&sample), "after a run that was ended");
    sample_free(&sample);
}

static void end_by_flag(struct sample *sample, attend_engine *engine)
{
    struct flag flag = { 0, 0 };
    pthread_t raiser;
    sample->args.cancel = &flag.raised;
    sample->args.deadline = 0;
    cr_assert(pthread_create(&raiser, NULL, raise_later, &flag) == 0);
    const attend_status status = sample_forward(sample, engine);
    const int64_t ended = read_clock();
    pthread_join(raiser, NULL);
    expect_ended(status, ATTEND_ERR_CANCELLED, "args.cancel", read_clock() - ended + flag.when);
}

static void end_by_deadline(struct sample *sample, attend_engine *engine)
{
    const int64_t deadline = read_clock() + 60000000;
    sample->args.cancel = NULL;
    sample->args.deadline = deadline;
    expect_ended(sample_forward(sample, engine), ATTEND_ERR_TIMEOUT, "args.deadline", deadline);
}

static void check_long_runs(attend_isa isa)
{
    static const int64_t places[] = { IN_TEAM, INT64_MAX };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        attend_engine *engine = need_engine(isa, 2, places[i]);
        struct spec spec = long_spec(isa);
        struct sample sample;
        sample_make(&sample, &spec);
        end_by_flag(&sample, engine);
        end_by_deadline(&sample, engine);
        cr_assert(box_is_clean(&sample.output), "written outside the output");
        sample_free(&sample);
        expect_works(engine);
        attend_engine_destroy(engine);
    }
}

ISA_TESTS(halt, long_runs, check_long_runs)

/* A run of a single unit, of ten milliseconds or more, has to look at the time in the middle of it. */
static void check_one_unit(attend_isa isa)
{
    attend_engine *engine = need_engine(isa, 1, IN_CALLER);
    struct spec spec = spec_plain(3, 1, 24, isa == ATTEND_ISA_PORTABLE ? 50000 : 200000, 64, 64);
    struct sample sample;
    attend_plan *plan;
    attend_explanation explanation = ATTEND_EXPLANATION_INIT;
    spec.kv_shared = SHARED_ROWS;
    sample_make(&sample, &spec);
    expect_ok(attend_plan_create(&plan, engine, &sample.problem));
    expect_ok(attend_plan_explain(plan, &sample.args, &explanation));
    cr_assert(explanation.units == 1, "%lld units", (long long)explanation.units);
    sample.args.deadline = read_clock() + 2000000;
    expect_ended(attend_run(plan, &sample.args), ATTEND_ERR_TIMEOUT, "args.deadline", sample.args.deadline);
    attend_plan_destroy(plan);
    sample_free(&sample);
    attend_engine_destroy(engine);
}

ISA_TESTS(halt, deadline_in_a_unit, check_one_unit)

/* Before it begins, a run ends in either pass; with a far deadline it does not end, and has the bytes of any other. */
static void check_short_runs(attend_isa isa)
{
    static const int32_t raised = 1, lowered = 0;
    attend_engine *engine = need_engine(isa, 2, IN_TEAM);
    for (int sums = 0; sums < 2; sums++) {
        struct spec spec = spec_plain(7, 4, 50, 1100, 16, 16);
        struct sample usual, sample;
        spec.with_key_sums = sums;
        spec.flags |= sums ? ATTEND_KEY_SUMS : 0;
        sample_make(&usual, &spec);
        sample_make(&sample, &spec);
        expect_ok(sample_forward(&usual, engine));
        sample.args.cancel = &raised;
        expect_ended(sample_forward(&sample, engine), ATTEND_ERR_CANCELLED, "args.cancel", read_clock());
        sample.args.cancel = &lowered;
        sample.args.deadline = 1;
        expect_ended(sample_forward(&sample, engine), ATTEND_ERR_TIMEOUT, "args.deadline", read_clock());
        sample.args.deadline = INT64_MAX;
        expect_ok(sample_forward(&sample, engine));
        expect_verdict(compare_samples(&usual, &sample), "with a far deadline");
        sample_free(&sample);
        sample_free(&usual);
    }
    attend_engine_destroy(engine);
}

ISA_TESTS(halt, short_runs, check_short_runs)

struct neighbour {
    attend_engine *engine;
    const struct sample *usual;
    const char *said;
    int32_t stop;
};

static void *run_beside(void *argument)
{
    struct neighbour *neighbour = argument;
    struct sample sample;
    sample_make(&sample, &neighbour->usual->spec);
    while (!neighbour->said && !__atomic_load_n(&neighbour->stop, __ATOMIC_RELAXED)) {
        sample_reset(&sample);
        neighbour->said = sample_forward(&sample, neighbour->engine) ? "a run beside failed" : compare_samples(neighbour->usual, &sample);
    }
    sample_free(&sample);
    return NULL;
}

static void check_neighbours(attend_isa isa)
{
    attend_engine *engine = need_engine(isa, 2, IN_TEAM);
    struct spec spec = spec_plain(9, 2, 60, 600, 16, 16), ended = long_spec(isa);
    struct sample usual, sample;
    sample_make(&usual, &spec);
    sample_make(&sample, &ended);
    expect_ok(sample_forward(&usual, engine));
    struct neighbour neighbour = { engine, &usual, NULL, 0 };
    pthread_t thread;
    cr_assert(pthread_create(&thread, NULL, run_beside, &neighbour) == 0);
    for (int i = 0; i < 3; i++)
        end_by_flag(&sample, engine);
    __atomic_store_n(&neighbour.stop, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    expect_verdict(neighbour.said, "beside runs that are ended");
    sample_free(&sample);
    sample_free(&usual);
    attend_engine_destroy(engine);
}

ISA_TESTS(halt, runs_beside, check_neighbours)
