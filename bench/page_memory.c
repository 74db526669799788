/* See page_memory.h. */
#include "bench/page_memory.h"

#include "attend/attend.h"

#include <string.h>

bool page_memory_map(struct page_memory *memory, size_t bytes, bool small_pages)
{
    memset(memory, 0, sizeof *memory);
    attend_cache_options options = ATTEND_CACHE_OPTIONS_INIT;
    options.small_pages = small_pages;
    memory->bytes = bytes ? bytes : 1; /* data tells whether anything is mapped */
    return attend_cache_allocate(&options, memory->bytes, &memory->data) == ATTEND_OK;
}

void page_memory_unmap(struct page_memory *memory)
{
    attend_cache_release(memory->data, memory->bytes);
    memset(memory, 0, sizeof *memory);
}
