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
static inline void pack_square(float *packed, const float *key, int64_t stride)
{
    vf square[VL];
    vf_load_transposed(square, key, stride);
    for (int d = 0; d < VL; d++)
        vf_store(packed + d * PANEL_KEYS, square[d]);
}

/* The same at the edges: keys beyond `keys` become 0, features beyond `features` are not stored. */
static void pack_partial_square(float *packed, const float *key, int64_t stride, int keys, int features)
{
    vf square[VL];
    for (int i = 0; i < VL; i++)
        square[i] = i >= keys ? vf_set1(0.0f)
                    : features >= VL ? vf_load(key + i * stride)
                                     : vf_load_part(key + i * stride, features);
    vf_transpose(square);
    for (int d = 0; d < VL && d < features; d++)
        vf_store(packed + d * PANEL_KEYS, square[d]);
}

/* Keys of a panel that the score tile reads when the first `keys` exist. */
static inline int whole_groups(int keys)
{
    return keys >= PANEL_KEYS ? PANEL_KEYS : (keys + ATTEND__LANES - 1) / ATTEND__LANES * ATTEND__LANES;
}

static void pack_scattered(float *packed, const float *key, int64_t stride, int64_t step, int keys, int64_t d_k)
{
    for (int j = 0; j < whole_groups(keys); j++)
        for (int64_t d = 0; d < d_k; d++)
            packed[d * PANEL_KEYS + j] = j < keys ? key[j * stride + d * step] : 0.0f;
}

/* A panel of keys, feature by feature: packed[d_k][PANEL_KEYS]. Keys beyond `keys` are not read; they become 0 up to a whole group of
 * lanes and are left out after it. */
static void pack_panel(float *packed, const float *key, int64_t stride, int64_t step, int keys, int64_t d_k)
{
    if (step != 1) {
        pack_scattered(packed, key, stride, step, keys, d_k);
        return;
    }
    for (int j = 0; j < whole_groups(keys); j += VL) {
        const int left = keys - j;
        int64_t d = 0;
        if (left >= VL)
            for (; d + VL <= d_k; d += VL)
                pack_square(packed + d * PANEL_KEYS + j, key + j * stride + d, stride);
        for (; d < d_k; d += VL)
            pack_partial_square(packed + d * PANEL_KEYS + j, key + j * stride + d, stride, left, (int)attend__min(d_k - d, VL));
    }
}

/* Values key by key: packed[keys][width], width ≥ d_v a multiple of VL; the columns from d_v on become 0. */
static void pack_values(float *packed, int64_t width, const float *value, int64_t stride, int64_t step, int keys, int64_t d_v)
{
    for (int j = 0; j < keys; j++) {
        const float *from = value + j * stride;
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
