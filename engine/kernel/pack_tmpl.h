/* Copies in the order in which the register tiles read: keys into panels; queries only where their features are no neighbours,
 * values also where vectors would straddle cache lines. Copies move bits and compute nothing, so they are no part of the reduction contract. */
#ifndef ATTEND__PACK_TMPL_H
#define ATTEND__PACK_TMPL_H

/* Neighbours as floats; writes nothing beyond `count`. */
INLINED void widen_neighbours(const attend_dtype dtype, float *packed, uintptr_t at, int64_t count)
{
    int64_t d = 0;
    for (; d + VL <= count; d += VL)
        vf_store(packed + d, load_elements(dtype, at, d));
    if (d < count)
        vf_store_part(packed + d, load_elements_part(dtype, at, d, (int)(count - d)), (int)(count - d));
}

/* `count` elements as floats that are neighbours. */
static void widen(float *packed, const void *from, attend_dtype dtype, int64_t step, int64_t count)
{
    const uintptr_t at = (uintptr_t)from;
    if (step == 1 && dtype == ATTEND_BF16)
        widen_neighbours(ATTEND_BF16, packed, at, count);
    else if (step == 1 && dtype == ATTEND_F16)
        widen_neighbours(ATTEND_F16, packed, at, count);
    else
        for (int64_t d = 0; d < count; d++)
            packed[d] = load_element(dtype, at, d * step);
}

/* VL keys × VL features through registers. */
INLINED void pack_square(const attend_dtype dtype, float *packed, const uintptr_t *at, int64_t d, bool even)
{
    vf square[VL];
    if (even && dtype == ATTEND_F32)
        load_even_square(square, at, d);
    else
        load_square(dtype, square, at, d);
    for (int i = 0; i < VL; i++)
        vf_store(packed + (d + i) * PANEL_KEYS, square[i]);
}

/* The same at the edges: features beyond `features` are not stored. */
INLINED void pack_partial_square(const attend_dtype dtype, float *packed, const uintptr_t *at, int64_t d, int keys, int64_t features)
{
    vf square[VL];
    load_partial_square(dtype, square, at, d, keys, features);
    for (int i = 0; i < VL && i < features; i++)
        vf_store(packed + (d + i) * PANEL_KEYS, square[i]);
}

/* Keys of a panel that the score tile reads when the first `keys` exist. */
static inline int whole_groups(int keys)
{
    return keys >= PANEL_KEYS ? PANEL_KEYS : (keys + ATTEND__LANES - 1) / ATTEND__LANES * ATTEND__LANES;
}

static void pack_scattered(attend_dtype dtype, float *packed, const uintptr_t *at, int64_t step, int keys, int64_t d_k)
{
    for (int j = 0; j < whole_groups(keys); j++)
        for (int64_t d = 0; d < d_k; d++)
            packed[d * PANEL_KEYS + j] = j < keys ? load_element(dtype, at[j], d * step) : 0.0f;
}

INLINED void pack_neighbours(const attend_dtype dtype, float *packed, const uintptr_t *at, int keys, int64_t d_k)
{
    for (int j = 0; j < whole_groups(keys); j += VL) {
        const int left = keys - j;
        int64_t d = 0;
        if (left >= VL) {
            const bool even = evenly_placed(at + j);
            for (; d + VL <= d_k; d += VL)
                pack_square(dtype, packed + j, at + j, d, even);
        }
        for (; d < d_k; d += VL)
            pack_partial_square(dtype, packed + j, at + j, d, left, d_k - d);
    }
}

/* A panel of keys, feature by feature: packed[d_k][PANEL_KEYS]. Keys beyond `keys` are not read; they become 0 up to a whole group of
 * lanes and are left out after it. */
static void pack_panel(float *packed, const uintptr_t *at, attend_dtype dtype, int64_t step, int keys, int64_t d_k)
{
    if (step != 1)
        pack_scattered(dtype, packed, at, step, keys, d_k);
    else if (dtype == ATTEND_BF16)
        pack_neighbours(ATTEND_BF16, packed, at, keys, d_k);
    else if (dtype == ATTEND_F16)
        pack_neighbours(ATTEND_F16, packed, at, keys, d_k);
    else
        pack_neighbours(ATTEND_F32, packed, at, keys, d_k);
}

/* Values key by key: packed[keys][width], width ≥ d_v a multiple of VL; the columns from d_v on become 0. */
static void pack_values(float *packed, int64_t width, const uintptr_t *at, attend_dtype dtype, int64_t step, int keys, int64_t d_v)
{
    for (int j = 0; j < keys; j++) {
        float *to = packed + j * width;
        widen(to, (const void *)at[j], dtype, step, d_v);
        for (int64_t d = d_v; d < width; d++)
            to[d] = 0.0f;
    }
}

#endif
