/* The machine: as found here, and as described in hwloc's own words. */
#include "engine/threads/affinity.h"
#include "engine/threads/topology.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct attend__machine parse(const char *description)
{
    struct attend__machine machine;
    attend_status status = attend__topology_parse(&machine, description);
    if (status == ATTEND_ERR_UNSUPPORTED)
        cr_skip_test("built without hwloc");
    cr_assert(status == ATTEND_OK, "%s", attend_last_error());
    return machine;
}

/* What holds for every machine: CPUs in the order of their numbers, logical numbers dense. */
static void check_machine(const struct attend__machine *machine)
{
    cr_assert_geq(machine->cpu_count, 1);
    for (int i = 0; i < machine->cpu_count; i++) {
        const struct attend__cpu *cpu = &machine->cpus[i];
        cr_expect(i == 0 || cpu->os > machine->cpus[i - 1].os, "CPU %d is at place %d", cpu->os, i);
        cr_expect(cpu->core >= 0 && (!machine->cores || cpu->core < machine->cores), "core %d", cpu->core);
        cr_expect(cpu->package >= -1 && cpu->package < machine->packages, "package %d", cpu->package);
        cr_expect(cpu->node >= -1 && cpu->node < machine->nodes, "node %d", cpu->node);
    }
}

Test(topology, packages_cores_siblings)
{
    struct attend__machine machine = parse("pack:2 core:4 pu:2");
    check_machine(&machine);
    cr_expect_eq(machine.cpu_count, 16);
    cr_expect_eq(machine.packages, 2);
    cr_expect_eq(machine.cores, 8);
    cr_expect_eq(machine.nodes, 1);
    for (int i = 0; i < 16; i++) {
        const struct attend__cpu *cpu = &machine.cpus[i];
        cr_expect(cpu->os == i && cpu->core == i / 2 && cpu->package == i / 8 && cpu->node == 0, "CPU %d", i);
        cr_expect(cpu->l3 == -1 && cpu->kind == 0 && cpu->allowed, "CPU %d", i);
    }
    cr_expect(!machine.l1d_bytes && !machine.l2_bytes && !machine.l3_bytes);
    attend__topology_free(&machine);
    cr_expect_null(machine.cpus);
}

Test(topology, cpus_alone)
{
    struct attend__machine machine = parse("pu:4");
    check_machine(&machine);
    cr_expect_eq(machine.cpu_count, 4);
    cr_expect(machine.packages == 0 && machine.cores == 0, "unknown is 0");
    for (int i = 0; i < 4; i++)
        cr_expect(machine.cpus[i].core == i && machine.cpus[i].package == -1, "CPU %d is a core of its own", i);
    attend__topology_free(&machine);
}

Test(topology, nodes_and_caches)
{
    struct attend__machine machine =
        parse("pack:1 node:2 l3:2(size=33554432) l2:2(size=1048576) l1:1(size=49152) core:1 pu:2");
    check_machine(&machine);
    cr_expect_eq(machine.nodes, 2);
    cr_expect_eq(machine.cores, 8);
    for (int i = 0; i < 16; i++)
        cr_expect(machine.cpus[i].node == i / 8 && machine.cpus[i].l3 == i / 4, "CPU %d", i);
    cr_expect_eq(machine.l1d_bytes, 49152);
    cr_expect_eq(machine.l2_bytes, 1048576);
    cr_expect_eq(machine.l3_bytes, 33554432);
    attend__topology_free(&machine);
}

Test(topology, shared_caches_are_divided)
{
    struct attend__machine machine = parse("l3:1(size=8388608) l2:2(size=4194304) core:4 pu:1");
    cr_expect_eq(machine.l2_bytes, 1048576);
    cr_expect_eq(machine.l3_bytes, 8388608, "the L3 is told as a whole");
    attend__topology_free(&machine);
    machine = parse("l2:1(size=4194304) pu:4");
    cr_expect_eq(machine.l2_bytes, 1048576, "without cores every CPU has its share");
    attend__topology_free(&machine);
}

static void expect_l3(const char *description, int64_t bytes)
{
    struct attend__machine machine = parse(description);
    cr_expect_eq(machine.l3_bytes, bytes, "%s: %lld", description, (long long)machine.l3_bytes);
    cr_expect_eq(machine.cpus[0].l3, 0, "CPUs still share it");
    attend__topology_free(&machine);
}

Test(topology, sizes_that_cannot_be_count_as_unknown)
{
    expect_l3("l3:1(size=532676608) core:2 pu:1", 0);          /* 508 MiB under two cores of a virtual machine */
    expect_l3("l3:1(size=528482304) core:128 pu:2", 528482304); /* 504 MiB under 128 cores exist */
    expect_l3("l3:1(size=100663296) core:2 pu:2", 100663296);   /* 96 MiB under two cores exist */
    expect_l3("l3:1(size=4096) core:2 pu:1", 0);
    struct attend__machine machine = parse("l2:1(size=1073741824) l1:1(size=268435456) core:1 pu:1");
    cr_expect(machine.l1d_bytes == 0 && machine.l2_bytes == 0);
    attend__topology_free(&machine);
}

Test(topology, numbers_with_gaps)
{
    struct attend__machine machine = parse("core:3 pu:2(indexes=4,10,0,16,2,40)");
    check_machine(&machine);
    static const int os[] = { 0, 2, 4, 10, 16, 40 }, core[] = { 0, 1, 2, 2, 0, 1 };
    cr_assert_eq(machine.cpu_count, 6);
    for (int i = 0; i < 6; i++)
        cr_expect(machine.cpus[i].os == os[i] && machine.cpus[i].core == core[i], "place %d: CPU %d of core %d", i,
                  machine.cpus[i].os, machine.cpus[i].core);
    attend__topology_free(&machine);
}

/* Four CPUs on four cores, of which cpuset keeps CPU 3 from the process; kinds as given. */
static struct attend__machine parse_xml(const char *kinds)
{
    static const char machine[] =
        "<?xml version='1.0' encoding='UTF-8'?>\n<!DOCTYPE topology SYSTEM 'hwloc2.dtd'>\n<topology version='2.0'>\n"
        "<object type='Machine' os_index='0' cpuset='0xf' complete_cpuset='0xf' allowed_cpuset='0x7' nodeset='0x1' "
        "complete_nodeset='0x1' allowed_nodeset='0x1' gp_index='1'>\n"
        "<object type='NUMANode' os_index='0' cpuset='0xf' complete_cpuset='0xf' nodeset='0x1' "
        "complete_nodeset='0x1' gp_index='2' local_memory='1073741824'/>\n";
    static const char core[] =
        "<object type='Core' os_index='%d' cpuset='0x%x' complete_cpuset='0x%x' nodeset='0x1' "
        "complete_nodeset='0x1' gp_index='%d'><object type='PU' os_index='%d' cpuset='0x%x' "
        "complete_cpuset='0x%x' nodeset='0x1' complete_nodeset='0x1' gp_index='%d'/></object>\n";
    char text[8192];
    int length = snprintf(text, sizeof text, "%s", machine);
    for (int i = 0; i < 4; i++)
        length += snprintf(text + length, sizeof text - (size_t)length, core, i, 1 << i, 1 << i, 10 + i, i, 1 << i,
                           1 << i, 20 + i);
    snprintf(text + length, sizeof text - (size_t)length, "</object>\n%s</topology>\n", kinds);
    for (char *quote = text; (quote = strchr(quote, '\'')); quote++)
        *quote = '"'; /* hwloc's own reader knows no other */
    return parse(text);
}

Test(topology, disallowed_cpus_are_present)
{
    struct attend__machine machine = parse_xml("");
    check_machine(&machine);
    cr_assert_eq(machine.cpu_count, 4);
    for (int i = 0; i < 4; i++)
        cr_expect_eq(machine.cpus[i].allowed, i < 3, "CPU %d", i);
    attend__topology_free(&machine);
}

static void expect_kinds(const char *kinds, const char *digits)
{
    struct attend__machine machine = parse_xml(kinds);
    cr_assert_eq(machine.cpu_count, 4);
    for (int i = 0; i < 4; i++)
        cr_expect_eq(machine.cpus[i].kind, digits[i] - '0', "CPU %d is of kind %d", i, machine.cpus[i].kind);
    attend__topology_free(&machine);
}

Test(topology, kinds_count_where_they_are_ranked)
{
    expect_kinds("", "0000");
    expect_kinds("<cpukind cpuset='0xf' forced_efficiency='3'/>\n", "0000");
    expect_kinds("<cpukind cpuset='0x9' forced_efficiency='0'/>\n<cpukind cpuset='0x6' forced_efficiency='7'/>\n",
                 "0110");
    expect_kinds("<cpukind cpuset='0x9'/>\n<cpukind cpuset='0x6'/>\n", "0000");
}

Test(topology, refuses_what_hwloc_does_not_take)
{
    struct attend__machine machine = parse("pu:1"); /* or skips */
    attend__topology_free(&machine);
    cr_expect_eq(attend__topology_parse(&machine, "nonsense:x"), ATTEND_ERR_ARGUMENT);
    cr_expect_str_eq(attend_last_error(), "the topology is \"nonsense:x\"; hwloc does not take it");
    cr_expect_eq(attend__topology_parse(&machine, "<topology"), ATTEND_ERR_ARGUMENT);
    cr_expect_null(machine.cpus);
}

/* Looks at the mask of the test's first thread all the time. */
struct watch {
    pid_t thread;
    cpu_set_t mask;
    atomic_bool started, stop;
    int changes;
};

static void *watch_mask(void *argument)
{
    struct watch *watch = argument;
    while (!atomic_load(&watch->stop)) {
        cpu_set_t mask;
        watch->changes += sched_getaffinity(watch->thread, sizeof mask, &mask) || !CPU_EQUAL(&mask, &watch->mask);
        atomic_store(&watch->started, true);
    }
    return NULL;
}

Test(topology, loading_never_changes_the_mask_of_the_caller)
{
    pthread_t watcher;
    const char *note;
    struct watch watch = { .thread = getpid() };
    cr_assert_eq(sched_getaffinity(0, sizeof watch.mask, &watch.mask), 0);
    cr_assert_eq(pthread_create(&watcher, NULL, watch_mask, &watch), 0);
    while (!atomic_load(&watch.started))
        sched_yield();
    attend__topology(&note);
    atomic_store(&watch.stop, true);
    pthread_join(watcher, NULL);
    cr_expect_eq(watch.changes, 0);
}

Test(topology, this_machine)
{
    cpu_set_t before;
    cr_assert_eq(sched_getaffinity(0, sizeof before, &before), 0);
    const char *note = "unset";
    const struct attend__machine *machine = attend__topology(&note);
    cr_expect(!note || strcmp(note, "unset") != 0, "the note is left as it was");
    check_machine(machine);
    cr_expect_eq(attend__topology(&note), machine, "it is loaded once");
    bool *in_mask = calloc((size_t)machine->cpu_count, sizeof *in_mask);
    attend__affinity_read(machine, in_mask);
    int found = 0;
    for (int i = 0; i < machine->cpu_count; i++) {
        found += in_mask[i];
        cr_expect_eq(in_mask[i], machine->cpus[i].os < CPU_SETSIZE && CPU_ISSET(machine->cpus[i].os, &before));
    }
    cr_expect_eq(found, CPU_COUNT(&before), "the machine lacks CPUs of the mask");
    free(in_mask);
}

Test(topology, simulated_machine_of_the_environment)
{
    struct attend__machine parsed = parse("pu:1"); /* or skips */
    attend__topology_free(&parsed);
    const char *note;
    setenv("HWLOC_SYNTHETIC", "pack:1 core:3 pu:2", 1);
    const struct attend__machine *machine = attend__topology(&note);
    cr_expect_null(note);
    cr_expect_eq(machine->cpu_count, 6);
}

Test(topology, failing_hwloc_leaves_the_mask)
{
    struct attend__machine parsed = parse("pu:1"); /* or skips */
    attend__topology_free(&parsed);
    const char *note = NULL;
    cpu_set_t mask;
    cr_redirect_stderr(); /* hwloc complains there */
    setenv("HWLOC_XMLFILE", "/nonexistent", 1);
    setenv("HWLOC_COMPONENTS", "xml,stop", 1);
    const struct attend__machine *machine = attend__topology(&note);
    sched_getaffinity(0, sizeof mask, &mask);
    cr_expect_not_null(note);
    cr_expect_eq(machine->cpu_count, CPU_COUNT(&mask));
}

Test(topology, machine_of_the_mask)
{
    cpu_set_t mask;
    sched_getaffinity(0, sizeof mask, &mask);
    const struct attend__machine *machine = attend__affinity_machine();
    check_machine(machine);
    cr_expect_eq(machine->cpu_count, CPU_COUNT(&mask));
    for (int i = 0; i < machine->cpu_count; i++)
        cr_expect(CPU_ISSET(machine->cpus[i].os, &mask) && machine->cpus[i].allowed && machine->cpus[i].core == i);
}

Test(topology, binding_is_read_back)
{
    cpu_set_t mask;
    int cpu = CPU_SETSIZE - 1; /* the last one: its number differs from its place */
    sched_getaffinity(0, sizeof mask, &mask);
    while (!CPU_ISSET(cpu, &mask))
        cpu--;
    cr_expect_eq(attend__affinity_bind(cpu), 0);
    sched_getaffinity(0, sizeof mask, &mask);
    cr_expect(CPU_COUNT(&mask) == 1 && CPU_ISSET(cpu, &mask));
    cr_expect_gt(attend__affinity_bind(50000), 0, "a CPU that does not exist");
    const struct attend__machine *machine = attend__affinity_machine();
    cr_expect(machine->cpu_count == 1 && machine->cpus[0].os == cpu);
}
