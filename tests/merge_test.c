/* Parts of the keys computed apart and folded: the bytes of one run over all of them where the parts are KV tiles in their order, the
 * same numbers within rounding elsewhere; empty parts and what they hold; sinks counted once; runs that go on from partials. */
#include "tests/help_suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 512, MOST_PARTS = 8 };

/* A run over some keys of a sample. */
struct part {
    float *output, *lse, *maximum, *total;
    attend_tensor output_view, lse_view, maximum_view, total_view;
};

static size_t count_rows(const struct spec *spec)
{
    return (size_t)(spec->batch * spec->heads * spec->rows);
}

static void make_part(struct part *part, const struct spec *spec)
{
    const size_t rows = count_rows(spec), columns = rows * (size_t)spec->d_v;
    part->output = malloc((columns + 1) * sizeof(float));
    part->lse = malloc((3 * rows + 1) * sizeof(float));
    cr_assert(part->output && part->lse);
    part->maximum = part->lse + rows;
    part->total = part->maximum + rows;
    memset(part->output, 0xff, columns * sizeof(float));
    memset(part->lse, 0xff, 3 * rows * sizeof(float));
    part->output_view = attend_view_bhsd(part->output, spec->heads, spec->rows, spec->d_v);
    part->lse_view = attend_view_bhsd(part->lse, spec->heads, spec->rows, 1);
    part->maximum_view = attend_view_bhsd(part->maximum, spec->heads, spec->rows, 1);
    part->total_view = attend_view_bhsd(part->total, spec->heads, spec->rows, 1);
}

static void free_part(struct part *part)
{
    free(part->output);
    free(part->lse);
}

static void move_view(attend_tensor *view, const attend_tensor *whole, int axis, int64_t by)
{
    *view = *whole;
    view->data = (float *)whole->data + by * whole->stride[axis];
}

/* Rows keep their place among the keys: positions count from the part's first key, and so do prefixes. */
static void run_part(struct part *part, const struct sample *whole, attend_engine *engine, int64_t from, int64_t to, bool partial,
                     bool resume)
{
    const struct spec *spec = &whole->spec;
    attend_problem problem = whole->problem;
    attend_args args = whole->args;
    attend_tensor key, value, bias;
    int64_t positions[SPEC_ITEMS], prefixes[SPEC_ITEMS];
    problem.keys = to - from;
    problem.diagonal = ATTEND_DIAGONAL_POSITION;
    for (int64_t item = 0; item < spec->batch; item++) {
        positions[item] = spec->keys - spec->rows - from;
        prefixes[item] = spec->prefix_lengths[item] > from ? spec->prefix_lengths[item] - from : 0;
    }
    move_view(&key, args.key, 2, from);
    move_view(&value, args.value, 2, from);
    if (args.bias)
        move_view(&bias, args.bias, 3, from);
    args.key = &key;
    args.value = &value;
    args.bias = args.bias ? &bias : NULL;
    args.positions = positions;
    args.prefix_lengths = args.prefix_lengths ? prefixes : NULL;
    args.sinks = NULL;
    args.output = &part->output_view;
    args.lse = &part->lse_view;
    args.maximum = partial ? &part->maximum_view : NULL;
    args.total = partial ? &part->total_view : NULL;
    args.resume = resume;
    expect_ok(attend_forward(engine, &problem, &args));
}

static attend_part partial_of(const struct part *part)
{
    return (attend_part){ sizeof(attend_part), &part->output_view, NULL, &part->maximum_view, &part->total_view };
}

static attend_part pair_of(const struct part *part)
{
    return (attend_part){ sizeof(attend_part), &part->output_view, &part->lse_view, NULL, NULL };
}

static attend_merge_args merge_args(const struct spec *spec, const attend_part *parts, size_t count, struct part *result)
{
    attend_merge_args args = ATTEND_MERGE_ARGS_INIT;
    args.batch = spec->batch;
    args.heads = spec->heads;
    args.rows = spec->rows;
    args.d_v = spec->d_v;
    args.parts = parts;
    args.part_count = count;
    args.output = &result->output_view;
    args.lse = &result->lse_view;
    return args;
}

/* Output and LSE of the whole sample, byte for byte. */
static void expect_whole(const struct sample *whole, const struct part *found, const char *what)
{
    const struct spec *spec = &whole->spec;
    for (int64_t r = 0; r < (int64_t)count_rows(spec); r++) {
        const int64_t item = r / (spec->heads * spec->rows), head = r / spec->rows % spec->heads, row = r % spec->rows;
        cr_assert(memcmp(box_at(&whole->lse, item, head, row, 0), &found->lse[r], sizeof(float)) == 0, "%s: LSE of row %lld: %s",
                  what, (long long)r, spec_text(spec));
        for (int64_t d = 0; d < spec->d_v; d++)
            cr_assert(memcmp(box_at(&whole->output, item, head, row, d), &found->output[r * spec->d_v + d], sizeof(float)) == 0,
                      "%s: output of row %lld, column %lld is %.9g: %s", what, (long long)r, (long long)d,
                      (double)found->output[r * spec->d_v + d], spec_text(spec));
    }
}

/* The diagonal of all of these is bottom-right. */
static struct spec merge_spec(attend_isa isa, int number)
{
    const int64_t rows = isa == ATTEND_ISA_PORTABLE ? 9 : 40;
    struct spec spec;
    switch (number) {
    case 0: return spec_plain(1, 2, rows, 1900, 32, 40);
    case 1:
        spec = spec_plain(2, 4, rows, 1536, 24, 700);
        spec.kv_heads = 2;
        spec.causal = spec.with_alibi = spec.with_sinks = true;
        return spec;
    case 2:
        spec = spec_plain(3, 2, rows, 2500, 16, 8);
        spec_set_window(&spec, 700, 3);
        spec_set_batch(&spec, 2);
        spec.with_prefix = spec.with_bias = spec.with_sinks = true;
        spec.softcap = 5.0f;
        spec.prefix_lengths[0] = 1000;
        spec.prefix_lengths[1] = 1;
        return spec;
    default: /* many rows see nothing of most parts, and some nothing at all */
        spec = spec_plain(4, 3, 700, 600, 8, 8);
        spec.causal = true;
        spec_set_window(&spec, 40, 0);
        return spec;
    }
}

struct split {
    struct sample whole;
    struct part part[MOST_PARTS], result;
    attend_part tiles[MOST_PARTS];
    size_t count;
};

static void make_split(struct split *split, const struct spec *spec, attend_engine *engine, bool partial)
{
    sample_make(&split->whole, spec);
    expect_ok(sample_forward(&split->whole, engine));
    make_part(&split->result, spec);
    split->count = 0;
    for (int64_t from = 0; from < spec->keys; from += TILE) {
        struct part *part = &split->part[split->count];
        const int64_t to = from + TILE < spec->keys ? from + TILE : spec->keys;
        make_part(part, spec);
        run_part(part, &split->whole, engine, from, to, partial, false);
        split->tiles[split->count++] = partial ? partial_of(part) : pair_of(part);
    }
}

static void free_split(struct split *split)
{
    for (size_t i = 0; i < split->count; i++)
        free_part(&split->part[i]);
    free_part(&split->result);
    sample_free(&split->whole);
}

typedef void (*split_check)(struct split *split, attend_engine *engine);

static void check_splits(attend_isa isa, bool partial, split_check check)
{
    attend_engine *engine = need_engine(isa, 2, IN_TEAM);
    for (int number = 0; number < 4; number++) {
        struct spec spec = merge_spec(isa, number);
        struct split split;
        make_split(&split, &spec, engine, partial);
        check(&split, engine);
        free_split(&split);
    }
    attend_engine_destroy(engine);
}

static void expect_merged(struct split *split, attend_engine *engine, const attend_part *parts, size_t count, const char *what)
{
    attend_merge_args args = merge_args(&split->whole.spec, parts, count, &split->result);
    args.sinks = split->whole.args.sinks;
    expect_ok(attend_merge(engine, &args));
    expect_whole(&split->whole, &split->result, what);
}

static void check_tiles(struct split *split, attend_engine *engine)
{
    expect_merged(split, engine, split->tiles, split->count, "a part for every tile");
}

static void check_first_tiles(struct split *split, attend_engine *engine)
{
    struct part first;
    make_part(&first, &split->whole.spec);
    for (size_t count = 2; count < split->count; count++) {
        run_part(&first, &split->whole, engine, 0, (int64_t)count * TILE, true, false);
        attend_part parts[MOST_PARTS] = { partial_of(&first) };
        memcpy(parts + 1, split->tiles + count, (split->count - count) * sizeof *parts);
        expect_merged(split, engine, parts, split->count - count + 1, "a first part of several tiles");
    }
    free_part(&first);
}

/* The first tiles merged into a partial, and that merged with the rest; in the memory of the first. */
static void check_merge_of_merges(struct split *split, attend_engine *engine)
{
    struct part *first = &split->part[0];
    attend_merge_args args = merge_args(&split->whole.spec, split->tiles, 2, first);
    args.maximum = &first->maximum_view;
    args.total = &first->total_view;
    expect_ok(attend_merge(engine, &args));
    attend_part parts[MOST_PARTS] = { partial_of(first) };
    memcpy(parts + 1, split->tiles + 2, (split->count - 2) * sizeof *parts);
    expect_merged(split, engine, parts, split->count - 1, "a merge of a merge, in place");
}

/* Every run goes on where the one before ended. */
static void check_resumed(struct split *split, attend_engine *engine)
{
    const struct spec *spec = &split->whole.spec;
    struct part part;
    make_part(&part, spec);
    run_part(&part, &split->whole, engine, 0, TILE, true, false);
    run_part(&part, &split->whole, engine, TILE, spec->keys, true, true);
    const attend_part parts[] = { partial_of(&part) };
    expect_merged(split, engine, parts, 1, "a run that goes on");
    free_part(&part);
}

static bool is_near(float found, double right, double bound)
{
    return isinf(right) ? (double)found == right : fabs((double)found - right) <= bound;
}

/* Pairs lose about |LSE|·2⁻²⁴, and so do the weights of the parts. */
static void check_pairs(struct split *split, attend_engine *engine)
{
    const struct spec *spec = &split->whole.spec;
    attend_merge_args args = merge_args(spec, split->tiles, split->count, &split->result);
    args.sinks = split->whole.args.sinks;
    expect_ok(attend_merge(engine, &args));
    for (int64_t r = 0; r < (int64_t)count_rows(spec); r++) {
        const int64_t item = r / (spec->heads * spec->rows), head = r / spec->rows % spec->heads, row = r % spec->rows;
        const double lse = *(float *)box_at(&split->whole.lse, item, head, row, 0), size = isinf(lse) ? 0 : fabs(lse);
        cr_assert(is_near(split->result.lse[r], lse, 4e-7 * (1 + size)), "LSE of row %lld is %.9g, should be %.9g", (long long)r,
                  (double)split->result.lse[r], lse);
        for (int64_t d = 0; d < spec->d_v; d++) {
            const double right = *(float *)box_at(&split->whole.output, item, head, row, d);
            cr_assert(is_near(split->result.output[r * spec->d_v + d], right, 4 * (2e-6 + 2.4e-7 * size)),
                      "output of row %lld is %.9g, should be %.9g", (long long)r, (double)split->result.output[r * spec->d_v + d],
                      right);
        }
    }
}

/* Empty parts anywhere, full of NaN, change no bit. */
static void check_identity(struct split *split, attend_engine *engine)
{
    struct part empty;
    make_part(&empty, &split->whole.spec); /* everything is NaN */
    for (size_t r = 0; r < count_rows(&split->whole.spec); r++)
        empty.maximum[r] = -INFINITY;
    for (size_t place = 0; place <= split->count; place++) {
        attend_part parts[MOST_PARTS + 1];
        memcpy(parts, split->tiles, place * sizeof *parts);
        parts[place] = partial_of(&empty);
        memcpy(parts + place + 1, split->tiles + place, (split->count - place) * sizeof *parts);
        expect_merged(split, engine, parts, split->count + 1, "an empty part");
    }
    free_part(&empty);
}

static void check_tiles_bits(attend_isa isa) { check_splits(isa, true, check_tiles); }
static void check_first_bits(attend_isa isa) { check_splits(isa, true, check_first_tiles); }
static void check_nested_bits(attend_isa isa) { check_splits(isa, true, check_merge_of_merges); }
static void check_resumed_bits(attend_isa isa) { check_splits(isa, true, check_resumed); }
static void check_pair_numbers(attend_isa isa) { check_splits(isa, false, check_pairs); }
static void check_identity_bits(attend_isa isa) { check_splits(isa, true, check_identity); }

ISA_TESTS(merge, tiles, check_tiles_bits)
ISA_TESTS(merge, first_part_of_tiles, check_first_bits)
ISA_TESTS(merge, merge_of_merges_in_place, check_nested_bits)
ISA_TESTS(merge, resumed_runs, check_resumed_bits)
ISA_TESTS(merge, output_and_lse, check_pair_numbers)
ISA_TESTS(merge, empty_parts, check_identity_bits)

/* Two rows of width 2 by hand: (1, 2) with LSE ln 3 and (4, 8) with LSE 0 weigh 3 : 1. */
static void check_by_hand(attend_isa isa)
{
    attend_engine *engine = need_engine(isa, 1, 0);
    struct spec spec = spec_plain(1, 1, 2, 0, 1, 2);
    struct part one, two, result;
    make_part(&one, &spec), make_part(&two, &spec), make_part(&result, &spec);
    const float first[] = { 1, 2, 5, NAN }, second[] = { 4, 8, 6, 7 };
    memcpy(one.output, first, sizeof first);
    memcpy(two.output, second, sizeof second);
    one.lse[0] = logf(3.0f), two.lse[0] = 0;
    one.lse[1] = -INFINITY, two.lse[1] = NAN;
    const attend_part parts[] = { pair_of(&one), pair_of(&two) };
    attend_merge_args args = merge_args(&spec, parts, 2, &result);
    expect_ok(attend_merge(engine, &args));
    cr_expect(fabsf(result.output[0] - 1.75f) < 1e-6f && fabsf(result.output[1] - 3.5f) < 1e-6f);
    cr_expect(fabsf(result.lse[0] - logf(4.0f)) < 1e-6f);
    cr_expect(isnan(result.output[2]) && isnan(result.output[3]) && isnan(result.lse[1]), "a NaN shows in its row");
    const float sink = 0; /* as much as the second part */
    args.sinks = &sink;
    expect_ok(attend_merge(engine, &args));
    cr_expect(fabsf(result.output[0] - 1.4f) < 1e-6f && fabsf(result.lse[0] - logf(4.0f)) < 1e-6f, "a sink takes a fifth");
    args.part_count = 0;
    expect_ok(attend_merge(engine, &args));
    cr_expect(result.output[0] == 0.0f && result.output[3] == 0.0f && result.lse[0] == -INFINITY, "no parts are no keys");
    free_part(&one), free_part(&two), free_part(&result);
    attend_engine_destroy(engine);
}

ISA_TESTS(merge, by_hand, check_by_hand)

/* Refusals, one broken rule each. */
struct broken {
    struct spec spec;
    struct part part[2], result;
    attend_part parts[2];
    attend_merge_args args;
    float sinks[2];
};

static void break_size(struct broken *b) { b->args.rows = -1; }
static void break_parts(struct broken *b) { b->args.parts = NULL; }
static void break_kinds(struct broken *b) { b->parts[1] = pair_of(&b->part[1]); }
static void break_both(struct broken *b) { b->parts[1].lse = &b->part[1].lse_view; }
static void break_neither(struct broken *b) { b->parts[0].maximum = b->parts[0].total = NULL; }
static void break_total(struct broken *b) { b->parts[1].total = NULL; }
static void break_result_total(struct broken *b) { b->args.maximum = &b->result.maximum_view; }
static void break_output(struct broken *b) { b->args.output = NULL; }
static void break_second(struct broken *b) { b->args.output = &b->part[1].output_view; }
static void break_shift(struct broken *b)
{
    b->result.output_view.data = b->part[0].output + 1;
}
static void break_role(struct broken *b) { b->args.lse = &b->part[0].maximum_view; }
static void break_dtype(struct broken *b) { b->part[1].maximum_view.dtype = ATTEND_BOOL; }
static void break_sink(struct broken *b)
{
    b->sinks[1] = NAN;
    b->args.sinks = b->sinks;
}
static void break_sink_of_partial(struct broken *b)
{
    b->args.sinks = b->sinks;
    b->args.maximum = &b->result.maximum_view;
    b->args.total = &b->result.total_view;
}
static void break_stride(struct broken *b) { b->result.output_view.stride[2] = 0; }
static void break_struct(struct broken *b) { b->parts[1].struct_size = 8; }

static const struct {
    const char *names; /* in the message */
    void (*damage)(struct broken *);
} breaks[] = {
    { "args.rows is -1", break_size },
    { "args.parts is NULL", break_parts },
    { "args.parts[1].lse", break_kinds },
    { "args.parts[1].lse", break_both },
    { "args.parts[0].lse", break_neither },
    { "args.parts[1].total is NULL", break_total },
    { "args.total is NULL", break_result_total },
    { "args.output is NULL", break_output },
    { "args.output overlaps args.parts[1].output", break_second },
    { "args.output overlaps args.parts[0].output", break_shift },
    { "args.lse overlaps args.parts[0].maximum", break_role },
    { "args.parts[1].maximum has dtype", break_dtype },
    { "args.sinks[1] is nan", break_sink },
    { "args.sinks is given", break_sink_of_partial },
    { "args.output", break_stride },
    { "args.parts", break_struct },
};

Test(merge, refusals)
{
    attend_engine *engine = make_engine(ATTEND_ISA_AUTO, 1, 0);
    for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++) {
        struct broken b = { .spec = spec_plain(1, 2, 3, 0, 1, 4) };
        for (int p = 0; p < 2; p++) {
            make_part(&b.part[p], &b.spec);
            b.parts[p] = partial_of(&b.part[p]);
        }
        make_part(&b.result, &b.spec);
        b.args = merge_args(&b.spec, b.parts, 2, &b.result);
        breaks[i].damage(&b);
        const float before = b.result.output[0];
        cr_expect(attend_merge(engine, &b.args) == ATTEND_ERR_ARGUMENT, "%s: not refused", breaks[i].names);
        cr_expect(strstr(attend_last_error(), breaks[i].names) != NULL, "'%s' does not say '%s'", attend_last_error(),
                  breaks[i].names);
        cr_expect(memcmp(&before, &b.result.output[0], sizeof before) == 0, "%s: the output was written", breaks[i].names);
        free_part(&b.part[0]), free_part(&b.part[1]), free_part(&b.result);
    }
    attend_engine_destroy(engine);
}
