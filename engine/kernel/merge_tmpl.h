/* The left fold of a row's partials over its tiles, and the results from the last: steps 6 and 7 of the reduction contract. */
#ifndef ATTEND__MERGE_TMPL_H
#define ATTEND__MERGE_TMPL_H

/* Partials of consecutive rows. A total of 0 stands for a row that saw nothing above -inf so far: otherwise the key with the
 * largest score alone contributes E(0) = 1. Arrays of floats are readable and writable up to a whole vector
 * past their rows; what a strip writes there is the next strip's, which comes after it and writes its own. */
struct partials {
    float *largest; /* M */
    float *total;   /* L */
    float *sum;     /* A, [rows][width] */
    int64_t width;
};

static void merge_row(float *sum, const float *tile_sum, int64_t d_v, float alpha, float beta)
{
    const vf old_share = vf_set1(alpha), new_share = vf_set1(beta);
    for (int64_t column = 0; column < d_v; column += VL) {
        const vf kept = vf_mul(vf_load(sum + column), old_share);
        vf_store(sum + column, vf_fma(vf_load(tile_sum + column), new_share, kept));
    }
}

/* M, L, A of `rows` rows, a strip at most, take in one tile's m, l, a; the factors of all rows are computed as vectors. */
static void merge_tile(int rows, int64_t d_v, const struct partials *into, const struct partials *tile)
{
    float largest[STRIP_SLOTS], total[STRIP_SLOTS], alpha[STRIP_SLOTS], beta[STRIP_SLOTS];
    for (int r = 0; r < rows; r += VL) {
        const vf old = vf_load(into->largest + r), new = vf_load(tile->largest + r);
        const vf both = vf_max(old, new);
        const vf old_share = exp_nonpositive(vf_sub(old, both)), new_share = exp_nonpositive(vf_sub(new, both));
        const vf kept = vf_mul(vf_load(into->total + r), old_share);
        vf_store(largest + r, both);
        vf_store(alpha + r, old_share);
        vf_store(beta + r, new_share);
        vf_store(total + r, vf_fma(vf_load(tile->total + r), new_share, kept));
    }
    for (int r = 0; r < rows; r++) {
        float *sum = into->sum + r * into->width;
        const float *tile_sum = tile->sum + r * tile->width;
        if (tile->total[r] == 0.0f)
            continue;
        if (into->total[r] == 0.0f) {
            into->largest[r] = tile->largest[r];
            into->total[r] = tile->total[r];
            memcpy(sum, tile_sum, (size_t)into->width * sizeof *sum); /* the lanes beyond d_v too: finish_normal looks at them */
        } else {
            into->largest[r] = largest[r];
            into->total[r] = total[r];
            merge_row(sum, tile_sum, d_v, alpha[r], beta[r]);
        }
    }
}

/* a / b correctly rounded, where each lane of a is 0 or within QUOTIENT_LOW … QUOTIENT_HIGH, which keeps every step from under- and
 * overflow, and b in [1, 2⁴⁰], as totals of runs are: each tile adds at most 512; y is the correctly rounded 1 / b. q = a·y is off by less than 2 units in the last place; a correction by
 * the remainder makes it one of the two neighbours of a / b, whose remainder is exact, and then the second gives the rounded
 * quotient (Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor", 1990, theorem 7); +0 for
 * either zero. 5 operations against the 16 or more cycles of a division. */
static inline vf divide_normal(vf a, vf minus_b, vf y)
{
    vf q = vf_mul(a, y);
    q = vf_fma(vf_fma(minus_b, q, a), y, q);
    return vf_fma(vf_fma(minus_b, q, a), y, q);
}

static const float QUOTIENT_LOW = 0x1p-60f, QUOTIENT_HIGH = 0x1p100f, TOTAL_HIGH = 0x1p40f;

/* o = A / L of one row; right if the row's sums lie where divide_normal is, which the span tells. */
INLINED void finish_normal(const attend_dtype dtype, void *output, int64_t step, const float *sum, float total, float reciprocal,
                           int64_t d_v, struct vf_span *span)
{
    const vf minus_total = vf_set1(-total), share = vf_set1(reciprocal);
    const int64_t whole = step == 1 ? d_v - VL : -1; /* the last column that begins a whole vector of neighbours */
    int64_t column = 0;
    for (; column <= whole; column += VL) {
        const vf a = vf_load(sum + column);
        vf_span_take(span, a);
        store_elements(dtype, output, column, divide_normal(a, minus_total, share));
    }
    for (; column < d_v; column += VL) {
        const vf a = vf_load(sum + column);
        vf_span_take(span, a);
        store_elements_part(dtype, output, column * step, step, divide_normal(a, minus_total, share),
                            (int)attend__min(d_v - column, VL));
    }
}

/* o = q + (q - q) with q = A / L. For finite q that is q + 0, which turns -0 into +0 and so makes a hidden key's +0
 * indistinguishable from its absence; an infinite sum becomes NaN. */
static void finish_any(attend_dtype dtype, void *output, int64_t step, const float *sum, float total, int64_t d_v)
{
    for (int64_t column = 0; column < d_v; column += VL) {
        vf o = vf_set1(0.0f);
        if (total != 0.0f) {
            const vf quotient = vf_div(vf_load(sum + column), vf_set1(total));
            o = vf_canonical(vf_add(quotient, vf_sub(quotient, quotient)));
        }
        store_elements_part(dtype, output, column * step, step, o, (int)attend__min(d_v - column, VL));
    }
}

static void finish_lse(const struct attend__row *row, int rows, const struct partials *done)
{
    for (int first = 0; first < rows; first += VL) {
        float lse[VL];
        vf_store(lse, vf_canonical(vf_add(vf_load(done->largest + first), log_positive(vf_load(done->total + first)))));
        for (int r = first; r < rows && r < first + VL; r++)
            *row[r].lse = done->total[r] == 0.0f ? -__builtin_inff() : lse[r - first];
    }
}

/* What a sink makes of a row: its share scales the sums, and the total grows. A row without keys has none. */
struct sunk {
    float share, total;
};

static struct sunk sink_row(float largest, float total, float sink)
{
    if (total == 0.0f || sink == -__builtin_inff())
        return (struct sunk){ 1.0f, total };
    float lanes[2][VL];
    const vf both = vf_max(vf_set1(largest), vf_set1(sink));
    const vf share = exp_nonpositive(vf_sub(vf_set1(largest), both));
    vf_store(lanes[0], share);
    vf_store(lanes[1], vf_add(vf_mul(vf_set1(total), share), exp_nonpositive(vf_sub(vf_set1(sink), both))));
    return (struct sunk){ lanes[0][0], lanes[1][0] };
}

static void scale_row(float *sum, float share, int64_t d_v)
{
    if (share == 1.0f)
        return;
    for (int64_t column = 0; column < d_v; column += VL)
        vf_store(sum + column, vf_mul(vf_load(sum + column), vf_set1(share)));
}

/* Sums of `rows` rows as their sinks leave them, and totals[rows], readable up to a whole vector past them. */
static void sink_rows(const struct attend__row_details *details, int rows, const struct partials *done, float *totals, int64_t d_v)
{
    for (int r = 0; r < rows; r++) {
        const struct sunk sunk = sink_row(done->largest[r], done->total[r], details[r].sink);
        scale_row(done->sum + r * done->width, sunk.share, d_v);
        totals[r] = sunk.total;
    }
    vf_store(totals + rows, vf_set1(1.0f));
}

/* M and L as they are given out: nothing of how they came about shows. Which of two zeros is the largest score is up to the order in
 * which vectors compare them, so M has one zero. */
static void give_out(float *largest, float *total, float row_largest, float row_total)
{
    const bool none = row_total == 0.0f, wrong = row_total != row_total;
    *largest = none ? -__builtin_inff() : wrong ? __builtin_nanf("") : row_largest + 0.0f;
    *total = none ? 0.0f : wrong ? __builtin_nanf("") : row_total;
}

/* A as it is given out. */
static void give_out_sums(float *output, int64_t step, const float *sum, float total, int64_t d_v)
{
    for (int64_t column = 0; column < d_v; column += VL) {
        const vf a = total == 0.0f ? vf_set1(0.0f) : vf_canonical(vf_add(vf_load(sum + column), vf_set1(0.0f)));
        store_elements_part(ATTEND_F32, output, column * step, step, a, (int)attend__min(d_v - column, VL));
    }
}

/* Results of consecutive rows: all at once the fast way, and again one by one if any is out of its reach. */
INLINED void finish_outputs_of(const attend_dtype dtype, const struct attend__row *row, int rows, const struct partials *done,
                               int64_t output_step, int64_t d_v)
{
    struct vf_span span = vf_span_none();
    bool normal = true;
    for (int first = 0; first < rows; first += VL) {
        float reciprocal[VL];
        vf_store(reciprocal, vf_div(vf_set1(1.0f), vf_load(done->total + first)));
        for (int r = first; r < rows && r < first + VL; r++) {
            normal &= done->total[r] >= 1.0f && done->total[r] <= TOTAL_HIGH;
            finish_normal(dtype, row[r].output, output_step, done->sum + r * done->width, done->total[r], reciprocal[r - first], d_v,
                          &span);
        }
    }
    if (!normal || !vf_span_inside(span, QUOTIENT_LOW, QUOTIENT_HIGH))
        for (int r = 0; r < rows; r++)
            finish_any(dtype, row[r].output, output_step, done->sum + r * done->width, done->total[r], d_v);
}

static void finish_outputs(attend_dtype dtype, const struct attend__row *row, int rows, const struct partials *done, int64_t output_step,
                           int64_t d_v)
{
    switch (dtype) {
    case ATTEND_BF16: finish_outputs_of(ATTEND_BF16, row, rows, done, output_step, d_v); break;
    case ATTEND_F16: finish_outputs_of(ATTEND_F16, row, rows, done, output_step, d_v); break;
    default: finish_outputs_of(ATTEND_F32, row, rows, done, output_step, d_v); break;
    }
}

#endif
