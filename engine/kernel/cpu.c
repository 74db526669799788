/* See cpu.h. A processor may offer what its operating system or hypervisor does not save on a context switch, so the feature bits
 * count only together with XCR0 (Intel SDM volume 1, sections 13.2 and 14.3, 15.2). */
#include "engine/kernel/cpu.h"

#include <stddef.h>
#include <string.h>

#define BIT(n) (UINT32_C(1) << (n))

enum {
    XCR0_AVX = 0x06,   /* XMM and upper YMM halves */
    XCR0_AVX512 = 0xe6 /* those, opmask, upper ZMM halves, ZMM16-31 */
};

static const uint32_t leaf1_avx2 = BIT(12) | BIT(27) | BIT(28) | BIT(29); /* FMA, OSXSAVE, AVX, F16C */
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

/* ---- 512-bit vectors that do not pay ---- */

static bool is_model(const struct attend__x86_words *words, uint32_t family, uint32_t model)
{
    const uint32_t eax = words->leaf1_eax;
    return (eax >> 8 & 0xf) == family && ((eax >> 4 & 0xf) | (eax >> 12 & 0xf0)) == model;
}

static bool begins_with_any(const char *text, const char *const *beginnings)
{
    for (; *beginnings; beginnings++)
        if (strncmp(text, *beginnings, strlen(*beginnings)) == 0)
            return true;
    return false;
}

/* Skylake-SP, Cascade Lake and their kin for workstations and boxes share family 6, model 85, and only their names tell how many
 * 512-bit multiply-add units they have (Intel's product pages; the names here are those with one). A name that is not known, as a
 * hypervisor gives it, counts as two: such machines are mostly rented, and made of Gold 6000 and Platinum. */
static bool skylake_has_one_unit(const struct attend__x86_words *words)
{
    static const char *const one[] = { "Bronze ", "Silver ", "Gold 51", "Gold 52", "W-2102", "W-2104", "D-21", NULL };
    static const char *const two[] = { "Gold 5122", "Gold 5222", NULL };
    const char *series = strstr(words->brand, "Xeon(R) ");
    if (!is_model(words, 6, 85) || !series)
        return false;
    series += strlen("Xeon(R) ");
    return begins_with_any(series, one) && !begins_with_any(series, two);
}

/* One 512-bit unit multiplies and adds as much per cycle as two 256-bit ones. That is a loss where wide instructions lower the clock
 * as far as on Skylake, and none on later processors with one unit (Ice Lake, Tiger Lake and Rocket Lake clients) or with halves
 * (Zen 4), which hardly lower it and have fewer instructions to issue. All others have the double rate. */
bool attend__x86_prefers(const struct attend__x86_words *words, attend_isa narrow, attend_isa wide)
{
    return narrow == ATTEND_ISA_AVX2 && wide == ATTEND_ISA_AVX512 && skylake_has_one_unit(words);
}

/* ---- this processor ---- */

#if defined(__x86_64__) || defined(__i386__)

#include <cpuid.h>

/* In assembly because the intrinsic needs a compiler flag that would let AVX code into this file. */
static uint64_t read_xcr0(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static void read_brand(char *brand)
{
    static const uint32_t first = 0x80000002, leaves = 3;
    if ((uint32_t)__get_cpuid_max(0x80000000, NULL) < first + leaves - 1)
        return;
    for (uint32_t i = 0; i < leaves; i++) {
        uint32_t registers[4];
        __cpuid(first + i, registers[0], registers[1], registers[2], registers[3]);
        memcpy(brand + i * sizeof registers, registers, sizeof registers);
    }
}

static struct attend__x86_words read_words(void)
{
    struct attend__x86_words words = { .max_leaf = __get_cpuid_max(0, NULL) };
    uint32_t eax, ebx, ecx, edx;
    if (words.max_leaf >= 1) {
        __cpuid(1, eax, ebx, ecx, edx);
        words.leaf1_eax = eax;
        words.leaf1_ecx = ecx;
    }
    if (words.max_leaf >= 7) {
        __cpuid_count(7, 0, eax, ebx, ecx, edx);
        words.leaf7_ebx = ebx;
    }
    if (words.leaf1_ecx & BIT(27))
        words.xcr0 = read_xcr0();
    read_brand(words.brand);
    return words;
}

bool attend__cpu_has(attend_isa isa)
{
    const struct attend__x86_words words = read_words();
    return attend__x86_offers(&words, isa);
}

bool attend__cpu_prefers(attend_isa narrow, attend_isa wide)
{
    const struct attend__x86_words words = read_words();
    return attend__x86_prefers(&words, narrow, wide);
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

bool attend__cpu_prefers(attend_isa narrow, attend_isa wide)
{
    (void)narrow;
    (void)wide;
    return false;
}

#endif
