/* See contract.h. Compiled without contraction like everything here, so that each operation rounds once. */
#include "tests/contract.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { TILE = 512, CHAIN = 128, LANES = 16, WIDEST = 4096 };

/* What one row reads, keys counted from the item's first real one. */
struct row_problem {
    const attend_problem *problem;
    const attend_args *args;
    int64_t item, head, kv_head, row;
    int64_t row_item, kv_item; /* in the tensors: 0 where packed */
    int64_t key_start, keys;
    int64_t diagonal;
    float scale;
};

struct partial {
    float largest, total, sum[WIDEST];
};

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t to_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* E: the exponential of x ≤ 0. */
static float contract_exp(float x)
{
    static const float c[] = { 1.0f, 0x1.fffff8p-1f, 0x1.fffdbcp-2f, 0x1.555a28p-3f, 0x1.573bd2p-5f, 0x1.0fa7cap-7f };
    if (isnan(x))
        return x;
    if (x < -64.0f)
        return 0.0f;
    float n = fmaf(x, 0x1.715476p+0f, 12583038.0f) - 12583038.0f; /* the nearest whole number to x·log2(e), rounded once */
    float r = fmaf(n, -0x1.62e43p-1f, x), p = c[5];
    for (int i = 4; i >= 0; i--)
        p = fmaf(p, r, c[i]);
    return ldexpf(p, (int)n);
}

/* The natural logarithm of a normal x > 0. */
static float contract_log(float x)
{
    static const float c[] = { 0.3333333134651184f,   -0.2500081956386566f,  0.20001226663589478f, -0.16623356938362122f,
                               0.14201757311820984f, -0.13160181045532227f, 0.1276157796382904f,  -0.07634498924016953f };
    if (!isfinite(x))
        return NAN;
    int e = (int)(((int64_t)to_bits(x) - 0x3f3504f3) >> 23);
    float f = from_bits(to_bits(x) - ((uint32_t)e << 23)) - 1.0f, square = f * f, p = c[7];
    for (int i = 6; i >= 0; i--)
        p = fmaf(p, f, c[i]);
    float y = f * square * p;
    y = fmaf((float)e, -2.12194440e-4f, y);
    y = fmaf(square, -0.5f, y);
    return fmaf((float)e, 0.693359375f, f + y);
}

static float element(const attend_tensor *tensor, int64_t b, int64_t h, int64_t r, int64_t d)
{
    return ((const float *)tensor->data)[b * tensor->stride[0] + h * tensor->stride[1] + r * tensor->stride[2] +
                                         d * tensor->stride[3]];
}

/* The causal rule and the window, but for the prefix. */
static bool is_allowed(const struct row_problem *p, int64_t j)
{
    const int64_t before = p->diagonal - j; /* how far the key lies before the row's own */
    if (p->args->prefix_lengths && j < p->args->prefix_lengths[p->item])
        return true;
    if (p->problem->causal && before < 0)
        return false;
    if (!(p->problem->flags & ATTEND_WINDOW))
        return true;
    const int64_t left = p->problem->window_left, right = p->problem->window_right;
    return (left < 0 || before <= left) && (right < 0 || before >= -right);
}

static bool is_flagged(const struct row_problem *p, int64_t j)
{
    const attend_tensor *visible = p->args->visible;
    const int64_t tail = p->args->visible_tail, column = tail > 0 ? j - (p->keys - tail) : p->key_start + j;
    if (!visible || column < 0)
        return true;
    const int64_t at = p->row_item * visible->stride[0] + p->head * visible->stride[1] + p->row * visible->stride[2];
    const uint8_t *flags = visible->data;
    if (visible->dtype == ATTEND_BIT)
        return (flags[at / 8 + column / 8] & 1u << column % 8) != 0;
    return flags[at + column * visible->stride[3]] != 0;
}

/* Of key j's keys or values; where they lie in pages, the item's block table tells which. */
static float cached(const struct row_problem *p, const attend_tensor *tensor, int64_t j, int64_t d)
{
    const int64_t key = p->key_start + j, page_keys = p->problem->page_keys;
    if (!(p->problem->flags & ATTEND_PAGED_KEYS))
        return element(tensor, p->kv_item, p->kv_head, key, d);
    return element(tensor, p->args->block_tables[p->item * p->args->table_stride + key / page_keys], p->kv_head, key % page_keys, d);
}

static float bias_of(const struct row_problem *p, int64_t j)
{
    return element(p->args->bias, p->row_item, p->head, p->row, p->key_start + j);
}

static bool is_visible(const struct row_problem *p, int64_t j)
{
    return j < p->keys && is_allowed(p, j) && is_flagged(p, j) && !(p->args->bias && bias_of(p, j) == -INFINITY);
}

/* T: the hyperbolic tangent. */
static float contract_tanh(float y)
{
    static const float top[] = { 1.0f, 0x1.12330ep-3f, 0x1.cb5ba6p-9f, 0x1.5c5fbep-16f, 0x1.d32984p-27f };
    static const float bottom[] = { 1.0f, 0x1.de6ee2p-2f, 0x1.a887d2p-6f, 0x1.5a186ep-12f, 0x1.a67a7ep-21f };
    const float limited = y > 8.4f ? 8.4f : y < -8.4f ? -8.4f : y, z = limited * limited;
    float p = top[4], q = bottom[4];
    for (int i = 3; i >= 0; i--) {
        p = fmaf(p, z, top[i]);
        q = fmaf(q, z, bottom[i]);
    }
    return limited * p / q;
}

static float score(const struct row_problem *p, int64_t j)
{
    const float softcap = p->problem->softcap;
    float x = 0.0f;
    for (int64_t d = 0; d < p->problem->d_k; d++)
        x = fmaf(element(p->args->query, p->row_item, p->head, p->row, d), cached(p, p->args->key, j, d), x);
    float s = x * p->scale;
    if (softcap > 0.0f)
        s = fmaf(softcap, contract_tanh(s * (1.0f / softcap)), 0.0f);
    if (p->args->bias)
        s = s + bias_of(p, j);
    if (p->args->alibi_slopes)
        s = fmaf(-p->args->alibi_slopes[p->head], (float)(p->diagonal < j ? j - p->diagonal : p->diagonal - j), s);
    return s;
}

/* Step 5 for one column. */
static float value_sum(const struct row_problem *p, int64_t first, const bool *seen, const float *weight, int64_t d)
{
    float sum = 0.0f;
    for (int chain = 0; chain < TILE; chain += CHAIN) {
        float x = 0.0f;
        for (int j = chain; j < chain + CHAIN; j++)
            if (seen[j])
                x = fmaf(weight[j], cached(p, p->args->value, first + j, d), x);
        sum = chain == 0 ? x : sum + x;
    }
    return sum;
}

/* Steps 2 to 5; false for a tile whose visible scores are all -inf, or that has none. */
static bool attend_tile(const struct row_problem *p, int64_t first, struct partial *tile)
{
    bool seen[TILE], any = false;
    float s[TILE], weight[TILE], lanes[LANES] = { 0.0f };
    tile->largest = -INFINITY;
    for (int j = 0; j < TILE; j++) {
        seen[j] = is_visible(p, first + j);
        s[j] = seen[j] ? score(p, first + j) : -INFINITY;
        any = any || isnan(s[j]) || s[j] > -INFINITY;
        if (isnan(s[j]) || s[j] > tile->largest)
            tile->largest = isnan(tile->largest) ? tile->largest : s[j];
    }
    if (!any)
        return false;
    for (int j = 0; j < TILE; j++) {
        weight[j] = seen[j] ? contract_exp(s[j] - tile->largest) : 0.0f;
        lanes[j % LANES] += weight[j];
    }
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            lanes[i] += lanes[i + half];
    tile->total = lanes[0];
    for (int64_t d = 0; d < p->problem->d_v; d++)
        tile->sum[d] = value_sum(p, first, seen, weight, d);
    return true;
}

/* Step 6. */
static void merge(struct partial *row, const struct partial *tile, int64_t d_v)
{
    float largest = isnan(tile->largest) || row->largest > tile->largest ? row->largest : tile->largest;
    float alpha = contract_exp(row->largest - largest), beta = contract_exp(tile->largest - largest);
    row->largest = largest;
    row->total = fmaf(tile->total, beta, row->total * alpha);
    for (int64_t d = 0; d < d_v; d++)
        row->sum[d] = fmaf(tile->sum[d], beta, row->sum[d] * alpha);
}

/* What a row's sums are divided by, once both are relative to the largest of scores and sink. */
struct denominator {
    float share, total;
};

/* Step 7 with a sink: one more score, in the denominator alone. */
static struct denominator admit_sink(const struct partial *row, float sink)
{
    if (sink == -INFINITY)
        return (struct denominator){ 1.0f, row->total };
    const float largest = row->largest > sink ? row->largest : sink, share = contract_exp(row->largest - largest);
    const float grown = row->total * share;
    return (struct denominator){ share, grown + contract_exp(sink - largest) };
}

static struct row_problem describe_row(const attend_problem *problem, const attend_args *args, int64_t item, int64_t head,
                                       int64_t row)
{
    const int64_t *key_offsets = args->key_offsets, *query_offsets = args->query_offsets;
    const int64_t key_start = key_offsets ? key_offsets[item] : args->key_starts ? args->key_starts[item] : 0;
    const int64_t row_start = query_offsets ? query_offsets[item] : args->query_starts ? args->query_starts[item] : 0;
    const int64_t all_keys = args->keys == ATTEND_PLANNED ? problem->keys : args->keys;
    const int64_t all_rows = args->rows == ATTEND_PLANNED ? problem->rows : args->rows;
    const int64_t keys = key_offsets         ? key_offsets[item + 1] - key_start
                         : args->key_lengths ? args->key_lengths[item]
                                             : all_keys - key_start;
    const int64_t rows = query_offsets         ? query_offsets[item + 1] - row_start
                         : args->query_lengths ? args->query_lengths[item]
                                               : all_rows - row_start;
    const int64_t first = problem->diagonal == ATTEND_DIAGONAL_TOP_LEFT   ? 0
                          : problem->diagonal == ATTEND_DIAGONAL_POSITION ? args->positions[item]
                                                                          : keys - rows;
    return (struct row_problem){
        .problem = problem,
        .args = args,
        .item = item,
        .head = head,
        .kv_head = head / (problem->heads / problem->kv_heads),
        .row = row,
        .row_item = query_offsets ? 0 : item,
        .kv_item = key_offsets ? 0 : item,
        .key_start = key_start,
        .keys = keys,
        .diagonal = first + row - row_start,
        .scale = problem->flags & ATTEND_EXPLICIT_SCALE ? problem->scale : (float)(1.0 / sqrt((double)problem->d_k)),
    };
}

static float without_nan(float x)
{
    return isnan(x) ? from_bits(0x7fc00000) : x;
}

/* Outputs beyond float32 count as NaN. */
static float canonical(float x)
{
    return isfinite(x) ? x : from_bits(0x7fc00000);
}

static int64_t key_count(const struct row_problem *p)
{
    return p->args->keys == ATTEND_PLANNED ? p->problem->keys : p->args->keys;
}

/* Scores and weights of a row whose tiles are all folded; `any` is false for one without a score above -inf. */
static void give_pairs(const struct row_problem *p, bool any, const struct partial *whole, struct denominator by,
                       const struct contract_row *result)
{
    for (int64_t key = 0; key < key_count(p); key++) {
        const int64_t j = key - p->key_start;
        const bool seen = j >= 0 && is_visible(p, j);
        const float s = seen ? score(p, j) : -INFINITY;
        result->scores[key] = without_nan(s);
        result->weights[key] = any && seen ? without_nan(contract_exp(s - whole->largest) * by.share / by.total) : 0.0f;
    }
}

/* Only NaN is rewritten, and zeros get one sign: that of M would depend on the order of comparisons. */
static void give_partial(bool any, const struct partial *whole, int64_t d_v, struct contract_row *result)
{
    result->total = any ? without_nan(whole->total) : 0.0f;
    result->maximum = !any ? -INFINITY : isnan(whole->total) ? from_bits(0x7fc00000) : whole->largest + 0.0f;
    for (int64_t d = 0; d < d_v; d++)
        result->output[d] = any ? without_nan(whole->sum[d] + 0.0f) : 0.0f;
}

static void give_output(const struct row_problem *p, bool any, const struct partial *whole, struct contract_row *result)
{
    const struct denominator by = admit_sink(whole, p->args->sinks ? p->args->sinks[p->head] : -INFINITY);
    for (int64_t d = 0; d < p->problem->d_v; d++)
        result->output[d] = any ? canonical(whole->sum[d] * by.share / by.total) + 0.0f : 0.0f;
    if (result->scores)
        give_pairs(p, any, whole, by, result);
}

/* What the tiles are folded into: false for an empty partial, whatever else it holds. */
static bool begin_row(const attend_args *args, const struct contract_row *result, int64_t d_v, struct partial *whole)
{
    if (!args->resume || result->maximum == -INFINITY)
        return false;
    whole->largest = result->maximum;
    whole->total = result->total;
    memcpy(whole->sum, result->output, (size_t)d_v * sizeof *whole->sum);
    return true;
}

void contract_attend_row(const attend_problem *problem, const attend_args *args, int64_t item, int64_t head, int64_t row,
                         struct contract_row *result)
{
    static _Thread_local struct partial whole, tile;
    const struct row_problem p = describe_row(problem, args, item, head, row);
    bool any = begin_row(args, result, problem->d_v, &whole);
    for (int64_t first = 0; first < p.keys; first += TILE) {
        if (!attend_tile(&p, first, &tile))
            continue;
        if (any)
            merge(&whole, &tile, problem->d_v);
        else
            whole = tile;
        any = true;
    }
    result->lse = any ? canonical(whole.largest + contract_log(whole.total)) : -INFINITY;
    if (args->maximum)
        give_partial(any, &whole, problem->d_v, result);
    else
        give_output(&p, any, &whole, result);
}
