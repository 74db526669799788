/* Every rule that the header states about arguments: breaking it is refused with the right status, a message that
 * names the argument, and outputs as they were. One test per broken rule, each with a valid problem in which it breaks
 * nothing else. */
#include "tests/help_suite.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* 2 items, 4 heads on 2, 3 rows, 5 keys, widths 4 and 3. */
struct fixture {
    attend_engine *engine;
    struct sample sample;
    attend_problem *problem;
    attend_args *args;
    attend_tensor *query, *key, *value, *output, *lse, *weights, *scores, *visible;
    int64_t key_starts[2], key_lengths[2], query_starts[2], query_lengths[2], positions[2];
    int64_t query_offsets[3], key_offsets[3], prefix_lengths[2];
    float slopes[4], sinks[4];
    attend_tensor bias, key_sums, maximum, total; /* of the memory below */
    float bias_memory[2 * 4 * 3 * 5];
    float key_sums_memory[2 * 4 * 5], maximum_memory[2 * 4 * 3], total_memory[2 * 4 * 3];
    uint8_t bits[2 * 4 * 3];
    int32_t tables[2 * 3 + 24]; /* and room for an LSE that begins in them */
    float key_pages[6 * 2 * 2 * 4], value_pages[6 * 2 * 2 * 3];
};

static void set_up(struct fixture *fixture)
{
    struct spec spec = spec_plain(1, 4, 3, 5, 4, 3);
    struct sample *sample = &fixture->sample;
    memset(fixture, 0, sizeof *fixture);
    spec.kv_heads = 2;
    spec.visibility = VISIBLE_FULL;
    spec.with_weights = spec.with_scores = true;
    spec_set_batch(&spec, 2);
    sample_make(sample, &spec);
    fixture->engine = need_engine(ATTEND_ISA_AUTO, 2, 0);
    fixture->problem = &sample->problem;
    fixture->args = &sample->args;
    fixture->query = &sample->query.view;
    fixture->key = &sample->key.view;
    fixture->value = &sample->value.view;
    fixture->output = &sample->output.view;
    fixture->lse = &sample->lse.view;
    fixture->weights = &sample->weights.view;
    fixture->scores = &sample->scores.view;
    fixture->visible = &sample->visible.view;
    for (int item = 0; item < 2; item++) {
        fixture->key_lengths[item] = 5;
        fixture->query_lengths[item] = 3;
    }
    fixture->args->key_starts = fixture->key_starts;
    fixture->args->key_lengths = fixture->key_lengths;
    fixture->args->query_starts = fixture->query_starts;
    fixture->args->query_lengths = fixture->query_lengths;
    fixture->bias = attend_view_bhsd(fixture->bias_memory, 4, 3, 5);
    fixture->key_sums = attend_view_bhsd(fixture->key_sums_memory, 4, 1, 5);
    fixture->maximum = attend_view_bhsd(fixture->maximum_memory, 4, 3, 1);
    fixture->total = attend_view_bhsd(fixture->total_memory, 4, 3, 1);
    memset(fixture->bits, 0xff, sizeof fixture->bits);
}

/* The rows and keys of both items one after the other: 1 and 2 rows, 5 and no keys. */
static void pack(struct fixture *fixture)
{
    static const int64_t rows[] = { 0, 1, 3 }, keys[] = { 0, 5, 5 };
    fixture->problem->flags |= ATTEND_PACKED_QUERIES | ATTEND_PACKED_KEYS;
    memcpy(fixture->query_offsets, rows, sizeof rows);
    memcpy(fixture->key_offsets, keys, sizeof keys);
    fixture->args->query_starts = fixture->args->query_lengths = fixture->args->key_starts = fixture->args->key_lengths = NULL;
    fixture->args->query_offsets = fixture->query_offsets;
    fixture->args->key_offsets = fixture->key_offsets;
}

/* Pages of 2 keys: 3 entries for the 5 keys of an item. */
static void page(struct fixture *fixture)
{
    static const int32_t tables[] = { 4, 0, 5, 2, 3, 1 };
    memcpy(fixture->tables, tables, sizeof tables);
    fixture->problem->flags |= ATTEND_PAGED_KEYS;
    fixture->problem->page_keys = 2;
    *fixture->key = attend_view_bhsd(fixture->key_pages, 2, 2, 4);
    *fixture->value = attend_view_bhsd(fixture->value_pages, 2, 2, 3);
    fixture->args->block_tables = fixture->tables;
    fixture->args->table_stride = 3;
    fixture->args->pages = 6;
}

static void give_partials(struct fixture *fixture)
{
    fixture->args->weights = fixture->args->scores = NULL;
    fixture->args->maximum = &fixture->maximum;
    fixture->args->total = &fixture->total;
}

static void give_key_sums(struct fixture *fixture)
{
    fixture->problem->flags |= ATTEND_KEY_SUMS;
    fixture->args->key_sums = &fixture->key_sums;
}

/* A byte for the 5 keys of a row. */
static void give_bits(struct fixture *fixture)
{
    *fixture->visible = attend_view_bhsd(fixture->bits, 4, 3, 8);
    fixture->visible->dtype = ATTEND_BIT;
}

static void tear_down(struct fixture *fixture)
{
    attend_engine_destroy(fixture->engine);
    sample_free(&fixture->sample);
}

static uint64_t hash_outputs(const struct fixture *fixture)
{
    const struct sample *sample = &fixture->sample;
    uint64_t own = 0; /* counts what is not as set_up left it */
    for (int i = 0; i < 2 * 4 * 5; i++)
        own += fixture->key_sums_memory[i] != 0.0f;
    for (int i = 0; i < 2 * 4 * 3; i++)
        own += (fixture->maximum_memory[i] != 0.0f) + (fixture->total_memory[i] != 0.0f);
    return guarded_hash(&sample->output.memory) ^ guarded_hash(&sample->lse.memory) * 3 ^
           guarded_hash(&sample->weights.memory) * 5 ^ guarded_hash(&sample->scores.memory) * 7 ^ own * 11;
}

/* The one-shot call, and planning and running apart. */
static void expect_refused(struct fixture *fixture, attend_status status, const char *word)
{
    uint64_t before = hash_outputs(fixture);
    attend_plan *plan = NULL;
    expect_refusal(attend_forward(fixture->engine, fixture->problem, fixture->args), status, word, "forward");
    attend_status planned = attend_plan_create(&plan, fixture->engine, fixture->problem);
    if (planned) {
        expect_refusal(planned, status, word, "plan");
        cr_expect_null(plan, "a failed plan_create left a handle");
    } else {
        expect_refusal(attend_run(plan, fixture->args), status, word, "run");
    }
    attend_plan_destroy(plan);
    cr_expect(hash_outputs(fixture) == before, "outputs were written");
}

#define BROKEN(name, status, word, ...)                    \
    Test(arguments, name, .timeout = 60)                   \
    {                                                      \
        struct fixture f;                                  \
        set_up(&f);                                        \
        __VA_ARGS__;                                       \
        expect_refused(&f, ATTEND_ERR_##status, word);     \
        tear_down(&f);                                     \
    }

/* What is not broken passes. */
Test(arguments, fixture_is_valid, .timeout = 60)
{
    struct fixture f;
    set_up(&f);
    expect_ok(attend_forward(f.engine, f.problem, f.args));
    expect_verdict(sample_judge(&f.sample), "the fixture");
    tear_down(&f);
}

/* Ranges */
BROKEN(key_length_negative, ARGUMENT, "key_lengths", f.key_lengths[1] = -1)
BROKEN(key_length_beyond_keys, ARGUMENT, "key_lengths", f.key_lengths[1] = 6)
BROKEN(key_length_huge, ARGUMENT, "key_lengths", f.key_lengths[0] = INT64_MAX)
BROKEN(key_start_negative, ARGUMENT, "key_starts", f.key_starts[1] = -1)
BROKEN(key_start_beyond_keys, ARGUMENT, "key_starts", f.key_starts[1] = 6, f.key_lengths[1] = 0)
BROKEN(key_start_and_length_beyond_keys, ARGUMENT, "key_", f.key_starts[1] = 2, f.key_lengths[1] = 4)
BROKEN(key_start_and_length_overflow, ARGUMENT, "key_", f.key_starts[1] = 5, f.key_lengths[1] = INT64_MAX - 1)
BROKEN(query_length_negative, ARGUMENT, "query_lengths", f.query_lengths[0] = -1)
BROKEN(query_length_beyond_rows, ARGUMENT, "query_lengths", f.query_lengths[1] = 4)
BROKEN(query_start_negative, ARGUMENT, "query_starts", f.query_starts[0] = INT64_MIN)
BROKEN(query_start_and_length_beyond_rows, ARGUMENT, "query_", f.query_starts[1] = 1)

/* Positions */
BROKEN(positions_missing, ARGUMENT, "positions", f.problem->diagonal = ATTEND_DIAGONAL_POSITION, f.problem->causal = 1)
BROKEN(positions_without_diagonal, ARGUMENT, "positions", f.args->positions = f.positions)
BROKEN(position_too_large, ARGUMENT, "positions", f.args->positions = f.positions,
       f.problem->diagonal = ATTEND_DIAGONAL_POSITION, f.positions[1] = (INT64_C(1) << 60) + 1)
BROKEN(position_too_small, ARGUMENT, "positions", f.args->positions = f.positions,
       f.problem->diagonal = ATTEND_DIAGONAL_POSITION, f.positions[1] = INT64_MIN)

/* Packed items */
BROKEN(query_offsets_missing, ARGUMENT, "query_offsets", pack(&f), f.args->query_offsets = NULL)
BROKEN(key_offsets_missing, ARGUMENT, "key_offsets", pack(&f), f.args->key_offsets = NULL)
BROKEN(query_offsets_without_flag, ARGUMENT, "query_offsets", f.args->query_offsets = f.query_offsets)
BROKEN(key_offsets_without_flag, ARGUMENT, "key_offsets", f.args->key_offsets = f.key_offsets)
BROKEN(query_starts_with_offsets, ARGUMENT, "query_starts", pack(&f), f.args->query_starts = f.query_starts)
BROKEN(query_lengths_with_offsets, ARGUMENT, "query_lengths", pack(&f), f.args->query_lengths = f.query_lengths)
BROKEN(key_starts_with_offsets, ARGUMENT, "key_starts", pack(&f), f.args->key_starts = f.key_starts)
BROKEN(key_lengths_with_offsets, ARGUMENT, "key_lengths", pack(&f), f.args->key_lengths = f.key_lengths)
BROKEN(query_offsets_begin_late, ARGUMENT, "query_offsets[0] is 1", pack(&f), f.query_offsets[0] = 1)
BROKEN(key_offsets_begin_early, ARGUMENT, "key_offsets[0] is -1", pack(&f), f.key_offsets[0] = -1)
BROKEN(query_offsets_go_back, ARGUMENT, "query_offsets[2] is 0", pack(&f), f.query_offsets[2] = 0)
BROKEN(key_offset_negative, ARGUMENT, "key_offsets[1]", pack(&f), f.key_offsets[1] = INT64_MIN)
BROKEN(query_offsets_beyond_plan, CAPACITY, "query_offsets[2] is 4", pack(&f), f.query_offsets[2] = 4)
BROKEN(key_offsets_beyond_plan, CAPACITY, "key_offsets[2]", pack(&f), f.key_offsets[2] = INT64_MAX)
BROKEN(query_offsets_short_of_rows, ARGUMENT, "query_offsets[2] is 2", pack(&f), f.query_offsets[2] = 2, f.args->rows = 3)
BROKEN(key_offsets_beyond_keys, ARGUMENT, "key_offsets[2] is 5", pack(&f), f.args->keys = 4)
BROKEN(packed_rows_above_plan, CAPACITY, "rows", pack(&f), f.args->rows = 4)
BROKEN(packed_rows_overflow, ARGUMENT, "rows", pack(&f), f.problem->rows = INT64_C(1) << 56, f.problem->d_v = 1 << 8)

/* Pages */
BROKEN(page_keys_without_flag, ARGUMENT, "problem.page_keys", f.problem->page_keys = 16)
BROKEN(page_keys_zero, ARGUMENT, "problem.page_keys", page(&f), f.problem->page_keys = 0)
BROKEN(page_keys_negative, ARGUMENT, "problem.page_keys", page(&f), f.problem->page_keys = -2)
BROKEN(page_keys_too_many, ARGUMENT, "problem.page_keys", page(&f), f.problem->page_keys = INT64_C(1) << 31)
BROKEN(paged_and_packed, ARGUMENT, "ATTEND_PACKED_KEYS", page(&f), pack(&f))
BROKEN(tables_missing, ARGUMENT, "block_tables", page(&f), f.args->block_tables = NULL)
BROKEN(block_negative, ARGUMENT, "block_tables of item 1 has block -1 at entry 1", page(&f), f.tables[4] = -1)
BROKEN(block_is_pages, ARGUMENT, "block_tables of item 1 has block 6 at entry 2", page(&f), f.tables[5] = 6)
BROKEN(block_of_other_pool, ARGUMENT, "block_tables of item 0 has block 5 at entry 2", page(&f), f.args->pages = 5)
BROKEN(first_block_negative, ARGUMENT, "block_tables of item 0", page(&f), f.tables[0] = INT32_MIN)
BROKEN(block_of_a_key_inside, ARGUMENT, "block_tables of item 0", page(&f), f.tables[1] = -1, f.key_starts[0] = 3,
       f.key_lengths[0] = 1)
BROKEN(block_of_no_pool, ARGUMENT, "block_tables", page(&f), f.args->pages = 0)
BROKEN(table_stride_negative, ARGUMENT, "table_stride", page(&f), f.args->table_stride = -1)
BROKEN(table_stride_short, ARGUMENT, "table_stride", page(&f), f.args->table_stride = 2)
BROKEN(table_stride_huge, ARGUMENT, "table_stride", page(&f), f.args->table_stride = INT64_MAX / 2)
BROKEN(pages_negative, ARGUMENT, "args.pages", page(&f), f.args->pages = -1)
BROKEN(pages_too_many, ARGUMENT, "args.pages", page(&f), f.args->pages = INT64_C(1) << 31)
BROKEN(tables_without_flag, ARGUMENT, "block_tables", f.args->block_tables = f.tables)
BROKEN(table_stride_without_flag, ARGUMENT, "table_stride", f.args->table_stride = 3)
BROKEN(pages_without_flag, ARGUMENT, "args.pages", f.args->pages = 6)
BROKEN(pages_missing, ARGUMENT, "args.key", page(&f), f.args->key = NULL)
BROKEN(pages_stride_overflow, ARGUMENT, "args.value", page(&f), f.value->stride[0] = INT64_MAX / 8)
BROKEN(pages_fast, UNSUPPORTED, "key", page(&f), f.problem->flags |= ATTEND_FAST_ONLY, f.key->stride[3] = 0)

/* What scores are made of */
BROKEN(softcap_negative, ARGUMENT, "softcap", f.problem->softcap = -1)
BROKEN(softcap_nan, ARGUMENT, "softcap", f.problem->softcap = NAN)
BROKEN(softcap_without_reciprocal, ARGUMENT, "softcap", f.problem->softcap = 0x1p-130f)
BROKEN(softcap_infinite, ARGUMENT, "softcap", f.problem->softcap = INFINITY)
BROKEN(slope_nan, ARGUMENT, "alibi_slopes[3]", f.args->alibi_slopes = f.slopes, f.slopes[3] = NAN)
BROKEN(slope_infinite, ARGUMENT, "alibi_slopes[0]", f.args->alibi_slopes = f.slopes, f.slopes[0] = -INFINITY)
BROKEN(sink_nan, ARGUMENT, "sinks[1]", f.args->sinks = f.sinks, f.sinks[1] = NAN)
BROKEN(sink_infinite, ARGUMENT, "sinks[2]", f.args->sinks = f.sinks, f.sinks[2] = INFINITY)
BROKEN(prefix_negative, ARGUMENT, "prefix_lengths[1]", f.args->prefix_lengths = f.prefix_lengths, f.prefix_lengths[1] = -1)
BROKEN(bias_of_other_dtype, ARGUMENT, "bias", f.args->bias = &f.bias, f.bias.dtype = ATTEND_BOOL)
BROKEN(bias_of_half_dtype, ARGUMENT, "bias", f.args->bias = &f.bias, f.bias.dtype = ATTEND_F16)
BROKEN(bias_without_data, ARGUMENT, "bias", f.args->bias = &f.bias, f.bias.data = NULL)
BROKEN(bias_misaligned, ARGUMENT, "bias", f.args->bias = &f.bias, f.bias.data = (char *)f.bias.data + 2)
BROKEN(bias_stride_overflow, ARGUMENT, "bias", f.args->bias = &f.bias, f.bias.stride[1] = INT64_MAX / 2)

/* Visible bits, and those of the last keys only */
BROKEN(bits_apart, ARGUMENT, "visible has feature stride 2", give_bits(&f), f.visible->stride[3] = 2)
BROKEN(bits_broadcast, ARGUMENT, "visible has feature stride 0", give_bits(&f), f.visible->stride[3] = 0)
BROKEN(bits_of_rows_share_a_byte, ARGUMENT, "visible.stride[2] is 5", give_bits(&f), f.visible->stride[2] = 5)
BROKEN(bits_of_heads_share_a_byte, ARGUMENT, "visible.stride[1] is -12", give_bits(&f), f.visible->stride[1] = -12)
BROKEN(bits_stride_overflow, ARGUMENT, "visible", give_bits(&f), f.visible->stride[0] = INT64_MIN)
BROKEN(bias_of_bits, ARGUMENT, "bias", f.args->bias = &f.bias, f.bias.dtype = ATTEND_BIT)
BROKEN(query_of_bits, ARGUMENT, "query", f.query->dtype = ATTEND_BIT)
BROKEN(visible_tail_negative, ARGUMENT, "visible_tail", f.args->visible_tail = -1)
BROKEN(visible_tail_of_nothing, ARGUMENT, "visible_tail", f.args->visible_tail = 2, f.args->visible = NULL)
BROKEN(visible_tail_overflow, ARGUMENT, "visible", f.args->visible_tail = INT64_MAX)

/* Partials and key sums */
BROKEN(partials_of_halves, ARGUMENT, "problem.output_dtype is 2; partials are ATTEND_F32", give_partials(&f), f.problem->output_dtype = ATTEND_F16)
BROKEN(maximum_alone, ARGUMENT, "total", give_partials(&f), f.args->total = NULL)
BROKEN(total_alone, ARGUMENT, "maximum", give_partials(&f), f.args->maximum = NULL)
BROKEN(maximum_without_data, ARGUMENT, "maximum", give_partials(&f), f.maximum.data = NULL)
BROKEN(total_of_other_dtype, ARGUMENT, "total", give_partials(&f), f.total.dtype = ATTEND_BOOL)
BROKEN(resume_unknown, ARGUMENT, "resume", give_partials(&f), f.args->resume = 2)
BROKEN(resume_negative, ARGUMENT, "resume", give_partials(&f), f.args->resume = -1)
BROKEN(resume_from_nothing, ARGUMENT, "resume", f.args->resume = 1)
BROKEN(sinks_with_partials, ARGUMENT, "sinks", give_partials(&f), f.args->sinks = f.sinks)
BROKEN(weights_with_partials, ARGUMENT, "weights", give_partials(&f), f.args->weights = f.weights)
BROKEN(scores_with_partials, ARGUMENT, "scores", give_partials(&f), f.args->scores = f.scores)
BROKEN(key_sums_with_partials, ARGUMENT, "key_sums", give_key_sums(&f), give_partials(&f))
BROKEN(key_sums_without_flag, ARGUMENT, "key_sums", f.args->key_sums = &f.key_sums)
BROKEN(key_sums_without_data, ARGUMENT, "key_sums", give_key_sums(&f), f.key_sums.data = NULL)
BROKEN(key_sums_of_other_dtype, ARGUMENT, "key_sums", give_key_sums(&f), f.key_sums.dtype = (attend_dtype)9)

/* Fast only */
BROKEN(fast_query, UNSUPPORTED, "query", f.problem->flags |= ATTEND_FAST_ONLY, f.query->stride[3] = 2)
BROKEN(fast_key, UNSUPPORTED, "key", f.problem->flags |= ATTEND_FAST_ONLY, f.key->stride[3] = 0)
BROKEN(fast_value, UNSUPPORTED, "value", f.problem->flags |= ATTEND_FAST_ONLY, f.value->stride[3] = 0)
BROKEN(fast_output, UNSUPPORTED, "output", f.problem->flags |= ATTEND_FAST_ONLY, f.output->stride[3] = -1,
       f.output->data = (float *)f.output->data + 2)
BROKEN(fast_scores, UNSUPPORTED, "scores", f.problem->flags |= ATTEND_FAST_ONLY, f.args->weights = NULL)
BROKEN(fast_weights, UNSUPPORTED, "weights", f.problem->flags |= ATTEND_FAST_ONLY, f.args->scores = NULL)

/* Sizes of the problem and of the run */
BROKEN(batch_negative, ARGUMENT, "batch", f.problem->batch = -1)
BROKEN(heads_negative, ARGUMENT, "heads", f.problem->heads = -4)
BROKEN(rows_negative, ARGUMENT, "rows", f.problem->rows = -3)
BROKEN(keys_negative, ARGUMENT, "keys", f.problem->keys = INT64_MIN)
BROKEN(d_k_negative, ARGUMENT, "d_k", f.problem->d_k = -1)
BROKEN(d_v_negative, ARGUMENT, "d_v", f.problem->d_v = -1)
BROKEN(kv_heads_zero, ARGUMENT, "kv_heads", f.problem->kv_heads = 0)
BROKEN(kv_heads_negative, ARGUMENT, "kv_heads", f.problem->kv_heads = -2)
BROKEN(kv_heads_no_divisor, ARGUMENT, "kv_heads", f.problem->kv_heads = 3)
BROKEN(kv_heads_above_heads, ARGUMENT, "kv_heads", f.problem->kv_heads = 8)
BROKEN(heads_3_on_2, ARGUMENT, "heads", f.problem->heads = 3)
BROKEN(heads_33_on_2, ARGUMENT, "heads", f.problem->heads = 33)
BROKEN(d_k_zero_without_scale, ARGUMENT, "d_k", f.problem->d_k = 0)
BROKEN(rows_overflow, ARGUMENT, "rows", f.problem->rows = INT64_MAX / 8, f.problem->batch = 1000)
BROKEN(keys_overflow, ARGUMENT, "keys", f.problem->keys = INT64_MAX / 8, f.problem->batch = 1000)
BROKEN(run_batch_above_plan, CAPACITY, "batch", f.args->batch = 3)
BROKEN(run_rows_above_plan, CAPACITY, "rows", f.args->rows = 4)
BROKEN(run_keys_above_plan, CAPACITY, "keys", f.args->keys = 6)
BROKEN(run_batch_negative, ARGUMENT, "batch", f.args->batch = -2)
BROKEN(run_rows_negative, ARGUMENT, "rows", f.args->rows = INT64_MIN)
BROKEN(run_keys_negative, ARGUMENT, "keys", f.args->keys = -5)

/* Options */
BROKEN(problem_flags_next, UNSUPPORTED, "flags", f.problem->flags = 512)
BROKEN(shared_prefixes_without_pages, ARGUMENT, "flags", f.problem->flags = ATTEND_SHARED_PREFIXES)
BROKEN(problem_reserved_2, ARGUMENT, "reserved_2", f.problem->reserved_2 = -1)
BROKEN(args_reserved, ARGUMENT, "args.reserved", f.args->reserved = 1)
BROKEN(deadline_negative, ARGUMENT, "deadline", f.args->deadline = -1)
BROKEN(problem_flags_unknown, UNSUPPORTED, "flags", f.problem->flags = 1u << 31)
BROKEN(problem_reserved, ARGUMENT, "reserved", f.problem->reserved = 1)
BROKEN(scale_nan, ARGUMENT, "scale", f.problem->flags = ATTEND_EXPLICIT_SCALE, f.problem->scale = NAN)
BROKEN(scale_infinite, ARGUMENT, "scale", f.problem->flags = ATTEND_EXPLICIT_SCALE, f.problem->scale = -INFINITY)
BROKEN(causal_unknown, ARGUMENT, "causal", f.problem->causal = 2)
BROKEN(diagonal_unknown, ARGUMENT, "diagonal", f.problem->diagonal = (attend_diagonal)3)
BROKEN(diagonal_negative, ARGUMENT, "diagonal", f.problem->diagonal = (attend_diagonal)-1)
BROKEN(window_left_negative, ARGUMENT, "problem.window_left is -2; it must be at least 0, or -1",
       f.problem->flags = ATTEND_WINDOW, f.problem->window_left = -2)
BROKEN(window_right_negative, ARGUMENT, "window_right", f.problem->flags = ATTEND_WINDOW, f.problem->window_right = INT64_MIN)
BROKEN(window_left_without_flag, ARGUMENT, "window_left", f.problem->window_left = 255)
BROKEN(window_right_without_flag, ARGUMENT, "window_right", f.problem->window_right = -1)
BROKEN(query_dtype_of_another_tensor, ARGUMENT, "args.query has dtype 0; it must be ATTEND_BF16", f.problem->query_dtype = ATTEND_BF16)
BROKEN(kv_dtype_of_another_tensor, ARGUMENT, "args.key has dtype 0; it must be ATTEND_F16", f.problem->kv_dtype = ATTEND_F16)
BROKEN(output_dtype_bool, ARGUMENT, "output_dtype", f.problem->output_dtype = ATTEND_BOOL)
BROKEN(query_dtype_unknown, ARGUMENT, "query_dtype", f.problem->query_dtype = (attend_dtype)77)

/* Tensors */
BROKEN(query_missing, ARGUMENT, "query", f.args->query = NULL)
BROKEN(key_missing, ARGUMENT, "key", f.args->key = NULL)
BROKEN(value_missing, ARGUMENT, "value", f.args->value = NULL)
BROKEN(output_missing, ARGUMENT, "output", f.args->output = NULL)
BROKEN(query_without_data, ARGUMENT, "query", f.query->data = NULL)
BROKEN(key_without_data, ARGUMENT, "key", f.key->data = NULL)
BROKEN(value_without_data, ARGUMENT, "value", f.value->data = NULL)
BROKEN(output_without_data, ARGUMENT, "output", f.output->data = NULL)
BROKEN(lse_without_data, ARGUMENT, "lse", f.lse->data = NULL)
BROKEN(visible_without_data, ARGUMENT, "visible", f.visible->data = NULL)
BROKEN(query_of_other_dtype, ARGUMENT, "query", f.query->dtype = ATTEND_BOOL)
BROKEN(value_of_half_dtype, ARGUMENT, "value", f.value->dtype = ATTEND_F16)
BROKEN(output_of_half_dtype, ARGUMENT, "output", f.output->dtype = ATTEND_BF16)
BROKEN(visible_of_other_dtype, ARGUMENT, "visible", f.visible->dtype = ATTEND_F32)
BROKEN(lse_of_other_dtype, ARGUMENT, "lse", f.lse->dtype = ATTEND_BOOL)
BROKEN(tensor_reserved, ARGUMENT, "key", f.key->reserved = 1)
BROKEN(key_misaligned, ARGUMENT, "key", f.key->data = (char *)f.key->data + 1)
BROKEN(output_misaligned, ARGUMENT, "output", f.output->data = (char *)f.output->data - 2)
BROKEN(query_stride_overflow, ARGUMENT, "query", f.query->stride[0] = INT64_MAX / 2)
BROKEN(value_stride_overflow, ARGUMENT, "value", f.value->stride[2] = INT64_MIN)

/* Outputs are distinct memory */
BROKEN(output_stride_zero_item, ARGUMENT, "output", f.output->stride[0] = 0)
BROKEN(output_stride_zero_feature, ARGUMENT, "output", f.output->stride[3] = 0)
BROKEN(lse_stride_zero_row, ARGUMENT, "lse", f.lse->stride[2] = 0)
BROKEN(output_rows_overlap, ARGUMENT, "output", f.output->stride[2] = 2)
BROKEN(output_is_query, ARGUMENT, "output", f.output->data = f.query->data)
BROKEN(output_is_key, ARGUMENT, "output", f.output->data = f.key->data)
BROKEN(output_within_value, ARGUMENT, "output", f.output->data = (float *)f.value->data + 59)
BROKEN(output_is_visible, ARGUMENT, "visible",
       f.visible->data = (char *)f.output->data + sizeof(float) * 71,
       memset(f.visible->stride, 0, sizeof f.visible->stride))
BROKEN(lse_is_output, ARGUMENT, "lse", f.lse->data = (float *)f.output->data + 71)
BROKEN(weights_are_scores, ARGUMENT, "weights", f.weights->data = f.scores->data)
BROKEN(lse_over_key_lengths, ARGUMENT, "lse", f.args->key_lengths = memcpy(f.lse->data, f.key_lengths, 16))

BROKEN(output_is_bias, ARGUMENT, "bias", f.args->bias = &f.bias, f.bias.data = (float *)f.output->data + 71)
BROKEN(output_is_visible_bits, ARGUMENT, "visible", give_bits(&f), f.visible->data = (char *)f.output->data + sizeof(float) * 72 - 1,
       memset(f.visible->stride, 0, 24))
BROKEN(output_is_the_last_bit, ARGUMENT, "visible", give_bits(&f), f.visible->data = (char *)f.output->data - 24 + 1)
BROKEN(lse_over_offsets, ARGUMENT, "key_offsets", pack(&f), f.args->key_offsets = memcpy(f.lse->data, f.key_offsets, 24))
BROKEN(lse_over_the_last_offset, ARGUMENT, "query_offsets", pack(&f), f.args->query_offsets = f.query_offsets,
       *f.lse = attend_view_bhsd(f.query_offsets + 2, 4, 3, 1))
BROKEN(lse_over_tables, ARGUMENT, "block_tables", page(&f), f.args->block_tables = memcpy(f.lse->data, f.tables, 24))
BROKEN(lse_over_the_last_entry, ARGUMENT, "block_tables", page(&f), *f.lse = attend_view_bhsd(f.tables + 5, 4, 3, 1))
BROKEN(lse_over_a_longer_table, ARGUMENT, "block_tables", page(&f), f.args->table_stride = 0, f.key_lengths[1] = 1,
       *f.lse = attend_view_bhsd(f.tables + 2, 4, 3, 1))
BROKEN(lse_over_the_table_of_one, ARGUMENT, "block_tables", page(&f), f.key_lengths[1] = 0,
       *f.lse = attend_view_bhsd(f.tables + 2, 4, 3, 1))
BROKEN(output_is_a_page, ARGUMENT, "key", page(&f), f.output->data = f.key_pages + 5 * 2 * 2 * 4)
BROKEN(lse_is_the_last_page, ARGUMENT, "value", page(&f), f.lse->data = f.value_pages + 6 * 2 * 2 * 3 - 1)
BROKEN(lse_over_sinks, ARGUMENT, "sinks", f.args->sinks = f.sinks, *f.lse = attend_view_bhsd(f.sinks + 3, 4, 3, 1))
BROKEN(lse_over_slopes, ARGUMENT, "alibi_slopes", f.args->alibi_slopes = memset(f.lse->data, 0, 16))
BROKEN(lse_over_prefixes, ARGUMENT, "prefix_lengths", f.args->prefix_lengths = memset(f.lse->data, 0, 16))
BROKEN(maximum_is_total, ARGUMENT, "total", give_partials(&f), f.total.data = f.maximum_memory)
BROKEN(maximum_is_lse, ARGUMENT, "lse", give_partials(&f), f.maximum.data = f.lse->data)
BROKEN(total_is_key, ARGUMENT, "key", give_partials(&f), f.total.data = f.key->data)
BROKEN(total_rows_overlap, ARGUMENT, "total", give_partials(&f), f.total.stride[2] = 0)
BROKEN(key_sums_are_weights, ARGUMENT, "key_sums", give_key_sums(&f), f.key_sums.data = f.weights->data)
BROKEN(key_sums_stride_zero, ARGUMENT, "key_sums", give_key_sums(&f), f.key_sums.stride[3] = 0)

/* Structs of another size */
BROKEN(problem_size_zero, ARGUMENT, "problem", f.problem->struct_size = 0)
BROKEN(problem_size_short, ARGUMENT, "problem", f.problem->struct_size = 8)
BROKEN(problem_size_before_window, ARGUMENT, "problem.struct_size", f.problem->flags = ATTEND_WINDOW,
       f.problem->struct_size = offsetof(attend_problem, window_left))
BROKEN(args_size_zero, ARGUMENT, "args", f.args->struct_size = 0)
BROKEN(args_size_garbage, ARGUMENT, "args", f.args->struct_size = SIZE_MAX)
BROKEN(tensor_size_zero, ARGUMENT, "value", f.value->struct_size = 0)

/* Scratch of the caller */
Test(arguments, workspace, .timeout = 60)
{
    struct fixture f;
    attend_plan *plan;
    static _Alignas(64) char memory[1 << 20];
    set_up(&f);
    uint64_t before = hash_outputs(&f);
    expect_ok(attend_plan_create(&plan, f.engine, f.problem));
    size_t bytes = attend_plan_workspace_bytes(plan);
    cr_assert(bytes > 0 && bytes < sizeof memory - 64);
    const struct {
        void *workspace;
        size_t bytes;
        attend_status status;
    } given[] = {
        { memory, bytes - 1, ATTEND_ERR_CAPACITY },
        { memory, 0, ATTEND_ERR_CAPACITY },
        { memory + 1, sizeof memory - 64, ATTEND_ERR_ARGUMENT },
        { memory + 32, sizeof memory - 64, ATTEND_ERR_ARGUMENT },
        { NULL, bytes, ATTEND_ERR_ARGUMENT },
    };
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        f.args->workspace = given[i].workspace;
        f.args->workspace_bytes = given[i].bytes;
        expect_refusal(attend_run(plan, f.args), given[i].status, "workspace", "run");
    }
    cr_expect(hash_outputs(&f) == before, "outputs were written");
    attend_plan_destroy(plan);
    tear_down(&f);
}

/* A caller built with a newer header: the tail that is unknown here must be zero. */
struct newer {
    union {
        attend_problem problem;
        attend_args args;
        attend_tensor tensor;
        attend_engine_options options;
        char bytes[512];
    } known;
};

#define NEWER(newer, member, original, at, byte)                                    \
    do {                                                                            \
        memset(&(newer), 0, sizeof(newer));                                         \
        (newer).known.member = (original);                                          \
        (newer).known.member.struct_size = sizeof(original) + 16;                   \
        (newer).known.bytes[sizeof(original) + (at)] = (byte);                      \
    } while (0)

Test(arguments, newer_structs, .timeout = 60)
{
    struct fixture f;
    struct newer problem, args, query;
    set_up(&f);
    for (int at = -1; at < 16; at++) {
        attend_status status = at < 0 ? ATTEND_OK : ATTEND_ERR_UNSUPPORTED;
        char byte = at >= 0;
        NEWER(problem, problem, *f.problem, at < 0 ? 0 : at, byte);
        NEWER(args, args, *f.args, at < 0 ? 0 : at, byte);
        NEWER(query, tensor, *f.query, at < 0 ? 0 : at, byte);
        attend_args with_query = *f.args;
        with_query.query = &query.known.tensor;
        cr_expect(attend_forward(f.engine, &problem.known.problem, f.args) == status, "problem, byte %d", at);
        cr_expect(attend_forward(f.engine, f.problem, &args.known.args) == status, "args, byte %d", at);
        cr_expect(attend_forward(f.engine, f.problem, &with_query) == status, "query, byte %d", at);
    }
    expect_verdict(sample_judge(&f.sample), "newer structs with a zero tail");
    tear_down(&f);
}

/* Callers built with older headers: their structs end earlier, whatever follows. */
Test(arguments, older_problem, .timeout = 60)
{
    struct fixture f;
    set_up(&f);
    f.problem->struct_size = offsetof(attend_problem, window_left);
    f.problem->window_left = f.problem->window_right = -7;
    f.problem->softcap = -7;
    f.problem->reserved_2 = -7;
    f.problem->page_keys = -7;
    expect_ok(attend_forward(f.engine, f.problem, f.args));
    f.problem->window_left = f.problem->window_right = 0;
    f.problem->softcap = 0;
    expect_verdict(sample_judge(&f.sample), "a problem without a window's fields");
    tear_down(&f);
}

Test(arguments, older_problem_with_window, .timeout = 60)
{
    struct fixture f;
    set_up(&f);
    f.problem->struct_size = offsetof(attend_problem, softcap);
    f.problem->flags |= ATTEND_WINDOW;
    f.problem->window_left = 1;
    f.problem->softcap = -7;
    f.problem->reserved_2 = -7;
    expect_ok(attend_forward(f.engine, f.problem, f.args));
    f.problem->softcap = 0;
    expect_verdict(sample_judge(&f.sample), "a problem that ends with its window");
    tear_down(&f);
}

/* From before there were pages: neither struct has them. */
Test(arguments, older_than_pages, .timeout = 60)
{
    struct fixture f;
    set_up(&f);
    f.problem->struct_size = offsetof(attend_problem, page_keys);
    f.problem->page_keys = -7;
    f.args->struct_size = offsetof(attend_args, block_tables);
    f.args->block_tables = f.tables;
    f.args->table_stride = f.args->pages = -7;
    expect_ok(attend_forward(f.engine, f.problem, f.args));
    expect_verdict(sample_judge(&f.sample), "structs without pages");
    f.problem->flags |= ATTEND_PAGED_KEYS;
    expect_refused(&f, ATTEND_ERR_ARGUMENT, "page_keys");
    tear_down(&f);
}

Test(arguments, older_args, .timeout = 60)
{
    struct fixture f;
    set_up(&f);
    const size_t old = offsetof(attend_args, bias);
    f.args->struct_size = old;
    memset((char *)f.args + old, 0x5a, sizeof *f.args - old);
    expect_ok(attend_forward(f.engine, f.problem, f.args));
    memset((char *)f.args + old, 0, sizeof *f.args - old);
    f.args->struct_size = sizeof *f.args;
    expect_verdict(sample_judge(&f.sample), "arguments without the newer options");
    f.args->struct_size = old - 1;
    expect_refusal(attend_forward(f.engine, f.problem, f.args), ATTEND_ERR_ARGUMENT, "args.struct_size", "forward");
    tear_down(&f);
}

Test(arguments, no_struct_at_all, .timeout = 60)
{
    struct fixture f;
    attend_plan *plan;
    set_up(&f);
    expect_refusal(attend_forward(f.engine, NULL, f.args), ATTEND_ERR_ARGUMENT, "problem", "forward");
    expect_refusal(attend_forward(f.engine, f.problem, NULL), ATTEND_ERR_ARGUMENT, "args", "forward");
    expect_refusal(attend_plan_create(&plan, f.engine, NULL), ATTEND_ERR_ARGUMENT, "problem", "plan");
    expect_refusal(attend_plan_create(NULL, f.engine, f.problem), ATTEND_ERR_ARGUMENT, "plan", "plan");
    expect_refusal(attend_run(NULL, f.args), ATTEND_ERR_ARGUMENT, "plan", "run");
    attend_plan_destroy(NULL);
    attend_engine_destroy(NULL);
    tear_down(&f);
}

/* Legal neighbours of what is refused above. */
Test(arguments, legal_neighbours, .timeout = 60)
{
    struct fixture f;
    set_up(&f);
    f.key_starts[0] = 5, f.key_lengths[0] = 0;
    f.query_starts[1] = 3, f.query_lengths[1] = 0;
    f.args->lse = f.args->weights = f.args->scores = f.args->visible = NULL;
    expect_ok(attend_forward(f.engine, f.problem, f.args));
    f.problem->causal = 1;
    f.problem->diagonal = ATTEND_DIAGONAL_POSITION;
    f.positions[0] = INT64_C(1) << 60, f.positions[1] = -(INT64_C(1) << 60);
    f.args->positions = f.positions;
    expect_ok(attend_forward(f.engine, f.problem, f.args));
    f.problem->flags |= ATTEND_WINDOW;
    f.problem->window_left = f.problem->window_right = INT64_MAX;
    expect_ok(attend_forward(f.engine, f.problem, f.args));
    f.args->batch = f.args->rows = f.args->keys = 1;
    f.key_starts[0] = f.query_starts[0] = 0, f.key_lengths[0] = f.query_lengths[0] = 1;
    f.output->stride[0] = f.output->stride[2] = 0;
    expect_ok(attend_forward(f.engine, f.problem, f.args));
    tear_down(&f);
}

/* The same for options: all of them at once, each at its limits. */
Test(arguments, legal_options, .timeout = 60)
{
    struct fixture f;
    set_up(&f);
    pack(&f);
    give_bits(&f);
    give_key_sums(&f);
    f.problem->softcap = 1e-30f;
    f.args->bias = &f.bias;
    f.args->alibi_slopes = f.slopes;
    f.args->sinks = f.sinks;
    f.args->prefix_lengths = f.prefix_lengths;
    f.sinks[0] = -INFINITY;
    f.prefix_lengths[0] = INT64_MAX;
    f.bias_memory[0] = -INFINITY;
    f.visible->stride[0] = 3; /* of a single element */
    f.args->deadline = INT64_MAX;
    expect_ok(attend_forward(f.engine, f.problem, f.args));
    f.args->rows = 3, f.args->keys = 5;
    expect_ok(attend_forward(f.engine, f.problem, f.args));
    f.args->rows = f.args->keys = ATTEND_PLANNED;
    f.query_offsets[1] = f.query_offsets[2] = 1, f.key_offsets[1] = f.key_offsets[2] = 3;
    expect_ok(attend_forward(f.engine, f.problem, f.args));
    memset(f.query_offsets, 0, sizeof f.query_offsets);
    memset(f.key_offsets, 0, sizeof f.key_offsets);
    expect_ok(attend_forward(f.engine, f.problem, f.args));
    tear_down(&f);
}

Test(arguments, legal_partials, .timeout = 60)
{
    struct fixture f;
    set_up(&f);
    give_partials(&f);
    f.problem->flags |= ATTEND_FAST_ONLY | ATTEND_KEY_SUMS;
    f.problem->softcap = -0.0f;
    expect_ok(attend_forward(f.engine, f.problem, f.args));
    f.args->resume = 1;
    f.args->visible_tail = 1;
    f.visible->stride[3] = 7; /* of a single element */
    expect_ok(attend_forward(f.engine, f.problem, f.args));
    tear_down(&f);
}

/* Entries without keys of their item may hold anything, and pages may serve twice. */
Test(arguments, legal_pages, .timeout = 60)
{
    struct fixture f;
    set_up(&f);
    page(&f);
    f.problem->flags |= ATTEND_FAST_ONLY;
    f.args->scores = f.args->weights = NULL;
    expect_ok(attend_forward(f.engine, f.problem, f.args));
    f.tables[3] = f.tables[4] = f.tables[5] = 0;
    expect_ok(attend_forward(f.engine, f.problem, f.args));
    f.key_starts[0] = 2, f.key_lengths[0] = 2, f.tables[0] = -7, f.tables[2] = 6;
    f.key_starts[1] = 5, f.key_lengths[1] = 0, f.tables[3] = INT32_MIN, f.tables[5] = INT32_MAX;
    expect_ok(attend_forward(f.engine, f.problem, f.args));
    f.args->batch = 1, f.args->table_stride = 1; /* nothing follows it */
    expect_ok(attend_forward(f.engine, f.problem, f.args));
    f.key_lengths[0] = 0;
    f.args->pages = 0;
    f.args->block_tables = NULL;
    f.args->key = f.args->value = NULL;
    expect_ok(attend_forward(f.engine, f.problem, f.args));
    tear_down(&f);
}

/* One table for all items, and pages with more keys than there are. */
Test(arguments, legal_single_page, .timeout = 60)
{
    struct fixture f;
    set_up(&f);
    page(&f);
    f.args->table_stride = 0;
    expect_ok(attend_forward(f.engine, f.problem, f.args));
    static float keys[2 * 9 * 4], values[2 * 9 * 3];
    f.problem->page_keys = 9;
    f.args->pages = 1;
    f.tables[0] = 0;
    *f.key = attend_view_bhsd(keys, 2, 9, 4);
    *f.value = attend_view_bhsd(values, 2, 9, 3);
    expect_ok(attend_forward(f.engine, f.problem, f.args));
    expect_verdict(sample_judge(&f.sample), "one page");
    f.problem->page_keys = INT32_MAX; /* that many, but for strides of 0 */
    f.key->stride[2] = f.value->stride[2] = 0;
    expect_ok(attend_forward(f.engine, f.problem, f.args));
    tear_down(&f);
}

/* Rows that no offset reaches belong to nobody: another tensor may lie there. */
Test(arguments, memory_behind_the_last_offset, .timeout = 60)
{
    struct fixture f;
    set_up(&f);
    pack(&f);
    f.args->lse = f.args->visible = f.args->weights = f.args->scores = NULL;
    f.query_offsets[2] = 2;
    static float memory[80];
    *f.query = attend_view_bshd(memory, 4, 3, 4);
    *f.output = attend_view_bshd(memory + 2 * 4 * 4, 4, 3, 3);
    expect_ok(attend_forward(f.engine, f.problem, f.args));
    f.query_offsets[2] = 3;
    expect_refused(&f, ATTEND_ERR_ARGUMENT, "query");
    tear_down(&f);
}

/* An output between the rows of an input shares no byte with it. */
Test(arguments, interleaved_output_is_legal, .timeout = 60)
{
    struct fixture f;
    set_up(&f);
    static float memory[2 * 4 * 3 * 7];
    *f.query = attend_view_bhsd(memory, 4, 3, 7);
    *f.output = attend_view_bhsd(memory + 4, 4, 3, 7);
    expect_ok(attend_forward(f.engine, f.problem, f.args));
    tear_down(&f);
}
