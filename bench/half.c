/* See half.h. */
#include "bench/half.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

const char *half_dtype_name(attend_dtype dtype)
{
    return dtype == ATTEND_BF16 ? "bf16" : dtype == ATTEND_F16 ? "f16" : "f32";
}

size_t half_number_bytes(attend_dtype dtype)
{
    return dtype == ATTEND_F32 ? sizeof(float) : sizeof(uint16_t);
}

/* Drops the lowest `shift` bits, 1 to 31, to nearest even. A carry out of a fraction goes into the exponent, where it
 * belongs. */
static uint32_t drop_bits(uint32_t bits, int shift)
{
    const uint32_t last = bits >> shift & 1, below_half = (UINT32_C(1) << (shift - 1)) - 1;
    return (bits + below_half + last) >> shift;
}

static uint16_t round_bf16(uint32_t bits)
{
    const bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
    return (uint16_t)(is_nan ? bits >> 16 | 0x40 : drop_bits(bits, 16));
}

/* Exponents are biased by 127 and 15. Below 2^-14 the unit is 2^-24 throughout, so the fraction with its leading one is shifted
 * by as much more as the exponent is smaller. */
static uint16_t round_f16(uint32_t bits)
{
    const uint32_t magnitude = bits & 0x7fffffff, sign = bits >> 16 & 0x8000;
    const int exponent = (int)(magnitude >> 23) - 127;
    uint32_t rounded;
    if (magnitude > 0x7f800000)
        rounded = 0x7e00 | (magnitude >> 13 & 0x3ff);
    else if (exponent > 15)
        rounded = 0x7c00;
    else if (exponent >= -14)
        rounded = drop_bits(magnitude - ((127 - 15) << 23), 13);
    else if (exponent >= -25)
        rounded = drop_bits((magnitude & 0x7fffff) | 0x800000, -1 - exponent);
    else
        rounded = 0;
    return (uint16_t)(sign | rounded);
}

static float widen_f16(uint16_t half)
{
    const int exponent = half >> 10 & 31, fraction = half & 0x3ff;
    const float magnitude = exponent == 31  ? (fraction ? NAN : INFINITY)
                            : exponent == 0 ? ldexpf((float)fraction, -24)
                                            : ldexpf((float)(fraction | 0x400), exponent - 25);
    return half & 0x8000 ? -magnitude : magnitude;
}

float half_read(const void *array, int64_t index, attend_dtype dtype)
{
    if (dtype == ATTEND_F32)
        return ((const float *)array)[index];
    const uint16_t half = ((const uint16_t *)array)[index];
    if (dtype == ATTEND_F16)
        return widen_f16(half);
    const uint32_t bits = (uint32_t)half << 16;
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

void half_write(void *array, int64_t index, attend_dtype dtype, float number)
{
    if (dtype == ATTEND_F32) {
        ((float *)array)[index] = number;
        return;
    }
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    ((uint16_t *)array)[index] = dtype == ATTEND_BF16 ? round_bf16(bits) : round_f16(bits);
}

double half_rounding(attend_dtype dtype, double magnitude)
{
    int exponent; /* of the power of two above the magnitude */
    if (dtype == ATTEND_F32 || !(magnitude > 0) || isinf(magnitude))
        return 0;
    frexp(magnitude, &exponent);
    const int places = dtype == ATTEND_BF16 ? 8 : 11, lowest = dtype == ATTEND_BF16 ? -134 : -25;
    return ldexp(1, exponent - 1 - places > lowest ? exponent - 1 - places : lowest);
}
