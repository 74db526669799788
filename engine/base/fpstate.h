/* The floating-point state that every unit runs with: round to nearest even, subnormals kept, exceptions masked. A host may
 * run with flush-to-zero, another rounding mode or unmasked traps; its state is put aside and restored, sticky flags
 * included, so that neither side sees the other's. */
#ifndef ATTEND__FPSTATE_H
#define ATTEND__FPSTATE_H

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "attend needs infinities and NaN: compile without -ffast-math, -Ofast and -ffinite-math-only"
#endif

#include <float.h>
#include <stdint.h>

#if FLT_EVAL_METHOD != 0
#error "attend needs float arithmetic in float precision (on 32-bit x86: -msse2 -mfpmath=sse)"
#endif

#if defined(__x86_64__) || (defined(__i386__) && defined(__SSE__))

#include <xmmintrin.h>

typedef uint32_t attend__fpstate;

static inline attend__fpstate attend__fpstate_enter(void)
{
    attend__fpstate saved = _mm_getcsr();
    _mm_setcsr(0x1f80); /* all exceptions masked, nearest even, no FTZ, no DAZ, flags clear */
    return saved;
}

static inline void attend__fpstate_leave(attend__fpstate saved)
{
    _mm_setcsr(saved);
}

#elif defined(__aarch64__)

typedef struct {
    uint64_t fpcr, fpsr;
} attend__fpstate;

static inline attend__fpstate attend__fpstate_enter(void)
{
    attend__fpstate saved;
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(saved.fpcr), "=r"(saved.fpsr));
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)0) : "memory");
    return saved;
}

static inline void attend__fpstate_leave(attend__fpstate saved)
{
    __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1" : : "r"(saved.fpcr), "r"(saved.fpsr) : "memory");
}

#else

#include <fenv.h>

typedef fenv_t attend__fpstate;

static inline attend__fpstate attend__fpstate_enter(void)
{
    attend__fpstate saved;
    feholdexcept(&saved);
    fesetround(FE_TONEAREST);
    return saved;
}

static inline void attend__fpstate_leave(attend__fpstate saved)
{
    fesetenv(&saved);
}

#endif

#endif
