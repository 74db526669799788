/* Operations for wrappers of 4 lanes: on rows, in terms of their own others, since vectors this short need no tree of shuffles; and on
 * bytes, in plain C. Included at the end of such a wrapper. */
#ifndef ATTEND__VEC_FOUR_LANES_H
#define ATTEND__VEC_FOUR_LANES_H

#include <string.h>

/* Bit i is set where byte i of the eight is not 0. */
static inline uint64_t eight_not_zero(const uint8_t *p)
{
    uint64_t x;
    memcpy(&x, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    const uint64_t low_bits = UINT64_C(0x7f7f7f7f7f7f7f7f);
    const uint64_t top = (x | ((x & low_bits) + low_bits)) & ~low_bits;
    return ((top >> 7) * UINT64_C(0x0102040810204080)) >> 56;
}

static inline uint64_t bytes_not_zero(const uint8_t *p)
{
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++)
        bits |= eight_not_zero(p + 8 * i) << 8 * i;
    return bits;
}

static inline void vf_load_transposed(vf r[4], const float *p, int64_t stride)
{
    for (int i = 0; i < 4; i++)
        r[i] = vf_load(p + i * stride);
    vf_transpose(r);
}

static inline vf vf_max_of_rows(const vf row[4])
{
    vf t[4] = { row[0], row[1], row[2], row[3] };
    vf_transpose(t);
    return vf_max(vf_max(t[0], t[2]), vf_max(t[1], t[3]));
}

static inline vf vf_fold_rows(const vf row[16])
{
    vf t[4];
    for (int i = 0; i < 4; i++)
        t[i] = vf_add(vf_add(row[4 * i], row[4 * i + 2]), vf_add(row[4 * i + 1], row[4 * i + 3]));
    vf_transpose(t);
    return vf_add(vf_add(t[0], t[2]), vf_add(t[1], t[3]));
}

#endif
