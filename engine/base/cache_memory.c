/* See cache_memory.h. A mapping is its bytes rounded up to base pages, so that its address and size are all that unmapping needs: what
 * alignment takes beyond that is given back at once. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/base/cache_memory.h"

#include "engine/base/status.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

/* A huge page of x86-64, and of AArch64 with 4 KiB base pages: the alignment where the system does not tell its own. */
#define USUAL_HUGE_BYTES ((size_t)2 << 20)

/* What is sought in the files below fits into a line of this many bytes. */
enum { LINE_BYTES = 128 };

static size_t base_page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* The first line of one of the kernel's settings for transparent huge pages; false where it cannot be read. */
static bool read_setting(const char *path, char line[LINE_BYTES])
{
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    const bool read = fgets(line, LINE_BYTES, file) != NULL;
    fclose(file);
    return read;
}

/* 0: not known. */
static size_t huge_page_bytes(void)
{
    char line[LINE_BYTES];
    if (!read_setting("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", line))
        return 0;
    const unsigned long long bytes = strtoull(line, NULL, 10);
    const bool credible = bytes >= base_page_bytes() && bytes <= SIZE_MAX / 4 && (bytes & (bytes - 1)) == 0;
    return credible ? (size_t)bytes : 0;
}

/* Are huge pages switched off, for the system or the process? Neither makes the advice fail. */
static bool are_huge_pages_off(void)
{
    char line[LINE_BYTES];
    return (read_setting("/sys/kernel/mm/transparent_hugepage/enabled", line) && strstr(line, "[never]")) ||
           prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) > 0;
}

/* Advises, and tells the page size that comes of it. A kernel without huge pages refuses both kinds of advice. */
static size_t advise(void *memory, size_t bytes, size_t huge_bytes, bool small_pages)
{
    const bool taken = madvise(memory, bytes, small_pages ? MADV_NOHUGEPAGE : MADV_HUGEPAGE) == 0;
    if (small_pages || !taken || are_huge_pages_off() || (huge_bytes > 0 && bytes < huge_bytes))
        return base_page_bytes();
    return huge_bytes;
}

/* Whole base pages; false where they do not fit into a size. */
static bool round_to_pages(size_t *rounded, size_t bytes)
{
    const size_t page = base_page_bytes();
    if (__builtin_add_overflow(bytes, page - 1, rounded))
        return false;
    *rounded &= ~(page - 1);
    return true;
}

/* `bytes` whole base pages at a multiple of `alignment`; NULL where there is no room. Trimming splits a mapping, of which a process can
 * have only so many. */
static char *map_aligned(size_t bytes, size_t alignment)
{
    size_t room;
    if (__builtin_add_overflow(bytes, alignment, &room))
        return NULL;
    char *mapping = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED)
        return NULL;
    const size_t before = (alignment - (uintptr_t)mapping % alignment) % alignment, after = alignment - before;
    if ((before == 0 || munmap(mapping, before) == 0) && munmap(mapping + before + bytes, after) == 0)
        return mapping + before;
    munmap(mapping, room);
    return NULL;
}

attend_status attend__cache_map(void **memory, size_t *page_bytes, size_t bytes, bool small_pages)
{
    const size_t huge_bytes = huge_page_bytes();
    size_t whole;
    char *mapped = round_to_pages(&whole, bytes) ? map_aligned(whole, huge_bytes ? huge_bytes : USUAL_HUGE_BYTES) : NULL;
    if (!mapped)
        return attend__fail(ATTEND_ERR_MEMORY, "no memory for %zu bytes of a cache", bytes);
    *page_bytes = advise(mapped, whole, huge_bytes, small_pages);
    *memory = mapped;
    return ATTEND_OK;
}

void attend__cache_unmap(void *memory, size_t bytes)
{
    size_t whole;
    if (round_to_pages(&whole, bytes))
        munmap(memory, whole);
}
