/* The table of kernels and the choice among them. Knows names and instruction sets, not what a kernel computes. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/kernel/cpu.h"
#include "engine/kernel/kernel.h"
#include "engine/kernel/kernels.def"

#define DECLARATION(name, isa, ...) extern const struct attend__kernel attend__kernel_##name;
ATTEND__EACH_KERNEL(DECLARATION)

#define ADDRESS(name, isa, ...) &attend__kernel_##name,
static const struct attend__kernel *const kernels[] = { ATTEND__EACH_KERNEL(ADDRESS) };

enum { KERNEL_COUNT = sizeof kernels / sizeof kernels[0] };

/* Those that run here, best first: the wider the better, unless the processor says otherwise. Returns how many. */
static int rank_kernels(const struct attend__kernel *ranked[KERNEL_COUNT])
{
    int count = 0;
    for (int i = KERNEL_COUNT - 1; i >= 0; i--)
        if (attend__cpu_has(kernels[i]->isa))
            ranked[count++] = kernels[i];
    if (count > 1 && attend__cpu_prefers(ranked[1]->isa, ranked[0]->isa)) {
        const struct attend__kernel *widest = ranked[0];
        ranked[0] = ranked[1];
        ranked[1] = widest;
    }
    return count;
}

const struct attend__kernel *attend__kernel_find(attend_isa isa)
{
    const struct attend__kernel *ranked[KERNEL_COUNT];
    int count = rank_kernels(ranked);
    for (int i = 0; i < count; i++)
        if (isa == ATTEND_ISA_AUTO || isa == ranked[i]->isa)
            return ranked[i];
    return NULL;
}

size_t attend_isa_available(attend_isa *isas, size_t capacity)
{
    const struct attend__kernel *ranked[KERNEL_COUNT];
    size_t count = (size_t)rank_kernels(ranked);
    for (size_t i = 0; isas && i < count && i < capacity; i++)
        isas[i] = ranked[i]->isa;
    return count;
}

#define NAME(name, isa, ...) case isa: return #name;

const char *attend_isa_name(attend_isa isa)
{
    switch (isa) {
    case ATTEND_ISA_AUTO: return "auto";
    ATTEND__EACH_SET(NAME)
    }
    return NULL;
}
