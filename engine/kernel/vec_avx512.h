/* The template's vector operations on AVX-512: 16 lanes of binary32. See README.md for the meaning of each. */
#ifndef ATTEND__VEC_H
#define ATTEND__VEC_H

#if !defined(__AVX512F__) || !defined(__AVX512BW__) || !defined(__AVX512DQ__) || !defined(__AVX512VL__)
#error "vec_avx512.h needs the compiler flags of its kernel library"
#endif

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#define KERNEL_SUFFIX avx512
#define KERNEL_NAME "f32_6x64_avx512"
#define KERNEL_ISA ATTEND_ISA_AVX512

#define VL 16 /* lanes of a vector */
#define PANEL_VECTORS 4 /* 6 rows × 4 vectors of sums, 4 of keys and 1 of a query feature: 29 of 32 registers */

typedef __m512 vf;

static inline vf vf_set1(float x) { return _mm512_set1_ps(x); }
static inline vf vf_load(const float *p) { return _mm512_loadu_ps(p); }
static inline void vf_store(float *p, vf v) { _mm512_storeu_ps(p, v); }

static inline __mmask16 first_lanes(int n) { return (__mmask16)((1u << n) - 1); }
static inline vf vf_load_part(const float *p, int n) { return _mm512_maskz_loadu_ps(first_lanes(n), p); }
static inline void vf_store_part(float *p, vf v, int n) { _mm512_mask_storeu_ps(p, first_lanes(n), v); }

static inline vf bf16_lanes(__m256i halves) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16)); }
static inline vf vf_widen_bf16(const uint16_t *p) { return bf16_lanes(_mm256_loadu_si256((const __m256i *)p)); }
static inline vf vf_widen_f16(const uint16_t *p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p)); }
static inline vf vf_widen_bf16_part(const uint16_t *p, int n) { return bf16_lanes(_mm256_maskz_loadu_epi16(first_lanes(n), p)); }
static inline vf vf_widen_f16_part(const uint16_t *p, int n) { return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first_lanes(n), p)); }

static inline void vf_round_bf16(uint16_t *p, vf v)
{
    const __m512i bits = _mm512_castps_si512(v), even = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i up = _mm512_add_epi32(bits, _mm512_add_epi32(even, _mm512_set1_epi32(0x7fff)));
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16(_mm512_srli_epi32(up, 16)));
}

static inline void vf_round_f16(uint16_t *p, vf v)
{
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

static inline vf vf_add(vf a, vf b) { return _mm512_add_ps(a, b); }
static inline vf vf_sub(vf a, vf b) { return _mm512_sub_ps(a, b); }
static inline vf vf_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
static inline vf vf_div(vf a, vf b) { return _mm512_div_ps(a, b); }

/* An estimate good to 14 bits, a step that makes it 28, and the quotient corrected by its remainder: 6 operations against the 16 cycles
 * of the divider. Compared with the division for every argument of tanh_any. */
static inline vf vf_div_tanh(vf a, vf b)
{
    vf y = _mm512_rcp14_ps(b);
    y = _mm512_fmadd_ps(_mm512_fnmadd_ps(b, y, _mm512_set1_ps(1.0f)), y, y);
    const vf q = _mm512_mul_ps(a, y);
    return _mm512_fmadd_ps(_mm512_fnmadd_ps(b, q, a), y, q);
}

static inline vf vf_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
static inline vf vf_max(vf a, vf b) { return _mm512_max_ps(a, b); }

static inline vf vf_mul_above(vf a, vf b, vf x, vf limit)
{
    return _mm512_maskz_mul_ps(_mm512_cmp_ps_mask(x, limit, _CMP_NLT_UQ), a, b);
}

/* The instruction answers its second operand where one is NaN. */
static inline vf vf_at_least(vf x, vf limit) { return _mm512_max_ps(limit, x); }

static inline vf vf_at_most(vf x, vf limit) { return _mm512_min_ps(limit, x); }

static inline uint64_t bytes_not_zero(const uint8_t *p)
{
    const __m512i bytes = _mm512_loadu_si512(p);
    return _mm512_test_epi8_mask(bytes, bytes);
}

static inline uint32_t vf_above_minus_inf(vf v)
{
    return _mm512_cmp_ps_mask(v, _mm512_set1_ps(-__builtin_inff()), _CMP_NEQ_UQ);
}

static inline vf vf_hide(vf v, uint32_t visible)
{
    return _mm512_mask_mov_ps(_mm512_set1_ps(-__builtin_inff()), (__mmask16)visible, v);
}

static inline vf vf_exponent_from_sum(vf t)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(t), 23));
}

static inline void vf_split(vf x, vf *exponent, vf *fraction)
{
    __m512i bits = _mm512_castps_si512(x);
    __m512i e = _mm512_srai_epi32(_mm512_sub_epi32(bits, _mm512_set1_epi32(0x3f3504f3)), 23);
    *exponent = _mm512_cvtepi32_ps(e);
    *fraction = _mm512_castsi512_ps(_mm512_sub_epi32(bits, _mm512_slli_epi32(e, 23)));
}

static inline vf vf_canonical(vf v)
{
    __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    return _mm512_castsi512_ps(_mm512_mask_set1_epi32(_mm512_castps_si512(v), nan, 0x7fc00000));
}

static inline bool vf_any_nonfinite(vf v)
{
    vf difference = _mm512_sub_ps(v, v); /* NaN unless finite */
    return _mm512_cmp_ps_mask(difference, difference, _CMP_UNORD_Q) != 0;
}

/* Magnitudes compare like their bits; less 1, a zero's are the largest of all. */
struct vf_span { __m512i least, most; };

static inline struct vf_span vf_span_none(void)
{
    return (struct vf_span){ _mm512_set1_epi32(-1), _mm512_setzero_si512() };
}

static inline void vf_span_take(struct vf_span *span, vf v)
{
    __m512i magnitude = _mm512_and_si512(_mm512_castps_si512(v), _mm512_set1_epi32(0x7fffffff));
    span->most = _mm512_max_epu32(span->most, magnitude);
    span->least = _mm512_min_epu32(span->least, _mm512_sub_epi32(magnitude, _mm512_set1_epi32(1)));
}

static inline bool vf_span_inside(struct vf_span span, float low, float high)
{
    __m512i least = _mm512_sub_epi32(_mm512_castps_si512(vf_set1(low)), _mm512_set1_epi32(1));
    return _mm512_cmplt_epu32_mask(span.least, least) == 0 &&
           _mm512_cmpgt_epu32_mask(span.most, _mm512_castps_si512(vf_set1(high))) == 0;
}

/* Lane i of the result is row i's lanes combined, lane j with lane j + half at every step: two rows share a vector after the first
 * step, four after the second, and so on, which takes half the shuffles of row by row. Rows enter in the order that leaves them
 * sorted. */
#define COMBINE_ROWS(combine, row)                                                                        \
    vf pair[8], four[4], eight[2];                                                                        \
    for (int i = 0; i < 8; i++) {                                                                         \
        vf a = row[(2 * i) % 4 * 4 + i / 2], b = row[(2 * i + 1) % 4 * 4 + i / 2];                        \
        pair[i] = combine(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));            \
    }                                                                                                     \
    for (int i = 0; i < 4; i++) {                                                                         \
        vf a = pair[2 * i], b = pair[2 * i + 1];                                                          \
        four[i] = combine(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));            \
    }                                                                                                     \
    for (int i = 0; i < 2; i++) {                                                                         \
        vf a = four[2 * i], b = four[2 * i + 1];                                                          \
        eight[i] = combine(_mm512_shuffle_ps(a, b, 0x44), _mm512_shuffle_ps(a, b, 0xee));                 \
    }                                                                                                     \
    return combine(_mm512_shuffle_ps(eight[0], eight[1], 0x88), _mm512_shuffle_ps(eight[0], eight[1], 0xdd))

static inline vf vf_max_of_rows(const vf row[16]) { COMBINE_ROWS(_mm512_max_ps, row); }
static inline vf vf_fold_rows(const vf row[16]) { COMBINE_ROWS(_mm512_add_ps, row); }

/* Quarter L of the result gathers rows i + 4L, so that transposing 4 × 4 inside quarters is all that is left. Insertion from memory
 * needs no shuffle unit, of which there is one: 32 shuffles instead of 64. */
static inline void vf_load_transposed(vf r[16], const float *p, int64_t stride)
{
    for (int c = 0; c < 16; c += 4) {
        vf row[4];
        for (int i = 0; i < 4; i++) {
            const float *at = p + i * stride + c;
            row[i] = _mm512_castps128_ps512(_mm_loadu_ps(at));
            row[i] = _mm512_insertf32x4(row[i], _mm_loadu_ps(at + 4 * stride), 1);
            row[i] = _mm512_insertf32x4(row[i], _mm_loadu_ps(at + 8 * stride), 2);
            row[i] = _mm512_insertf32x4(row[i], _mm_loadu_ps(at + 12 * stride), 3);
        }
        __m512d low01 = _mm512_castps_pd(_mm512_unpacklo_ps(row[0], row[1]));
        __m512d high01 = _mm512_castps_pd(_mm512_unpackhi_ps(row[0], row[1]));
        __m512d low23 = _mm512_castps_pd(_mm512_unpacklo_ps(row[2], row[3]));
        __m512d high23 = _mm512_castps_pd(_mm512_unpackhi_ps(row[2], row[3]));
        r[c] = _mm512_castpd_ps(_mm512_unpacklo_pd(low01, low23));
        r[c + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low01, low23));
        r[c + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(high01, high23));
        r[c + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(high01, high23));
    }
}

/* Four stages of pairwise interleaving: 1, 2, 4 and 8 lanes. */
static inline void vf_transpose(vf r[16])
{
    vf t[16];
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 16; i += 4)
        for (int k = 0; k < 2; k++) {
            __m512d low = _mm512_castps_pd(t[i + k]), high = _mm512_castps_pd(t[i + k + 2]);
            r[i + 2 * k] = _mm512_castpd_ps(_mm512_unpacklo_pd(low, high));
            r[i + 2 * k + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low, high));
        }
    for (int k = 0; k < 4; k++) {
        t[k] = _mm512_shuffle_f32x4(r[k], r[k + 4], 0x88);
        t[k + 4] = _mm512_shuffle_f32x4(r[k], r[k + 4], 0xdd);
        t[k + 8] = _mm512_shuffle_f32x4(r[k + 8], r[k + 12], 0x88);
        t[k + 12] = _mm512_shuffle_f32x4(r[k + 8], r[k + 12], 0xdd);
    }
    for (int k = 0; k < 4; k++) {
        r[k] = _mm512_shuffle_f32x4(t[k], t[k + 8], 0x88);
        r[k + 4] = _mm512_shuffle_f32x4(t[k + 4], t[k + 12], 0x88);
        r[k + 8] = _mm512_shuffle_f32x4(t[k], t[k + 8], 0xdd);
        r[k + 12] = _mm512_shuffle_f32x4(t[k + 4], t[k + 12], 0xdd);
    }
}

#endif
