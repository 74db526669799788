/* See help_sample.h. */
#include "tests/help_sample.h"

#include "tests/help_counter.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char crash_text[1100];

/* A guard page was touched, or worse: say which problem it was, then die of it. */
static void report_crash(int signal_number)
{
    ssize_t ignored = write(STDERR_FILENO, crash_text, strlen(crash_text));
    (void)ignored;
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void announce(const struct spec *spec)
{
    strcpy(crash_text, "crashed in ");
    strncat(crash_text, spec_text(spec), sizeof crash_text - 20);
    strcat(crash_text, "\n");
    static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], report_crash);
}

static int64_t logical_key(const struct spec *spec, int64_t item, int64_t key)
{
    int64_t j = key - spec->key_starts[item];
    return j >= 0 && j < spec->key_lengths[item] ? j : -1;
}

static int64_t logical_row(const struct spec *spec, int64_t item, int64_t row)
{
    int64_t i = row - spec->query_starts[item];
    return i >= 0 && i < spec->query_lengths[item] ? spec->first_row[item] + i : -1;
}

static void fill_query(struct sample *sample)
{
    const struct spec *spec = &sample->spec;
    for (int64_t item = 0; item < spec->batch; item++)
        for (int64_t head = 0; head < spec->heads; head++)
            for (int64_t row = 0; row < spec->rows; row++) {
                int64_t i = logical_row(spec, item, row);
                for (int64_t d = 0; i >= 0 && d < spec->d_k; d++)
                    *(float *)box_at(&sample->query, item, head, row, d) =
                        spec_query(spec, spec->label[item], head, i, d);
            }
}

static void fill_key(struct sample *sample, int64_t item, int64_t head, int64_t key)
{
    const struct spec *spec = &sample->spec;
    int64_t j = logical_key(spec, item, key);
    for (int64_t d = 0; j >= 0 && d < spec->d_k; d++)
        *(float *)box_at(&sample->key, item, head, key, d) = spec_key(spec, spec->label[item], head, j, d);
    for (int64_t d = 0; j >= 0 && d < spec->d_v; d++)
        *(float *)box_at(&sample->value, item, head, key, d) = spec_value(spec, spec->label[item], head, j, d);
}

static void fill_keys(struct sample *sample)
{
    for (int64_t item = 0; item < sample->spec.batch; item++)
        for (int64_t head = 0; head < sample->spec.kv_heads; head++)
            for (int64_t key = 0; key < sample->spec.keys; key++)
                fill_key(sample, item, head, key);
}

/* Padding is marked visible: only its range may hide it. */
static void fill_visible(struct sample *sample)
{
    const struct spec *spec = &sample->spec;
    for (int64_t item = 0; item < spec->batch; item++)
        for (int64_t head = 0; head < spec->heads; head++)
            for (int64_t row = 0; row < spec->rows; row++)
                for (int64_t key = 0; key < spec->keys; key++) {
                    int64_t i = logical_row(spec, item, row), j = logical_key(spec, item, key);
                    unsigned char *flag = box_at(&sample->visible, item, head, row, key);
                    *flag = i < 0 || j < 0 ? 1 : spec_visible(spec, spec->label[item], head, i, j);
                }
}

static void make_inputs(struct sample *sample)
{
    const struct spec *spec = &sample->spec;
    int64_t query[4] = { spec->batch, spec->heads, spec->rows, spec->d_k };
    int64_t key[4] = { spec->batch, spec->kv_heads, spec->keys, spec->d_k };
    int64_t value[4] = { spec->batch, spec->kv_heads, spec->keys, spec->d_v };
    if (spec->packed) {
        box_make_packed(&sample->query, &sample->key, &sample->value, query, key, value, spec->side);
    } else {
        box_make(&sample->query, spec->query_layout, spec->query_shared, ATTEND_F32, query, spec->side);
        box_make(&sample->key, spec->kv_layout, spec->kv_shared, ATTEND_F32, key, spec->side);
        box_make(&sample->value, spec->kv_layout, spec->kv_shared, ATTEND_F32, value, spec->side);
    }
    fill_query(sample);
    fill_keys(sample);
    if (spec->visibility == VISIBLE_ALL)
        return;
    static const unsigned shared[] = {
        [VISIBLE_BY_KEY] = SHARED_HEADS | SHARED_ROWS, [VISIBLE_BATCH] = SHARED_ITEMS | SHARED_HEADS
    };
    int64_t visible[4] = { spec->batch, spec->heads, spec->rows, spec->keys };
    box_make(&sample->visible, spec->visible_layout, spec->visibility == VISIBLE_FULL ? 0 : shared[spec->visibility],
             ATTEND_BOOL, visible, spec->side);
    fill_visible(sample);
}

static void make_outputs(struct sample *sample)
{
    const struct spec *spec = &sample->spec;
    int64_t output[4] = { spec->batch, spec->heads, spec->rows, spec->d_v };
    int64_t lse[4] = { spec->batch, spec->heads, spec->rows, 1 };
    int64_t pairs[4] = { spec->batch, spec->heads, spec->rows, spec->keys };
    box_make(&sample->output, spec->output_layout, 0, ATTEND_F32, output, spec->side);
    if (spec->with_lse)
        box_make(&sample->lse, spec->output_layout, 0, ATTEND_F32, lse, spec->side);
    if (spec->with_weights)
        box_make(&sample->weights, spec->output_layout, 0, ATTEND_F32, pairs, spec->side);
    if (spec->with_scores)
        box_make(&sample->scores, spec->output_layout, 0, ATTEND_F32, pairs, spec->side);
}

/* The arrays end at a guard page, too. */
static const int64_t *place_array(struct sample *sample, int which, bool wanted, const int64_t *values)
{
    int64_t *array = (int64_t *)sample->arrays.data + which * sample->spec.batch;
    memcpy(array, values, (size_t)sample->spec.batch * sizeof *array);
    return wanted ? array : NULL;
}

static void set_arrays(struct sample *sample)
{
    const struct spec *spec = &sample->spec;
    attend_args *args = &sample->args;
    guarded_make(&sample->arrays, 5 * (size_t)spec->batch * sizeof(int64_t), GUARD_AFTER, 0);
    args->query_starts = place_array(sample, 0, spec->with_query_starts, spec->query_starts);
    args->query_lengths = place_array(sample, 1, spec->with_query_lengths, spec->query_lengths);
    args->key_starts = place_array(sample, 2, spec->with_key_starts, spec->key_starts);
    args->positions = place_array(sample, 3, spec->diagonal == ATTEND_DIAGONAL_POSITION, spec->positions);
    args->key_lengths = place_array(sample, 4, spec->with_key_lengths, spec->key_lengths);
}

static void set_problem(attend_problem *problem, const struct spec *spec)
{
    *problem = (attend_problem)ATTEND_PROBLEM_INIT;
    problem->batch = spec->batch;
    problem->heads = spec->heads;
    problem->kv_heads = spec->kv_heads;
    problem->rows = spec->rows;
    problem->keys = spec->keys;
    problem->d_k = spec->d_k;
    problem->d_v = spec->d_v;
    problem->flags = spec->flags;
    problem->scale = spec->scale;
    problem->causal = spec->causal;
    problem->diagonal = spec->diagonal;
    problem->window_left = spec->window_left;
    problem->window_right = spec->window_right;
}

void sample_make(struct sample *sample, const struct spec *spec)
{
    memset(sample, 0, sizeof *sample);
    sample->spec = *spec;
    announce(spec);
    set_problem(&sample->problem, spec);
    make_inputs(sample);
    make_outputs(sample);
    attend_args *args = &sample->args;
    *args = (attend_args)ATTEND_ARGS_INIT;
    args->query = &sample->query.view;
    args->key = &sample->key.view;
    args->value = &sample->value.view;
    args->output = &sample->output.view;
    args->lse = spec->with_lse ? &sample->lse.view : NULL;
    args->weights = spec->with_weights ? &sample->weights.view : NULL;
    args->scores = spec->with_scores ? &sample->scores.view : NULL;
    args->visible = spec->visibility != VISIBLE_ALL ? &sample->visible.view : NULL;
    set_arrays(sample);
}

void sample_free(struct sample *sample)
{
    struct box *boxes[] = { &sample->query,  &sample->key, &sample->value,   &sample->visible,
                            &sample->output, &sample->lse, &sample->weights, &sample->scores };
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++)
        box_free(boxes[i]);
    guarded_free(&sample->arrays);
}

void sample_reset(struct sample *sample)
{
    struct box *boxes[] = { &sample->output, &sample->lse, &sample->weights, &sample->scores };
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++)
        if (boxes[i]->memory.map)
            guarded_poison(&boxes[i]->memory);
}

/* seen[(item, kv head, key)]: some row sees that key. The numbers must still be finite. */
static bool *find_seen_keys(const struct sample *sample)
{
    const struct spec *spec = &sample->spec;
    bool *seen = calloc((size_t)(spec->batch * spec->kv_heads * spec->keys) + 1, sizeof *seen);
    double *scores = malloc(((size_t)spec->keys + 1) * sizeof *scores);
    if (!seen || !scores)
        abort();
    for (int64_t item = 0; item < spec->batch; item++)
        for (int64_t head = 0; head < spec->heads; head++)
            for (int64_t row = 0; row < spec->rows; row++) {
                struct oracle_row truth = { .scores = scores };
                oracle_attend_row(&sample->problem, &sample->args, item, head, row, &truth);
                int64_t kv_head = head / (spec->heads / spec->kv_heads);
                for (int64_t key = 0; key < spec->keys; key++)
                    seen[(item * spec->kv_heads + kv_head) * spec->keys + key] |= scores[key] > -INFINITY;
            }
    free(scores);
    return seen;
}

static void put_bits(struct box *box, int64_t item, int64_t head, int64_t row, int64_t feature, uint32_t bits)
{
    memcpy(box_at(box, item, head, row, feature), &bits, sizeof bits);
}

static void poison_key(struct sample *sample, int64_t item, int64_t head, int64_t key)
{
    static const uint32_t poisons[] = {
        0x7fc00000, 0xffc12345, 0x7f800001, 0x7f800000, 0xff800000, 0x7e967699 /* 1e38 */, 0xfe967699
    };
    uint64_t bits = counter_bits(sample->spec.seed, (uint64_t)((item * 64 + head) * 4096 + key));
    uint32_t poison = poisons[bits % (sizeof poisons / sizeof *poisons)];
    for (int64_t d = 0; d < sample->spec.d_k; d++)
        put_bits(&sample->key, item, head, key, d, poison);
    for (int64_t d = 0; d < sample->spec.d_v; d++)
        put_bits(&sample->value, item, head, key, d, poison);
}

static void trap_padding(struct sample *sample, struct box *box)
{
    const struct spec *spec = &sample->spec;
    bool *used = calloc(box->memory.bytes + 1, sizeof *used);
    if (!used)
        abort();
    for (int64_t item = 0; item < spec->batch; item++)
        for (int64_t head = 0; head < spec->kv_heads; head++)
            for (int64_t key = 0; key < spec->keys; key++)
                for (int64_t d = 0; logical_key(spec, item, key) >= 0 && d < box->extent[3]; d++) {
                    unsigned char *element = box_at(box, item, head, key, d);
                    memset(used + (element - box->memory.data), true, box->element);
                }
    guarded_trap_unused(&box->memory, used);
    free(used);
}

void sample_poison_hidden(struct sample *sample)
{
    const struct spec *spec = &sample->spec;
    if (spec->kv_shared)
        return; /* what is padding for one item is in use for another */
    bool *seen = find_seen_keys(sample);
    for (int64_t item = 0; item < spec->batch; item++)
        for (int64_t head = 0; head < spec->kv_heads; head++)
            for (int64_t key = 0; key < spec->keys; key++)
                if (!seen[(item * spec->kv_heads + head) * spec->keys + key])
                    poison_key(sample, item, head, key);
    free(seen);
    if (spec->packed)
        return;
    trap_padding(sample, &sample->key);
    trap_padding(sample, &sample->value);
}

void sample_poison_some(struct sample *sample)
{
    static const uint32_t poisons[] = { 0x7fc00000, 0xffc12345, 0x7f800001, 0x7f800000, 0xff800000 };
    const struct spec *spec = &sample->spec;
    struct dice dice = { .seed = ~spec->seed };
    struct box *boxes[] = { &sample->query, &sample->key, &sample->value };
    int64_t count = dice_between(&dice, 1, 4);
    for (int64_t i = 0; i < count; i++) {
        struct box *box = boxes[dice_between(&dice, 0, 2)];
        if (box->extent[0] * box->extent[1] * box->extent[2] * box->extent[3] == 0)
            continue;
        int64_t place[4];
        for (int axis = 0; axis < 4; axis++)
            place[axis] = dice_between(&dice, 0, box->extent[axis] - 1);
        put_bits(box, place[0], place[1], place[2], place[3], poisons[dice_between(&dice, 0, 4)]);
    }
}

attend_status sample_forward(struct sample *sample, attend_engine *engine)
{
    return attend_forward(engine, &sample->problem, &sample->args);
}

attend_engine *make_engine(attend_isa isa, int32_t threads, int64_t inline_work)
{
    attend_engine_options options = ATTEND_ENGINE_OPTIONS_INIT;
    options.threads = threads;
    options.bind = ATTEND_BIND_OFF;
    options.isa = isa;
    options.inline_work = inline_work;
    attend_engine *engine = NULL;
    return attend_engine_create(&engine, &options) == ATTEND_OK ? engine : NULL;
}

bool has_isa(attend_isa isa)
{
    attend_isa isas[16];
    size_t count = attend_isa_available(isas, 16);
    for (size_t i = 0; i < count; i++)
        if (isas[i] == isa)
            return true;
    return false;
}
