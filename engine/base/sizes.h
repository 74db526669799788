/* Sizes that cannot overflow silently: arithmetic on byte counts and extents that reports instead of wrapping. */
#ifndef ATTEND__SIZES_H
#define ATTEND__SIZES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* *total += a·b; false, and *total unspecified, when that does not fit. */
static inline bool attend__size_add_product(size_t *total, size_t a, size_t b)
{
    size_t product;
    return !__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(*total, product, total);
}

static inline int64_t attend__min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t attend__max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t attend__clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* a / b rounded up, for a >= 0 and b > 0. */
static inline int64_t attend__divide_up(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

/* x rounded up to a multiple of b, for x >= 0 and b > 0. */
static inline int64_t attend__round_up(int64_t x, int64_t b)
{
    return attend__divide_up(x, b) * b;
}

#endif
