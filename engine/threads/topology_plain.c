/* The machine without hwloc: the CPUs of the affinity mask and nothing about them. See topology.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/threads/topology.h"

#include "engine/base/forks.h"
#include "engine/base/status.h"
#include "engine/threads/affinity.h"

#include <stddef.h>

static const struct attend__machine *machine_found;

const struct attend__machine *attend__topology(const char **note)
{
    attend__guard_take(ATTEND__GUARD_TOPOLOGY);
    if (!machine_found)
        machine_found = attend__affinity_machine();
    attend__guard_leave(ATTEND__GUARD_TOPOLOGY);
    *note = "built without hwloc: only the CPUs of the affinity mask are known, not cores, caches or nodes";
    return machine_found;
}

attend_status attend__topology_parse(struct attend__machine *machine, const char *description)
{
    *machine = (struct attend__machine){ .cpus = NULL };
    return attend__fail(ATTEND_ERR_UNSUPPORTED, "the topology is \"%.60s\"; only a build with hwloc takes descriptions",
                        description);
}

void attend__topology_free(struct attend__machine *machine)
{
    *machine = (struct attend__machine){ .cpus = NULL };
}

attend_status attend__topology_bind_memory(void *memory, size_t bytes, int node)
{
    (void)memory, (void)bytes;
    return attend__fail(ATTEND_ERR_UNSUPPORTED, "options.node is %d; only a build with hwloc binds memory to a NUMA node", node);
}
