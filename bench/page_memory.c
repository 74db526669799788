/* See page_memory.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "bench/page_memory.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

/* A huge page of x86-64, and of aarch64 with 4 KiB base pages. */
static const size_t huge_page_bytes = (size_t)2 << 20;

bool page_memory_map(struct page_memory *memory, size_t bytes, bool small_pages)
{
    memset(memory, 0, sizeof *memory);
    size_t mapping_bytes;
    if (__builtin_add_overflow(bytes, 2 * huge_page_bytes, &mapping_bytes)) {
        errno = ENOMEM;
        return false;
    }
    void *mapping = mmap(NULL, mapping_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED)
        return false;
    uintptr_t address = ((uintptr_t)mapping + huge_page_bytes - 1) & ~(uintptr_t)(huge_page_bytes - 1);
    memory->mapping = mapping;
    memory->mapping_bytes = mapping_bytes;
    memory->data = (void *)address;
    /* A kernel without transparent huge pages refuses both kinds of advice and has small pages only. */
    madvise(mapping, mapping_bytes, small_pages ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
    return true;
}

void page_memory_unmap(struct page_memory *memory)
{
    if (memory->mapping)
        munmap(memory->mapping, memory->mapping_bytes);
    memset(memory, 0, sizeof *memory);
}
