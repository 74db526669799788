/* bfloat16 and binary16 as numbers: exact conversion to binary32, and rounding from it to nearest even with integer operations alone, so
 * that no flag of the processor (flush-to-zero, rounding mode) has a part in it. Knows no vectors and no tensors. */
#ifndef ATTEND__HALF_H
#define ATTEND__HALF_H

#include "attend/attend.h"

#include <stdint.h>
#include <string.h>

static inline float attend__float_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint32_t attend__bits_of_float(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* bfloat16 is the upper half of a binary32. */
static inline float attend__bf16_widen(uint16_t h)
{
    return attend__float_of_bits((uint32_t)h << 16);
}

/* Half a unit of the last place, less the smallest number where the last place is even, and what is cut off then is right. */
static inline uint16_t attend__bf16_round(float x)
{
    const uint32_t bits = attend__bits_of_float(x);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40); /* quiet, and no infinity by what was cut off */
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* binary16: 5 bits of exponent with bias 15, 10 of fraction (IEEE 754-2019, table 3.5). Subnormals are whole multiples of 2⁻²⁴. */
static inline float attend__f16_widen(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16, magnitude = h & 0x7fff;
    if (magnitude >= 0x7c00) /* infinity; a NaN becomes quiet */
        return attend__float_of_bits(sign | 0x7f800000 | (magnitude & 0x3ff) << 13 | (magnitude > 0x7c00 ? 0x400000 : 0));
    if (magnitude >= 0x0400)
        return attend__float_of_bits(sign | ((magnitude << 13) + (UINT32_C(112) << 23)));
    const float x = (float)magnitude * 0x1p-24f;
    return attend__float_of_bits(sign | attend__bits_of_float(x));
}

/* From 65520 on infinity is nearest. */
static inline uint16_t attend__f16_round(float x)
{
    const uint32_t bits = attend__bits_of_float(x), magnitude = bits & 0x7fffffff;
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    if (magnitude > 0x7f800000)
        return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
    if (magnitude >= 0x477ff000)
        return sign | 0x7c00;
    if (magnitude >= 0x38800000) { /* 2⁻¹⁴: normal; a carry out of the fraction goes where it should */
        const uint32_t rebased = magnitude - (UINT32_C(112) << 23);
        return (uint16_t)(sign | (rebased + 0xfff + (rebased >> 13 & 1)) >> 13);
    }
    if (magnitude < 0x33000000) /* below 2⁻²⁵ */
        return sign;
    const uint32_t shift = 126 - (magnitude >> 23), fraction = (magnitude & 0x7fffff) | 0x800000; /* 14 … 24 */
    const uint32_t whole = fraction >> shift, rest = fraction & ((UINT32_C(1) << shift) - 1), half = UINT32_C(1) << (shift - 1);
    return (uint16_t)(sign | (whole + (rest > half || (rest == half && (whole & 1)))));
}

/* Bytes of an element; bits count as bytes. */
static inline int64_t attend__dtype_bytes(attend_dtype dtype)
{
    return dtype == ATTEND_F32 ? 4 : dtype == ATTEND_BF16 || dtype == ATTEND_F16 ? 2 : 1;
}

/* The number at `at`, which is one of the three types of numbers. */
static inline float attend__number_at(const void *at, attend_dtype dtype)
{
    uint16_t half;
    float x;
    if (dtype == ATTEND_F32) {
        memcpy(&x, at, sizeof x);
        return x;
    }
    memcpy(&half, at, sizeof half);
    return dtype == ATTEND_BF16 ? attend__bf16_widen(half) : attend__f16_widen(half);
}

#endif
