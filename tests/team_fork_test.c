/* Forked children of a process with a team: they abandon it, whatever it was doing, and can start their own. */
#include "tests/part_team.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

TestSuite(team, .timeout = 60);

static int abandon_and_start_again(void *argument)
{
    struct counts *counts = ((void **)argument)[1];
    attend__team_abandon(((void **)argument)[0]);
    if (atomic_load(&counts->bytes) != 0)
        return 1;
    struct tally *tally = make_tally();
    struct attend__team_options options = want_team(3);
    struct attend__team *team;
    if (attend__team_start(&team, &options) || attend__team_size(team) != 3)
        return 2;
    int faults = count_faults(team, tally, 100);
    attend__team_stop(team);
    return faults ? 3 : 0;
}

Test(team, a_forked_child_abandons_and_starts_its_own)
{
    struct counts counts;
    struct tally *tally = make_tally();
    struct attend__team_options options = want_counted_team(3, &counts);
    struct attend__team *team = start_team(&options);
    cr_assert_eq(attend__team_reserve(team, 1000), ATTEND_OK);
    tally->scratch_bytes = 1000;
    cr_expect_eq(count_faults(team, tally, 100), 0);
    cr_assert_eq(attend__team_reserve(team, 2000), ATTEND_OK);
    in_child(abandon_and_start_again, (void *[]){ team, &counts });
    cr_expect_eq(count_faults(team, tally, 100), 0, "the parent's team still works");
    attend__team_stop(team);
    cr_expect_eq(atomic_load(&counts.bytes), 0);
    free(tally);
}

static int abandon_alone(void *argument)
{
    attend__team_abandon(argument);
    return 0;
}

/* Whatever the members and other callers hold when the process forks, the child does not hang. */
Test(team, a_child_forked_amid_work_abandons)
{
    struct attend__team *team = start_plain_team(3);
    struct caller callers[3];
    for (int i = 0; i < 3; i++) {
        callers[i] = (struct caller){ .team = team, .jobs = 300, .number = i, .reserve_bytes = 8 };
        cr_assert_eq(pthread_create(&callers[i].thread, NULL, call_often, &callers[i]), 0);
    }
    for (int i = 0; i < 20; i++)
        in_child(abandon_alone, team);
    for (int i = 0; i < 3; i++) {
        pthread_join(callers[i].thread, NULL);
        cr_expect_eq(callers[i].faults, 0);
    }
    attend__team_stop(team);
}

struct gate {
    atomic_bool closed, waiting;
};

/* An allocator that holds whoever calls it while the gate is closed. */
static void *gate_allocate(void *user, size_t bytes, size_t alignment)
{
    struct gate *gate = user;
    void *memory = NULL;
    while (atomic_load(&gate->closed)) {
        atomic_store(&gate->waiting, true);
        sched_yield();
    }
    return posix_memalign(&memory, alignment, bytes) ? NULL : memory;
}

static void gate_release(void *user, void *memory, size_t bytes)
{
    (void)user, (void)bytes;
    free(memory);
}

static void *reserve_some(void *argument)
{
    cr_expect_eq(attend__team_reserve(argument, 100), ATTEND_OK);
    return NULL;
}

Test(team, a_child_forked_amid_reserve_abandons)
{
    pthread_t thread;
    struct gate gate = { false, false };
    struct attend__team_options options = want_team(2);
    options.allocator = (struct attend__allocator){ gate_allocate, gate_release, &gate };
    struct attend__team *team = start_team(&options);
    atomic_store(&gate.closed, true);
    cr_assert_eq(pthread_create(&thread, NULL, reserve_some, team), 0);
    while (!atomic_load(&gate.waiting))
        sched_yield();
    in_child(abandon_alone, team);
    atomic_store(&gate.closed, false);
    pthread_join(thread, NULL);
    attend__team_stop(team);
}
