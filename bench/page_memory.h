/* Memory in pages of a chosen kind, for measurements in which the kind of page decides. Maps and unmaps; fills
 * nothing. */
#ifndef BENCH_PAGE_MEMORY_H
#define BENCH_PAGE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

struct page_memory {
    void *data; /* aligned to a huge page */
    size_t bytes;
};

/* Maps `bytes` bytes of private memory and advises the operating system which pages to use; it may not follow. Every
 * page is still to be touched. False, with nothing mapped, when there is not enough. */
bool page_memory_map(struct page_memory *memory, size_t bytes, bool small_pages);

/* Unmaps; a zeroed struct is ignored. */
void page_memory_unmap(struct page_memory *memory);

#endif
