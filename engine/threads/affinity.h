/* CPU masks of the calling thread, and the machine as far as that mask tells it. Shared by the topology with and
 * without hwloc and by the team, which binds its members. Knows no hwloc and no OpenMP. attend__affinity_read is in
 * topology.h. */
#ifndef ATTEND__AFFINITY_H
#define ATTEND__AFFINITY_H

#include "engine/base/machine.h"

#include <stddef.h>

/* What attend__affinity_bind returns when the kernel took the mask but reports another one. */
enum { ATTEND__AFFINITY_OTHER = -1 };

/* A mask put aside. */
struct attend__affinity {
    void *set; /* NULL: it could not be read */
    size_t bytes;
};

/* The calling thread's mask as it is now; restore gives it back to the calling thread, and frees it. */
struct attend__affinity attend__affinity_keep(void);
void attend__affinity_restore(struct attend__affinity kept);

/* Binds the calling thread to one CPU and reads the mask back: 0, the errno of the call that failed, or
 * ATTEND__AFFINITY_OTHER. */
int attend__affinity_bind(int cpu);

/* The CPUs of the calling thread's mask, each a core of its own, with nothing known about caches and nodes; at least
 * one. Static storage: called once per process. */
const struct attend__machine *attend__affinity_machine(void);

#endif
