/* The machine as hwloc knows it, turned into plain data. The only file that includes hwloc.h; it knows nothing of what
 * is decided from the machine. See topology.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/threads/topology.h"

#include "engine/base/status.h"
#include "engine/base/forks.h"
#include "engine/threads/affinity.h"
#include "engine/threads/signals.h"

#include <errno.h>
#include <hwloc.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Sizes outside these bounds are taken for mistakes of firmware or hypervisor. L1d: 8 KiB to 1 MiB. L2: 64 KiB to 64
 * MiB (clusters of cores share up to 32 MiB). L3: up to 128 MiB whoever shares it (96 MiB lie under a few cores on
 * processors with stacked cache); larger ones exist only under many cores, with 4 to 6 MiB each, so that hundreds of
 * megabytes under the two CPUs of a virtual machine are the host's and not ours. */
enum { KIB = 1 << 10, MIB = 1 << 20 };
enum { L1D_LEAST = 8 * KIB, L1D_MOST = MIB, L2_LEAST = 64 * KIB, L2_MOST = 64 * MIB };
enum { L3_LEAST = 256 * KIB, L3_MOST = 128 * MIB, L3_MOST_PER_CORE = 8 * MIB };

/* Both are set together, under the guard. */
static const struct attend__machine *machine_found;
static const char *note_found;

/* ---- from hwloc's objects to the machine struct ---- */

/* Dense numbers in the order of first use; they are kept in the objects' userdata, which hwloc leaves to its users. */
static int number_object(hwloc_obj_t object, int *count)
{
    if (!object)
        return -1;
    if (!object->userdata)
        object->userdata = (void *)(intptr_t)++*count;
    return (int)(intptr_t)object->userdata - 1;
}

/* The memory nearest to a CPU; the first one where there are several kinds. NULL: none. */
static hwloc_obj_t find_node(hwloc_obj_t pu)
{
    hwloc_obj_t parent = pu;
    while (parent && !parent->memory_arity)
        parent = parent->parent;
    hwloc_obj_t node = parent ? parent->memory_first_child : NULL;
    while (node && node->type != HWLOC_OBJ_NUMANODE)
        node = node->memory_first_child;
    return node;
}

static int count_cores(hwloc_topology_t topology, hwloc_obj_t above)
{
    int cores = hwloc_get_nbobjs_inside_cpuset_by_type(topology, above->cpuset, HWLOC_OBJ_CORE);
    return cores > 0 ? cores : hwloc_bitmap_weight(above->cpuset);
}

static hwloc_obj_t find_cache(hwloc_topology_t topology, hwloc_obj_t pu, hwloc_obj_type_t type)
{
    return hwloc_get_ancestor_obj_by_type(topology, type, pu);
}

/* One core's share of the cache of that type above a CPU; 0: not known or not credible. */
static int64_t share_cache(hwloc_topology_t topology, hwloc_obj_t pu, hwloc_obj_type_t type, uint64_t least,
                           uint64_t most)
{
    hwloc_obj_t cache = find_cache(topology, pu, type);
    if (!cache || cache->attr->cache.size < least || cache->attr->cache.size > most)
        return 0;
    return (int64_t)cache->attr->cache.size / count_cores(topology, cache);
}

static int64_t measure_l3(hwloc_topology_t topology, hwloc_obj_t pu)
{
    hwloc_obj_t cache = find_cache(topology, pu, HWLOC_OBJ_L3CACHE);
    if (!cache || cache->attr->cache.size < L3_LEAST)
        return 0;
    uint64_t most = (uint64_t)L3_MOST_PER_CORE * (uint64_t)count_cores(topology, cache);
    bool credible = cache->attr->cache.size <= L3_MOST || cache->attr->cache.size <= most;
    return credible ? (int64_t)cache->attr->cache.size : 0;
}

/* Takes the sizes from a CPU that teams use by default: the first allowed one of the fastest kind. */
static void read_caches(struct attend__machine *machine, hwloc_topology_t topology)
{
    const struct attend__cpu *best = NULL;
    for (int i = 0; i < machine->cpu_count; i++) {
        const struct attend__cpu *cpu = &machine->cpus[i];
        if (cpu->allowed && (!best || cpu->kind > best->kind))
            best = cpu;
    }
    hwloc_obj_t pu = best ? hwloc_get_pu_obj_by_os_index(topology, (unsigned)best->os) : NULL;
    if (!pu)
        return;
    machine->l1d_bytes = share_cache(topology, pu, HWLOC_OBJ_L1CACHE, L1D_LEAST, L1D_MOST);
    machine->l2_bytes = share_cache(topology, pu, HWLOC_OBJ_L2CACHE, L2_LEAST, L2_MOST);
    machine->l3_bytes = measure_l3(topology, pu);
}

/* The set and rank of one kind of CPU; hwloc 3 changed what else the call tells. */
static int read_kind(hwloc_topology_t topology, int kind, hwloc_bitmap_t set)
{
    int efficiency = -1;
#if HWLOC_API_VERSION >= 0x00030000
    int failed = hwloc_cpukinds_get_info(topology, (unsigned)kind, set, &efficiency, NULL, 0);
#else
    int failed = hwloc_cpukinds_get_info(topology, (unsigned)kind, set, &efficiency, NULL, NULL, 0);
#endif
    return failed ? -1 : efficiency;
}

/* Kinds count only where hwloc could rank them all: it reports unranked ones on virtual machines that have no such
 * thing. */
static void read_kinds(struct attend__machine *machine, hwloc_topology_t topology)
{
    int kinds = hwloc_cpukinds_get_nr(topology, 0);
    hwloc_bitmap_t set = kinds > 1 ? hwloc_bitmap_alloc() : NULL;
    bool ranked = set != NULL;
    for (int kind = 0; ranked && kind < kinds; kind++) {
        int efficiency = read_kind(topology, kind, set);
        ranked = efficiency >= 0;
        for (int i = 0; ranked && i < machine->cpu_count; i++)
            if (hwloc_bitmap_isset(set, (unsigned)machine->cpus[i].os))
                machine->cpus[i].kind = efficiency;
    }
    for (int i = 0; !ranked && i < machine->cpu_count; i++)
        machine->cpus[i].kind = 0;
    hwloc_bitmap_free(set);
}

static int compare_cpus(const void *a, const void *b)
{
    const struct attend__cpu *left = a, *right = b;
    return (left->os > right->os) - (left->os < right->os);
}

static void read_cpus(struct attend__machine *machine, hwloc_topology_t topology, int count)
{
    hwloc_const_cpuset_t allowed = hwloc_topology_get_allowed_cpuset(topology);
    int l3s = 0;
    for (int i = 0; i < count; i++) {
        hwloc_obj_t pu = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PU, (unsigned)i);
        if (!pu || pu->os_index > INT_MAX)
            continue;
        hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, pu);
        hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, pu);
        machine->cpus[machine->cpu_count++] = (struct attend__cpu){
            .os = (int)pu->os_index,
            .core = number_object(core ? core : pu, &machine->cores),
            .package = number_object(package, &machine->packages),
            .node = number_object(find_node(pu), &machine->nodes),
            .l3 = number_object(find_cache(topology, pu, HWLOC_OBJ_L3CACHE), &l3s),
            .allowed = hwloc_bitmap_isset(allowed, pu->os_index),
        };
    }
    if (hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) < 1)
        machine->cores = 0;
    qsort(machine->cpus, (size_t)machine->cpu_count, sizeof *machine->cpus, compare_cpus);
}

/* The status's message is for attend__topology_parse; for this process's own machine the note says enough. */
static attend_status convert_topology(struct attend__machine *machine, hwloc_topology_t topology)
{
    int count = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
    if (count < 1)
        return attend__fail(ATTEND_ERR_ARGUMENT, "the topology has no CPU; it must have at least one");
    machine->cpus = malloc((size_t)count * sizeof *machine->cpus);
    if (!machine->cpus)
        return attend__fail(ATTEND_ERR_MEMORY, "no memory for %d CPUs of a topology", count);
    read_cpus(machine, topology, count);
    read_kinds(machine, topology);
    read_caches(machine, topology);
    return ATTEND_OK;
}

/* ---- loading ---- */

/* A topology ready to load: I/O and other objects that take long to find are left out, disallowed CPUs stay in. */
static bool init_topology(hwloc_topology_t *topology)
{
    if (hwloc_topology_init(topology))
        return false;
    if (hwloc_topology_set_flags(*topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) ||
        hwloc_topology_set_io_types_filter(*topology, HWLOC_TYPE_FILTER_KEEP_NONE)) {
        hwloc_topology_destroy(*topology);
        return false;
    }
    return true;
}

static void *load_machine(void *argument)
{
    struct attend__machine *machine = argument;
    hwloc_topology_t topology;
    if (!init_topology(&topology))
        return NULL;
    if (hwloc_topology_load(topology) == 0)
        (void)convert_topology(machine, topology);
    hwloc_topology_destroy(topology);
    return NULL;
}

/* hwloc binds the thread that loads to one CPU after the other where it asks the processor itself; a thread of its own,
 * which takes no signals, keeps that from the caller. False where no thread could be started. */
static bool run_apart(void *(*work)(void *), void *argument)
{
    sigset_t before;
    pthread_t loader;
    attend__signals_block(&before);
    int failed = pthread_create(&loader, NULL, work, argument);
    attend__signals_restore(&before);
    return !failed && pthread_join(loader, NULL) == 0;
}

static const char *load_apart(struct attend__machine *machine)
{
    if (!run_apart(load_machine, machine))
        return "no thread for hwloc could be started: only the CPUs of the affinity mask are known";
    if (machine->cpu_count == 0)
        return "hwloc could not load the topology: only the CPUs of the affinity mask are known";
    return NULL;
}

static void load(void)
{
    static struct attend__machine machine;
    note_found = load_apart(&machine);
    machine_found = note_found ? attend__affinity_machine() : &machine;
}

const struct attend__machine *attend__topology(const char **note)
{
    attend__guard_take(ATTEND__GUARD_TOPOLOGY);
    if (!machine_found)
        load();
    attend__guard_leave(ATTEND__GUARD_TOPOLOGY);
    *note = note_found;
    return machine_found;
}

attend_status attend__topology_parse(struct attend__machine *machine, const char *description)
{
    *machine = (struct attend__machine){ .cpus = NULL };
    hwloc_topology_t topology;
    if (!init_topology(&topology))
        return attend__fail(ATTEND_ERR_MEMORY, "no memory for a topology");
    bool xml = strchr(description, '<') != NULL;
    int failed = xml ? hwloc_topology_set_xmlbuffer(topology, description, (int)strlen(description) + 1) :
                       hwloc_topology_set_synthetic(topology, description);
    attend_status status;
    if (failed || hwloc_topology_load(topology))
        status = attend__fail(ATTEND_ERR_ARGUMENT, "the topology is \"%.60s\"; hwloc does not take it", description);
    else
        status = convert_topology(machine, topology);
    hwloc_topology_destroy(topology);
    return status;
}

void attend__topology_free(struct attend__machine *machine)
{
    free(machine->cpus);
    *machine = (struct attend__machine){ .cpus = NULL };
}

/* ---- memory ---- */

/* What came of a binding: its failure is told in the thread that asked. */
enum bind_result { BIND_DONE, BIND_NOT_LOADED, BIND_NO_NODE, BIND_REFUSED };

struct binding {
    void *memory;
    size_t bytes;
    unsigned node;
    enum bind_result result;
    int error; /* of a refusal */
};

/* The system prefers the node while it has memory, rather than end the process when it has none. Nodes that the process may not use are
 * in the topology: it is the system that refuses them. */
static void bind_area(struct binding *binding, hwloc_topology_t topology)
{
    hwloc_obj_t node = hwloc_get_numanode_obj_by_os_index(topology, binding->node);
    if (!node || !hwloc_topology_is_thissystem(topology)) {
        binding->result = node ? BIND_NOT_LOADED : BIND_NO_NODE;
        return;
    }
    const int flags = HWLOC_MEMBIND_BYNODESET;
    const int failed = hwloc_set_area_membind(topology, binding->memory, binding->bytes, node->nodeset, HWLOC_MEMBIND_BIND, flags);
    binding->error = failed ? errno : 0;
    binding->result = failed ? BIND_REFUSED : BIND_DONE;
}

/* The machine is kept, but not hwloc's topology: this one has nothing but nodes and CPUs, which is faster to load. */
static void *load_and_bind(void *argument)
{
    struct binding *binding = argument;
    hwloc_topology_t topology;
    if (!init_topology(&topology))
        return NULL;
    if (hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE) == 0 && hwloc_topology_load(topology) == 0)
        bind_area(binding, topology);
    hwloc_topology_destroy(topology);
    return NULL;
}

attend_status attend__topology_bind_memory(void *memory, size_t bytes, int node)
{
    struct binding binding = { .memory = memory, .bytes = bytes, .node = (unsigned)node, .result = BIND_NOT_LOADED };
    if (!run_apart(load_and_bind, &binding))
        return attend__fail(ATTEND_ERR_SYSTEM, "options.node is %d; no thread for hwloc could be started to bind memory to it", node);
    switch (binding.result) {
    case BIND_DONE: return ATTEND_OK;
    case BIND_NO_NODE:
        return attend__fail(ATTEND_ERR_ARGUMENT, "options.node is %d; it must be the operating system's number of a NUMA node", node);
    case BIND_REFUSED:
        return attend__fail(ATTEND_ERR_SYSTEM, "options.node is %d; the system did not bind memory to it (errno %d)", node, binding.error);
    default:
        return attend__fail(ATTEND_ERR_SYSTEM, "options.node is %d; hwloc could not load this machine's topology to bind memory to it", node);
    }
}
