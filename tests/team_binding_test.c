/* Where a team's members sit: on their CPUs, read back, and what becomes of binds that fail. */
#include "tests/part_team.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(team, .timeout = 60);

static void check_place(void *argument, int64_t unit, int64_t next, int member, void *scratch)
{
    (void)unit, (void)next, (void)scratch;
    struct tally *tally = argument;
    cpu_set_t mask;
    int cpu = attend__team_cpu(tally->team, member);
    bool right = sched_getaffinity(0, sizeof mask, &mask) == 0 && CPU_COUNT(&mask) == 1 && CPU_ISSET(cpu, &mask);
    atomic_fetch_add(&tally->wrong, !right || sched_getcpu() != cpu);
    for (int64_t end = read_team_clock() + 1000000; read_team_clock() < end;)
        ;
    atomic_fetch_add(&tally->members[member], 1);
}

/* The first CPUs of the mask, repeated where it has fewer. */
static void list_cpus(int *cpus, int count)
{
    cpu_set_t mask;
    sched_getaffinity(0, sizeof mask, &mask);
    for (int i = 0, cpu = 0; i < count; cpu = (cpu + 1) % CPU_SETSIZE)
        if (CPU_ISSET(cpu, &mask))
            cpus[i++] = cpu;
}

Test(team, members_sit_on_their_cpus_and_the_caller_does_not)
{
    int cpus[4];
    cpu_set_t before, after;
    struct tally *tally = make_tally();
    struct attend__team_options options = want_team(4);
    list_cpus(cpus, 4);
    options.cpus = cpus;
    options.strict = true;
    sched_getaffinity(0, sizeof before, &before);
    struct attend__team *team = tally->team = start_team(&options);
    cr_expect_eq(attend__team_bound(team), 4);
    for (int i = 0; i < 4; i++)
        cr_expect_eq(attend__team_cpu(team, i), cpus[i]);
    cr_expect_eq(attend__team_cpu(team, 4), -1);
    memset(cpus, 0, sizeof cpus); /* the list is not kept */
    struct attend__job job = { .units = 100, .run = check_place, .argument = tally };
    attend__team_run(team, &job);
    cr_expect_eq(atomic_load(&tally->wrong), 0);
    attend__team_stop(team);
    sched_getaffinity(0, sizeof after, &after);
    cr_expect(CPU_EQUAL(&before, &after), "the caller's mask has changed");
    free(tally);
}

static void check_mask(void *argument, int64_t unit, int64_t next, int member, void *scratch)
{
    (void)unit, (void)next, (void)member, (void)scratch;
    cpu_set_t mask;
    struct tally *tally = argument;
    bool right = sched_getaffinity(0, sizeof mask, &mask) == 0 && CPU_EQUAL(&mask, &tally->mask);
    atomic_fetch_add(&tally->wrong, !right);
    for (int64_t end = read_team_clock() + 1000000; read_team_clock() < end;)
        ;
}

/* Some OpenMP runtimes keep threads from one team to the next: they must not keep the binding. */
Test(team, an_unbound_team_after_a_bound_one)
{
    int cpus[3];
    struct tally *tally = make_tally();
    struct attend__team_options options = want_team(3);
    list_cpus(cpus, 3);
    sched_getaffinity(0, sizeof tally->mask, &tally->mask);
    options.cpus = cpus;
    attend__team_stop(start_team(&options));
    struct attend__team *team = start_plain_team(3);
    cr_expect_eq(attend__team_bound(team), 0);
    cr_expect_eq(attend__team_cpu(team, 1), -1);
    struct attend__job job = { .units = 30, .run = check_mask, .argument = tally };
    attend__team_run(team, &job);
    cr_expect_eq(atomic_load(&tally->wrong), 0, "members are bound from before");
    attend__team_stop(team);
    free(tally);
}

struct log_lines {
    int count;
    char last[400];
};

static void keep_line(void *user, attend_log_level level, const char *message)
{
    struct log_lines *lines = user;
    lines->count += level == ATTEND_LOG_WARNING;
    snprintf(lines->last, sizeof lines->last, "%s", message);
}

Test(team, failed_binds_are_a_warning_or_an_error)
{
    int cpus[3];
    struct log_lines lines = { 0, "" };
    struct tally *tally = make_tally();
    struct attend__team_options options = want_team(3);
    int before = count_tasks();
    list_cpus(cpus, 3);
    cpus[1] = 50000;
    options.cpus = cpus;
    options.log = (struct attend__log){ keep_line, &lines };
    struct attend__team *team = start_team(&options);
    cr_expect_eq(attend__team_size(team), 3);
    cr_expect_eq(attend__team_bound(team), 2);
    cr_expect_eq(attend__team_cpu(team, 0), cpus[0]);
    cr_expect_eq(attend__team_cpu(team, 1), -1);
    cr_expect_eq(lines.count, 1);
    cr_expect_str_eq(lines.last, "1 of 3 members run unbound: member 1 was to be bound to CPU 50000: Invalid argument");
    cr_expect_eq(count_faults(team, tally, 50), 0);
    attend__team_stop(team);
    before = settle_tasks(before); /* more where OpenMP keeps threads for the next team */
    options.strict = true;
    cr_expect_eq(attend__team_start(&team, &options), ATTEND_ERR_SYSTEM);
    cr_expect_null(team);
    cr_expect_str_eq(attend_last_error(),
                     "options.strict_bind is 1, and member 1 of 3 could not be bound to CPU 50000: Invalid argument");
    cr_expect_eq(settle_tasks(before), before);
    free(tally);
}
