/* The scratch of a team's members: grown between jobs, aligned, given back, and refused without harm. */
#include "tests/part_team.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

TestSuite(team, .timeout = 60);

Test(team, scratch_grows_and_is_aligned)
{
    static const size_t sizes[] = { 1, 100, 50, 4097, 300000, 300001 };
    struct tally *tally = make_tally();
    struct attend__team *team = start_plain_team(3);
    cr_expect_eq(attend__team_scratch_bytes(team), 0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t before = attend__team_scratch_bytes(team);
        cr_assert_eq(attend__team_reserve(team, sizes[i]), ATTEND_OK);
        tally->scratch_bytes = attend__team_scratch_bytes(team);
        cr_expect_eq(tally->scratch_bytes, sizes[i] > before ? sizes[i] : before);
        cr_expect_eq(count_faults(team, tally, 64), 0, "%zu bytes", sizes[i]);
    }
    attend__team_stop(team);
    free(tally);
}

Test(team, memory_is_given_back_and_never_touched_by_members)
{
    struct counts counts;
    struct attend__team_options options = want_counted_team(3, &counts);
    struct tally *tally = make_tally();
    struct attend__team *team = start_team(&options);
    for (int i = 1; i < 20; i++) {
        cr_assert_eq(attend__team_reserve(team, (size_t)i * 100), ATTEND_OK);
        tally->scratch_bytes = (size_t)i * 100;
        if (i % 3) /* else the blocks are replaced before a member has seen them */
            cr_expect_eq(count_faults(team, tally, 16), 0);
        cr_expect_leq(atomic_load(&counts.blocks), 1 + 3 * 3, "former blocks pile up");
    }
    int before = atomic_load(&counts.blocks);
    cr_expect_eq(count_faults(team, tally, 16), 0);
    cr_expect_eq(atomic_load(&counts.blocks), before, "a run allocates");
    attend__team_stop(team);
    cr_expect_eq(atomic_load(&counts.bytes), 0);
    cr_expect_eq(atomic_load(&counts.blocks), 0);
    cr_expect_eq(atomic_load(&counts.strange), 0, "a member used the allocator");
    free(tally);
}

Test(team, refused_memory_leaves_everything_as_it_was)
{
    struct counts counts;
    struct attend__team_options options = want_counted_team(3, &counts);
    struct tally *tally = make_tally();
    struct attend__team *team = start_team(&options);
    cr_assert_eq(attend__team_reserve(team, 100), ATTEND_OK);
    tally->scratch_bytes = 100;
    for (int left = 0; left < 3; left++) {
        int before = atomic_load(&counts.blocks);
        atomic_store(&counts.left, left);
        cr_expect_eq(attend__team_reserve(team, 1000), ATTEND_ERR_MEMORY);
        atomic_store(&counts.left, -1);
        cr_expect_eq(atomic_load(&counts.blocks), before);
        cr_expect_eq(attend__team_scratch_bytes(team), 100);
        cr_expect_eq(count_faults(team, tally, 16), 0);
    }
    attend__team_stop(team);
    for (int left = 0; left < 2; left++) {
        atomic_store(&counts.left, left);
        cr_expect_eq(attend__team_start(&team, &options), ATTEND_ERR_MEMORY);
        cr_expect_null(team);
    }
    cr_expect_eq(atomic_load(&counts.bytes), 0);
    free(tally);
}

Test(team, scratch_grows_while_jobs_run)
{
    struct attend__team *team = start_plain_team(3);
    run_callers(team, 6, 60, 64);
    attend__team_stop(team);
}
