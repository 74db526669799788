/* Online softmax of one score tile: with each row's largest score m, replace scores by p = E(s - m) and sum them by lanes. Step 4 of
 * the reduction contract, and what step 3 leaves. Hidden keys hold -inf already, whose p is +0. */
#ifndef ATTEND__SOFTMAX_TMPL_H
#define ATTEND__SOFTMAX_TMPL_H

/* How products become arguments of E. */
enum scaling {
    SCALE_ROUNDED, /* s = scale·x, rounded; s - m */
    SCALE_EXACT    /* a power of two up to 1: s is exact, and s - m = fma(x, scale, -m) one operation with the same bits */
};

/* A power of two above 1 could overflow. A product that scaling makes subnormal may be inexact, but then what fma keeps of it is far
 * below the last bit of E's result. */
static inline enum scaling scaling_of(float scale)
{
    uint32_t bits;
    memcpy(&bits, &scale, sizeof bits);
    return scale >= FLT_MIN && scale <= 1.0f && (bits & 0x007fffff) == 0 ? SCALE_EXACT : SCALE_ROUNDED;
}

/* p for `rows` rows, a compile-time constant as is `scaling`, side by side so that no row's chain is waited for; and their sums by
 * lane, lanes[rows][LANE_VECTORS]. `largest` is not -inf. */
static inline __attribute__((always_inline)) void exponentials_rows(const int rows, const enum scaling scaling, float *scores,
                                                                    int low, int high, const float *largest, vf scale, vf *lanes)
{
    vf m[EXP_ROWS], sum[EXP_ROWS][LANE_VECTORS];
    UNROLLED
    for (int r = 0; r < rows; r++) {
        m[r] = vf_set1(-largest[r]);
        UNROLLED
        for (int v = 0; v < LANE_VECTORS; v++)
            sum[r][v] = vf_set1(0.0f);
    }
    for (int j = low; j < high; j += ATTEND__LANES)
        UNROLLED
        for (int v = 0; v < LANE_VECTORS; v++)
            UNROLLED
            for (int r = 0; r < rows; r++) {
                float *at = scores + r * SCORE_STRIDE + j + v * VL;
                const vf x = vf_load(at);
                const vf below = scaling == SCALE_EXACT ? vf_fma(x, scale, m[r]) : vf_add(vf_mul(x, scale), m[r]);
                const vf p = exp_nonpositive(below);
                vf_store(at, p);
                sum[r][v] = vf_add(sum[r][v], p);
            }
    UNROLLED
    for (int r = 0; r < rows; r++)
        UNROLLED
        for (int v = 0; v < LANE_VECTORS; v++)
            lanes[r * LANE_VECTORS + v] = sum[r][v];
}

static inline __attribute__((always_inline)) void exponentials_scaled(const enum scaling scaling, int rows, float *scores, int low,
                                                                      int high, const float *largest, float scale, vf *lanes)
{
    const vf s = vf_set1(scale);
    int r = 0;
    for (; r + EXP_ROWS <= rows; r += EXP_ROWS)
        exponentials_rows(EXP_ROWS, scaling, scores + r * SCORE_STRIDE, low, high, largest + r, s, lanes + r * LANE_VECTORS);
    for (; r + 2 <= rows; r += 2)
        exponentials_rows(2, scaling, scores + r * SCORE_STRIDE, low, high, largest + r, s, lanes + r * LANE_VECTORS);
    for (; r < rows; r++)
        exponentials_rows(1, scaling, scores + r * SCORE_STRIDE, low, high, largest + r, s, lanes + r * LANE_VECTORS);
}

/* Products of `rows` rows become p. */
static void exponentials(int rows, float *scores, int low, int high, const float *largest, float scale, vf *lanes)
{
    if (scaling_of(scale) == SCALE_EXACT)
        exponentials_scaled(SCALE_EXACT, rows, scores, low, high, largest, scale, lanes);
    else
        exponentials_scaled(SCALE_ROUNDED, rows, scores, low, high, largest, scale, lanes);
}

#endif
