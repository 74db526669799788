/* Scores of a block of rows against a panel of keys: s = scale·(q·k). The register tile: BLOCK_ROWS × PANEL_VECTORS vectors of
 * sums stay in registers over the whole width, so that every key vector loaded serves all rows and every query feature all
 * vectors: per feature PANEL_VECTORS loads and `rows` broadcasts for rows·PANEL_VECTORS multiply-adds. */
#ifndef ATTEND__SCORE_TMPL_H
#define ATTEND__SCORE_TMPL_H

/* One panel; `rows` is a compile-time constant. Raises largest[r] by the panel's scores while they are in registers. */
static inline __attribute__((always_inline)) void score_panel_rows(const int rows, float *scores,
                                                                   const float *const *queries, const float *panel,
                                                                   int64_t d_k, vf scale, vf *largest)
{
    vf sum[BLOCK_ROWS][PANEL_VECTORS];
    UNROLLED
    for (int r = 0; r < rows; r++)
        UNROLLED
        for (int v = 0; v < PANEL_VECTORS; v++)
            sum[r][v] = vf_set1(0.0f);
    for (int64_t d = 0; d < d_k; d++) {
        vf key[PANEL_VECTORS];
        UNROLLED
        for (int v = 0; v < PANEL_VECTORS; v++)
            key[v] = vf_load(panel + v * VL);
        UNROLLED
        for (int r = 0; r < rows; r++) {
            const vf query = vf_set1(queries[r][d]);
            UNROLLED
            for (int v = 0; v < PANEL_VECTORS; v++)
                sum[r][v] = vf_fma(query, key[v], sum[r][v]);
        }
        panel += PANEL_KEYS;
    }
    UNROLLED
    for (int r = 0; r < rows; r++) {
        vf most = largest[r];
        UNROLLED
        for (int v = 0; v < PANEL_VECTORS; v++) {
            const vf s = vf_mul(sum[r][v], scale);
            most = vf_max(most, s);
            vf_store(scores + r * SCORE_STRIDE + v * VL, s);
        }
        largest[r] = most;
    }
}

static void score_panel(int rows, float *scores, const float *const *queries, const float *panel, int64_t d_k, vf scale,
                        vf *largest)
{
    switch (rows) {
    case 1: score_panel_rows(1, scores, queries, panel, d_k, scale, largest); break;
    case 2: score_panel_rows(2, scores, queries, panel, d_k, scale, largest); break;
    case 3: score_panel_rows(3, scores, queries, panel, d_k, scale, largest); break;
    case 4: score_panel_rows(4, scores, queries, panel, d_k, scale, largest); break;
    case 5: score_panel_rows(5, scores, queries, panel, d_k, scale, largest); break;
    default: score_panel_rows(BLOCK_ROWS, scores, queries, panel, d_k, scale, largest); break;
    }
}

#endif
