/* Conversions of bfloat16 and binary16: the library's and those of the benchmarks, which are written apart, have the same bits; every
 * number widens and comes back; what lies between two neighbours goes to the nearer one, and from the middle to the even one. */
#include "bench/half.h"
#include "engine/base/half.h"

#include <criterion/criterion.h>
#include <math.h>

static const attend_dtype types[] = { ATTEND_BF16, ATTEND_F16 };

static bool is_nan(uint16_t half, attend_dtype dtype)
{
    return (half & 0x7fff) > (dtype == ATTEND_BF16 ? 0x7f80 : 0x7c00);
}

static uint16_t rounded(float x, attend_dtype dtype)
{
    return dtype == ATTEND_BF16 ? attend__bf16_round(x) : attend__f16_round(x);
}

static void expect_rounded(float x, attend_dtype dtype, uint16_t expected)
{
    uint16_t other;
    half_write(&other, 0, dtype, x);
    cr_expect(rounded(x, dtype) == expected, "%a as %s is %#06x, should be %#06x", (double)x, half_dtype_name(dtype), rounded(x, dtype),
              expected);
    cr_expect(other == expected, "%a as %s is %#06x in benchmarks, should be %#06x", (double)x, half_dtype_name(dtype), other, expected);
}

static void check_every_number(attend_dtype dtype)
{
    for (uint32_t bits = 0; bits <= 0xffff; bits++) {
        const uint16_t room[2] = { (uint16_t)bits, 0 }, half = room[0]; /* as much as the widest type */
        const float x = attend__number_at(room, dtype), other = half_read(room, 0, dtype);
        if (is_nan(half, dtype)) {
            cr_expect(isnan(x) && isnan(other) && is_nan(rounded(x, dtype), dtype), "%#06x is a NaN", half);
            continue;
        }
        cr_expect(attend__bits_of_float(x) == attend__bits_of_float(other), "%#06x is %a and %a", half, (double)x, (double)other);
        expect_rounded(x, dtype, half);
    }
}

Test(half, every_number)
{
    for (int i = 0; i < 2; i++)
        check_every_number(types[i]);
}

/* Neighbours are next in their bits, on both sides of every power of two; the middle of two is a float. */
static void check_every_middle(attend_dtype dtype, uint16_t highest)
{
    for (uint16_t low = 0; low < highest; low++) {
        const uint16_t high = low + 1, even = low & 1 ? high : low;
        const double between = ((double)attend__number_at(&low, dtype) + (double)attend__number_at(&high, dtype)) / 2;
        const float middle = (float)between;
        cr_assert((double)middle == between);
        expect_rounded(middle, dtype, even);
        expect_rounded(nextafterf(middle, 0), dtype, low);
        expect_rounded(nextafterf(middle, INFINITY), dtype, high);
        expect_rounded(-middle, dtype, even | 0x8000);
        cr_expect(between - (double)attend__number_at(&low, dtype) == half_rounding(dtype, between), "%#06x", low);
    }
}

Test(half, every_middle)
{
    check_every_middle(ATTEND_BF16, 0x7f7f);
    check_every_middle(ATTEND_F16, 0x7bff);
}

Test(half, beyond_the_largest)
{
    expect_rounded(0x1.ffdffep+15f, ATTEND_F16, 0x7bff); /* just below 65520 */
    expect_rounded(65520, ATTEND_F16, 0x7c00);
    expect_rounded(-0x1.fffffep+127f, ATTEND_F16, 0xfc00);
    expect_rounded(0x1.fefffep+127f, ATTEND_BF16, 0x7f7f);
    expect_rounded(0x1.ffp+127f, ATTEND_BF16, 0x7f80);
    expect_rounded(-0x1.fffffep+127f, ATTEND_BF16, 0xff80);
}

/* NaNs that only their lowest bits tell from infinity stay NaNs. */
Test(half, nans)
{
    const uint32_t nans[] = { 0x7f800001, 0xff800001, 0x7fffffff, 0x7fc00000 };
    for (size_t n = 0; n < sizeof nans / sizeof *nans; n++)
        for (int i = 0; i < 2; i++) {
            uint16_t other;
            half_write(&other, 0, types[i], attend__float_of_bits(nans[n]));
            cr_expect(is_nan(rounded(attend__float_of_bits(nans[n]), types[i]), types[i]) && is_nan(other, types[i]), "%#x",
                      (unsigned)nans[n]);
        }
}
