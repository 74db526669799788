/* See show_steps.h. The library forms its scores with scale and mask in one go, so each step is a run of its own:
 * without scale and mask, without mask, and as asked for. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/cli/show_steps.h"

#include "engine/cli/command_options.h"
#include "engine/cli/messages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct call {
    attend_problem problem;
    attend_args args;
    attend_tensor query, key, value, output, scores, weights, visible;
};

static int allocate_steps(struct show_steps *steps, const struct vector_table *table)
{
    size_t n = table->tokens, matrix = n * n;
    /* At most 1000 tokens, and a file of 16 MiB: no product overflows. */
    float *memory = calloc(4 * matrix + n * table->d_v, sizeof *memory);
    memset(steps, 0, sizeof *steps);
    if (!memory)
        return message_failure("not enough memory for the scores of %zu tokens", n);
    steps->memory = memory;
    steps->tokens = n;
    steps->d_v = table->d_v;
    steps->raw = memory;
    steps->scaled = memory + matrix;
    steps->masked = memory + 2 * matrix;
    steps->weights = memory + 3 * matrix;
    steps->context = memory + 4 * matrix;
    return STATUS_DONE;
}

/* A call with the library's scale and everything visible. */
static void prepare_call(struct call *call, const struct show_steps *steps, const struct vector_table *table)
{
    int64_t n = (int64_t)table->tokens, d_k = (int64_t)table->d_k, d_v = (int64_t)table->d_v;
    *call = (struct call){ .problem = ATTEND_PROBLEM_INIT, .args = ATTEND_ARGS_INIT };
    call->problem.batch = call->problem.heads = call->problem.kv_heads = 1;
    call->problem.rows = call->problem.keys = n;
    call->problem.d_k = d_k;
    call->problem.d_v = d_v;
    call->query = attend_view_bhsd(table->query, 1, n, d_k);
    call->key = attend_view_bhsd(table->key, 1, n, d_k);
    call->value = attend_view_bhsd(table->value, 1, n, d_v);
    call->output = attend_view_bhsd(steps->context, 1, n, d_v);
    call->args.query = &call->query;
    call->args.key = &call->key;
    call->args.value = &call->value;
    call->args.output = &call->output;
    call->args.scores = &call->scores;
}

static int run_call(struct call *call, attend_engine *engine, float *scores)
{
    call->scores = attend_view_bhsd(scores, 1, call->problem.rows, call->problem.keys);
    if (attend_forward(engine, &call->problem, &call->args) == ATTEND_OK)
        return STATUS_DONE;
    return message_failure("%s", message_library_text(attend_last_error()));
}

static void set_scale(struct call *call, float scale)
{
    call->problem.flags |= ATTEND_EXPLICIT_SCALE;
    call->problem.scale = scale;
}

static void set_mask(struct call *call, const struct show_rules *rules, unsigned char *visible)
{
    call->problem.causal = rules->causal;
    call->problem.diagonal = rules->diagonal;
    if (rules->pad_visible)
        return;
    /* One row of flags for all queries. */
    call->visible = (attend_tensor)ATTEND_TENSOR_INIT;
    call->visible.dtype = ATTEND_BOOL;
    call->visible.data = visible;
    call->visible.stride[3] = 1;
    call->args.visible = &call->visible;
}

static int run_steps(struct show_steps *steps, const struct vector_table *table, const struct show_rules *rules,
                     attend_engine *engine, unsigned char *visible)
{
    struct call call;
    prepare_call(&call, steps, table);
    set_scale(&call, 1);
    int status = run_call(&call, engine, steps->raw);
    if (status != STATUS_DONE)
        return status;
    prepare_call(&call, steps, table);
    if (rules->explicit_scale)
        set_scale(&call, rules->scale);
    status = run_call(&call, engine, steps->scaled);
    if (status != STATUS_DONE)
        return status;
    set_mask(&call, rules, visible);
    call.weights = attend_view_bhsd(steps->weights, 1, call.problem.rows, call.problem.keys);
    call.args.weights = &call.weights;
    return run_call(&call, engine, steps->masked);
}

static void look_at_weights(struct show_steps *steps)
{
    size_t count = steps->tokens * steps->tokens, hidden = 0;
    float largest = 0;
    steps->largest = count;
    for (size_t i = 0; i < count; i++) {
        hidden = i % steps->tokens == 0 ? 0 : hidden;
        hidden += steps->masked[i] == -INFINITY;
        steps->row_empty |= hidden == steps->tokens;
        if (steps->weights[i] > largest) {
            largest = steps->weights[i];
            steps->largest = i;
        }
    }
}

int show_steps_compute(struct show_steps *steps, const struct vector_table *table, const struct show_rules *rules)
{
    /* One small job: no team is worth its start. */
    struct engine_settings settings = { .threads = 1, .bind = ATTEND_BIND_OFF, .isa = rules->isa };
    attend_engine *engine = NULL;
    int status = allocate_steps(steps, table);
    unsigned char *visible = malloc(table->tokens);
    if (status == STATUS_DONE && !visible)
        status = message_failure("not enough memory for %zu tokens", table->tokens);
    if (status == STATUS_DONE)
        status = engine_settings_create(&settings, &engine);
    if (status == STATUS_DONE) {
        for (size_t i = 0; i < table->tokens; i++) {
            visible[i] = !vector_table_is_padding(table, i);
            steps->pad_hidden |= !visible[i] && !rules->pad_visible;
        }
        steps->scale = rules->explicit_scale ? (double)rules->scale : 1 / sqrt((double)table->d_k);
        status = run_steps(steps, table, rules, engine, visible);
    }
    if (status == STATUS_DONE)
        look_at_weights(steps);
    attend_engine_destroy(engine);
    free(visible);
    return status;
}

void show_steps_release(struct show_steps *steps)
{
    free(steps->memory);
    steps->memory = NULL;
}
