/* Which instruction sets processor and operating system offer together, and which of two is the faster one where that is not the wider
 * one. Knows no kernels. */
#ifndef ATTEND__CPU_H
#define ATTEND__CPU_H

#include "attend/attend.h"

#include <stdbool.h>
#include <stdint.h>

/* True when code compiled for the set runs here. Detected on every call (a few hundred cycles, some microseconds in a virtual
 * machine, never on a hot path), so there is no state to initialise. */
bool attend__cpu_has(attend_isa isa);

/* True when this processor, which has both sets, computes faster with the narrow one. */
bool attend__cpu_prefers(attend_isa narrow, attend_isa wide);

/* The raw words that x86 detection decides from, so that the decision is tested for processors that are not there. */
struct attend__x86_words {
    uint32_t max_leaf;
    uint32_t leaf1_eax; /* family, model, stepping */
    uint32_t leaf1_ecx; /* OSXSAVE, AVX, FMA, F16C */
    uint32_t leaf7_ebx; /* AVX2, AVX-512 F, DQ, BW, VL */
    uint64_t xcr0;      /* register state that the operating system saves; 0 without OSXSAVE */
    char brand[49];     /* "Intel(R) Xeon(R) Silver 4110 CPU @ 2.10GHz"; empty where there is none */
};

bool attend__x86_offers(const struct attend__x86_words *words, attend_isa isa);
bool attend__x86_prefers(const struct attend__x86_words *words, attend_isa narrow, attend_isa wide);

#endif
