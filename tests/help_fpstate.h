/* The floating-point control and sticky flags of the calling thread as one number, and states that a host may run with: on other
 * processors than x86-64 and AArch64 none but the usual one. */
#ifndef ATTEND_TESTS_HELP_FPSTATE_H
#define ATTEND_TESTS_HELP_FPSTATE_H

#include <stddef.h>
#include <stdint.h>

struct fpstate_case {
    const char *name;
    uint64_t state;
};

#if defined(__x86_64__)

#include <xmmintrin.h>

static inline uint64_t fpstate_get(void) { return _mm_getcsr(); }
static inline void fpstate_set(uint64_t state) { _mm_setcsr((unsigned)state); }

#define FPSTATE_STICKY UINT64_C(0x3f)

/* Bits of MXCSR: sticky flags 0-5, DAZ 6, masks 7-12, rounding 13-14, FTZ 15. */
#define FPSTATE_CASES                                                   \
    { "flush to zero, denormals are zero", 0x9fc0 },                    \
    { "rounding down", 0x3f80 },                                        \
    { "rounding up", 0x5f80 },                                          \
    { "rounding to zero", 0x7f80 },                                     \
    { "invalid, division by zero and overflow trap", 0x1f80 & ~0x0680 }, \
    { "every exception traps", 0x0000 },                                \
    { "sticky flags set", 0x1fbf },

#elif defined(__aarch64__)

/* FPCR, and FPSR in the upper half. */
static inline uint64_t fpstate_get(void)
{
    uint64_t control, status;
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(control), "=r"(status) : : "memory");
    return (control & UINT32_MAX) | status << 32;
}

static inline void fpstate_set(uint64_t state)
{
    __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1" : : "r"(state & UINT32_MAX), "r"(state >> 32) : "memory");
}

#define FPSTATE_STICKY (UINT64_C(0x9f) << 32)

/* Bits of FPCR: traps 8-12 and 15, which many processors lack and read as 0; rounding 22-23, FZ 24, DN 25. */
#define FPSTATE_CASES                                                  \
    { "flush to zero", UINT64_C(1) << 24 },                            \
    { "rounding down", UINT64_C(2) << 22 },                            \
    { "rounding up", UINT64_C(1) << 22 },                              \
    { "rounding to zero", UINT64_C(3) << 22 },                         \
    { "invalid, division by zero and overflow trap", 0x0700 },         \
    { "every exception traps", 0x9f00 },                               \
    { "sticky flags set, default NaN", FPSTATE_STICKY | UINT64_C(1) << 25 },

#else

static inline uint64_t fpstate_get(void) { return 0; }
static inline void fpstate_set(uint64_t state) { (void)state; }

#define FPSTATE_STICKY UINT64_C(0)
#define FPSTATE_CASES { "the usual one", 0 },

#endif

/* Sets a state and returns what the processor makes of it. */
static inline uint64_t fpstate_enter(uint64_t state)
{
    fpstate_set(state);
    return fpstate_get();
}

#endif
