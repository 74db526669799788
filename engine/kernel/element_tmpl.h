/* Elements of tensors as vectors of binary32, whatever their type: widened, which is exact, as they are loaded, and rounded once, to
 * nearest even, as results are stored. Types are compile-time constants wherever a loop depends on them. */
#ifndef ATTEND__ELEMENT_TMPL_H
#define ATTEND__ELEMENT_TMPL_H

#define INLINED static inline __attribute__((always_inline))

/* Elements first … first + VL - 1 of those at `at`, an address. */
INLINED vf load_elements(const attend_dtype dtype, uintptr_t at, int64_t first)
{
    switch (dtype) {
    case ATTEND_BF16: return vf_widen_bf16((const uint16_t *)at + first);
    case ATTEND_F16: return vf_widen_f16((const uint16_t *)at + first);
    default: return vf_load((const float *)at + first);
    }
}

/* The first `lanes` of them, and zeros; nothing beyond is touched. */
INLINED vf load_elements_part(const attend_dtype dtype, uintptr_t at, int64_t first, int lanes)
{
    switch (dtype) {
    case ATTEND_BF16: return vf_widen_bf16_part((const uint16_t *)at + first, lanes);
    case ATTEND_F16: return vf_widen_f16_part((const uint16_t *)at + first, lanes);
    default: return vf_load_part((const float *)at + first, lanes);
    }
}

/* One element. */
static inline float load_element(attend_dtype dtype, uintptr_t at, int64_t element)
{
    return attend__number_at((const char *)at + element * attend__dtype_bytes(dtype), dtype);
}

/* VL neighbours. NaN is 0x7fc00000. */
INLINED void store_elements(const attend_dtype dtype, void *at, int64_t first, vf v)
{
    switch (dtype) {
    case ATTEND_BF16: vf_round_bf16((uint16_t *)at + first, v); break;
    case ATTEND_F16: vf_round_f16((uint16_t *)at + first, v); break;
    default: vf_store((float *)at + first, v); break;
    }
}

/* The first `lanes` of v, `step` elements apart from element `first` on. */
static void store_elements_part(attend_dtype dtype, void *at, int64_t first, int64_t step, vf v, int lanes)
{
    if (dtype == ATTEND_F32 && step == 1) {
        vf_store_part((float *)at + first, v, lanes);
        return;
    }
    const int64_t size = attend__dtype_bytes(dtype);
    char packed[VL * sizeof(float)];
    switch (dtype) {
    case ATTEND_BF16: store_elements(ATTEND_BF16, packed, 0, v); break;
    case ATTEND_F16: store_elements(ATTEND_F16, packed, 0, v); break;
    default: store_elements(ATTEND_F32, packed, 0, v); break;
    }
    for (int i = 0; i < lanes; i++)
        memcpy((char *)at + (first + i * step) * size, packed + i * size, (size_t)size);
}

#endif
