/* Which CPUs a team uses, on machines that are only data. */
#include "engine/threads/placement.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CPUS_MOST = 64 };

struct setup {
    struct attend__cpu cpus[CPUS_MOST];
    struct attend__machine machine;
    bool in_mask[CPUS_MOST];
    struct attend__placement_request request;
};

struct counts {
    size_t bytes; /* held */
    bool refuse;
};

static void *count_allocate(void *user, size_t bytes, size_t alignment)
{
    struct counts *counts = user;
    void *memory = NULL;
    if (counts->refuse || posix_memalign(&memory, alignment, bytes))
        return NULL;
    counts->bytes += bytes;
    return memory;
}

static void count_release(void *user, void *memory, size_t bytes)
{
    ((struct counts *)user)->bytes -= bytes;
    free(memory);
}

/* CPUs are numbered as Linux does: first every core's first one, then every core's second. `step` leaves gaps. */
static void make_machine(struct setup *setup, int packages, int nodes, int l3s, int cores, int siblings, int step)
{
    int all = packages * nodes * l3s * cores;
    memset(setup, 0, sizeof *setup);
    cr_assert_leq(all * siblings, CPUS_MOST);
    for (int i = 0; i < all * siblings; i++) {
        int core = i % all;
        setup->cpus[i] = (struct attend__cpu){ .os = i * step, .core = core, .l3 = core / cores,
                                               .node = core / (cores * l3s), .package = core / (cores * l3s * nodes),
                                               .allowed = true };
        setup->in_mask[i] = true;
    }
    setup->machine = (struct attend__machine){ .cpus = setup->cpus, .cpu_count = all * siblings };
    setup->request = (struct attend__placement_request){ .machine = &setup->machine, .in_mask = setup->in_mask };
}

/* Decides and checks what must hold for every decision; freed by expect_placement. */
static struct attend__placement decide(const struct setup *setup, struct counts *counts)
{
    struct attend__allocator allocator = { count_allocate, count_release, counts };
    struct attend__placement placement;
    attend_status status = attend__placement_make(&placement, &setup->request, &allocator);
    cr_assert(status == ATTEND_OK, "%s", attend_last_error());
    int members = 0;
    for (int i = 0; i < setup->machine.cpu_count; i++)
        members += placement.use[i] == ATTEND_CPU_MEMBER;
    cr_assert_eq(members, placement.bind ? placement.threads : 0);
    cr_assert_eq(placement.bind, placement.cpus != NULL);
    return placement;
}

/* cpus: "0 1 2" in the order of the members, or "" for an unbound team; use: one letter for each CPU of the machine. */
static void expect_placement(const struct setup *setup, int threads, const char *cpus, const char *use)
{
    struct counts counts = { 0, false };
    struct attend__placement placement = decide(setup, &counts);
    char list[4 * CPUS_MOST] = "", letters[CPUS_MOST + 1] = "";
    for (int i = 0; placement.bind && i < placement.threads; i++)
        sprintf(list + strlen(list), i ? " %d" : "%d", placement.cpus[i]);
    for (int i = 0; i < setup->machine.cpu_count; i++)
        letters[i] = "MESADUQ"[placement.use[i]];
    cr_expect_eq(placement.threads, threads, "%d threads, not %d", placement.threads, threads);
    cr_expect_str_eq(list, cpus);
    cr_expect_str_eq(letters, use);
    struct attend__allocator allocator = { count_allocate, count_release, &counts };
    attend__placement_free(&placement, &allocator);
    cr_expect_eq(counts.bytes, 0, "%zu bytes are not given back", counts.bytes);
}

static void expect_warning(const struct setup *setup, const char *part)
{
    struct counts counts = { 0, false };
    struct attend__placement placement = decide(setup, &counts);
    cr_expect(part ? strstr(placement.warning, part) != NULL : !*placement.warning, "warning: %s", placement.warning);
    free(placement.memory);
}

static void expect_refusal(const struct setup *setup, const char *message)
{
    struct counts counts = { 0, false };
    struct attend__allocator allocator = { count_allocate, count_release, &counts };
    struct attend__placement placement;
    cr_expect_eq(attend__placement_make(&placement, &setup->request, &allocator), ATTEND_ERR_ARGUMENT);
    cr_expect_str_eq(attend_last_error(), message);
    cr_expect_eq(counts.bytes, 0);
}

Test(placement, default_is_one_cpu_of_each_core)
{
    struct setup setup;
    make_machine(&setup, 2, 1, 1, 4, 2, 1);
    expect_placement(&setup, 8, "0 1 2 3 4 5 6 7", "MMMMMMMMSSSSSSSS");
    expect_warning(&setup, NULL);
}

Test(placement, numbers_may_have_gaps)
{
    struct setup setup;
    make_machine(&setup, 1, 1, 1, 3, 2, 5);
    expect_placement(&setup, 3, "0 5 10", "MMMSSS");
}

Test(placement, quota_caps_the_default_only)
{
    struct setup setup;
    make_machine(&setup, 1, 1, 1, 4, 2, 1);
    setup.request.quota = 2.7;
    expect_placement(&setup, 2, "", "EEQQSSSS");
    setup.request.quota = 0.3;
    expect_placement(&setup, 1, "", "EQQQSSSS");
    setup.request.quota = 4;
    expect_placement(&setup, 4, "0 1 2 3", "MMMMSSSS");
    setup.request.quota = 1e300;
    expect_placement(&setup, 4, "0 1 2 3", "MMMMSSSS");
    setup.request.quota = 2;
    setup.request.threads = 3;
    expect_placement(&setup, 3, "", "EEEESSSS");
    setup.request.bind = ATTEND_BIND_CORES;
    setup.request.threads = 0;
    expect_placement(&setup, 2, "0 1", "MMQQSSQQ");
}

Test(placement, auto_binds_a_team_of_every_core_only)
{
    struct setup setup;
    make_machine(&setup, 1, 1, 1, 4, 1, 1);
    setup.request.threads = 3;
    expect_placement(&setup, 3, "", "EEEE");
    setup.request.threads = 4;
    expect_placement(&setup, 4, "0 1 2 3", "MMMM");
    setup.request.bind = ATTEND_BIND_OFF;
    expect_placement(&setup, 4, "", "EEEE");
    setup.request.threads = 3;
    setup.request.bind = ATTEND_BIND_CORES;
    expect_placement(&setup, 3, "0 1 2", "MMME");
}

Test(placement, auto_binds_in_a_restricted_mask)
{
    struct setup setup;
    make_machine(&setup, 1, 1, 1, 4, 2, 1);
    setup.request.threads = 2;
    setup.in_mask[0] = setup.in_mask[4] = false;
    expect_placement(&setup, 2, "1 2", "AMMEASSE");
    setup.request.threads = 0;
    setup.in_mask[1] = false; /* its sibling 5 stands for the core */
    expect_placement(&setup, 3, "2 3 5", "AAMMAMSS");
    memset(setup.in_mask, 1, sizeof setup.in_mask);
    for (int i = 0; i < 8; i++)
        setup.cpus[i].allowed = i % 4 < 2;
    expect_placement(&setup, 2, "0 1", "MMDDSSDD");
    setup.request.threads = 1;
    expect_placement(&setup, 1, "0", "MEDDSEDD");
}

Test(placement, more_threads_than_cores_use_siblings_last)
{
    struct setup setup;
    make_machine(&setup, 1, 1, 1, 4, 2, 1);
    setup.request.threads = 6;
    setup.request.bind = ATTEND_BIND_CORES;
    expect_placement(&setup, 6, "0 1 2 3 4 5", "MMMMMMSS");
    expect_warning(&setup, NULL);
    setup.request.threads = 8;
    expect_placement(&setup, 8, "0 1 2 3 4 5 6 7", "MMMMMMMM");
}

Test(placement, more_threads_than_cpus_run_unbound)
{
    struct setup setup;
    make_machine(&setup, 1, 1, 1, 2, 2, 1);
    setup.request.threads = 5;
    setup.request.bind = ATTEND_BIND_CORES;
    expect_placement(&setup, 5, "", "EEEE");
    expect_warning(&setup, "options.threads is 5, more than the usable CPUs (4)");
}

Test(placement, compact_fills_and_spread_deals)
{
    struct setup setup;
    make_machine(&setup, 1, 2, 2, 2, 2, 1);
    setup.request.bind = ATTEND_BIND_CORES;
    setup.request.threads = 4;
    expect_placement(&setup, 4, "0 1 2 3", "MMMMEEEESSSSEEEE");
    setup.request.placement = ATTEND_PLACEMENT_SPREAD;
    expect_placement(&setup, 4, "0 4 2 6", "MEMEMEMESESESESE");
    setup.request.threads = 10;
    expect_placement(&setup, 10, "0 4 2 6 1 5 3 7 8 12", "MMMMMMMMMSSSMSSS");
}

Test(placement, spread_takes_packages_before_nodes_before_caches)
{
    struct setup setup;
    make_machine(&setup, 2, 2, 2, 2, 1, 1);
    setup.request.placement = ATTEND_PLACEMENT_SPREAD;
    expect_placement(&setup, 16, "0 8 4 12 2 10 6 14 1 9 5 13 3 11 7 15", "MMMMMMMMMMMMMMMM");
}

Test(placement, compact_follows_nodes_not_numbers)
{
    struct setup setup;
    make_machine(&setup, 1, 2, 1, 2, 1, 1);
    for (int i = 0; i < 4; i++) /* even numbers on node 0, odd ones on node 1 */
        setup.cpus[i].node = setup.cpus[i].l3 = i % 2;
    expect_placement(&setup, 4, "0 2 1 3", "MMMM");
    setup.request.placement = ATTEND_PLACEMENT_SPREAD;
    expect_placement(&setup, 4, "0 1 2 3", "MMMM");
}

Test(placement, a_list_is_used_as_it_stands)
{
    static const int32_t list[] = { 6, 2, 1 };
    struct setup setup;
    make_machine(&setup, 1, 1, 1, 4, 2, 1); /* 2 and 6 are siblings */
    setup.request.cpus = list;
    setup.request.cpu_count = 3;
    expect_placement(&setup, 3, "6 2 1", "UMMUUUMU");
    setup.request.threads = 2;
    expect_placement(&setup, 2, "6 2", "UEMUUUMU");
    setup.request.threads = 4;
    expect_placement(&setup, 4, "", "UEEUUUEU");
    expect_warning(&setup, "options.threads is 4, more than the usable CPUs (3)");
    setup.request.threads = 0;
    setup.request.quota = 1;
    expect_placement(&setup, 1, "6", "UQQUUUMU");
    setup.request.bind = ATTEND_BIND_OFF;
    setup.request.quota = 0;
    setup.in_mask[0] = setup.cpus[3].allowed = false;
    expect_placement(&setup, 3, "", "AEEDUUEU");
}

Test(placement, lists_that_cannot_be_are_refused)
{
    static const int32_t unknown[] = { 0, 7 }, twice[] = { 2, 4, 2 }, negative[] = { -1 };
    struct setup setup;
    make_machine(&setup, 1, 1, 1, 4, 1, 2);
    setup.request.cpus = unknown;
    setup.request.cpu_count = 2;
    expect_refusal(&setup, "options.cpus[1] is 7; the machine has no such CPU");
    setup.request.cpus = negative;
    setup.request.cpu_count = 1;
    expect_refusal(&setup, "options.cpus[0] is -1; the machine has no such CPU");
    setup.request.cpus = twice;
    setup.request.cpu_count = 3;
    expect_refusal(&setup, "options.cpus[2] is 2, and so is options.cpus[0]; a CPU may be listed once");
    setup.request.cpu_count = 2;
    setup.in_mask[2] = false;
    expect_refusal(&setup, "options.cpus[1] is 4; it must be in the affinity mask of the calling thread");
    setup.cpus[2].allowed = false;
    expect_refusal(&setup, "options.cpus[1] is 4; the operating system does not allow this process that CPU");
    setup.request.cpu_count = 0;
    expect_refusal(&setup, "options.cpu_count is 0; a list of CPUs must name at least one");
    setup.request.cpus = NULL;
    setup.request.cpu_count = 2;
    expect_refusal(&setup, "options.cpus is NULL; options.cpu_count is 2 and must be 0 then");
}

Test(placement, hybrid_default_is_the_fastest_kind)
{
    struct setup setup;
    make_machine(&setup, 1, 1, 1, 4, 2, 1);
    for (int i = 0; i < 8; i++) /* cores 2 and 3 are fast and have two CPUs, cores 0 and 1 are slow and have one */
        setup.cpus[i].kind = i % 4 >= 2;
    setup.in_mask[4] = setup.in_mask[5] = false;
    expect_placement(&setup, 2, "2 3", "EEMMAASS");
    setup.request.threads = 3;
    expect_placement(&setup, 3, "2 3 0", "MEMMAASS");
    setup.request.threads = 5;
    expect_placement(&setup, 5, "2 3 0 1 6", "MMMMAAMS");
    setup.request.placement = ATTEND_PLACEMENT_SPREAD;
    expect_placement(&setup, 5, "2 3 0 1 6", "MMMMAAMS");
}

Test(placement, works_where_nothing_is_known)
{
    struct setup setup;
    make_machine(&setup, 1, 1, 1, 3, 1, 1);
    for (int i = 0; i < 3; i++)
        setup.cpus[i].package = setup.cpus[i].node = setup.cpus[i].l3 = -1;
    expect_placement(&setup, 3, "0 1 2", "MMM");
    setup.request.placement = ATTEND_PLACEMENT_SPREAD;
    expect_placement(&setup, 3, "0 1 2", "MMM");
}

Test(placement, works_without_a_usable_cpu)
{
    struct setup setup;
    make_machine(&setup, 1, 1, 1, 2, 1, 1);
    setup.in_mask[0] = setup.cpus[1].allowed = false;
    expect_placement(&setup, 1, "", "AD");
    expect_warning(&setup, "no CPU that the topology allows");
}

Test(placement, reports_missing_memory)
{
    struct setup setup;
    struct counts counts = { 0, true };
    struct attend__allocator allocator = { count_allocate, count_release, &counts };
    struct attend__placement placement;
    make_machine(&setup, 1, 1, 1, 2, 1, 1);
    cr_expect_eq(attend__placement_make(&placement, &setup.request, &allocator), ATTEND_ERR_MEMORY);
    attend__placement_free(&placement, &allocator);
}
