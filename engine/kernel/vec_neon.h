/* The template's vector operations on AArch64 Advanced SIMD: 4 lanes of binary32. See README.md for the meaning of each. */
#ifndef ATTEND__VEC_H
#define ATTEND__VEC_H

#if !defined(__aarch64__) || !defined(__ARM_NEON)
#error "vec_neon.h needs an AArch64 compiler with Advanced SIMD"
#endif

#include <arm_neon.h>
#include <stdbool.h>
#include <stdint.h>

#define KERNEL_SUFFIX neon
#define KERNEL_NAME "f32_6x16_neon"
#define KERNEL_ISA ATTEND_ISA_NEON

#define VL 4 /* lanes of a vector */
#define PANEL_VECTORS 4 /* 6 rows × 4 vectors of sums, 4 of keys and 1 of a query feature: 29 of 32 registers */

typedef float32x4_t vf;

static inline vf vf_set1(float x) { return vdupq_n_f32(x); }
static inline vf vf_load(const float *p) { return vld1q_f32(p); }
static inline void vf_store(float *p, vf v) { vst1q_f32(p, v); }

static inline vf vf_load_part(const float *p, int n)
{
    const float32x2_t none = vdup_n_f32(0.0f);
    switch (n) {
    case 0: return vcombine_f32(none, none);
    case 1: return vcombine_f32(vld1_lane_f32(p, none, 0), none);
    case 2: return vcombine_f32(vld1_f32(p), none);
    case 3: return vcombine_f32(vld1_f32(p), vld1_lane_f32(p + 2, none, 0));
    default: return vld1q_f32(p);
    }
}

static inline void vf_store_part(float *p, vf v, int n)
{
    switch (n) {
    case 0: break;
    case 1: vst1q_lane_f32(p, v, 0); break;
    case 2: vst1_f32(p, vget_low_f32(v)); break;
    case 3: vst1_f32(p, vget_low_f32(v)), vst1q_lane_f32(p + 2, v, 2); break;
    default: vst1q_f32(p, v);
    }
}

static inline vf vf_widen_bf16(const uint16_t *p) { return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16)); }
static inline vf vf_widen_f16(const uint16_t *p) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p))); }

static inline void vf_round_bf16(uint16_t *p, vf v)
{
    const uint32x4_t bits = vreinterpretq_u32_f32(v), even = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    vst1_u16(p, vshrn_n_u32(vaddq_u32(bits, vaddq_u32(even, vdupq_n_u32(0x7fff))), 16));
}

static inline void vf_round_f16(uint16_t *p, vf v) { vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(v))); }

static inline vf vf_add(vf a, vf b) { return vaddq_f32(a, b); }
static inline vf vf_sub(vf a, vf b) { return vsubq_f32(a, b); }
static inline vf vf_mul(vf a, vf b) { return vmulq_f32(a, b); }
static inline vf vf_div(vf a, vf b) { return vdivq_f32(a, b); }
static inline vf vf_div_tanh(vf a, vf b) { return vf_div(a, b); }
static inline vf vf_fma(vf a, vf b, vf c) { return vfmaq_f32(c, a, b); }
static inline vf vf_max(vf a, vf b) { return vmaxq_f32(a, b); } /* NaN when either is */

static inline vf vf_mul_above(vf a, vf b, vf x, vf limit)
{
    return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(vmulq_f32(a, b)), vcltq_f32(x, limit)));
}

static inline vf vf_at_least(vf x, vf limit) { return vmaxq_f32(x, limit); } /* NaN when either is */

static inline vf vf_at_most(vf x, vf limit) { return vminq_f32(x, limit); } /* likewise */

static inline uint32_t vf_above_minus_inf(vf v)
{
    const uint32x4_t lane_bit = { 1, 2, 4, 8 };
    return vaddvq_u32(vbicq_u32(lane_bit, vceqq_f32(v, vdupq_n_f32(-__builtin_inff()))));
}

static inline vf vf_hide(vf v, uint32_t visible)
{
    const uint32x4_t lane_bit = { 1, 2, 4, 8 };
    return vbslq_f32(vtstq_u32(vdupq_n_u32(visible), lane_bit), v, vdupq_n_f32(-__builtin_inff()));
}

static inline vf vf_exponent_from_sum(vf t)
{
    return vreinterpretq_f32_s32(vshlq_n_s32(vreinterpretq_s32_f32(t), 23));
}

static inline void vf_split(vf x, vf *exponent, vf *fraction)
{
    int32x4_t bits = vreinterpretq_s32_f32(x);
    int32x4_t e = vshrq_n_s32(vsubq_s32(bits, vdupq_n_s32(0x3f3504f3)), 23);
    *exponent = vcvtq_f32_s32(e);
    *fraction = vreinterpretq_f32_s32(vsubq_s32(bits, vshlq_n_s32(e, 23)));
}

static inline vf vf_canonical(vf v)
{
    return vbslq_f32(vceqq_f32(v, v), v, vreinterpretq_f32_u32(vdupq_n_u32(0x7fc00000)));
}

static inline bool vf_any_nonfinite(vf v)
{
    vf difference = vsubq_f32(v, v); /* NaN unless finite */
    return vminvq_u32(vceqq_f32(difference, difference)) == 0;
}

/* Magnitudes compare like their bits; less 1, a zero's are the largest of all. */
struct vf_span { uint32x4_t least, most; };

static inline struct vf_span vf_span_none(void) { return (struct vf_span){ vdupq_n_u32(UINT32_MAX), vdupq_n_u32(0) }; }

static inline void vf_span_take(struct vf_span *span, vf v)
{
    uint32x4_t magnitude = vreinterpretq_u32_f32(vabsq_f32(v));
    span->most = vmaxq_u32(span->most, magnitude);
    span->least = vminq_u32(span->least, vsubq_u32(magnitude, vdupq_n_u32(1)));
}

static inline bool vf_span_inside(struct vf_span span, float low, float high)
{
    const uint32_t least = vgetq_lane_u32(vreinterpretq_u32_f32(vf_set1(low)), 0);
    const uint32_t most = vgetq_lane_u32(vreinterpretq_u32_f32(vf_set1(high)), 0);
    return vminvq_u32(span.least) >= least - 1 && vmaxvq_u32(span.most) <= most;
}

/* Two stages of pairwise interleaving: 1 and 2 lanes. */
static inline void vf_transpose(vf r[4])
{
    float64x2_t t[4];
    for (int i = 0; i < 4; i += 2) {
        t[i] = vreinterpretq_f64_f32(vtrn1q_f32(r[i], r[i + 1]));
        t[i + 1] = vreinterpretq_f64_f32(vtrn2q_f32(r[i], r[i + 1]));
    }
    for (int k = 0; k < 2; k++) {
        r[k] = vreinterpretq_f32_f64(vtrn1q_f64(t[k], t[k + 2]));
        r[k + 2] = vreinterpretq_f32_f64(vtrn2q_f64(t[k], t[k + 2]));
    }
}

#include "engine/kernel/vec_four_lanes.h"

#include "engine/kernel/vec_half_parts.h"

#endif
