/* See measurement.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "bench/measurement.h"

#include "bench/failure.h"
#include "bench/result_check.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CHECKED_ROWS = 24, LEAST_ROUNDS = 5, MOST_ROUNDS = 100, WARM_UP_RUNS = 2 };

static const double default_seconds = 1.5;

/* The read limit sweeps the caches, so a warm run follows untimed ones: so many at least, since what the first run brings from memory
 * reaches a third-level cache that holds victims only when the second one's replaces it; and for so long. */
static const double warm_up_seconds = 5e-3;

struct session {
    attend_engine *engine;
    attend_plan *plan;
    struct problem_data *data;
    const struct measure_options *options;
    int64_t next_copy;
    char *error;
    size_t error_size;
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static bool succeeded(struct session *session, attend_status status)
{
    return status == ATTEND_OK || failure_describe(session->error, session->error_size, "%s", attend_last_error());
}

static bool time_run(struct session *session, double *seconds)
{
    if (session->data->copies > 1) {
        problem_data_select(session->data, session->next_copy);
        session->next_copy = (session->next_copy + 1) % session->data->copies;
    }
    double start = now();
    attend_status status = attend_run(session->plan, &session->data->args);
    *seconds = now() - start;
    return succeeded(session, status);
}

static bool warm_up(struct session *session)
{
    double seconds, total = 0;
    for (int runs = 0; runs < WARM_UP_RUNS || total < warm_up_seconds; runs++) {
        if (!time_run(session, &seconds))
            return false;
        total += seconds;
    }
    return true;
}

static bool measure_peak(struct session *session, double *peak)
{
    return succeeded(session, attend_engine_measure(session->engine, ATTEND_MEASURE_MULTIPLY_ADD, NULL, 0, peak));
}

/* The peak is taken right before and right after the run: a processor that has just been waiting for memory runs faster for a moment
 * than one that computes. It leaves the caches alone. */
static bool measure_round(struct session *session, double *peak, double *seconds, double *read)
{
    double before, after;
    if ((!session->options->cold && !warm_up(session)) || !measure_peak(session, &before) || !time_run(session, seconds) ||
        !measure_peak(session, &after))
        return false;
    *peak = (before + after) / 2;
    return succeeded(session, attend_engine_measure(session->engine, ATTEND_MEASURE_READ, session->options->read_memory,
                                                    MEASURE_READ_BYTES, read));
}

static int64_t choose_rounds(double round_seconds)
{
    double rounds = default_seconds / round_seconds;
    return rounds < LEAST_ROUNDS ? LEAST_ROUNDS : rounds > MOST_ROUNDS ? MOST_ROUNDS : (int64_t)rounds;
}

/* One round that is not counted warms up and tells how long a round takes. samples: peak, seconds, read; [rounds]
 * each. */
static double *measure_rounds(struct session *session, int64_t *rounds)
{
    double peak, seconds, read, start = now();
    if (!measure_round(session, &peak, &seconds, &read))
        return NULL;
    if (*rounds == 0)
        *rounds = choose_rounds(now() - start);
    double *samples = calloc((size_t)*rounds, 3 * sizeof *samples);
    if (!samples) {
        failure_describe(session->error, session->error_size, "not enough memory for %lld samples", (long long)*rounds);
        return NULL;
    }
    for (int64_t i = 0; i < *rounds; i++) {
        if (!measure_round(session, &samples[i], &samples[*rounds + i], &samples[2 * *rounds + i])) {
            free(samples);
            return NULL;
        }
    }
    return samples;
}

/* Pairs are counted without visibility tensor and bias, which would be read number by number and spare the run next to nothing. */
static bool count_work(struct session *session, struct measurement *result)
{
    attend_explanation explanation = ATTEND_EXPLANATION_INIT;
    attend_args args = session->data->args;
    args.visible = args.bias = NULL;
    if (!succeeded(session, attend_plan_explain(session->plan, &args, &explanation)))
        return false;
    const attend_problem *problem = &session->data->problem;
    result->visible_flops = 2.0 * (double)(problem->d_k + problem->d_v) * explanation.visible_pairs;
    result->kv_bytes = problem_data_kv_bytes(session->data);
    return true;
}

static void derive_rates(struct measurement *result)
{
    result->flop_rate = result->visible_flops / result->seconds.median;
    result->byte_rate = result->kv_bytes / result->seconds.median;
    result->peak_fraction = result->flop_rate / result->peak_flop_rate;
    result->read_fraction = result->byte_rate / result->read_byte_rate;
}

static bool measure_session(struct session *session, struct measurement *result)
{
    result->rounds = session->options->repeat;
    double *samples = measure_rounds(session, &result->rounds);
    if (!samples)
        return false;
    size_t rounds = (size_t)result->rounds;
    result->peak_flop_rate = statistics_of(samples, rounds).median;
    result->seconds = statistics_of(samples + rounds, rounds);
    result->read_byte_rate = statistics_of(samples + 2 * rounds, rounds).median;
    free(samples);
    if (!count_work(session, result))
        return false;
    derive_rates(result);
    struct result_check check;
    struct problem_data *data = session->data;
    return result_check_rows(&check, &data->problem, &data->args, CHECKED_ROWS, data->seed, session->error,
                             session->error_size);
}

bool measure_problem(struct measurement *result, attend_engine *engine, struct problem_data *data,
                     const struct measure_options *options, char *error, size_t size)
{
    memset(result, 0, sizeof *result);
    struct session session = { .engine = engine, .data = data, .options = options, .error = error, .error_size = size };
    if (!succeeded(&session, attend_plan_create(&session.plan, engine, &data->problem)))
        return false;
    bool done = measure_session(&session, result);
    attend_plan_destroy(session.plan);
    return done;
}

bool measure_map_read_memory(struct page_memory *memory, bool small_pages)
{
    if (!page_memory_map(memory, MEASURE_READ_BYTES, small_pages))
        return false;
    /* Not zeros: the operating system may keep one page for all of them. */
    memset(memory->data, 1, MEASURE_READ_BYTES);
    return true;
}
