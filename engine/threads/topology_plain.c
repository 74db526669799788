/* The machine without hwloc: the CPUs of the affinity mask and nothing about them. See topology.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/threads/topology.h"

#include "engine/base/status.h"
#include "engine/threads/affinity.h"

#include <pthread.h>
#include <stddef.h>

static pthread_once_t loaded = PTHREAD_ONCE_INIT;
static const struct attend__machine *machine_found;

static void load_machine(void)
{
    machine_found = attend__affinity_machine();
}

const struct attend__machine *attend__topology(const char **note)
{
    pthread_once(&loaded, load_machine);
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
