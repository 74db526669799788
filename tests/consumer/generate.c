/* How a server generates with attend: sequences join one after the other, the prompt of the new one and the next tokens of the others go
 * through one call, and all keys and values lie in pages of one pool, handed out as sequences grow. In the end every row is compared,
 * byte for byte, with causal attention over the whole sequence in one call.
 *
 *     generate
 *
 * Uses the public header alone. Queries, keys and values, which a model would compute, are random numbers. */
#include "attend/attend.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SEQUENCES = 4, HEADS = 16, KV_HEADS = 4, WIDTH = 64, STEPS = 400, JOIN_EVERY = 60, PAGE_KEYS = 16 };

static const int64_t prompts[SEQUENCES] = { 300, 1000, 37, 512 };

enum { LONGEST = 1000 + STEPS, TABLE = (LONGEST + PAGE_KEYS - 1) / PAGE_KEYS, PAGES = SEQUENCES * TABLE };

/* Of one token: its vectors for all heads. */
enum { QUERY = HEADS * WIDTH, KEY = KV_HEADS * WIDTH };

struct sequence {
    int64_t joins, length;        /* step at which it begins; tokens in the cache */
    float *query, *key, *value;   /* [LONGEST][heads][WIDTH]: what the model gives for each token */
    float *context;               /* [LONGEST][HEADS][WIDTH]: what came of the steps */
};

struct server {
    attend_engine *engine;
    attend_plan *plan;
    float *key, *value;           /* [PAGES][KV_HEADS][PAGE_KEYS][WIDTH] */
    int32_t tables[SEQUENCES][TABLE];
    int32_t pages_taken;
    struct sequence sequence[SEQUENCES];
    float *query, *new_key, *new_value, *context; /* of a step, token after token */
    int64_t offsets[SEQUENCES + 1], lengths[SEQUENCES], before[SEQUENCES];
    double seconds, bytes;
};

enum { POOL = PAGES * KV_HEADS * PAGE_KEYS * WIDTH };

static int fail(const char *what)
{
    fprintf(stderr, "generate: %s: %s\n", what, attend_last_error());
    return 1;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static float *make_numbers(int64_t count, uint64_t *state)
{
    float *numbers = malloc((size_t)count * sizeof *numbers);
    for (int64_t i = 0; numbers && i < count; i++) {
        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        numbers[i] = (float)((int32_t)(*state >> 40) - (1 << 23)) * (1.7320508f / (1 << 23));
    }
    return numbers;
}

/* ---- the server -------------------------------------------------------------------------------------------------- */

/* A row of the step for every new token of every sequence; keys in pages. Capacities are those of the largest step. */
static attend_problem describe_steps(void)
{
    attend_problem problem = ATTEND_PROBLEM_INIT;
    problem.batch = SEQUENCES;
    problem.heads = HEADS;
    problem.kv_heads = KV_HEADS;
    problem.rows = LONGEST;
    problem.keys = LONGEST;
    problem.d_k = problem.d_v = WIDTH;
    problem.causal = 1;
    problem.flags = ATTEND_PACKED_QUERIES | ATTEND_PAGED_KEYS;
    problem.page_keys = PAGE_KEYS;
    return problem;
}

static int start(struct server *server)
{
    uint64_t state = 1;
    const attend_problem problem = describe_steps();
    void *key, *value;
    if (attend_engine_create(&server->engine, NULL) || attend_plan_create(&server->plan, server->engine, &problem))
        return fail("engine");
    if (attend_cache_allocate(NULL, POOL * sizeof(float), &key) || attend_cache_allocate(NULL, POOL * sizeof(float), &value))
        return fail("cache");
    server->key = key;
    server->value = value;
    for (int i = 0; i < SEQUENCES; i++) {
        struct sequence *sequence = &server->sequence[i];
        sequence->joins = i * JOIN_EVERY;
        sequence->query = make_numbers(LONGEST * QUERY, &state);
        sequence->key = make_numbers(LONGEST * KEY, &state);
        sequence->value = make_numbers(LONGEST * KEY, &state);
        sequence->context = make_numbers(LONGEST * QUERY, &state);
        if (!sequence->query || !sequence->key || !sequence->value || !sequence->context)
            return fail("memory");
    }
    server->query = make_numbers(LONGEST * QUERY, &state);
    server->new_key = make_numbers(LONGEST * KEY, &state);
    server->new_value = make_numbers(LONGEST * KEY, &state);
    server->context = make_numbers(LONGEST * QUERY, &state);
    return server->query && server->new_key && server->new_value && server->context ? 0 : fail("memory");
}

/* Tokens that a sequence has in a step: none before it joins, then its prompt, then one at a time. */
static int64_t tokens_of(const struct sequence *sequence, int i, int step)
{
    return step < sequence->joins ? 0 : sequence->length == 0 ? prompts[i] : 1;
}

/* Gathers the step's tokens, and gives pages to sequences that outgrow theirs. */
static void gather(struct server *server, int step)
{
    server->offsets[0] = 0;
    for (int i = 0; i < SEQUENCES; i++) {
        struct sequence *sequence = &server->sequence[i];
        const int64_t at = server->offsets[i], tokens = tokens_of(sequence, i, step), first = sequence->length;
        memcpy(server->query + at * QUERY, sequence->query + first * QUERY, (size_t)(tokens * QUERY) * sizeof(float));
        memcpy(server->new_key + at * KEY, sequence->key + first * KEY, (size_t)(tokens * KEY) * sizeof(float));
        memcpy(server->new_value + at * KEY, sequence->value + first * KEY, (size_t)(tokens * KEY) * sizeof(float));
        for (int64_t page = (first + PAGE_KEYS - 1) / PAGE_KEYS; page * PAGE_KEYS < first + tokens; page++)
            server->tables[i][page] = server->pages_taken++;
        server->offsets[i + 1] = at + tokens;
        server->before[i] = first;
        server->lengths[i] = sequence->length = first + tokens;
    }
}

static int append(struct server *server, const attend_tensor *key, const attend_tensor *value)
{
    const int64_t rows = server->offsets[SEQUENCES];
    const attend_tensor new_key = attend_view_bshd(server->new_key, KV_HEADS, rows, WIDTH);
    const attend_tensor new_value = attend_view_bshd(server->new_value, KV_HEADS, rows, WIDTH);
    attend_append_args args = ATTEND_APPEND_ARGS_INIT;
    args.batch = SEQUENCES;
    args.kv_heads = KV_HEADS;
    args.d_k = args.d_v = WIDTH;
    args.rows = rows;
    args.keys = LONGEST;
    args.new_key = &new_key;
    args.new_value = &new_value;
    args.key = key;
    args.value = value;
    args.lengths = server->before;
    args.new_offsets = server->offsets;
    args.page_keys = PAGE_KEYS;
    args.block_tables = server->tables[0];
    args.table_stride = TABLE;
    args.pages = PAGES;
    return attend_append(server->engine, &args) ? fail("append") : 0;
}

static int attend(struct server *server, const attend_tensor *key, const attend_tensor *value)
{
    const int64_t rows = server->offsets[SEQUENCES];
    const attend_tensor query = attend_view_bshd(server->query, HEADS, rows, WIDTH);
    const attend_tensor context = attend_view_bshd(server->context, HEADS, rows, WIDTH);
    attend_args args = ATTEND_ARGS_INIT;
    args.rows = rows;
    args.query = &query;
    args.key = key;
    args.value = value;
    args.output = &context;
    args.query_offsets = server->offsets;
    args.key_lengths = server->lengths;
    args.block_tables = server->tables[0];
    args.table_stride = TABLE;
    args.pages = PAGES;
    return attend_run(server->plan, &args) ? fail("run") : 0;
}

static int take_step(struct server *server, int step)
{
    const attend_tensor key = attend_view_bhsd(server->key, KV_HEADS, PAGE_KEYS, WIDTH);
    const attend_tensor value = attend_view_bhsd(server->value, KV_HEADS, PAGE_KEYS, WIDTH);
    gather(server, step);
    if (append(server, &key, &value))
        return 1;
    const double begin = now();
    if (attend(server, &key, &value))
        return 1;
    server->seconds += now() - begin;
    for (int i = 0; i < SEQUENCES; i++) {
        const int64_t tokens = server->offsets[i + 1] - server->offsets[i];
        memcpy(server->sequence[i].context + server->before[i] * QUERY, server->context + server->offsets[i] * QUERY,
               (size_t)(tokens * QUERY) * sizeof(float));
        if (tokens > 0)
            server->bytes += (double)server->lengths[i] * 2 * KEY * sizeof(float);
    }
    return 0;
}

/* ---- the proof --------------------------------------------------------------------------------------------------- */

/* The whole sequence in one call. Returns the rows that differ, or -1. */
static int64_t compare_sequence(struct server *server, const struct sequence *sequence)
{
    attend_problem problem = ATTEND_PROBLEM_INIT;
    const int64_t n = sequence->length;
    float *whole = calloc((size_t)(n * QUERY) + 1, sizeof *whole);
    int64_t wrong = 0;
    problem.batch = 1;
    problem.heads = HEADS;
    problem.kv_heads = KV_HEADS;
    problem.rows = problem.keys = n;
    problem.d_k = problem.d_v = WIDTH;
    problem.causal = 1;
    const attend_tensor query = attend_view_bshd(sequence->query, HEADS, n, WIDTH);
    const attend_tensor key = attend_view_bshd(sequence->key, KV_HEADS, n, WIDTH);
    const attend_tensor value = attend_view_bshd(sequence->value, KV_HEADS, n, WIDTH);
    const attend_tensor context = attend_view_bshd(whole, HEADS, n, WIDTH);
    attend_args args = ATTEND_ARGS_INIT;
    args.query = &query;
    args.key = &key;
    args.value = &value;
    args.output = &context;
    if (!whole || attend_forward(server->engine, &problem, &args))
        wrong = -1;
    for (int64_t row = 0; wrong >= 0 && row < n; row++)
        wrong += memcmp(whole + row * QUERY, sequence->context + row * QUERY, QUERY * sizeof(float)) != 0;
    free(whole);
    return wrong;
}

static void stop(struct server *server)
{
    for (int i = 0; i < SEQUENCES; i++) {
        free(server->sequence[i].query);
        free(server->sequence[i].key);
        free(server->sequence[i].value);
        free(server->sequence[i].context);
    }
    free(server->query);
    free(server->new_key);
    free(server->new_value);
    free(server->context);
    attend_cache_release(server->key, POOL * sizeof(float));
    attend_cache_release(server->value, POOL * sizeof(float));
    attend_plan_destroy(server->plan);
    attend_engine_destroy(server->engine);
}

int main(void)
{
    static struct server server;
    int failed = start(&server);
    int64_t rows = 0;
    for (int step = 0; !failed && step < STEPS; step++)
        failed = take_step(&server, step);
    for (int i = 0; !failed && i < SEQUENCES; i++) {
        const int64_t wrong = compare_sequence(&server, &server.sequence[i]);
        rows += server.sequence[i].length;
        printf("sequence %d: prompt of %" PRId64 ", %" PRId64 " tokens, %s one call over all of them\n", i, prompts[i],
               server.sequence[i].length, wrong == 0 ? "the bytes of" : "NOT the bytes of");
        failed = wrong < 0 ? fail("one call") : wrong > 0;
    }
    if (!failed)
        printf("%d steps, %" PRId64 " tokens, %" PRId32 " pages of %d keys: %.1f us a step, %.1f GB/s of keys and values\n", STEPS, rows,
               server.pages_taken, PAGE_KEYS, 1e6 * server.seconds / STEPS, server.bytes / server.seconds / 1e9);
    stop(&server);
    return failed;
}
