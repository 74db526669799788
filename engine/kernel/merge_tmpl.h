/* The left fold of a row's partials over its tiles, and the results from the last: steps 6 and 7 of the reduction contract. */
#ifndef ATTEND__MERGE_TMPL_H
#define ATTEND__MERGE_TMPL_H

/* Partials of consecutive rows. A total of 0 stands for a row that saw nothing above -inf so far: otherwise the key with the
 * largest score alone contributes E(0) = 1. Arrays of floats are readable up to a whole vector past their rows. */
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

/* M, L, A of `rows` rows take in one tile's m, l, a; the factors of all rows are computed as vectors. */
static void merge_tile(int rows, int64_t d_v, const struct partials *into, const struct partials *tile)
{
    float largest[ATTEND__LANES], total[ATTEND__LANES], alpha[ATTEND__LANES], beta[ATTEND__LANES];
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
            memcpy(sum, tile_sum, (size_t)d_v * sizeof *sum);
        } else {
            into->largest[r] = largest[r];
            into->total[r] = total[r];
            merge_row(sum, tile_sum, d_v, alpha[r], beta[r]);
        }
    }
}

static void store_row(float *output, int64_t step, vf v, int lanes)
{
    if (step == 1) {
        vf_store_part(output, v, lanes);
        return;
    }
    float scattered[VL];
    vf_store(scattered, v);
    for (int i = 0; i < lanes; i++)
        output[i * step] = scattered[i];
}

/* o = q + (q - q) with q = A / L. For finite q that is q + 0, which turns -0 into +0 and so makes a hidden key's +0
 * indistinguishable from its absence; an infinite sum becomes NaN. */
static void finish_row(float *output, int64_t step, const float *sum, float total, int64_t d_v)
{
    for (int64_t column = 0; column < d_v; column += VL) {
        vf o = vf_set1(0.0f);
        if (total != 0.0f) {
            const vf quotient = vf_div(vf_load(sum + column), vf_set1(total));
            o = vf_canonical(vf_add(quotient, vf_sub(quotient, quotient)));
        }
        store_row(output + column * step, step, o, (int)attend__min(d_v - column, VL));
    }
}

/* Results of `rows` rows from unit->row[first] on. */
static void finish_rows(const struct attend__unit *unit, const struct partials *done, int64_t first, int64_t rows)
{
    for (int64_t r = first; r < first + rows; r += VL) {
        float lse[VL];
        vf_store(lse, vf_canonical(vf_add(vf_load(done->largest + r), log_positive(vf_load(done->total + r)))));
        for (int64_t i = r; i < first + rows && i < r + VL; i++) {
            finish_row(unit->row[i].output, unit->output_step, done->sum + i * done->width, done->total[i], unit->d_v);
            if (unit->row[i].lse)
                *unit->row[i].lse = done->total[i] == 0.0f ? -__builtin_inff() : lse[i - r];
        }
    }
}

#endif
