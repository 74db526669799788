/* Products of few rows with keys as they come from memory: a square of keys is transposed in registers and used at once, since packing
 * would write and read it again for a single use; and for every line that is used the one some keys later is fetched, so that memory
 * never waits for arithmetic. The sums are those of the register tile, multiply-add by multiply-add. */
#ifndef ATTEND__FLOW_TMPL_H
#define ATTEND__FLOW_TMPL_H

enum { LINE_FLOATS = LINE_BYTES / (int)sizeof(float), LINE_VECTORS = LINE_FLOATS / VL };

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

/* Which lines of the VL keys behind are fetched: with feature i of the square from feature d on the one at base + d·per_feature + i·step.
 * Vectors without gaps between them are one piece of memory, which is fetched in its order: where that piece is a page among others,
 * 6 % faster than line by line of each vector in turn. Of scattered keys each is looked up. */
struct fetching {
    uintptr_t base, per_feature, step;
    const uintptr_t *behind;
};

static inline struct fetching fetching_of(const uintptr_t *behind, int64_t width)
{
    const uintptr_t stride = behind[1] - behind[0];
    if (stride == (uintptr_t)width * sizeof(float))
        return (struct fetching){ behind[0], VL * sizeof(float), VL * sizeof(float), behind };
    return (struct fetching){ behind[0], sizeof(float), stride, behind };
}

enum fetches { FETCH_NOTHING, FETCH_EVEN, FETCH_SCATTERED };

/* Multiply-adds of VL keys with features d … d + features - 1, and one line fetched after each feature: a burst would fill the queue to memory
 * and then have the loads wait behind it (14 % slower). rows, features and fetches are compile-time constants. */
static inline __attribute__((always_inline)) void flow_square(const int rows, const int features, const enum fetches fetches, vf *sum,
                                                              const vf *square, const float *queries, const struct fetching *fetching,
                                                              int64_t d)
{
    UNROLLED
    for (int i = 0; i < features; i++) {
        if (fetches == FETCH_EVEN)
            fetch_line(fetching->base + (uintptr_t)d * fetching->per_feature + (uintptr_t)i * fetching->step);
        if (fetches == FETCH_SCATTERED)
            fetch_line(fetching->behind[i] + (uintptr_t)d * sizeof(float));
        UNROLLED
        for (int r = 0; r < rows; r++)
            sum[r] = vf_fma(vf_set1(queries[i * rows + r]), square[i], sum[r]);
    }
}

/* Keys j … j + VL - 1 of the tile; rows and fetches are compile-time constants. */
static inline __attribute__((always_inline)) void flow_rows(const int rows, const enum fetches fetches, const struct flow_work *work,
                                                            int j)
{
    const uintptr_t *at = work->at + j, *behind = at + FLOW_KEYS;
    const float *queries = work->queries;
    const int64_t d_k = work->d_k;
    const int keys = work->keys - j;
    const struct fetching fetching = fetching_of(behind, d_k);
    vf sum[FLOW_ROWS], square[VL];
    UNROLLED
    for (int r = 0; r < rows; r++)
        sum[r] = vf_set1(0.0f);
    int64_t d = 0;
    if (keys >= VL)
        for (; d + VL <= d_k; d += VL, queries += rows * VL) {
            load_square(square, at, d);
            flow_square(rows, VL, fetches, sum, square, queries, &fetching, d);
        }
    for (; d < d_k; d += VL) {
        load_partial_square(square, at, d, keys, d_k - d);
        for (int i = 0; i < VL && d + i < d_k; i++, queries += rows) {
            if (fetches != FETCH_NOTHING)
                fetch_line(behind[i] + (uintptr_t)d * sizeof(float));
            flow_square(rows, 1, FETCH_NOTHING, sum, square + i, queries, &fetching, d);
        }
    }
    UNROLLED
    for (int r = 0; r < rows; r++) {
        const vf s = work->seen ? vf_hide(sum[r], work->seen[r]) : sum[r];
        work->largest[r] = vf_max(work->largest[r], s);
        vf_store(work->scores + r * SCORE_STRIDE + j, s);
    }
}

/* What is fetched is decided outside of the instances, where it costs no registers. */
#define FLOW_CASE(rows, fetches) \
    case rows: flow_rows(rows, fetches, work, j); break
#define FLOW_CASES_FROM_4(fetches) \
    FLOW_CASE(4, fetches); FLOW_CASE(5, fetches); FLOW_CASE(6, fetches); FLOW_CASE(7, fetches); FLOW_CASE(8, fetches)

static __attribute__((noinline)) void flow_keys_even(int rows, const struct flow_work *work, int j)
{
    switch (rows) {
        FLOW_CASE(1, FETCH_EVEN);
        FLOW_CASE(2, FETCH_EVEN);
        FLOW_CASE(3, FETCH_EVEN);
        FLOW_CASES_FROM_4(FETCH_EVEN);
    }
}

static __attribute__((noinline)) void flow_keys_scattered(int rows, const struct flow_work *work, int j)
{
    switch (rows) {
        FLOW_CASE(1, FETCH_SCATTERED);
        FLOW_CASE(2, FETCH_SCATTERED);
        FLOW_CASE(3, FETCH_SCATTERED);
        FLOW_CASES_FROM_4(FETCH_SCATTERED);
    }
}

/* Rows beyond those that fetch are half of more than FLOW_ROWS. */
static __attribute__((noinline)) void flow_keys_alone(int rows, const struct flow_work *work, int j)
{
    switch (rows) {
        FLOW_CASES_FROM_4(FETCH_NOTHING);
    }
}

static void flow_keys(int rows, const struct flow_work *work, int j)
{
    if (!work->fetches)
        flow_keys_alone(rows, work, j);
    else if (evenly_placed(work->at + j + FLOW_KEYS))
        flow_keys_even(rows, work, j);
    else
        flow_keys_scattered(rows, work, j);
}

#endif
