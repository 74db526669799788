/* Products of few rows with keys as they come from memory: a square of keys is transposed in registers and used at once, since packing
 * would write and read it again for a single use; and for every line that is used the one some keys later is fetched, so that memory
 * never waits for arithmetic. The sums are those of the register tile, multiply-add by multiply-add. */
#ifndef ATTEND__FLOW_TMPL_H
#define ATTEND__FLOW_TMPL_H

struct flow_work {
    float *scores;               /* [rows][SCORE_STRIDE], of the tile's first key */
    const float *queries;        /* [d_k][rows] */
    const uintptr_t *at;         /* of the tile's keys, and of what is read after them */
    int64_t d_k;
    attend_dtype dtype;          /* of the keys */
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

static inline struct fetching fetching_of(const uintptr_t *behind, int64_t width, uintptr_t size)
{
    const uintptr_t stride = behind[1] - behind[0];
    if (stride == (uintptr_t)width * size)
        return (struct fetching){ behind[0], VL * size, VL * size, behind };
    return (struct fetching){ behind[0], size, stride, behind };
}

enum fetches { FETCH_NOTHING, FETCH_EVEN, FETCH_SCATTERED };

/* Multiply-adds of VL keys with features d … d + features - 1, and one line fetched after each feature: a burst would fill the queue to memory
 * and then have the loads wait behind it (14 % slower). rows, features and fetches are compile-time constants. */
INLINED void flow_square(const int rows, const int features, const enum fetches fetches, const uintptr_t size, vf *sum, const vf *square,
                         const float *queries, const struct fetching *fetching, int64_t d)
{
    UNROLLED
    for (int i = 0; i < features; i++) {
        if (fetches == FETCH_EVEN)
            fetch_line(fetching->base + (uintptr_t)d * fetching->per_feature + (uintptr_t)i * fetching->step);
        if (fetches == FETCH_SCATTERED)
            fetch_line(fetching->behind[i] + (uintptr_t)d * size);
        UNROLLED
        for (int r = 0; r < rows; r++)
            sum[r] = vf_fma(vf_set1(queries[i * rows + r]), square[i], sum[r]);
    }
}

/* Keys j … j + VL - 1 of the tile; dtype, rows and fetches are compile-time constants. */
INLINED void flow_rows(const attend_dtype dtype, const int rows, const enum fetches fetches, const struct flow_work *work, int j)
{
    const uintptr_t *at = work->at + j, *behind = at + FLOW_KEYS;
    const float *queries = work->queries;
    const int64_t d_k = work->d_k;
    const int keys = work->keys - j;
    const uintptr_t size = (uintptr_t)attend__dtype_bytes(dtype);
    const struct fetching fetching = fetching_of(behind, d_k, size);
    vf sum[FLOW_ROWS], square[VL];
    UNROLLED
    for (int r = 0; r < rows; r++)
        sum[r] = vf_set1(0.0f);
    int64_t d = 0;
    if (keys >= VL)
        for (; d + VL <= d_k; d += VL, queries += rows * VL) {
            load_square(dtype, square, at, d);
            flow_square(rows, VL, fetches, size, sum, square, queries, &fetching, d);
        }
    for (; d < d_k; d += VL) {
        load_partial_square(dtype, square, at, d, keys, d_k - d);
        for (int i = 0; i < VL && d + i < d_k; i++, queries += rows) {
            if (fetches != FETCH_NOTHING)
                fetch_line(behind[i] + (uintptr_t)d * size);
            flow_square(rows, 1, FETCH_NOTHING, size, sum, square + i, queries, &fetching, d);
        }
    }
    UNROLLED
    for (int r = 0; r < rows; r++) {
        const vf s = work->seen ? vf_hide(sum[r], work->seen[r]) : sum[r];
        work->largest[r] = vf_max(work->largest[r], s);
        vf_store(work->scores + r * SCORE_STRIDE + j, s);
    }
}

/* Types, and what is fetched, are decided outside of the instances, where that costs no registers. */
#define FLOW_CASE(dtype, fetches, rows) \
    case rows: flow_rows(dtype, rows, fetches, work, j); break
#define FLOW_FEW(dtype, fetches) FLOW_CASE(dtype, fetches, 1); FLOW_CASE(dtype, fetches, 2); FLOW_CASE(dtype, fetches, 3)
#define FLOW_FROM_4(dtype, fetches)                                                                              \
    FLOW_CASE(dtype, fetches, 4); FLOW_CASE(dtype, fetches, 5); FLOW_CASE(dtype, fetches, 6); FLOW_CASE(dtype, fetches, 7); \
    FLOW_CASE(dtype, fetches, 8)

/* Rows beyond those that fetch are half of more than FLOW_ROWS. */
#define FLOW_FUNCTIONS(name, dtype)                                                                              \
    static __attribute__((noinline)) void flow_even_##name(int rows, const struct flow_work *work, int j)        \
    {                                                                                                            \
        switch (rows) {                                                                                          \
            FLOW_FEW(dtype, FETCH_EVEN);                                                                         \
            FLOW_FROM_4(dtype, FETCH_EVEN);                                                                      \
        }                                                                                                        \
    }                                                                                                            \
    static __attribute__((noinline)) void flow_scattered_##name(int rows, const struct flow_work *work, int j)   \
    {                                                                                                            \
        switch (rows) {                                                                                          \
            FLOW_FEW(dtype, FETCH_SCATTERED);                                                                    \
            FLOW_FROM_4(dtype, FETCH_SCATTERED);                                                                 \
        }                                                                                                        \
    }                                                                                                            \
    static __attribute__((noinline)) void flow_alone_##name(int rows, const struct flow_work *work, int j)       \
    {                                                                                                            \
        switch (rows) {                                                                                          \
            FLOW_FROM_4(dtype, FETCH_NOTHING);                                                                   \
        }                                                                                                        \
    }                                                                                                            \
    static void flow_keys_##name(int rows, const struct flow_work *work, int j)                                  \
    {                                                                                                            \
        if (!work->fetches)                                                                                      \
            flow_alone_##name(rows, work, j);                                                                    \
        else if (evenly_placed(work->at + j + FLOW_KEYS))                                                        \
            flow_even_##name(rows, work, j);                                                                     \
        else                                                                                                     \
            flow_scattered_##name(rows, work, j);                                                                \
    }

FLOW_FUNCTIONS(f32, ATTEND_F32)
FLOW_FUNCTIONS(bf16, ATTEND_BF16)
FLOW_FUNCTIONS(f16, ATTEND_F16)

static void flow_keys(int rows, const struct flow_work *work, int j)
{
    switch (work->dtype) {
    case ATTEND_BF16: flow_keys_bf16(rows, work, j); break;
    case ATTEND_F16: flow_keys_f16(rows, work, j); break;
    default: flow_keys_f32(rows, work, j); break;
    }
}

#endif
