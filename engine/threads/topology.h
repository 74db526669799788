/* The machine that the process runs on, loaded once per process and kept. The only file that knows hwloc is
 * topology.c. */
#ifndef ATTEND__TOPOLOGY_H
#define ATTEND__TOPOLOGY_H

#include "attend/attend.h"
#include "engine/base/machine.h"

/* Never NULL, and has at least one CPU: where nothing can be learned it holds the CPUs of the affinity mask of the
 * thread that asked first. `note` gets a static text for the log when that happened, else NULL. Any thread; never
 * changes any thread's mask but a private one's. */
const struct attend__machine *attend__topology(const char **note);

/* in_mask[cpu_count]: which of the machine's CPUs the calling thread's affinity mask allows. All where it cannot be
 * read. */
void attend__affinity_read(const struct attend__machine *machine, bool *in_mask);

/* Another machine than this one, so that what is decided from a machine is tested on any: hwloc's synthetic description
 * ("pack:2 core:4 pu:2"), or the text of an hwloc XML file (recognised by its '<'). The machine's owner frees it.
 * Errors: ARGUMENT where hwloc does not take the description, MEMORY, UNSUPPORTED without hwloc. */
attend_status attend__topology_parse(struct attend__machine *machine, const char *description);
void attend__topology_free(struct attend__machine *machine);

/* Lets memory[bytes], of which no page was touched yet, come from the NUMA node of that operating system number as long as the node
 * has any. Loads the topology for it. Errors: ARGUMENT where there is no such node, SYSTEM, UNSUPPORTED without hwloc. */
attend_status attend__topology_bind_memory(void *memory, size_t bytes, int node);

#endif
