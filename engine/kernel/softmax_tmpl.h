/* Online softmax of one score tile: with each row's largest score m, replace scores by p = E(s - m) and sum them by lanes. Step 4 of
 * the reduction contract, and what step 3 leaves. Hidden keys hold -inf already, whose p is +0. */
#ifndef ATTEND__SOFTMAX_TMPL_H
#define ATTEND__SOFTMAX_TMPL_H

/* Keys of the union widened to whole groups of lanes: what softmax runs over. */
static inline int group_low(const struct tile_view *view) { return view->low / ATTEND__LANES * ATTEND__LANES; }
static inline int group_high(const struct tile_view *view)
{
    return (view->high + ATTEND__LANES - 1) / ATTEND__LANES * ATTEND__LANES;
}

/* p for `rows` rows, a compile-time constant, side by side so that no row's chain is waited for; and their sums by lane,
 * lanes[rows][LANE_VECTORS]. `largest` is not -inf. */
static inline __attribute__((always_inline)) void exponentials_rows(const int rows, float *scores, int low, int high,
                                                                    const float *largest, vf *lanes)
{
    vf m[EXP_ROWS], sum[EXP_ROWS][LANE_VECTORS];
    UNROLLED
    for (int r = 0; r < rows; r++) {
        m[r] = vf_set1(largest[r]);
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
                const vf p = exp_nonpositive(vf_sub(vf_load(at), m[r]));
                vf_store(at, p);
                sum[r][v] = vf_add(sum[r][v], p);
            }
    UNROLLED
    for (int r = 0; r < rows; r++)
        UNROLLED
        for (int v = 0; v < LANE_VECTORS; v++)
            lanes[r * LANE_VECTORS + v] = sum[r][v];
}

static void exponentials(int rows, float *scores, int low, int high, const float *largest, vf *lanes)
{
    int r = 0;
    for (; r + EXP_ROWS <= rows; r += EXP_ROWS)
        exponentials_rows(EXP_ROWS, scores + r * SCORE_STRIDE, low, high, largest + r, lanes + r * LANE_VECTORS);
    for (; r + 2 <= rows; r += 2)
        exponentials_rows(2, scores + r * SCORE_STRIDE, low, high, largest + r, lanes + r * LANE_VECTORS);
    for (; r < rows; r++)
        exponentials_rows(1, scores + r * SCORE_STRIDE, low, high, largest + r, lanes + r * LANE_VECTORS);
}

#endif
