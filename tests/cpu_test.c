/* Which instruction sets a processor offers, and which it computes fastest with, decided from words that were recorded on real ones:
 * leaf 1 EAX and ECX, leaf 7 EBX, the name, and XCR0 as Linux sets it there. */
#include "engine/kernel/cpu.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

struct processor {
    const char *name;
    struct attend__x86_words words;
    const char *sets; /* offered, the fastest first */
};

static const struct processor processors[] = {
    { "Nehalem", { 0x0b, 0x000106a4, 0x0098e3bd, 0, 0, "Intel(R) Core(TM) i7 CPU         920  @ 2.67GHz" }, "portable" },
    { "Sandy Bridge",
      { 0x0d, 0x000206a7, 0x1f9ae3bf, 0, 0x7, "       Intel(R) Core(TM) i7-2600K CPU @ 3.40GHz" }, "portable" },
    { "Haswell",
      { 0x0d, 0x000306c3, 0x7fdafbbf, 0x000027ab, 0x7, "Intel(R) Core(TM) i7-4710MQ CPU @ 2.50GHz" }, "avx2 portable" },
    { "Skylake client",
      { 0x16, 0x000506e3, 0x7ffafbbf, 0x029c6fbb, 0x1f, "Intel(R) Core(TM) i5-6600K CPU @ 3.50GHz" }, "avx2 portable" },
    { "Skylake-X",
      { 0x16, 0x00050654, 0x7ffefbbf, 0xd39ffffb, 0xff, "Intel(R) Core(TM) i9-7900X CPU @ 3.30GHz" },
      "avx512 avx2 portable" },
    { "Skylake-SP with two units",
      { 0x16, 0x00050654, 0x7ffefbff, 0xd39ffffb, 0x2ff, "Intel(R) Xeon(R) Gold 6154 CPU @ 3.00GHz" },
      "avx512 avx2 portable" },
    { "Skylake-SP with one unit, in a virtual machine",
      { 0x0d, 0x00050654, 0xfffa3203, 0xd19f6ffb, 0x2ff, "Intel(R) Xeon(R) Silver 4114 CPU @ 2.20GHz" },
      "avx2 avx512 portable" },
    { "Ice Lake client",
      { 0x1b, 0x000706e5, 0x7ffafbbf, 0xf2bf27ef, 0x2e7, "Intel(R) Core(TM) i5-1035G4 CPU @ 1.10GHz" },
      "avx512 avx2 portable" },
    { "Rocket Lake",
      { 0x1b, 0x000a0671, 0x7ffafbbf, 0xf2bf67eb, 0x2ff, "11th Gen Intel(R) Core(TM) i7-11700KF @ 3.60GHz" },
      "avx512 avx2 portable" },
    { "Emerald Rapids, in a virtual machine",
      { 0x20, 0x000c06f2, 0xfffa3203, 0xf1bf27eb, 0x602e7, "Intel(R) Xeon(R) Processor" }, "avx512 avx2 portable" },
    { "Zen 2", { 0x10, 0x00870f10, 0x7ed8320b, 0x219c91a9, 0x207, "AMD Ryzen 7 3700X 8-Core Processor" }, "avx2 portable" },
    { "Zen 4",
      { 0x10, 0x00a60f12, 0x7ef8320b, 0xf1bf97a9, 0x2e7, "AMD Ryzen 5 7600X 6-Core Processor" }, "avx512 avx2 portable" },
    { "Zen 5",
      { 0x10, 0x00b40f40, 0x7ed8320b, 0xf1bf97ab, 0x2e7, "AMD Ryzen 7 9700X 8-Core Processor" }, "avx512 avx2 portable" },
    { "qemu-x86_64 -cpu Nehalem",
      { 0x0b, 0x000106a3, 0x80982201, 0, 0, "Intel Core i7 9xx (Nehalem Class Core i7)" }, "portable" },
    { "qemu-x86_64 -cpu SandyBridge",
      { 0x0d, 0x000206a1, 0x9e982203, 0, 0x7, "Intel Xeon E312xx (Sandy Bridge)" }, "portable" },
    { "qemu-x86_64 -cpu Haswell",
      { 0x0d, 0x000306c4, 0xfed83203, 0x000003a9, 0x7, "Intel Core Processor (Haswell)" }, "avx2 portable" },
    { "qemu-x86_64 -cpu Skylake-Server",
      { 0x0d, 0x00050654, 0xfed83203, 0x019803a9, 0x207, "Intel Xeon Processor (Skylake)" }, "avx2 portable" },
};

enum { PROCESSORS = sizeof processors / sizeof *processors };

/* As attend_isa_available would list them. */
static const char *offered_sets(const struct attend__x86_words *words)
{
    static char text[64];
    const bool avx2 = attend__x86_offers(words, ATTEND_ISA_AVX2), avx512 = attend__x86_offers(words, ATTEND_ISA_AVX512);
    const bool narrow = attend__x86_prefers(words, ATTEND_ISA_AVX2, ATTEND_ISA_AVX512);
    snprintf(text, sizeof text, "%s%s%s%s", avx512 && !narrow ? "avx512 " : "", avx2 ? "avx2 " : "",
             avx512 && narrow ? "avx512 " : "", attend__x86_offers(words, ATTEND_ISA_PORTABLE) ? "portable" : "");
    return text;
}

static const struct processor *find_processor(const char *name)
{
    size_t i = 0;
    while (i < PROCESSORS && strcmp(processors[i].name, name) != 0)
        i++;
    cr_assert(i < PROCESSORS, "no processor %s", name);
    return &processors[i];
}

Test(cpu, recorded_processors)
{
    for (size_t i = 0; i < PROCESSORS; i++)
        cr_expect_str_eq(offered_sets(&processors[i].words), processors[i].sets, "%s offers %s", processors[i].name,
                         offered_sets(&processors[i].words));
}

Test(cpu, state_that_the_system_does_not_save)
{
    struct attend__x86_words words = find_processor("Zen 5")->words;
    words.xcr0 = 0x07; /* no opmask, no ZMM */
    cr_expect_str_eq(offered_sets(&words), "avx2 portable");
    words.xcr0 = 0x27; /* opmask alone */
    cr_expect_str_eq(offered_sets(&words), "avx2 portable");
    words.xcr0 = 0xe3; /* no YMM: nothing wide is whole */
    cr_expect_str_eq(offered_sets(&words), "portable");
    words = find_processor("Haswell")->words;
    words.xcr0 = 0;
    words.leaf1_ecx &= ~(UINT32_C(1) << 27); /* no OSXSAVE */
    cr_expect_str_eq(offered_sets(&words), "portable");
}

Test(cpu, leaves_and_features_that_are_missing)
{
    struct attend__x86_words words = find_processor("Haswell")->words;
    words.max_leaf = 6; /* as a firmware's switch for old systems limits it; what leaf 7 returns then means nothing */
    cr_expect_str_eq(offered_sets(&words), "portable");
    words = find_processor("Haswell")->words;
    words.leaf1_ecx &= ~(UINT32_C(1) << 12); /* AVX2 without FMA */
    cr_expect_str_eq(offered_sets(&words), "portable");
    words = find_processor("Skylake-X")->words;
    words.leaf7_ebx &= ~(UINT32_C(1) << 31); /* AVX-512 without VL */
    cr_expect_str_eq(offered_sets(&words), "avx2 portable");
    words.leaf7_ebx = find_processor("Skylake-X")->words.leaf7_ebx & ~(UINT32_C(1) << 5); /* AVX-512 without AVX2 */
    cr_expect_str_eq(offered_sets(&words), "portable");
    cr_expect_not(attend__x86_offers(&words, ATTEND_ISA_NEON));
    cr_expect_not(attend__x86_offers(&words, ATTEND_ISA_AUTO));
}

/* Family 6, model 85: the name alone decides. */
Test(cpu, units_of_skylake_servers)
{
    static const char *const one[] = {
        "Intel(R) Xeon(R) Bronze 3104 CPU @ 1.70GHz", "Intel(R) Xeon(R) Silver 4110 CPU @ 2.10GHz",
        "Intel(R) Xeon(R) Silver 4216 CPU @ 2.10GHz", "Intel(R) Xeon(R) Gold 5118 CPU @ 2.30GHz",
        "Intel(R) Xeon(R) Gold 5218R CPU @ 2.10GHz",  "Intel(R) Xeon(R) W-2104 CPU @ 3.20GHz",
        "Intel(R) Xeon(R) D-2141I CPU @ 2.20GHz",
    };
    static const char *const two[] = {
        "Intel(R) Xeon(R) Gold 5122 CPU @ 3.60GHz",     "Intel(R) Xeon(R) Gold 5222 CPU @ 3.80GHz",
        "Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz",     "Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz",
        "Intel(R) Xeon(R) Gold 5318H CPU @ 2.50GHz",    "Intel(R) Xeon(R) W-2145 CPU @ 3.70GHz",
        "Intel(R) Core(TM) i9-10980XE CPU @ 3.00GHz",   "Intel Xeon Processor (Skylake, IBRS)",
        "Intel(R) Xeon(R) Processor @ 2.50GHz",         "",
    };
    struct attend__x86_words words = find_processor("Skylake-SP with one unit, in a virtual machine")->words;
    for (size_t i = 0; i < sizeof one / sizeof *one; i++) {
        snprintf(words.brand, sizeof words.brand, "%s", one[i]);
        cr_expect_str_eq(offered_sets(&words), "avx2 avx512 portable", "%s", one[i]);
    }
    for (size_t i = 0; i < sizeof two / sizeof *two; i++) {
        snprintf(words.brand, sizeof words.brand, "%s", two[i]);
        cr_expect_str_eq(offered_sets(&words), "avx512 avx2 portable", "%s", two[i]);
    }
    /* Ice Lake and Sapphire Rapids servers have two whatever their name. */
    words.leaf1_eax = 0x000606a6;
    snprintf(words.brand, sizeof words.brand, "Intel(R) Xeon(R) Silver 4310 CPU @ 2.10GHz");
    cr_expect_str_eq(offered_sets(&words), "avx512 avx2 portable");
    words.leaf1_eax = 0x000806f8;
    snprintf(words.brand, sizeof words.brand, "Intel(R) Xeon(R) Silver 4410Y");
    cr_expect_str_eq(offered_sets(&words), "avx512 avx2 portable");
}

Test(cpu, preference_is_between_the_two_wide_sets)
{
    const struct attend__x86_words *words = &find_processor("Skylake-SP with one unit, in a virtual machine")->words;
    cr_expect(attend__x86_prefers(words, ATTEND_ISA_AVX2, ATTEND_ISA_AVX512));
    cr_expect_not(attend__x86_prefers(words, ATTEND_ISA_AVX512, ATTEND_ISA_AVX2));
    cr_expect_not(attend__x86_prefers(words, ATTEND_ISA_PORTABLE, ATTEND_ISA_AVX512));
    cr_expect_not(attend__x86_prefers(words, ATTEND_ISA_PORTABLE, ATTEND_ISA_AVX2));
}

Test(cpu, this_processor)
{
    attend_isa isas[8];
    size_t count = attend_isa_available(isas, 8);
    cr_assert(count >= 1 && count <= 8);
    for (size_t i = 0; i < count; i++)
        cr_expect(attend__cpu_has(isas[i]), "%s", attend_isa_name(isas[i]));
    for (size_t i = 1; i < count; i++)
        cr_expect_not(attend__cpu_prefers(isas[i], isas[i - 1]), "%s is listed after a slower one", attend_isa_name(isas[i]));
    cr_expect(attend__cpu_has(ATTEND_ISA_PORTABLE));
    cr_expect_not(attend__cpu_has(ATTEND_ISA_AUTO));
}
