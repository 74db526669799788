/* bfloat16 and binary16 for problem data and their judge, written apart from the library's own conversions, which they check.
 * Integer operations decide every bit: neither compiler nor rounding mode has a part in it. */
#ifndef BENCH_HALF_H
#define BENCH_HALF_H

#include "attend/attend.h"

#include <stddef.h>

/* `dtype` is one of the types of numbers: F32, BF16, F16. */
const char *half_dtype_name(attend_dtype dtype);

size_t half_number_bytes(attend_dtype dtype);

/* Element `index` of an array of numbers; writing rounds to nearest, ties to even. */
float half_read(const void *array, int64_t index, attend_dtype dtype);
void half_write(void *array, int64_t index, attend_dtype dtype, float number);

/* The most that rounding to the type moves a number of this magnitude: half a unit of its last place; 0 for F32, whose
 * roundings are in the bounds of the arithmetic. */
double half_rounding(attend_dtype dtype, double magnitude);

#endif
