/* Addresses of a tile's keys and values, one each, so that what reads them need not know how a cache is laid out. Where rows are few the
 * addresses go on behind the tile, with the keys that will be wanted then. */
#ifndef ATTEND__PLACE_TMPL_H
#define ATTEND__PLACE_TMPL_H

/* Numbers and no pointers: those behind the tile are fetched from at most, and may lie anywhere. */
static void place_keys(uintptr_t *at, const struct attend__places *places, int64_t key, int count)
{
    const uintptr_t size = (uintptr_t)attend__dtype_bytes(places->dtype);
    const uintptr_t base = (uintptr_t)places->base, stride = (uintptr_t)places->stride * size;
    if (!places->pages) {
        for (int i = 0; i < count; i++)
            at[i] = base + (uintptr_t)(key + i) * stride;
        return;
    }
    const int64_t number = places->first + key;
    const int32_t *page = places->pages + number / places->page_keys;
    int64_t slot = number % places->page_keys;
    for (int i = 0; i < count; page++, slot = 0) {
        const uintptr_t begin = base + (uintptr_t)*page * (uintptr_t)places->page_stride * size;
        const int end = (int)attend__min(count, i + places->page_keys - slot);
        for (; i < end; i++, slot++)
            at[i] = begin + (uintptr_t)slot * stride;
    }
}

/* Are the vectors of VL keys as far from each other as those of the first two? */
static inline bool evenly_placed(const uintptr_t *at)
{
    bool even = true;
    for (int i = 2; i < VL; i++)
        even &= at[i] - at[i - 1] == at[1] - at[0];
    return even;
}

/* VL keys × VL features from feature d on, transposed. */
INLINED void load_square(const attend_dtype dtype, vf square[VL], const uintptr_t *at, int64_t d)
{
    for (int i = 0; i < VL; i++)
        square[i] = load_elements(dtype, at[i], d);
    vf_transpose(square);
}

/* The same for keys of binary32 that are evenly placed, in fewer shuffles. */
static inline void load_even_square(vf square[VL], const uintptr_t *at, int64_t d)
{
    vf_load_transposed(square, (const float *)at[0] + d, (int64_t)(at[1] - at[0]) / (int64_t)sizeof(float));
}

/* The same at the edges: keys beyond `keys` are 0, features beyond `features` anything. */
INLINED void load_partial_square(const attend_dtype dtype, vf square[VL], const uintptr_t *at, int64_t d, int keys, int64_t features)
{
    for (int i = 0; i < VL; i++)
        square[i] = i >= keys ? vf_set1(0.0f)
                    : features >= VL ? load_elements(dtype, at[i], d)
                                     : load_elements_part(dtype, at[i], d, (int)features);
    vf_transpose(square);
}

#endif
