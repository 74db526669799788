/* Products of few rows with keys as they come from memory: a square of keys is transposed in registers and used at once, since packing
 * would write and read it again for a single use; and for every line that is used the one some keys later is fetched, so that memory
 * never waits for arithmetic. The sums are those of the register tile, multiply-add by multiply-add. */
#ifndef ATTEND__FLOW_TMPL_H
#define ATTEND__FLOW_TMPL_H

enum { LINE_FLOATS = LINE_BYTES / (int)sizeof(float), LINE_VECTORS = LINE_FLOATS / VL };

static inline void fetch_line(uintptr_t at)
{
    __builtin_prefetch((const void *)at, 0, 2); /* to the second level */
}

struct flow_work {
    float *scores;               /* [rows][SCORE_STRIDE], of the tile's first key */
    const float *queries;        /* [d_k][rows] */
    const uintptr_t *at;         /* of the tile's keys, and of what is read after them */
    int64_t d_k;
    int keys;                    /* that exist */
    vf *largest;                 /* [rows] */
    const uint32_t *seen;        /* [rows]: which of the VL keys row r sees, lowest bit first; NULL: all */
    bool fetches;                /* lines of what is FLOW_KEYS behind */
};

/* Features d … d + features - 1 of VL keys, and lines of those behind, one after every feature: a burst would fill the queue to memory and
 * then have the loads wait behind it (14 % slower). rows and features are compile-time constants; fetch is NULL for none. */
static inline __attribute__((always_inline)) void flow_square(const int rows, const int features, vf *sum, const vf *square,
                                                              const float *queries, const uintptr_t *fetch, int64_t d)
{
    UNROLLED
    for (int i = 0; i < features; i++) {
        if (fetch)
            fetch_line(fetch[i] + (uintptr_t)d * sizeof(float));
        UNROLLED
        for (int r = 0; r < rows; r++)
            sum[r] = vf_fma(vf_set1(queries[i * rows + r]), square[i], sum[r]);
    }
}

/* Keys j … j + VL - 1 of the tile; rows is a compile-time constant. */
static inline __attribute__((always_inline)) void flow_rows(const int rows, const struct flow_work *work, int j)
{
    const uintptr_t *at = work->at + j, *behind = at + FLOW_KEYS;
    const float *queries = work->queries;
    const int64_t d_k = work->d_k;
    const int keys = work->keys - j;
    const bool fetches = work->fetches;
    vf sum[FLOW_ROWS], square[VL];
    UNROLLED
    for (int r = 0; r < rows; r++)
        sum[r] = vf_set1(0.0f);
    int64_t d = 0;
    if (keys >= VL)
        for (; d + VL <= d_k; d += VL, queries += rows * VL) {
            load_square(square, at, d);
            if (fetches && d % LINE_FLOATS == 0)
                flow_square(rows, VL, sum, square, queries, behind, d);
            else
                flow_square(rows, VL, sum, square, queries, NULL, 0);
        }
    for (; d < d_k; d += VL) {
        load_partial_square(square, at, d, keys, d_k - d);
        for (int i = 0; i < VL && d + i < d_k; i++, queries += rows)
            flow_square(rows, 1, sum, square + i, queries, fetches && d % LINE_FLOATS == 0 ? behind + i : NULL, d);
    }
    UNROLLED
    for (int r = 0; r < rows; r++) {
        const vf s = work->seen ? vf_hide(sum[r], work->seen[r]) : sum[r];
        work->largest[r] = vf_max(work->largest[r], s);
        vf_store(work->scores + r * SCORE_STRIDE + j, s);
    }
}

static void flow_keys(int rows, const struct flow_work *work, int j)
{
    switch (rows) {
    case 1: flow_rows(1, work, j); break;
    case 2: flow_rows(2, work, j); break;
    case 3: flow_rows(3, work, j); break;
    case 4: flow_rows(4, work, j); break;
    case 5: flow_rows(5, work, j); break;
    case 6: flow_rows(6, work, j); break;
    case 7: flow_rows(7, work, j); break;
    default: flow_rows(FLOW_ROWS, work, j); break;
    }
}

#endif
