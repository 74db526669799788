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

const struct attend__kernel *attend__kernel_find(attend_isa isa)
{
    for (int i = KERNEL_COUNT - 1; i >= 0; i--)
        if ((isa == ATTEND_ISA_AUTO || isa == kernels[i]->isa) && attend__cpu_has(kernels[i]->isa))
            return kernels[i];
    return NULL;
}

size_t attend_isa_available(attend_isa *isas, size_t capacity)
{
    size_t count = 0;
    for (int i = KERNEL_COUNT - 1; i >= 0; i--) {
        if (!attend__cpu_has(kernels[i]->isa))
            continue;
        if (isas && count < capacity)
            isas[count] = kernels[i]->isa;
        count++;
    }
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
