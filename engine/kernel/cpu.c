/* See cpu.h. A processor may offer what its operating system or hypervisor does not save on a context switch, so the feature bits
 * count only together with XCR0 (Intel SDM volume 1, sections 13.2 and 14.3, 15.2). */
#include "engine/kernel/cpu.h"

#define BIT(n) (UINT32_C(1) << (n))

enum {
    XCR0_AVX = 0x06,   /* XMM and upper YMM halves */
    XCR0_AVX512 = 0xe6 /* those, opmask, upper ZMM halves, ZMM16-31 */
};

static const uint32_t leaf1_avx2 = BIT(12) | BIT(27) | BIT(28);          /* FMA, OSXSAVE, AVX */
static const uint32_t leaf7_avx2 = BIT(5);                               /* AVX2 */
static const uint32_t leaf7_avx512 = BIT(16) | BIT(17) | BIT(30) | BIT(31); /* F, DQ, BW, VL */

static bool has_all(uint64_t word, uint64_t bits)
{
    return (word & bits) == bits;
}

bool attend__x86_offers(const struct attend__x86_words *words, attend_isa isa)
{
    bool avx2 = words->max_leaf >= 7 && has_all(words->leaf1_ecx, leaf1_avx2) && has_all(words->leaf7_ebx, leaf7_avx2) &&
                has_all(words->xcr0, XCR0_AVX);
    switch (isa) {
    case ATTEND_ISA_PORTABLE: return true;
    case ATTEND_ISA_AVX2: return avx2;
    case ATTEND_ISA_AVX512: return avx2 && has_all(words->leaf7_ebx, leaf7_avx512) && has_all(words->xcr0, XCR0_AVX512);
    default: return false;
    }
}

#if defined(__x86_64__) || defined(__i386__)

#include <cpuid.h>

/* In assembly because the intrinsic needs a compiler flag that would let AVX code into this file. */
static uint64_t read_xcr0(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

bool attend__cpu_has(attend_isa isa)
{
    struct attend__x86_words words = { 0 };
    uint32_t eax, ebx, ecx, edx;
    words.max_leaf = __get_cpuid_max(0, 0);
    if (words.max_leaf >= 1) {
        __cpuid(1, eax, ebx, ecx, edx);
        words.leaf1_ecx = ecx;
    }
    if (words.max_leaf >= 7) {
        __cpuid_count(7, 0, eax, ebx, ecx, edx);
        words.leaf7_ebx = ebx;
    }
    if (words.leaf1_ecx & BIT(27))
        words.xcr0 = read_xcr0();
    return attend__x86_offers(&words, isa);
}

#else

/* Advanced SIMD is part of every AArch64 that runs an operating system, and its registers are those of plain floats; only a
 * compilation that is told to leave both alone is without. */
bool attend__cpu_has(attend_isa isa)
{
#if defined(__aarch64__) && defined(__ARM_NEON)
    if (isa == ATTEND_ISA_NEON)
        return true;
#endif
    return isa == ATTEND_ISA_PORTABLE;
}

#endif
