/* See help_guard.h. */
#include "tests/help_guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static void set_access(void *start, size_t bytes, int access)
{
    if (bytes > 0 && mprotect(start, bytes, access)) {
        perror("mprotect");
        abort();
    }
}

static unsigned char *inner_start(const struct guarded *memory)
{
    return memory->map + page_bytes();
}

static size_t inner_bytes(const struct guarded *memory)
{
    return memory->map_bytes - 2 * page_bytes();
}

static size_t slack;

void guarded_set_slack(size_t bytes)
{
    slack = bytes;
}

void guarded_make(struct guarded *memory, size_t bytes, enum guard_side side, size_t skew)
{
    size_t page = page_bytes(), room = bytes + skew + slack;
    size_t inner = (room + page - 1) / page * page;
    memory->bytes = bytes;
    memory->map_bytes = inner + 2 * page;
    memory->map = mmap(NULL, memory->map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory->map == MAP_FAILED) {
        perror("mmap");
        abort();
    }
    set_access(inner_start(memory), inner, PROT_READ | PROT_WRITE);
    memory->data = inner_start(memory) + (side == GUARD_BEFORE ? skew : inner - room);
    guarded_poison(memory);
}

void guarded_free(struct guarded *memory)
{
    if (memory->map)
        munmap(memory->map, memory->map_bytes);
    *memory = (struct guarded){ 0 };
}

uint32_t poison_word(size_t index)
{
    return index % 2 ? 0x7fa0dead : 0xffc0beef;
}

void guarded_poison(struct guarded *memory)
{
    unsigned char *start = inner_start(memory);
    for (size_t offset = 0; offset < inner_bytes(memory); offset += 4) {
        uint32_t word = poison_word(offset / 4);
        memcpy(start + offset, &word, sizeof word);
    }
}

static bool is_used(const struct guarded *memory, const bool *used, const unsigned char *from, size_t bytes)
{
    for (const unsigned char *byte = from; byte < from + bytes; byte++)
        if (byte >= memory->data && byte < memory->data + memory->bytes && used[byte - memory->data])
            return true;
    return false;
}

size_t guarded_trap_unused(struct guarded *memory, const bool *used)
{
    size_t page = page_bytes(), trapped = 0;
    for (size_t offset = 0; offset < inner_bytes(memory); offset += page) {
        unsigned char *start = inner_start(memory) + offset;
        if (is_used(memory, used, start, page))
            continue;
        set_access(start, page, PROT_NONE);
        trapped++;
    }
    return trapped;
}

void guarded_freeze(struct guarded *memory)
{
    set_access(inner_start(memory), inner_bytes(memory), PROT_READ);
}

void guarded_thaw(struct guarded *memory)
{
    set_access(inner_start(memory), inner_bytes(memory), PROT_READ | PROT_WRITE);
}

uint64_t guarded_hash(const struct guarded *memory)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < memory->bytes; i++)
        hash = (hash ^ memory->data[i]) * 0x100000001b3u;
    return hash;
}

size_t guarded_find_stain(const struct guarded *memory, const bool *used)
{
    const unsigned char *start = inner_start(memory);
    for (size_t offset = 0; offset < inner_bytes(memory); offset += 4) {
        uint32_t word = poison_word(offset / 4);
        if (memcmp(start + offset, &word, sizeof word) && !is_used(memory, used, start + offset, 4))
            return offset;
    }
    return SIZE_MAX;
}
