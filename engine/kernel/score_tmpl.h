/* Products of a block of rows with a panel of keys, q·k, not yet scaled. The register tile: BLOCK_ROWS × PANEL_VECTORS vectors of
 * sums stay in registers over the whole width, so that every key vector loaded serves all rows and every query feature all
 * vectors: per feature PANEL_VECTORS loads and `rows` broadcasts for rows·PANEL_VECTORS multiply-adds. */
#ifndef ATTEND__SCORE_TMPL_H
#define ATTEND__SCORE_TMPL_H

/* The first `groups` groups of lanes of a panel; rows, groups and masked are compile-time constants. Raises largest[r] by the products
 * while they are in registers. Masked: keys that a row does not see get -inf, whatever their product is, and raise nothing;
 * seen[r] tells the panel's keys that row r sees. */
static inline __attribute__((always_inline)) void score_panel_groups(const int rows, const int groups, const bool masked,
                                                                     float *scores, const float *const *queries,
                                                                     const float *panel, int64_t d_k, vf *largest,
                                                                     const uint64_t *seen, struct line_run ahead)
{
    const int vectors = groups * LANE_VECTORS;
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
        __builtin_prefetch(ahead.at, 0, 2); /* to the second level */
        ahead.at += ahead.step;
    }
    UNROLLED
    for (int r = 0; r < rows; r++) {
        vf most = largest[r];
        UNROLLED
        for (int v = 0; v < vectors; v++) {
            vf s = sum[r][v];
            if (masked)
                s = vf_hide(s, (uint32_t)(seen[r] >> v * VL));
            most = vf_max(most, s);
            vf_store(scores + r * SCORE_STRIDE + v * VL, s);
        }
        largest[r] = most;
    }
}

/* What a score panel is computed from and into. */
struct score_panel {
    float *scores;               /* [rows][SCORE_STRIDE], of the first key computed */
    const float *const *queries; /* [rows][d_k] */
    const float *keys;           /* [d_k][PANEL_KEYS], likewise */
    int64_t d_k;
    vf *largest;                 /* [rows] */
    const uint64_t *seen;        /* [rows], likewise; NULL: every row sees the whole panel */
    struct line_run ahead;
    int groups;                  /* of lanes, from the first key computed on; where seen is given */
};

static inline __attribute__((always_inline)) void score_panel_rows(const int rows, const struct score_panel *p)
{
    if (!p->seen) {
        score_panel_groups(rows, PANEL_GROUPS, false, p->scores, p->queries, p->keys, p->d_k, p->largest, NULL, p->ahead);
        return;
    }
    switch (p->groups) {
#if PANEL_VECTORS * VL > 16
    case 1: score_panel_groups(rows, 1, true, p->scores, p->queries, p->keys, p->d_k, p->largest, p->seen, p->ahead); break;
    case 2: score_panel_groups(rows, 2, true, p->scores, p->queries, p->keys, p->d_k, p->largest, p->seen, p->ahead); break;
    case 3: score_panel_groups(rows, 3, true, p->scores, p->queries, p->keys, p->d_k, p->largest, p->seen, p->ahead); break;
#endif
    default: score_panel_groups(rows, PANEL_GROUPS, true, p->scores, p->queries, p->keys, p->d_k, p->largest, p->seen, p->ahead);
    }
}

static void score_panel(int rows, const struct score_panel *p)
{
    switch (rows) {
    case 1: score_panel_rows(1, p); break;
    case 2: score_panel_rows(2, p); break;
    case 3: score_panel_rows(3, p); break;
    case 4: score_panel_rows(4, p); break;
    case 5: score_panel_rows(5, p); break;
    default: score_panel_rows(BLOCK_ROWS, p); break;
    }
}

#endif
