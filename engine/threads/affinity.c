/* See affinity.h and topology.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/threads/affinity.h"

#include "engine/threads/topology.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

/* CPUs in the first set tried (glibc's fixed size) and in the largest: the kernel refuses sets smaller than its own,
 * and kernels are built for at most some ten thousand CPUs. */
enum { SET_CPUS_FIRST = 1024, SET_CPUS_LIMIT = 1 << 20 };

/* The calling thread's mask, to be freed with CPU_FREE, or NULL with errno set. */
static cpu_set_t *read_mask(size_t *bytes)
{
    for (int cpus = SET_CPUS_FIRST; cpus <= SET_CPUS_LIMIT; cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC(cpus);
        if (!set)
            return NULL;
        *bytes = CPU_ALLOC_SIZE(cpus);
        CPU_ZERO_S(*bytes, set);
        if (sched_getaffinity(0, *bytes, set) == 0)
            return set;
        int error = errno;
        CPU_FREE(set);
        errno = error;
        if (error != EINVAL)
            return NULL;
    }
    return NULL;
}

void attend__affinity_read(const struct attend__machine *machine, bool *in_mask)
{
    size_t bytes = 0;
    cpu_set_t *mask = read_mask(&bytes);
    for (int i = 0; i < machine->cpu_count; i++)
        in_mask[i] = !mask || CPU_ISSET_S(machine->cpus[i].os, bytes, mask);
    if (mask)
        CPU_FREE(mask);
}

struct attend__affinity attend__affinity_keep(void)
{
    struct attend__affinity kept = { NULL, 0 };
    kept.set = read_mask(&kept.bytes);
    return kept;
}

void attend__affinity_restore(struct attend__affinity kept)
{
    if (!kept.set)
        return;
    (void)sched_setaffinity(0, kept.bytes, kept.set);
    CPU_FREE(kept.set);
}

static int check_bound(int cpu)
{
    size_t bytes;
    cpu_set_t *mask = read_mask(&bytes);
    if (!mask)
        return errno;
    bool bound = CPU_COUNT_S(bytes, mask) == 1 && CPU_ISSET_S(cpu, bytes, mask);
    CPU_FREE(mask);
    return bound ? 0 : ATTEND__AFFINITY_OTHER;
}

int attend__affinity_bind(int cpu)
{
    size_t bytes = CPU_ALLOC_SIZE(cpu + 1);
    cpu_set_t *mask = CPU_ALLOC(cpu + 1);
    if (!mask)
        return ENOMEM;
    CPU_ZERO_S(bytes, mask);
    CPU_SET_S(cpu, bytes, mask);
    int error = sched_setaffinity(0, bytes, mask) ? errno : 0;
    CPU_FREE(mask);
    return error ? error : check_bound(cpu);
}

static struct attend__cpu lone_cpu(int os, int core)
{
    return (struct attend__cpu){ .os = os, .core = core, .package = -1, .node = -1, .l3 = -1, .allowed = true };
}

/* Where even the mask cannot be read, the CPUs are taken to be numbered from 0. */
static int count_cpus(const cpu_set_t *mask, size_t bytes)
{
    long count = mask ? CPU_COUNT_S(bytes, mask) : sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : count > SET_CPUS_LIMIT ? SET_CPUS_LIMIT : (int)count;
}

const struct attend__machine *attend__affinity_machine(void)
{
    static struct attend__machine machine;
    static struct attend__cpu only;
    size_t bytes = 0;
    cpu_set_t *mask = read_mask(&bytes);
    int count = count_cpus(mask, bytes);
    struct attend__cpu *cpus = malloc((size_t)count * sizeof *cpus);
    if (!cpus) {
        only = lone_cpu(0, 0);
        cpus = &only;
        count = 1;
    } else {
        for (int os = 0, i = 0; i < count; os++)
            if (!mask || CPU_ISSET_S(os, bytes, mask)) {
                cpus[i] = lone_cpu(os, i);
                i++;
            }
    }
    if (mask)
        CPU_FREE(mask);
    machine = (struct attend__machine){ .cpus = cpus, .cpu_count = count };
    return &machine;
}
