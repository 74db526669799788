/* How a host embeds attend: a batch of sequences of unequal length, padded to the longest, goes through an engine and
 * a plan. The padding holds NaN, which would show in the result if any of it were used. Writes inputs and results as
 * .npy files and prints what ran where, how long it took, how much work the padding saved, and how far the result is
 * from float64.
 *
 *     padded_batch FOLDER
 *
 * Uses the public header of the library, the .npy writer and the oracle. */
#include "attend/attend.h"
#include "bench/npy.h"
#include "bench/result_check.h"
#include "bench/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCH = 32, HEADS = 12, LONGEST = 128, SHORTEST = 16, WIDTH = 64, RUNS = 20, CHECKED_ROWS = 200 };

/* Elements of the query, and equally of key, value and context: [BATCH][HEADS][LONGEST][WIDTH]. */
enum { ELEMENTS = BATCH * HEADS * LONGEST * WIDTH };

struct batch {
    float *query, *key, *value, *context; /* [BATCH][HEADS][LONGEST][WIDTH] */
    float *lse;                           /* [BATCH][HEADS][LONGEST] */
    int64_t lengths[BATCH];
};

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "padded_batch: %s: %s\n", what, why);
    return 1;
}

/* ---- the host's data --------------------------------------------------------------------------------------------- */

/* Uniform numbers from -1.7 to 1.7, deviation 1, of a linear congruential generator. */
static float next_number(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (float)((int32_t)(*state >> 40) - (1 << 23)) * (1.7320508f / (1 << 23));
}

/* Real rows get numbers, padding gets NaN. */
static void fill_tensor(float *tensor, const int64_t *lengths, uint64_t *state)
{
    for (int item = 0; item < BATCH; item++)
        for (int head = 0; head < HEADS; head++)
            for (int row = 0; row < LONGEST; row++)
                for (int d = 0; d < WIDTH; d++)
                    *tensor++ = row < lengths[item] ? next_number(state) : NAN;
}

static int make_batch(struct batch *batch)
{
    uint64_t state = 1;
    batch->query = malloc(ELEMENTS * sizeof(float));
    batch->key = malloc(ELEMENTS * sizeof(float));
    batch->value = malloc(ELEMENTS * sizeof(float));
    batch->context = calloc(ELEMENTS, sizeof(float));
    batch->lse = calloc(ELEMENTS / WIDTH, sizeof(float));
    if (!batch->query || !batch->key || !batch->value || !batch->context || !batch->lse)
        return fail("the batch", "not enough memory");
    for (int item = 0; item < BATCH; item++)
        batch->lengths[item] = SHORTEST + (int64_t)(LONGEST - SHORTEST) * item / (BATCH - 1);
    fill_tensor(batch->query, batch->lengths, &state);
    fill_tensor(batch->key, batch->lengths, &state);
    fill_tensor(batch->value, batch->lengths, &state);
    return 0;
}

static void free_batch(struct batch *batch)
{
    free(batch->query);
    free(batch->key);
    free(batch->value);
    free(batch->context);
    free(batch->lse);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static int write_file(const char *folder, const char *name, const char *descr, size_t item_bytes, int rank,
                      const int64_t *shape, const void *data)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *stream = fopen(path, "wb");
    int good = stream && npy_write(stream, descr, item_bytes, rank, shape, data);
    if (stream)
        good = fclose(stream) == 0 && good;
    return good ? 0 : fail(path, "cannot be written");
}

static int write_tensor(const char *folder, const char *name, int rank, const float *data)
{
    static const int64_t shape[4] = { BATCH, HEADS, LONGEST, WIDTH };
    return write_file(folder, name, "<f4", sizeof *data, rank, shape, data);
}

static int write_inputs(const char *folder, const struct batch *batch)
{
    static const int64_t shape[1] = { BATCH };
    return write_tensor(folder, "query.npy", 4, batch->query) || write_tensor(folder, "key.npy", 4, batch->key) ||
           write_tensor(folder, "value.npy", 4, batch->value) ||
           write_file(folder, "lengths.npy", "<i8", sizeof batch->lengths[0], 1, shape, batch->lengths);
}

static int write_results(const char *folder, const struct batch *batch)
{
    return write_tensor(folder, "context.npy", 4, batch->context) || write_tensor(folder, "lse.npy", 3, batch->lse);
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

/* Runs the plan RUNS times, as the layers of a model would; *seconds is the median time of a run. */
static int run_layers(const attend_plan *plan, const attend_args *args, double *seconds)
{
    double samples[RUNS];
    for (int i = 0; i < RUNS; i++) {
        struct timespec start, end;
        clock_gettime(CLOCK_MONOTONIC, &start);
        if (attend_run(plan, args) != ATTEND_OK)
            return fail("attend_run", attend_last_error());
        clock_gettime(CLOCK_MONOTONIC, &end);
        samples[i] = (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
    }
    *seconds = statistics_of(samples, RUNS).median;
    return 0;
}

static int print_team(attend_engine *engine)
{
    attend_engine_info info = ATTEND_ENGINE_INFO_INIT;
    attend_cpu cpus[1024];
    if (attend_engine_describe(engine, &info) != ATTEND_OK)
        return fail("attend_engine_describe", attend_last_error());
    size_t count = attend_engine_cpus(engine, cpus, 1024);
    printf("ran on       %d threads, %d of them bound", info.threads, info.threads_bound);
    const char *separator = ", on CPUs ";
    for (size_t i = 0; i < count && i < 1024; i++) {
        if (cpus[i].member < 0)
            continue;
        printf("%s%d", separator, cpus[i].cpu);
        separator = ",";
    }
    printf("; instruction set %s\n", attend_isa_name(info.isa));
    return 0;
}

static int print_findings(const attend_plan *plan, const attend_problem *problem, const attend_args *args,
                          double seconds)
{
    attend_explanation explanation = ATTEND_EXPLANATION_INIT;
    struct result_check check;
    char error[512];
    if (attend_plan_explain(plan, args, &explanation) != ATTEND_OK)
        return fail("attend_plan_explain", attend_last_error());
    printf("time         %.3f ms, median of %d runs\n", 1e3 * seconds, RUNS);
    printf("skipped      %.1f %% of the padded work: %.2f of %.2f million (row, key) pairs computed\n",
           100 * (1 - explanation.computed_pairs / explanation.padded_pairs), 1e-6 * explanation.computed_pairs,
           1e-6 * explanation.padded_pairs);
    if (!result_check_rows(&check, problem, args, CHECKED_ROWS, 1, error, sizeof error))
        return fail("the result", error);
    printf("difference   to float64 on %d rows: context %.2g (%.0f %% of the bound), LSE %.2g (%.0f %% of the bound)\n",
           check.rows, check.output_error, 100 * check.output_share, check.lse_error, 100 * check.lse_share);
    return 0;
}

static int attend_batch(attend_engine *engine, struct batch *batch)
{
    attend_problem problem = ATTEND_PROBLEM_INIT;
    problem.batch = BATCH;
    problem.heads = problem.kv_heads = HEADS;
    problem.rows = problem.keys = LONGEST;
    problem.d_k = problem.d_v = WIDTH;
    attend_tensor query = attend_view_bhsd(batch->query, HEADS, LONGEST, WIDTH);
    attend_tensor key = attend_view_bhsd(batch->key, HEADS, LONGEST, WIDTH);
    attend_tensor value = attend_view_bhsd(batch->value, HEADS, LONGEST, WIDTH);
    attend_tensor context = attend_view_bhsd(batch->context, HEADS, LONGEST, WIDTH);
    attend_tensor lse = attend_view_bhsd(batch->lse, HEADS, LONGEST, 1);
    attend_args args = ATTEND_ARGS_INIT;
    args.query = &query;
    args.key = &key;
    args.value = &value;
    args.output = &context;
    args.lse = &lse;
    args.key_lengths = args.query_lengths = batch->lengths;

    attend_plan *plan;
    double seconds;
    if (attend_plan_create(&plan, engine, &problem) != ATTEND_OK)
        return fail("attend_plan_create", attend_last_error());
    int status = run_layers(plan, &args, &seconds) || print_team(engine) ||
                 print_findings(plan, &problem, &args, seconds);
    attend_plan_destroy(plan);
    return status;
}

int main(int argc, char **argv)
{
    struct batch batch = { .query = NULL };
    attend_engine *engine = NULL;
    if (argc != 2) {
        fprintf(stderr, "Usage: padded_batch FOLDER\n");
        return 2;
    }
    int status = make_batch(&batch) || write_inputs(argv[1], &batch);
    if (!status) {
        printf("batch        %d sequences of %d to %d tokens, padded to %d with NaN; %d heads of width %d\n", BATCH,
               SHORTEST, LONGEST, LONGEST, HEADS, WIDTH);
        if (attend_engine_create(&engine, NULL) != ATTEND_OK)
            status = fail("attend_engine_create", attend_last_error());
    }
    if (!status)
        status = attend_batch(engine, &batch) || write_results(argv[1], &batch);
    attend_engine_destroy(engine);
    free_batch(&batch);
    return status;
}
