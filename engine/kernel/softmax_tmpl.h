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

/* p and their sums for `rows` rows, a compile-time constant, side by side so that no row's chain is waited for. `largest` is
 * not -inf. */
static inline __attribute__((always_inline)) void exponentials_rows(const int rows, float *scores, int low, int high,
                                                                    const float *largest, float *total)
{
    vf m[BLOCK_ROWS], lanes[BLOCK_ROWS][LANE_VECTORS];
    UNROLLED
    for (int r = 0; r < rows; r++) {
        m[r] = vf_set1(largest[r]);
        UNROLLED
        for (int v = 0; v < LANE_VECTORS; v++)
            lanes[r][v] = vf_set1(0.0f);
    }
    for (int j = low; j < high; j += ATTEND__LANES)
        UNROLLED
        for (int v = 0; v < LANE_VECTORS; v++)
            UNROLLED
            for (int r = 0; r < rows; r++) {
                float *at = scores + r * SCORE_STRIDE + j + v * VL;
                const vf p = exp_nonpositive(vf_sub(vf_load(at), m[r]));
                vf_store(at, p);
                lanes[r][v] = vf_add(lanes[r][v], p);
            }
    UNROLLED
    for (int r = 0; r < rows; r++)
        total[r] = vf_fold_lanes(lanes[r]);
}

static void exponentials(int rows, float *scores, int low, int high, const float *largest, float *total)
{
    for (; rows >= BLOCK_ROWS / 2; rows -= BLOCK_ROWS / 2) {
        exponentials_rows(BLOCK_ROWS / 2, scores, low, high, largest, total);
        scores += BLOCK_ROWS / 2 * SCORE_STRIDE;
        largest += BLOCK_ROWS / 2;
        total += BLOCK_ROWS / 2;
    }
    for (; rows > 0; rows--) {
        exponentials_rows(1, scores, low, high, largest, total);
        scores += SCORE_STRIDE;
        largest++;
        total++;
    }
}

#endif
