/* Memory for caches of keys and values: anonymous mappings in pages of a chosen kind. Maps and unmaps; touches nothing. */
#ifndef ATTEND__CACHE_MEMORY_H
#define ATTEND__CACHE_MEMORY_H

#include "attend/attend.h"

#include <stdbool.h>

/* Maps bytes > 0 of zeros, aligned to the huge page size, and advises which pages to use. *page_bytes becomes the size of the pages that
 * whole huge pages of it will get, as far as that can be known (0: not). Errors: MEMORY. */
attend_status attend__cache_map(void **memory, size_t *page_bytes, size_t bytes, bool small_pages);

/* Unmaps what was mapped with the same number of bytes. */
void attend__cache_unmap(void *memory, size_t bytes);

#endif
