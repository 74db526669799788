/* Which instruction sets processor and operating system offer together. */
#ifndef ATTEND__CPU_H
#define ATTEND__CPU_H

#include "attend/attend.h"

#include <stdbool.h>
#include <stdint.h>

/* True when code compiled for the set runs here. Detected on every call (a few hundred cycles, never on a hot path), so there is
 * no state to initialise. */
bool attend__cpu_has(attend_isa isa);

/* The raw words that x86 detection decides from, so that the decision is tested for processors that are not there. */
struct attend__x86_words {
    uint32_t max_leaf;
    uint32_t leaf1_ecx; /* OSXSAVE, AVX, FMA */
    uint32_t leaf7_ebx; /* AVX2, AVX-512 F, DQ, BW, VL */
    uint64_t xcr0;      /* register state that the operating system saves; 0 without OSXSAVE */
};

bool attend__x86_offers(const struct attend__x86_words *words, attend_isa isa);

#endif
