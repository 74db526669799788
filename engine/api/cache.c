/* Memory for caches: mapped by the base, placed on a node by the topology. */
#include "attend/attend.h"

#include "engine/base/cache_memory.h"
#include "engine/base/status.h"
#include "engine/base/structs.h"
#include "engine/threads/topology.h"

#include <inttypes.h>

static attend_status read_options(attend_cache_options *options, const attend_cache_options *caller)
{
    *options = (attend_cache_options)ATTEND_CACHE_OPTIONS_INIT;
    attend_status status = caller ? attend__struct_read(options, sizeof *options, sizeof *options, caller, "options") : ATTEND_OK;
    if (!status && options->small_pages != 0 && options->small_pages != 1)
        status = attend__fail(ATTEND_ERR_ARGUMENT, "options.small_pages is %" PRId32 "; it must be 0 or 1", options->small_pages);
    if (!status && options->node < -1)
        status = attend__fail(ATTEND_ERR_ARGUMENT, "options.node is %" PRId32 "; it must be the number of a NUMA node, or -1 for none",
                              options->node);
    if (!status && options->info)
        status = attend__struct_check(options->info, sizeof *options->info, "options.info");
    return status;
}

static attend_status map_memory(void **memory, attend_cache_info *info, const attend_cache_options *options, size_t bytes)
{
    attend_status status = attend__cache_map(memory, &info->page_bytes, bytes, options->small_pages != 0);
    if (status || options->node < 0)
        return status;
    status = attend__topology_bind_memory(*memory, bytes, options->node);
    info->node = options->node;
    if (!status)
        return status;
    attend__cache_unmap(*memory, bytes);
    *memory = NULL;
    return status;
}

attend_status attend_cache_allocate(const attend_cache_options *caller, size_t bytes, void **memory)
{
    if (!memory)
        return attend__fail(ATTEND_ERR_ARGUMENT, "memory is NULL; it must point to where the address goes");
    *memory = NULL;
    attend_cache_options options;
    attend_cache_info info = ATTEND_CACHE_INFO_INIT;
    attend_status status = read_options(&options, caller);
    info.node = -1;
    if (!status && bytes > 0)
        status = map_memory(memory, &info, &options, bytes);
    if (!status && options.info)
        status = attend__struct_write(options.info, sizeof info, &info, sizeof info, "options.info");
    return status;
}

void attend_cache_release(void *memory, size_t bytes)
{
    if (memory && bytes > 0)
        attend__cache_unmap(memory, bytes);
}
