/* The template's vector operations on AVX2 with FMA and F16C: 8 lanes of binary32. See README.md for the meaning of each. */
#ifndef ATTEND__VEC_H
#define ATTEND__VEC_H

#if !defined(__AVX2__) || !defined(__FMA__) || !defined(__F16C__)
#error "vec_avx2.h needs the compiler flags of its kernel library"
#endif

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#define KERNEL_SUFFIX avx2
#define KERNEL_NAME "f32_6x16_avx2"
#define KERNEL_ISA ATTEND_ISA_AVX2

#define VL 8 /* lanes of a vector */
#define PANEL_VECTORS 2 /* 6 rows × 2 vectors of sums, 2 of keys and 1 of a query feature: 15 of 16 registers */

typedef __m256 vf;

static inline vf vf_set1(float x) { return _mm256_set1_ps(x); }
static inline vf vf_load(const float *p) { return _mm256_loadu_ps(p); }
static inline void vf_store(float *p, vf v) { _mm256_storeu_ps(p, v); }

static inline __m256i first_lanes(int n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static inline vf vf_load_part(const float *p, int n) { return _mm256_maskload_ps(p, first_lanes(n)); }
static inline void vf_store_part(float *p, vf v, int n) { _mm256_maskstore_ps(p, first_lanes(n), v); }

static inline vf vf_widen_bf16(const uint16_t *p)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p)), 16));
}

static inline vf vf_widen_f16(const uint16_t *p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)); }

static inline void vf_round_bf16(uint16_t *p, vf v)
{
    const __m256i bits = _mm256_castps_si256(v), even = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i up = _mm256_add_epi32(bits, _mm256_add_epi32(even, _mm256_set1_epi32(0x7fff)));
    const __m256i high = _mm256_srli_epi32(up, 16); /* fits 16 bits: packing saturates nothing */
    _mm_storeu_si128((__m128i *)p, _mm_packus_epi32(_mm256_castsi256_si128(high), _mm256_extracti128_si256(high, 1)));
}

static inline void vf_round_f16(uint16_t *p, vf v)
{
    _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}

static inline vf vf_add(vf a, vf b) { return _mm256_add_ps(a, b); }
static inline vf vf_sub(vf a, vf b) { return _mm256_sub_ps(a, b); }
static inline vf vf_mul(vf a, vf b) { return _mm256_mul_ps(a, b); }
static inline vf vf_div(vf a, vf b) { return _mm256_div_ps(a, b); }
static inline vf vf_div_tanh(vf a, vf b) { return vf_div(a, b); }
static inline vf vf_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
static inline vf vf_max(vf a, vf b) { return _mm256_max_ps(a, b); }

static inline vf vf_mul_above(vf a, vf b, vf x, vf limit)
{
    return _mm256_and_ps(_mm256_cmp_ps(x, limit, _CMP_NLT_UQ), _mm256_mul_ps(a, b));
}

/* The instruction answers its second operand where one is NaN. */
static inline vf vf_at_least(vf x, vf limit) { return _mm256_max_ps(limit, x); }

static inline vf vf_at_most(vf x, vf limit) { return _mm256_min_ps(limit, x); }

static inline uint64_t bytes_not_zero(const uint8_t *p)
{
    uint64_t zero = 0;
    for (int i = 0; i < 2; i++) {
        const __m256i bytes = _mm256_loadu_si256((const __m256i *)p + i);
        zero |= (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_setzero_si256())) << 32 * i;
    }
    return ~zero;
}

static inline uint32_t vf_above_minus_inf(vf v)
{
    return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(v, _mm256_set1_ps(-__builtin_inff()), _CMP_NEQ_UQ));
}

static inline vf vf_hide(vf v, uint32_t visible)
{
    __m256i lane_bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    __m256i shown = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)visible), lane_bit), lane_bit);
    return _mm256_blendv_ps(_mm256_set1_ps(-__builtin_inff()), v, _mm256_castsi256_ps(shown));
}

static inline vf vf_exponent_from_sum(vf t)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(t), 23));
}

static inline void vf_split(vf x, vf *exponent, vf *fraction)
{
    __m256i bits = _mm256_castps_si256(x);
    __m256i e = _mm256_srai_epi32(_mm256_sub_epi32(bits, _mm256_set1_epi32(0x3f3504f3)), 23);
    *exponent = _mm256_cvtepi32_ps(e);
    *fraction = _mm256_castsi256_ps(_mm256_sub_epi32(bits, _mm256_slli_epi32(e, 23)));
}

static inline vf vf_canonical(vf v)
{
    vf quiet = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000));
    return _mm256_blendv_ps(v, quiet, _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
}

static inline bool vf_any_nonfinite(vf v)
{
    vf difference = _mm256_sub_ps(v, v); /* NaN unless finite */
    return _mm256_movemask_ps(_mm256_cmp_ps(difference, difference, _CMP_UNORD_Q)) != 0;
}

/* Magnitudes compare like their bits; less 1, a zero's are the largest of all. */
struct vf_span { __m256i least, most; };

static inline struct vf_span vf_span_none(void)
{
    return (struct vf_span){ _mm256_set1_epi32(-1), _mm256_setzero_si256() };
}

static inline void vf_span_take(struct vf_span *span, vf v)
{
    __m256i magnitude = _mm256_and_si256(_mm256_castps_si256(v), _mm256_set1_epi32(0x7fffffff));
    span->most = _mm256_max_epu32(span->most, magnitude);
    span->least = _mm256_min_epu32(span->least, _mm256_sub_epi32(magnitude, _mm256_set1_epi32(1)));
}

static inline bool vf_span_inside(struct vf_span span, float low, float high)
{
    __m256i least = _mm256_sub_epi32(_mm256_castps_si256(vf_set1(low)), _mm256_set1_epi32(1));
    __m256i inside = _mm256_and_si256(_mm256_cmpeq_epi32(_mm256_max_epu32(span.least, least), span.least),
                                      _mm256_cmpgt_epi32(_mm256_castps_si256(vf_set1(high)), span.most));
    return _mm256_movemask_epi8(inside) == -1;
}

/* Lane i of the result is row i's lanes combined, lane j with lane j + half at every step: two rows share a vector after the first
 * step, four after the second, which takes half the shuffles of row by row. Rows enter in the order that leaves them sorted. */
#define COMBINE_ROWS(combine, take)                                                                       \
    vf pair[4], four[2];                                                                                  \
    for (int i = 0; i < 4; i++) {                                                                         \
        vf a = take(i), b = take(4 + i);                                                                  \
        pair[i] = combine(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));        \
    }                                                                                                     \
    for (int i = 0; i < 2; i++) {                                                                         \
        vf a = pair[2 * i], b = pair[2 * i + 1];                                                          \
        four[i] = combine(_mm256_shuffle_ps(a, b, 0x44), _mm256_shuffle_ps(a, b, 0xee));                  \
    }                                                                                                     \
    return combine(_mm256_shuffle_ps(four[0], four[1], 0x88), _mm256_shuffle_ps(four[0], four[1], 0xdd))

#define ROW_ITSELF(i) row[i]
#define ROW_OF_LANES(i) _mm256_add_ps(row[2 * (i)], row[2 * (i) + 1])
static inline vf vf_max_of_rows(const vf row[8]) { COMBINE_ROWS(_mm256_max_ps, ROW_ITSELF); }
static inline vf vf_fold_rows(const vf row[16]) { COMBINE_ROWS(_mm256_add_ps, ROW_OF_LANES); }

/* Half L of the result gathers rows i + 4L, so that transposing 4 × 4 inside halves is all that is left; insertion from memory
 * needs no shuffle unit, of which there may be one. */
static inline void vf_load_transposed(vf r[8], const float *p, int64_t stride)
{
    for (int c = 0; c < 8; c += 4) {
        vf row[4];
        for (int i = 0; i < 4; i++) {
            const float *at = p + i * stride + c;
            row[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(at)), _mm_loadu_ps(at + 4 * stride), 1);
        }
        __m256d low01 = _mm256_castps_pd(_mm256_unpacklo_ps(row[0], row[1]));
        __m256d high01 = _mm256_castps_pd(_mm256_unpackhi_ps(row[0], row[1]));
        __m256d low23 = _mm256_castps_pd(_mm256_unpacklo_ps(row[2], row[3]));
        __m256d high23 = _mm256_castps_pd(_mm256_unpackhi_ps(row[2], row[3]));
        r[c] = _mm256_castpd_ps(_mm256_unpacklo_pd(low01, low23));
        r[c + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(low01, low23));
        r[c + 2] = _mm256_castpd_ps(_mm256_unpacklo_pd(high01, high23));
        r[c + 3] = _mm256_castpd_ps(_mm256_unpackhi_pd(high01, high23));
    }
}

/* Three stages of pairwise interleaving: 1, 2 and 4 lanes. */
static inline void vf_transpose(vf r[8])
{
    vf t[8];
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4)
        for (int k = 0; k < 2; k++) {
            r[i + 2 * k] = _mm256_shuffle_ps(t[i + k], t[i + k + 2], 0x44);
            r[i + 2 * k + 1] = _mm256_shuffle_ps(t[i + k], t[i + k + 2], 0xee);
        }
    for (int k = 0; k < 4; k++) {
        vf low = r[k], high = r[k + 4];
        r[k] = _mm256_permute2f128_ps(low, high, 0x20);
        r[k + 4] = _mm256_permute2f128_ps(low, high, 0x31);
    }
}

#include "engine/kernel/vec_half_parts.h"

#endif
