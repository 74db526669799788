/* For wrappers without masked loads of 16 bits: the first halves of a vector by way of memory. Calls and not inlined, since such ends are
 * seldom and many. Included at the end of such a wrapper. */
#ifndef ATTEND__VEC_HALF_PARTS_H
#define ATTEND__VEC_HALF_PARTS_H

#include <string.h>

static __attribute__((noinline)) vf vf_widen_bf16_part(const uint16_t *p, int n)
{
    uint16_t halves[VL] = { 0 };
    memcpy(halves, p, (size_t)n * sizeof *halves);
    return vf_widen_bf16(halves);
}

static __attribute__((noinline)) vf vf_widen_f16_part(const uint16_t *p, int n)
{
    uint16_t halves[VL] = { 0 };
    memcpy(halves, p, (size_t)n * sizeof *halves);
    return vf_widen_f16(halves);
}

#endif
