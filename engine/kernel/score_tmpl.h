/* Products of a block of rows with a panel of keys, q·k, not yet scaled. The register tile: BLOCK_ROWS × PANEL_VECTORS vectors of
 * sums stay in registers over the whole width, so that every key vector loaded serves all rows and every query feature all
 * vectors: per feature PANEL_VECTORS loads and `rows` broadcasts for rows·PANEL_VECTORS multiply-adds. */
#ifndef ATTEND__SCORE_TMPL_H
#define ATTEND__SCORE_TMPL_H

/* What scores are computed from and into: consecutive panels that every row sees all of, or a part of one panel. */
struct score_work {
    float *scores;               /* [rows][SCORE_STRIDE], of the first key computed */
    const float *const *queries; /* [rows][d_k] */
    const float *keys;           /* [panels][d_k][PANEL_KEYS], likewise */
    int64_t d_k;
    vf *largest;                 /* [rows] */
    int panels;
    int groups;                  /* of lanes, from the first key computed on; all of them for more than one panel */
    const uint64_t *seen;        /* [rows]: the keys computed that row r sees, lowest bit first; NULL: all */
    struct ahead *ahead;
};

/* rows, groups and masked are compile-time constants. Raises largest[r] by the products while they are in registers. Masked: keys that
 * a row does not see get -inf, whatever their product is, and raise nothing. */
static inline __attribute__((always_inline)) void score_panel(const int rows, const int groups, const bool masked,
                                                              const struct score_work *work, float *scores, const float *panel)
{
    const int vectors = groups * LANE_VECTORS;
    const float *const *queries = work->queries;
    const int64_t d_k = work->d_k;
    struct line_run ahead = take_run(work->ahead, d_k, panel);
    vf sum[BLOCK_ROWS][PANEL_VECTORS];
    UNROLLED
    for (int r = 0; r < rows; r++)
        UNROLLED
        for (int v = 0; v < vectors; v++)
            sum[r][v] = vf_set1(0.0f);
    TWICE
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
        fetch_next(&ahead);
    }
    UNROLLED
    for (int r = 0; r < rows; r++) {
        vf most = work->largest[r];
        UNROLLED
        for (int v = 0; v < vectors; v++) {
            vf s = sum[r][v];
            if (masked)
                s = vf_hide(s, (uint32_t)(work->seen[r] >> v * VL));
            most = vf_max(most, s);
            vf_store(scores + r * SCORE_STRIDE + v * VL, s);
        }
        work->largest[r] = most;
    }
}

static inline __attribute__((always_inline)) void score_rows(const int rows, const struct score_work *work)
{
    if (!work->seen) {
        for (int p = 0; p < work->panels; p++)
            score_panel(rows, PANEL_GROUPS, false, work, work->scores + p * PANEL_KEYS, work->keys + p * work->d_k * PANEL_KEYS);
        return;
    }
    switch (work->groups) {
#if PANEL_VECTORS * VL > 16
    case 1: score_panel(rows, 1, true, work, work->scores, work->keys); break;
    case 2: score_panel(rows, 2, true, work, work->scores, work->keys); break;
    case 3: score_panel(rows, 3, true, work, work->scores, work->keys); break;
#endif
    default: score_panel(rows, PANEL_GROUPS, true, work, work->scores, work->keys); break;
    }
}

static void score(int rows, const struct score_work *work)
{
    switch (rows) {
    case 1: score_rows(1, work); break;
    case 2: score_rows(2, work); break;
    case 3: score_rows(3, work); break;
    case 4: score_rows(4, work); break;
    case 5: score_rows(5, work); break;
    default: score_rows(BLOCK_ROWS, work); break;
    }
}

#endif
