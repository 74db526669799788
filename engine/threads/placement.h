/* Which CPUs a team uses: a pure function of the machine, the process's mask, the quota and the options, so that it is
 * tested on any machine's data without threads. */
#ifndef ATTEND__PLACEMENT_H
#define ATTEND__PLACEMENT_H

#include "attend/attend.h"
#include "engine/base/alloc.h"
#include "engine/base/machine.h"

struct attend__placement_request {
    const struct attend__machine *machine;
    const bool *in_mask;  /* in_mask[machine->cpu_count]: the process's affinity mask allows that CPU */
    double quota;         /* CPUs granted by cgroups; 0: none */
    int threads;          /* 0: default */
    const int32_t *cpus;  /* explicit list or NULL */
    size_t cpu_count;
    attend_bind bind;
    attend_placement placement;
};

struct attend__placement {
    int threads;          /* team size: at least 1 */
    bool bind;
    int *cpus;            /* cpus[threads]: operating system numbers; NULL unless bind */
    attend_cpu_use *use;  /* use[machine->cpu_count] */
    char warning[160];    /* for the log; empty: none */
    size_t bytes;         /* of the one allocation behind cpus and use, which begins at `memory` */
    void *memory;
};

/* Decides; fails with ARGUMENT for a listed CPU that the machine has not, that is listed twice, disallowed or outside
 * the mask, or MEMORY. */
attend_status attend__placement_make(struct attend__placement *placement,
                                     const struct attend__placement_request *request,
                                     const struct attend__allocator *allocator);
void attend__placement_free(struct attend__placement *placement, const struct attend__allocator *allocator);

#endif
