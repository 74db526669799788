/* Scores of a block of rows against a panel of keys: s = scale·(q·k). The register tile: BLOCK_ROWS × PANEL_VECTORS vectors of
 * sums stay in registers over the whole width, so that every key vector loaded serves all rows and every query feature all
 * vectors: per feature PANEL_VECTORS loads and `rows` broadcasts for rows·PANEL_VECTORS multiply-adds. */
#ifndef ATTEND__SCORE_TMPL_H
#define ATTEND__SCORE_TMPL_H

/* The first `groups` groups of lanes of a panel; rows, groups and ragged are compile-time constants. Raises largest[r] by the scores
 * while they are in registers. Ragged: of the last group only the keys in `tail` exist, the others get -inf. */
static inline __attribute__((always_inline)) void score_panel_rows(const int rows, const int groups, const bool ragged,
                                                                   float *scores, const float *const *queries,
                                                                   const float *panel, int64_t d_k, vf scale, vf *largest,
                                                                   uint32_t tail)
{
    const int vectors = groups * LANE_VECTORS;
    vf sum[BLOCK_ROWS][PANEL_VECTORS];
    UNROLLED
    for (int r = 0; r < rows; r++)
        UNROLLED
        for (int v = 0; v < vectors; v++)
            sum[r][v] = vf_set1(0.0f);
    for (int64_t d = 0; d < d_k; d++) {
        vf key[PANEL_VECTORS];
        UNROLLED
        for (int v = 0; v < vectors; v++)
            key[v] = vf_load(panel + v * VL);
        UNROLLED
        for (int r = 0; r < rows; r++) {
            const vf query = vf_set1(queries[r][d]);
            UNROLLED
            for (int v = 0; v < vectors; v++)
                sum[r][v] = vf_fma(query, key[v], sum[r][v]);
        }
        panel += PANEL_KEYS;
    }
    UNROLLED
    for (int r = 0; r < rows; r++) {
        vf most = largest[r];
        UNROLLED
        for (int v = 0; v < vectors; v++) {
            vf s = vf_mul(sum[r][v], scale);
            if (ragged && v >= vectors - LANE_VECTORS)
                s = vf_hide(s, tail >> (v - (vectors - LANE_VECTORS)) * VL);
            most = vf_max(most, s);
            vf_store(scores + r * SCORE_STRIDE + v * VL, s);
        }
        largest[r] = most;
    }
}

/* The panel's first `keys` keys. */
static inline __attribute__((always_inline)) void score_panel_keys(const int rows, float *scores, const float *const *queries,
                                                                   const float *panel, int64_t d_k, vf scale, vf *largest,
                                                                   int keys)
{
    const int groups = (keys + ATTEND__LANES - 1) / ATTEND__LANES;
    const uint32_t tail = UINT32_C(0xffff) >> (groups * ATTEND__LANES - keys);
    if (keys >= PANEL_KEYS)
        score_panel_rows(rows, PANEL_GROUPS, false, scores, queries, panel, d_k, scale, largest, 0);
    else if (groups == 1)
        score_panel_rows(rows, 1, true, scores, queries, panel, d_k, scale, largest, tail);
#if PANEL_VECTORS * VL > 16
    else if (groups == 2)
        score_panel_rows(rows, 2, true, scores, queries, panel, d_k, scale, largest, tail);
    else if (groups == 3)
        score_panel_rows(rows, 3, true, scores, queries, panel, d_k, scale, largest, tail);
    else
        score_panel_rows(rows, PANEL_GROUPS, true, scores, queries, panel, d_k, scale, largest, tail);
#endif
}

static void score_panel(int rows, float *scores, const float *const *queries, const float *panel, int64_t d_k, vf scale,
                        vf *largest, int keys)
{
    switch (rows) {
    case 1: score_panel_keys(1, scores, queries, panel, d_k, scale, largest, keys); break;
    case 2: score_panel_keys(2, scores, queries, panel, d_k, scale, largest, keys); break;
    case 3: score_panel_keys(3, scores, queries, panel, d_k, scale, largest, keys); break;
    case 4: score_panel_keys(4, scores, queries, panel, d_k, scale, largest, keys); break;
    case 5: score_panel_keys(5, scores, queries, panel, d_k, scale, largest, keys); break;
    default: score_panel_keys(BLOCK_ROWS, scores, queries, panel, d_k, scale, largest, keys); break;
    }
}

#endif
