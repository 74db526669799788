/* See oracle.h. One function per step of the formula: who sees whom, the score, the softmax, the weighted values.
 * Speed is no aim; every tensor is read through its strides, one element at a time, and only where the row may look. */
#include "tests/oracle.h"

#include <math.h>
#include <stdlib.h>

struct range {
    int64_t start, length;
};

/* One row's place in the problem, with everything that the run leaves to its defaults filled in. */
struct place {
    const attend_problem *problem;
    const attend_args *args;
    int64_t item, head, kv_head, row;
    int64_t keys; /* of the run, padding included */
    struct range key_range, query_range;
    int64_t tensor_item; /* in tensors with a row axis: 0 where queries are packed */
    int64_t kv_item;     /* in keys and values: 0 where keys are packed */
};

static int64_t planned_or(int64_t given, int64_t planned)
{
    return given == ATTEND_PLANNED ? planned : given;
}

static struct range read_range(const int64_t *offsets, const int64_t *starts, const int64_t *lengths, int64_t item,
                               int64_t extent)
{
    if (offsets)
        return (struct range){ offsets[item], offsets[item + 1] - offsets[item] };
    struct range range = { starts ? starts[item] : 0, 0 };
    range.length = lengths ? lengths[item] : extent - range.start;
    return range;
}

static bool is_inside(struct range range, int64_t index)
{
    return index >= range.start && index < range.start + range.length;
}

/* Sign, exponent and fraction, as the formats define them: bfloat16 has 8 bits of exponent and 7 of fraction, binary16 5 and 10. */
static double half_value(unsigned bits, int fraction_bits)
{
    const int fraction_one = 1 << fraction_bits, exponents = 1 << (15 - fraction_bits), bias = exponents / 2 - 1;
    const int exponent = (int)(bits & 0x7fff) / fraction_one, fraction = (int)bits & (fraction_one - 1);
    double magnitude = ldexp(fraction_one + fraction, exponent - bias - fraction_bits);
    if (exponent == exponents - 1)
        magnitude = fraction ? NAN : INFINITY;
    else if (exponent == 0)
        magnitude = ldexp(fraction, 1 - bias - fraction_bits);
    return bits & 0x8000 ? -magnitude : magnitude;
}

static double read_float(const attend_tensor *tensor, int64_t item, int64_t head, int64_t row, int64_t feature)
{
    const int64_t at = item * tensor->stride[0] + head * tensor->stride[1] + row * tensor->stride[2] + feature * tensor->stride[3];
    if (tensor->dtype == ATTEND_F32)
        return ((const float *)tensor->data)[at];
    return half_value(((const uint16_t *)tensor->data)[at], tensor->dtype == ATTEND_BF16 ? 7 : 10);
}

/* Where keys lie in pages, the item's block table tells which. */
static double read_cache(const struct place *place, const attend_tensor *tensor, int64_t key, int64_t feature)
{
    const attend_args *args = place->args;
    if (!(place->problem->flags & ATTEND_PAGED_KEYS))
        return read_float(tensor, place->kv_item, place->kv_head, key, feature);
    const int64_t page_keys = place->problem->page_keys;
    const int32_t page = args->block_tables[place->item * args->table_stride + key / page_keys];
    return read_float(tensor, page, place->kv_head, key % page_keys, feature);
}

static bool read_visible(const attend_tensor *tensor, int64_t item, int64_t head, int64_t row, int64_t column)
{
    const unsigned char *data = tensor->data;
    int64_t at = item * tensor->stride[0] + head * tensor->stride[1] + row * tensor->stride[2];
    if (tensor->dtype == ATTEND_BIT)
        return data[at / 8 + column / 8] >> column % 8 & 1;
    return data[at + column * tensor->stride[3]] != 0;
}

/* The row's own key, counted from the item's first key. */
static int64_t find_diagonal(const struct place *place)
{
    int64_t i = place->row - place->query_range.start;
    switch (place->problem->diagonal) {
    case ATTEND_DIAGONAL_TOP_LEFT: return i;
    case ATTEND_DIAGONAL_POSITION: return place->args->positions[place->item] + i;
    case ATTEND_DIAGONAL_BOTTOM_RIGHT: break;
    }
    return i + place->key_range.length - place->query_range.length;
}

/* A negative distance is to the left of the row's own key. */
static bool is_in_window(const attend_problem *problem, int64_t distance)
{
    if (!(problem->flags & ATTEND_WINDOW))
        return true;
    bool left = problem->window_left == -1 || distance >= -problem->window_left;
    bool right = problem->window_right == -1 || distance <= problem->window_right;
    return left && right;
}

/* From the row's own key to `key`. */
static int64_t find_distance(const struct place *place, int64_t key)
{
    return key - place->key_range.start - find_diagonal(place);
}

/* The causal rule and the window, which let everybody see the item's prefix. */
static bool is_allowed(const struct place *place, int64_t key)
{
    const int64_t *prefixes = place->args->prefix_lengths;
    if (prefixes && key - place->key_range.start < prefixes[place->item])
        return true;
    int64_t distance = find_distance(place, key);
    return !(place->problem->causal && distance > 0) && is_in_window(place->problem, distance);
}

/* With a tail the tensor's last column is the item's last key, and keys before its first are visible. */
static bool is_flagged(const struct place *place, int64_t key)
{
    const attend_tensor *visible = place->args->visible;
    int64_t tail = place->args->visible_tail, column = key;
    if (tail > 0)
        column = tail - (place->key_range.start + place->key_range.length - key);
    return !visible || column < 0 || read_visible(visible, place->tensor_item, place->head, place->row, column);
}

static double find_bias(const struct place *place, int64_t key)
{
    const attend_tensor *bias = place->args->bias;
    return bias ? read_float(bias, place->tensor_item, place->head, place->row, key) : 0.0;
}

static bool is_visible(const struct place *place, int64_t key)
{
    return is_inside(place->key_range, key) && is_allowed(place, key) && is_flagged(place, key) &&
           find_bias(place, key) != -INFINITY;
}

/* The scale is the float32 number that the library multiplies by. */
static double find_scale(const attend_problem *problem)
{
    if (problem->flags & ATTEND_EXPLICIT_SCALE)
        return problem->scale;
    return (float)(1.0 / sqrt((double)problem->d_k));
}

static double find_alibi(const struct place *place, int64_t key)
{
    const float *slopes = place->args->alibi_slopes;
    return slopes ? -(double)slopes[place->head] * fabs((double)find_distance(place, key)) : 0.0;
}

/* softcap(scale·(q·k)) + bias + ALiBi; *reach becomes |scale|·Σ|q_d·k_d| and what is added to it. */
static double find_score(const struct place *place, int64_t key, double *reach)
{
    double sum = 0.0, sum_of_sizes = 0.0;
    for (int64_t d = 0; d < place->problem->d_k; d++) {
        double product = read_float(place->args->query, place->tensor_item, place->head, place->row, d) *
                         read_cache(place, place->args->key, key, d);
        sum += product;
        sum_of_sizes += fabs(product);
    }
    double scale = find_scale(place->problem), softcap = place->problem->softcap, score = scale * sum;
    if (softcap > 0)
        score = softcap * tanh(score / softcap);
    double bias = find_bias(place, key), alibi = find_alibi(place, key);
    *reach = fabs(scale) * sum_of_sizes + fabs(bias) + fabs(alibi);
    return score + bias + alibi;
}

/* scores[j] of every key, -inf where hidden; counts the visible ones and finds the reach. */
static void find_scores(const struct place *place, double *scores, bool *seen, struct oracle_row *result)
{
    for (int64_t j = 0; j < place->keys; j++) {
        double reach = 0.0;
        seen[j] = is_visible(place, j);
        scores[j] = seen[j] ? find_score(place, j, &reach) : -INFINITY;
        result->visible += seen[j];
        result->reach = fmax(result->reach, reach);
    }
}

/* A NaN or +inf among the scores makes the row NaN; without any score above -inf the row counts as one without keys. */
static double find_lse(const double *scores, int64_t keys)
{
    double largest = -INFINITY, sum = 0.0;
    for (int64_t j = 0; j < keys; j++) {
        if (isnan(scores[j]) || scores[j] == INFINITY)
            return NAN;
        largest = fmax(largest, scores[j]);
    }
    if (largest == -INFINITY)
        return -INFINITY;
    for (int64_t j = 0; j < keys; j++)
        sum += exp(scores[j] - largest);
    return largest + log(sum);
}

/* The share of a row's weights that its sink leaves to the keys. */
static double find_share(const struct place *place, double lse)
{
    const float *sinks = place->args->sinks;
    return sinks ? 1.0 / (1.0 + exp(sinks[place->head] - lse)) : 1.0;
}

static double find_weight(double score, double lse, double share)
{
    if (isnan(lse))
        return NAN;
    return lse == -INFINITY ? 0.0 : exp(score - lse) * share;
}

/* One column of the output. A NaN or infinity among the visible values makes it NaN. */
static double find_output(const struct place *place, const double *weights, const bool *seen, double lse, int64_t d)
{
    double sum = 0.0;
    if (lse == -INFINITY)
        return 0.0;
    for (int64_t j = 0; j < place->keys; j++) {
        if (!seen[j])
            continue;
        double value = read_cache(place, place->args->value, j, d);
        sum += isfinite(value) ? weights[j] * value : (double)NAN;
    }
    return sum;
}

/* Over the finite ones: the others spoil their own column only. */
static double find_value_max(const struct place *place, const bool *seen)
{
    double largest = 0.0;
    for (int64_t j = 0; j < place->keys; j++)
        for (int64_t d = 0; seen[j] && d < place->problem->d_v; d++) {
            double size = fabs(read_cache(place, place->args->value, j, d));
            if (isfinite(size))
                largest = fmax(largest, size);
        }
    return largest;
}

static struct place find_place(const attend_problem *problem, const attend_args *args, int64_t item, int64_t head,
                               int64_t row)
{
    int64_t keys = planned_or(args->keys, problem->keys);
    int64_t rows = planned_or(args->rows, problem->rows);
    return (struct place){
        .problem = problem,
        .args = args,
        .item = item,
        .head = head,
        .kv_head = head / (problem->heads / problem->kv_heads),
        .row = row,
        .keys = keys,
        .key_range = read_range(args->key_offsets, args->key_starts, args->key_lengths, item, keys),
        .query_range = read_range(args->query_offsets, args->query_starts, args->query_lengths, item, rows),
        .tensor_item = args->query_offsets ? 0 : item,
        .kv_item = args->key_offsets ? 0 : item,
    };
}

static void attend_inside_row(const struct place *place, double *scores, double *weights, bool *seen,
                              struct oracle_row *result)
{
    find_scores(place, scores, seen, result);
    result->lse = find_lse(scores, place->keys);
    double share = find_share(place, result->lse);
    for (int64_t j = 0; j < place->keys; j++)
        weights[j] = seen[j] ? find_weight(scores[j], result->lse, share) : 0.0;
    result->value_max = find_value_max(place, seen);
    for (int64_t d = 0; result->output && d < place->problem->d_v; d++)
        result->output[d] = find_output(place, weights, seen, result->lse, d);
}

static void attend_padding_row(const struct place *place, double *scores, double *weights, struct oracle_row *result)
{
    for (int64_t j = 0; j < place->keys; j++) {
        scores[j] = -INFINITY;
        weights[j] = 0.0;
    }
    for (int64_t d = 0; result->output && d < place->problem->d_v; d++)
        result->output[d] = 0.0;
}

void oracle_attend_row(const attend_problem *problem, const attend_args *args, int64_t item, int64_t head, int64_t row,
                       struct oracle_row *result)
{
    struct place place = find_place(problem, args, item, head, row);
    size_t keys = (size_t)place.keys + 1;
    double *own_scores = result->scores ? NULL : malloc(keys * sizeof *own_scores);
    double *own_weights = result->weights ? NULL : malloc(keys * sizeof *own_weights);
    bool *seen = malloc(keys * sizeof *seen);
    double *scores = result->scores ? result->scores : own_scores;
    double *weights = result->weights ? result->weights : own_weights;
    if (!scores || !weights || !seen)
        abort();
    result->inside = is_inside(place.query_range, row);
    result->visible = 0;
    result->lse = -INFINITY;
    result->reach = 0.0;
    result->value_max = 0.0;
    if (result->inside)
        attend_inside_row(&place, scores, weights, seen, result);
    else
        attend_padding_row(&place, scores, weights, result);
    free(seen);
    free(own_weights);
    free(own_scores);
}

/* A capped score is off by 5e-7 of itself, and none is larger than the cap or the reach. */
static double capped_size(const attend_problem *problem, const struct oracle_row *row)
{
    return problem->softcap > 0 ? fmin((double)problem->softcap, row->reach) : 0.0;
}

/* With a width of 1 a sum of one product still takes a bias and ALiBi in. */
static double rounding_steps(const attend_problem *problem)
{
    return sqrt((double)(problem->d_k > 1 ? problem->d_k : 1));
}

double oracle_lse_bound(const attend_problem *problem, const struct oracle_row *row)
{
    return 4e-7 * (1.0 + fabs(row->lse)) + 6e-8 * rounding_steps(problem) * row->reach + 5e-7 * capped_size(problem, row);
}

/* Beyond 2048 keys, values of equal sign lose up to (chunk + tiles)/4 units of 2⁻²⁴ more: 128 keys to a chunk, 512 to
 * a tile. */
double oracle_output_bound(const attend_problem *problem, const struct oracle_row *row)
{
    double relative = 2e-6 + 1.2e-7 * rounding_steps(problem) * row->reach + 1e-6 * capped_size(problem, row);
    if (row->visible > 2048)
        relative += (128.0 + (double)row->visible / 512.0) / 4.0 * 0x1p-24;
    return relative * row->value_max;
}
