/* Memory for caches: aligned, zero, of the pages and on the node that were asked for, given back whole; refusals. */
#include "tests/help_suite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

static size_t base_page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* 2 MiB where the system tells nothing else. */
static size_t huge_page_bytes(void)
{
    unsigned long bytes = 2 * MIB;
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "r");
    if (file) {
        cr_expect(fscanf(file, "%lu", &bytes) == 1);
        fclose(file);
    }
    return bytes;
}

static void *need_cache(const attend_cache_options *options, size_t bytes)
{
    void *memory = NULL;
    expect_ok(attend_cache_allocate(options, bytes, &memory));
    cr_assert_not_null(memory);
    cr_expect((uintptr_t)memory % huge_page_bytes() == 0, "%zu bytes at %p", bytes, memory);
    return memory;
}

static bool is_zero(const unsigned char *bytes, size_t count)
{
    return count == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0);
}

/* Pages of a mapping that are in memory; -1 where some of the range is not mapped. */
static int64_t count_touched(void *memory, size_t bytes)
{
    const size_t pages = (bytes + base_page_bytes() - 1) / base_page_bytes();
    unsigned char *flags = malloc(pages);
    cr_assert_not_null(flags);
    int64_t count = mincore(memory, bytes, flags) == 0 ? 0 : -1;
    for (size_t i = 0; count >= 0 && i < pages; i++)
        count += flags[i] & 1;
    free(flags);
    return count;
}

/* Is one page there? */
static bool is_mapped(const char *address)
{
    return count_touched((void *)address, 1) >= 0;
}

Test(cache, aligned_zero_and_untouched, .timeout = 60)
{
    const size_t page = base_page_bytes();
    const size_t sizes[] = { 1, 63, page - 1, page, page + 1, 2 * MIB - 1, 2 * MIB, 2 * MIB + 1, 9 * MIB + 5 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *memory = need_cache(NULL, sizes[i]);
        cr_expect(count_touched(memory, sizes[i]) == 0, "%zu bytes: pages were touched", sizes[i]);
        cr_expect(is_zero(memory, sizes[i]), "%zu bytes are not zero", sizes[i]);
        memset(memory, 0xff, sizes[i]);
        attend_cache_release(memory, sizes[i]);
    }
}

/* To the last page, and no other mapping: what alignment took is gone before. */
Test(cache, release_unmaps_what_was_mapped, .timeout = 60)
{
    const size_t bytes = 3 * MIB + 1, last = 3 * MIB;
    attend_cache_options options = ATTEND_CACHE_OPTIONS_INIT;
    for (options.small_pages = 0; options.small_pages < 2; options.small_pages++) {
        char *memory = need_cache(&options, bytes);
        cr_expect(is_mapped(memory) && is_mapped(memory + last));
        attend_cache_release(memory, bytes);
        cr_expect(!is_mapped(memory) && !is_mapped(memory + last));
    }
    attend_cache_release(NULL, 0);
    attend_cache_release(NULL, 100);
}

static size_t address_space_pages(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    cr_assert(file && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    return pages;
}

Test(cache, nothing_is_left_behind, .timeout = 60)
{
    attend_cache_release(need_cache(NULL, MIB), MIB);
    const size_t before = address_space_pages();
    for (size_t i = 1; i <= 200; i++) {
        char *memory = need_cache(NULL, i * 10007);
        memory[i * 10007 - 1] = 1;
        attend_cache_release(memory, i * 10007);
    }
    cr_expect(address_space_pages() == before, "%zu pages before, %zu after", before, address_space_pages());
}

Test(cache, no_bytes)
{
    attend_cache_info info = ATTEND_CACHE_INFO_INIT;
    attend_cache_options options = ATTEND_CACHE_OPTIONS_INIT;
    void *memory = &info;
    options.info = &info;
    expect_ok(attend_cache_allocate(&options, 0, &memory));
    cr_expect_null(memory);
    cr_expect(info.page_bytes == 0 && info.node == -1);
    attend_cache_release(memory, 0);
}

Test(cache, too_much_is_refused)
{
    const size_t sizes[] = { SIZE_MAX, SIZE_MAX - base_page_bytes(), SIZE_MAX - 4 * MIB, SIZE_MAX / 2 + 1, (size_t)PTRDIFF_MAX };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *memory = &memory;
        cr_expect(attend_cache_allocate(NULL, sizes[i], &memory) == ATTEND_ERR_MEMORY, "%zu bytes", sizes[i]);
        cr_expect_null(memory);
        char number[32];
        snprintf(number, sizeof number, "%zu", sizes[i]);
        cr_expect(strstr(attend_last_error(), number) != NULL, "%s", attend_last_error());
    }
}

Test(cache, page_sizes, .timeout = 60)
{
    attend_cache_info info = ATTEND_CACHE_INFO_INIT;
    attend_cache_options options = ATTEND_CACHE_OPTIONS_INIT;
    options.info = &info;
    const size_t bytes = 2 * huge_page_bytes();
    attend_cache_release(need_cache(&options, bytes), bytes);
    cr_expect(info.page_bytes == 0 || info.page_bytes == base_page_bytes() || info.page_bytes == huge_page_bytes(), "pages of %zu bytes",
              info.page_bytes);
    cr_expect(info.node == -1);
    attend_cache_release(need_cache(&options, 100), 100);
    cr_expect(info.page_bytes == 0 || info.page_bytes == base_page_bytes(), "pages of %zu bytes", info.page_bytes);
    options.small_pages = 1;
    attend_cache_release(need_cache(&options, bytes), bytes);
    cr_expect(info.page_bytes == base_page_bytes(), "pages of %zu bytes", info.page_bytes);
}

/* Of what /proc/self/smaps says about the mapping at an address; -1: nothing. */
static long huge_kilobytes(const void *memory)
{
    char line[512], start[32];
    long kilobytes = -1;
    bool inside = false;
    FILE *file = fopen("/proc/self/smaps", "r");
    snprintf(start, sizeof start, "%lx-", (unsigned long)(uintptr_t)memory);
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, start, strlen(start)) == 0)
            inside = true;
        if (inside && sscanf(line, "AnonHugePages: %ld", &kilobytes) == 1)
            break;
    }
    if (file)
        fclose(file);
    return kilobytes;
}

/* A system may be out of huge pages, but has none where the answer was base pages. */
Test(cache, pages_are_as_told, .timeout = 60)
{
    attend_cache_info info = ATTEND_CACHE_INFO_INIT;
    attend_cache_options options = ATTEND_CACHE_OPTIONS_INIT;
    options.info = &info;
    const size_t bytes = 4 * huge_page_bytes();
    for (options.small_pages = 0; options.small_pages < 2; options.small_pages++) {
        void *memory = need_cache(&options, bytes);
        memset(memory, 1, bytes);
        const long kilobytes = huge_kilobytes(memory);
        if (info.page_bytes == base_page_bytes())
            cr_expect(kilobytes <= 0, "%ld KiB in huge pages", kilobytes);
        attend_cache_release(memory, bytes);
    }
}

/* ---- nodes ---- */

/* Is memory at the address taken from that node first? By the system's own word; true where it says nothing. */
static bool prefers_node(void *memory, int node)
{
#ifdef SYS_get_mempolicy
    enum { BY_ADDRESS = 2, BITS = 8 * sizeof(unsigned long), WORDS = 64 };
    unsigned long nodes[WORDS] = { 0 };
    int mode;
    if (syscall(SYS_get_mempolicy, &mode, nodes, (unsigned long)WORDS * BITS, memory, BY_ADDRESS) == 0)
        return nodes[(size_t)node / BITS] >> (size_t)node % BITS & 1;
#endif
    (void)memory, (void)node;
    return true;
}

/* The lowest node with memory; -1: the system names none. */
static int first_node(void)
{
    int node = -1;
    FILE *file = fopen("/sys/devices/system/node/has_memory", "r");
    if (file && fscanf(file, "%d", &node) != 1)
        node = -1;
    if (file)
        fclose(file);
    return node;
}

Test(cache, node, .timeout = 60)
{
    attend_cache_info info = ATTEND_CACHE_INFO_INIT;
    attend_cache_options options = ATTEND_CACHE_OPTIONS_INIT;
    void *memory;
    options.info = &info;
    options.node = first_node();
    if (options.node < 0)
        cr_skip_test("the system names no NUMA node");
    const attend_status status = attend_cache_allocate(&options, 5 * MIB, &memory);
    if (status == ATTEND_ERR_UNSUPPORTED || status == ATTEND_ERR_SYSTEM) {
        cr_expect(memory == NULL && strstr(attend_last_error(), "options.node is"));
        cr_skip_test("%s", attend_last_error());
    }
    expect_ok(status);
    cr_expect(info.node == options.node);
    cr_expect(prefers_node(memory, options.node), "memory is not of node %d", options.node);
    cr_expect(count_touched(memory, 5 * MIB) == 0, "binding touched pages");
    cr_expect(is_zero(memory, 5 * MIB));
    attend_cache_release(memory, 5 * MIB);
}

Test(cache, node_that_there_is_not, .timeout = 60)
{
    const int32_t nodes[] = { 4000, INT32_MAX };
    attend_cache_options options = ATTEND_CACHE_OPTIONS_INIT;
    attend_cache_release(need_cache(NULL, MIB), MIB);
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        void *memory = &options;
        options.node = nodes[i];
        attend_status status = attend_cache_allocate(&options, MIB, &memory);
        cr_expect(status == ATTEND_ERR_ARGUMENT || status == ATTEND_ERR_UNSUPPORTED, "node %d: %s", nodes[i], attend_status_name(status));
        cr_expect(strstr(attend_last_error(), "options.node is") != NULL, "%s", attend_last_error());
        cr_expect_null(memory);
    }
}

/* ---- refusals ---- */

static void expect_refused(const attend_cache_options *options, const char *says)
{
    void *memory = &memory;
    cr_expect(attend_cache_allocate(options, MIB, &memory) == ATTEND_ERR_ARGUMENT, "%s: not refused", says);
    cr_expect(strstr(attend_last_error(), says) != NULL, "'%s' does not say '%s'", attend_last_error(), says);
    cr_expect_null(memory);
}

Test(cache, refusals)
{
    attend_cache_info info = { .struct_size = 8 };
    attend_cache_options options = ATTEND_CACHE_OPTIONS_INIT;
    options.node = -2;
    expect_refused(&options, "options.node is -2");
    options = (attend_cache_options)ATTEND_CACHE_OPTIONS_INIT;
    options.small_pages = 2;
    expect_refused(&options, "options.small_pages is 2");
    options = (attend_cache_options)ATTEND_CACHE_OPTIONS_INIT;
    options.struct_size = 4;
    expect_refused(&options, "options.struct_size is 4");
    options = (attend_cache_options)ATTEND_CACHE_OPTIONS_INIT;
    options.info = &info;
    expect_refused(&options, "options.info.struct_size is 8");
    cr_expect(attend_cache_allocate(NULL, 1, NULL) == ATTEND_ERR_ARGUMENT && strstr(attend_last_error(), "memory is NULL"));
}

/* The answer reaches as far as the caller's struct. */
Test(cache, newer_info)
{
    struct {
        attend_cache_info info;
        char tail[32];
    } newer;
    attend_cache_options options = ATTEND_CACHE_OPTIONS_INIT;
    memset(&newer, 0x5a, sizeof newer);
    newer.info.struct_size = sizeof newer.info + 16;
    options.info = &newer.info;
    attend_cache_release(need_cache(&options, 1), 1);
    cr_expect(newer.info.node == -1 && newer.info.struct_size == sizeof newer.info + 16);
    for (size_t i = 0; i < sizeof newer.tail; i++)
        cr_expect(newer.tail[i] == (i < 16 ? 0 : 0x5a), "byte %zu after the known struct is %d", i, newer.tail[i]);
}
