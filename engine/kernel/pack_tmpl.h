/* Copies in the order in which the register tiles read: keys into panels; queries only where their features are no neighbours,
 * values also where vectors would straddle cache lines. Copies move bits and compute nothing, so they are no part of the reduction contract. */
#ifndef ATTEND__PACK_TMPL_H
#define ATTEND__PACK_TMPL_H

/* A query whose features are not neighbours, as one whose are. */
static void pack_query(float *packed, const float *query, int64_t step, int64_t d_k)
{
    for (int64_t d = 0; d < d_k; d++)
        packed[d] = query[d * step];
}

/* VL keys × VL features through registers. */
static inline void pack_square(float *packed, const uintptr_t *at, int64_t d, bool even)
{
    vf square[VL];
    if (even)
        load_even_square(square, at, d);
    else
        load_square(square, at, d);
    for (int i = 0; i < VL; i++)
        vf_store(packed + (d + i) * PANEL_KEYS, square[i]);
}

/* The same at the edges: features beyond `features` are not stored. */
static void pack_partial_square(float *packed, const uintptr_t *at, int64_t d, int keys, int64_t features)
{
    vf square[VL];
    load_partial_square(square, at, d, keys, features);
    for (int i = 0; i < VL && i < features; i++)
        vf_store(packed + (d + i) * PANEL_KEYS, square[i]);
}

/* Keys of a panel that the score tile reads when the first `keys` exist. */
static inline int whole_groups(int keys)
{
    return keys >= PANEL_KEYS ? PANEL_KEYS : (keys + ATTEND__LANES - 1) / ATTEND__LANES * ATTEND__LANES;
}

static void pack_scattered(float *packed, const uintptr_t *at, int64_t step, int keys, int64_t d_k)
{
    for (int j = 0; j < whole_groups(keys); j++)
        for (int64_t d = 0; d < d_k; d++)
            packed[d * PANEL_KEYS + j] = j < keys ? *float_at(at, j, d * step) : 0.0f;
}

/* A panel of keys, feature by feature: packed[d_k][PANEL_KEYS]. Keys beyond `keys` are not read; they become 0 up to a whole group of
 * lanes and are left out after it. */
static void pack_panel(float *packed, const uintptr_t *at, int64_t step, int keys, int64_t d_k)
{
    if (step != 1) {
        pack_scattered(packed, at, step, keys, d_k);
        return;
    }
    for (int j = 0; j < whole_groups(keys); j += VL) {
        const int left = keys - j;
        int64_t d = 0;
        if (left >= VL) {
            const bool even = evenly_placed(at + j);
            for (; d + VL <= d_k; d += VL)
                pack_square(packed + j, at + j, d, even);
        }
        for (; d < d_k; d += VL)
            pack_partial_square(packed + j, at + j, d, left, d_k - d);
    }
}

/* Values key by key: packed[keys][width], width ≥ d_v a multiple of VL; the columns from d_v on become 0. */
static void pack_values(float *packed, int64_t width, const uintptr_t *at, int64_t step, int keys, int64_t d_v)
{
    for (int j = 0; j < keys; j++) {
        const float *from = float_at(at, j, 0);
        float *to = packed + j * width;
        for (int64_t d = 0; d < width; d += VL) {
            const int lanes = (int)attend__clamp(d_v - d, 0, VL);
            if (step == 1) {
                vf_store(to + d, lanes == VL ? vf_load(from + d) : vf_load_part(from + d, lanes));
                continue;
            }
            for (int i = 0; i < VL; i++)
                to[d + i] = i < lanes ? from[(d + i) * step] : 0.0f;
        }
    }
}

#endif
