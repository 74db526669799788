/* See alloc.h. */
#include "engine/base/alloc.h"

#include <stdlib.h>
#include <string.h>

void *attend__allocate(const struct attend__allocator *allocator, size_t bytes)
{
    if (bytes == 0)
        bytes = 1;
    if (allocator->allocate)
        return allocator->allocate(allocator->user, bytes, ATTEND__ALIGNMENT);
    void *memory = NULL;
    return posix_memalign(&memory, ATTEND__ALIGNMENT, bytes) ? NULL : memory;
}

void *attend__allocate_zeroed(const struct attend__allocator *allocator, size_t bytes)
{
    void *memory = attend__allocate(allocator, bytes);
    return memory ? memset(memory, 0, bytes) : NULL;
}

void attend__release(const struct attend__allocator *allocator, void *memory, size_t bytes)
{
    if (!memory)
        return;
    if (allocator->release)
        allocator->release(allocator->user, memory, bytes ? bytes : 1);
    else
        free(memory);
}
