/* The template's vector operations on any processor: 4 lanes of binary32 in the compiler's vector extension. Multiply-adds are the
 * hardware's where the compilation target has them, else exact ones built from double precision: the product of two floats is
 * exact in a double; the sum is rounded to odd there, after which rounding to float gives the correctly rounded result
 * (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008: valid
 * as 53 ≥ 24 + 2, subnormals included, since a double holds every product and sum of floats without underflow). */
#ifndef ATTEND__VEC_H
#define ATTEND__VEC_H

#include "engine/base/half.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define KERNEL_SUFFIX portable
#define KERNEL_NAME "f32_6x16_portable"
#define KERNEL_ISA ATTEND_ISA_PORTABLE

#define VL 4 /* lanes of a vector */
#define PANEL_VECTORS 4

typedef float vf __attribute__((vector_size(16)));
typedef int32_t vi __attribute__((vector_size(16)));
typedef double vd __attribute__((vector_size(32)));
typedef int64_t vl __attribute__((vector_size(32)));

static inline vf vf_set1(float x) { return (vf){ x, x, x, x }; }

static inline vf vf_load(const float *p)
{
    vf v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void vf_store(float *p, vf v) { memcpy(p, &v, sizeof v); }

static inline vf vf_load_part(const float *p, int n)
{
    vf v = { 0 };
    for (int i = 0; i < n && i < VL; i++)
        v[i] = p[i];
    return v;
}

static inline void vf_store_part(float *p, vf v, int n)
{
    for (int i = 0; i < n && i < VL; i++)
        p[i] = v[i];
}

#define WIDENED(widen, p) (vf){ widen((p)[0]), widen((p)[1]), widen((p)[2]), widen((p)[3]) }

static inline vf vf_widen_bf16(const uint16_t *p) { return WIDENED(attend__bf16_widen, p); }
static inline vf vf_widen_f16(const uint16_t *p) { return WIDENED(attend__f16_widen, p); }

static inline void vf_round_bf16(uint16_t *p, vf v)
{
    for (int i = 0; i < VL; i++)
        p[i] = attend__bf16_round(v[i]);
}

static inline void vf_round_f16(uint16_t *p, vf v)
{
    for (int i = 0; i < VL; i++)
        p[i] = attend__f16_round(v[i]);
}

static inline vf vf_add(vf a, vf b) { return a + b; }
static inline vf vf_sub(vf a, vf b) { return a - b; }
static inline vf vf_mul(vf a, vf b) { return a * b; }
static inline vf vf_div(vf a, vf b) { return a / b; }
static inline vf vf_div_tanh(vf a, vf b) { return vf_div(a, b); }

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__FP_FAST_FMAF)

static inline vf vf_fma(vf a, vf b, vf c)
{
    vf v;
    for (int i = 0; i < VL; i++)
        v[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return v;
}

#else

/* Not inlined: some 20 instructions at hundreds of places would be half a megabyte. */
static __attribute__((noinline)) vf vf_fma(vf a, vf b, vf c)
{
    vd product = __builtin_convertvector(a, vd) * __builtin_convertvector(b, vd);
    vd addend = __builtin_convertvector(c, vd);
    vd sum = product + addend;
    vd part = sum - product;
    vd error = (product - (sum - part)) + (addend - part); /* exact (Knuth's two-sum); NaN where the sum is not finite */
    vl bits = (vl)sum;
    vl grow = (error > 0.0) & ((bits & 1) - 1);   /* an even sum that lies below or above the exact one */
    vl shrink = (error < 0.0) & ((bits & 1) - 1);
    vl negative = bits < 0;
    vl outward = (grow & ~negative) | (shrink & negative); /* the exact sum has the larger magnitude */
    vl inward = (grow & negative) | (shrink & ~negative);
    bits += inward - outward; /* masks are -1: one step outward or inward makes the even sum odd */
    return __builtin_convertvector((vd)bits, vf);
}

#endif

static inline vf vf_pick(vi mask, vf yes, vf no) { return (vf)(((vi)yes & mask) | ((vi)no & ~mask)); }

static inline vf vf_max(vf a, vf b) { return vf_pick(a > b, a, b); }
static inline vf vf_mul_above(vf a, vf b, vf x, vf limit) { return (vf)((vi)(a * b) & ~(vi)(x < limit)); }
static inline vf vf_at_least(vf x, vf limit) { return vf_pick(x < limit, limit, x); }

static inline vf vf_at_most(vf x, vf limit) { return vf_pick(x > limit, limit, x); }

static inline uint32_t vf_above_minus_inf(vf v)
{
    uint32_t bits = 0;
    for (int i = 0; i < VL; i++)
        bits |= (uint32_t)(v[i] != -__builtin_inff()) << i;
    return bits;
}

static inline vf vf_hide(vf v, uint32_t visible)
{
    vi lane_bit = { 1, 2, 4, 8 };
    int32_t bits = (int32_t)visible;
    vi shown = ((vi){ bits, bits, bits, bits } & lane_bit) == lane_bit;
    return vf_pick(shown, v, vf_set1(-__builtin_inff()));
}

static inline vf vf_exponent_from_sum(vf t) { return (vf)((vi)t << 23); }

static inline void vf_split(vf x, vf *exponent, vf *fraction)
{
    vi e = ((vi)x - 0x3f3504f3) >> 23;
    *exponent = __builtin_convertvector(e, vf);
    *fraction = (vf)((vi)x - (e << 23));
}

static inline vf vf_canonical(vf v)
{
    vi quiet = { 0x7fc00000, 0x7fc00000, 0x7fc00000, 0x7fc00000 };
    return vf_pick(v != v, (vf)quiet, v);
}

static inline bool vf_any_nonfinite(vf v)
{
    vi wrong = (v - v) != (v - v);
    return (wrong[0] | wrong[1] | wrong[2] | wrong[3]) != 0;
}

/* Magnitudes compare like their bits; less 1, a zero's are the largest of all. */
typedef uint32_t vu __attribute__((vector_size(16)));
struct vf_span { vu least, most; };

static inline struct vf_span vf_span_none(void) { return (struct vf_span){ (vu){ 0 } - 1, (vu){ 0 } }; }

static inline void vf_span_take(struct vf_span *span, vf v)
{
    vu magnitude = (vu)v & 0x7fffffff, less = magnitude - 1;
    vu larger = (vu)(magnitude > span->most), smaller = (vu)(less < span->least);
    span->most = (magnitude & larger) | (span->most & ~larger);
    span->least = (less & smaller) | (span->least & ~smaller);
}

static inline bool vf_span_inside(struct vf_span span, float low, float high)
{
    vi inside = (span.least >= (vu)vf_set1(low) - 1) & (span.most <= (vu)vf_set1(high));
    return (inside[0] & inside[1] & inside[2] & inside[3]) != 0;
}

static inline void vf_transpose(vf r[4])
{
    vf t[4];
    for (int i = 0; i < 4; i++)
        t[i] = (vf){ r[0][i], r[1][i], r[2][i], r[3][i] };
    for (int i = 0; i < 4; i++)
        r[i] = t[i];
}

#include "engine/kernel/vec_four_lanes.h"

#include "engine/kernel/vec_half_parts.h"

#endif
