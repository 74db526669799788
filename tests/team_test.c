/* The team: every unit runs exactly once whatever the size granted, for any number of callers; what its threads do and cost. */
#include "tests/part_team.h"

#include <criterion/criterion.h>
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

TestSuite(team, .timeout = 60);

/* ---- units ---- */

Test(team, runs_every_unit_once)
{
    static const int64_t units[] = { 1, 2, 3, 7, 64, 1000, UNITS_MOST };
    struct tally *tally = make_tally();
    for (int threads = 1; threads <= 8; threads++) {
        struct attend__team *team = start_plain_team(threads);
        cr_expect_eq(attend__team_size(team), threads);
        for (size_t i = 0; i < sizeof units / sizeof *units; i++)
            cr_expect_eq(count_faults(team, tally, units[i]), 0, "%d threads, job %zu", threads, i);
        attend__team_stop(team);
    }
    free(tally);
}

Test(team, a_job_without_units_is_done)
{
    struct tally *tally = make_tally();
    struct attend__team *team = start_plain_team(2);
    cr_expect_eq(count_faults(team, tally, 0), 0);
    attend__team_stop(team);
    free(tally);
}

Test(team, all_members_take_part)
{
    struct tally *tally = make_tally();
    struct attend__team *team = start_plain_team(4);
    tally->nanoseconds = 2000000; /* long enough for every member to wake up */
    for (int round = 0; round < 3; round++)
        cr_expect_eq(count_faults(team, tally, 40), 0);
    for (int member = 0; member < 4; member++)
        cr_expect_gt(atomic_load(&tally->members[member]), 0, "member %d never worked", member);
    attend__team_stop(team);
    free(tally);
}

Test(team, polling_members_and_callers)
{
    struct tally *tally = make_tally();
    struct attend__team_options options = want_team(3);
    options.spin_microseconds = 200;
    struct attend__team *team = start_team(&options);
    const struct timespec pause = { .tv_nsec = 300000 };
    for (int i = 0; i < 300; i++) {
        cr_assert_eq(count_faults(team, tally, i % 9), 0);
        if (i % 10 == 0) /* some jobs find members asleep, others find them polling */
            nanosleep(&pause, NULL);
    }
    attend__team_stop(team);
    free(tally);
}

/* Members that poll for half a second must notice a job at once, and the end of the team. */
Test(team, polling_members_see_what_comes)
{
    struct tally *tally = make_tally();
    struct attend__team_options options = want_team(2);
    options.spin_microseconds = 500000;
    int64_t before = read_team_clock();
    struct attend__team *team = start_team(&options);
    for (int i = 0; i < 20; i++)
        cr_assert_eq(count_faults(team, tally, 2), 0);
    attend__team_stop(team);
    cr_expect_lt(read_team_clock() - before, INT64_C(4000000000), "20 jobs took longer than 8 rounds of polling");
    free(tally);
}

Test(team, many_callers)
{
    for (int spin = 0; spin <= 50; spin += 50) {
        struct attend__team_options options = want_team(3);
        options.spin_microseconds = spin;
        struct attend__team *team = start_team(&options);
        run_callers(team, 16, 100, 0);
        attend__team_stop(team);
    }
}

/* ---- threads ---- */

Test(team, threads_depend_on_the_team_not_on_callers)
{
    int before = count_tasks();
    struct attend__team *team = start_plain_team(3);
    cr_expect_eq(settle_tasks(before + 3), before + 3);
    run_callers(team, 8, 10, 0);
    cr_expect_eq(settle_tasks(before + 3), before + 3);
    attend__team_stop(team);
}

Test(team, starts_and_stops_leave_nothing)
{
    int before = count_tasks();
    attend__team_stop(start_plain_team(4)); /* what libraries set up once */
    before = settle_tasks(before);
    for (int i = 0; i < 200; i++) {
        struct tally *tally = make_tally();
        struct attend__team *team = start_plain_team(1 + i % 4);
        cr_assert_eq(count_faults(team, tally, 5), 0);
        attend__team_stop(team);
        free(tally);
    }
    cr_expect_eq(settle_tasks(before), before);
}

Test(team, idle_members_use_no_processor)
{
    struct tally *tally = make_tally();
    struct attend__team_options options = want_team(4);
    options.spin_microseconds = 1000;
    struct attend__team *team = start_team(&options);
    cr_expect_eq(count_faults(team, tally, 100), 0);
    const struct timespec settle = { .tv_nsec = 50000000 }, pause = { .tv_nsec = 300000000 };
    struct timespec before, after;
    nanosleep(&settle, NULL);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    nanosleep(&pause, NULL);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    double seconds = (double)(after.tv_sec - before.tv_sec) + 1e-9 * (double)(after.tv_nsec - before.tv_nsec);
    cr_expect_lt(seconds, 0.01, "%g s of processor time in 0.3 s", seconds);
    attend__team_stop(team);
    free(tally);
}

static atomic_int signals_taken;

static void take_signal(int number)
{
    (void)number;
    atomic_fetch_add(&signals_taken, 1);
}

Test(team, signals_go_to_the_host)
{
    sigset_t usr1, before, after;
    signal(SIGUSR1, take_signal);
    struct tally *tally = make_tally();
    sigemptyset(&usr1);
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    struct attend__team *team = start_plain_team(3);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    for (int number = 1; number < 32; number++)
        cr_expect_eq(sigismember(&before, number), sigismember(&after, number), "signal %d is now %s", number,
                     sigismember(&after, number) ? "blocked" : "open");
    sigaddset(&usr1, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &usr1, NULL);
    kill(getpid(), SIGUSR1); /* a member with the signal open would take it now */
    cr_expect_eq(count_faults(team, tally, 100), 0);
    cr_expect_eq(atomic_load(&signals_taken), 0);
    pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
    cr_expect_eq(atomic_load(&signals_taken), 1);
    attend__team_stop(team);
    free(tally);
}

/* Stacks of 8 MiB do not fit into 40 MiB more: the answer must be a status and not the end of the process. */
static int start_beyond_limit(void *argument)
{
    (void)argument;
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld", &pages) != 1)
        return 1;
    fclose(file);
    rlim_t bytes = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (40 << 20);
    if (setrlimit(RLIMIT_STACK, &(struct rlimit){ 8 << 20, 8 << 20 }) ||
        setrlimit(RLIMIT_AS, &(struct rlimit){ bytes, bytes }))
        return 2;
    struct attend__team_options options = want_team(32);
    struct attend__team *team = (void *)&options;
    if (attend__team_start(&team, &options) != ATTEND_ERR_SYSTEM || team)
        return 3;
    return strncmp(attend_last_error(), "options.threads is 32; thread ", 30) ? 4 : 0;
}

Test(team, refused_threads_are_an_error)
{
    attend__team_stop(start_plain_team(1)); /* or skips */
    in_child(start_beyond_limit, NULL);
}

/* Another user's processes are counted alone, so that the limit is exact; only root can become one. */
static int start_at_limit(void *argument)
{
    (void)argument;
    if (setgid(54321) || setuid(54321))
        return 0;
    if (setrlimit(RLIMIT_NPROC, &(struct rlimit){ 5, 5 })) /* this thread and four more */
        return 1;
    for (int i = 0; i < 20; i++) {
        struct attend__team_options options = want_team(4);
        struct attend__team *team;
        /* OpenMP's threads of the round before may still be going; then the answer is an error, and never the end. */
        attend_status status = attend__team_start(&team, &options);
        if (status && status != ATTEND_ERR_SYSTEM)
            return 2;
        if (i == 0 && status)
            return 3;
        attend__team_stop(team);
        options = want_team(5);
        if (attend__team_start(&team, &options) == ATTEND_OK)
            attend__team_stop(team); /* where the limit is not enforced */
    }
    return 0;
}

Test(team, a_team_that_just_fits_starts)
{
    attend__team_stop(start_plain_team(1)); /* or skips */
    in_child(start_at_limit, NULL);
}

/* ---- what OpenMP grants ---- */

/* The runtime reads its environment when it is loaded: this test runs itself again with the variable set. */
static void run_again_with(const char *name, const char *value, int most)
{
    if (getenv("ATTEND_TEST_TEAM_AGAIN")) {
        alarm(20);
        struct tally *tally = make_tally();
        struct attend__team *team = start_plain_team(6);
        int size = attend__team_size(team);
        cr_assert(size >= 1 && size <= most, "%s=%s: a team of %d", name, value, size);
        cr_assert_eq(count_faults(team, tally, 500), 0);
        cr_assert_eq(attend__team_reserve(team, 1000), ATTEND_OK);
        tally->scratch_bytes = 1000;
        cr_assert_eq(count_faults(team, tally, 500), 0);
        run_callers(team, 4, 20, 0);
        attend__team_stop(team);
        free(tally);
        return;
    }
    attend__team_stop(start_plain_team(1)); /* or skips */
    char program[4096], command[8192];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    cr_assert_gt(length, 0);
    program[length] = '\0';
    unsetenv("BXFI_MAP"); /* by which a Criterion process knows that it is one test of a parent's */
    snprintf(command, sizeof command, "ATTEND_TEST_TEAM_AGAIN=1 %s=%s '%s' --filter 'team/granted_with_%s' --quiet",
             name, value, program, name);
    cr_expect_eq(system(command), 0, "%s", command);
}

Test(team, granted_with_OMP_THREAD_LIMIT)
{
    run_again_with("OMP_THREAD_LIMIT", "3", 3);
}

Test(team, granted_with_OMP_DYNAMIC)
{
    run_again_with("OMP_DYNAMIC", "true", 6);
}

Test(team, granted_with_OMP_NUM_THREADS)
{
    run_again_with("OMP_NUM_THREADS", "1", 6);
}

Test(team, granted_with_OMP_MAX_ACTIVE_LEVELS)
{
    run_again_with("OMP_MAX_ACTIVE_LEVELS", "0", 6);
}

static void start_inside(void *argument, int64_t unit, int64_t next, int member, void *scratch)
{
    (void)unit, (void)next, (void)member, (void)scratch;
    atomic_int *faults = argument;
    struct tally *tally = make_tally();
    struct attend__team_options options = want_team(3);
    struct attend__team *team;
    if (attend__team_start(&team, &options) || attend__team_size(team) != 3 || count_faults(team, tally, 50))
        atomic_fetch_add(faults, 1);
    attend__team_stop(team);
    free(tally);
}

/* A host's own parallel region, here another team's, does not make the team smaller. */
Test(team, started_and_used_inside_a_parallel_region)
{
    atomic_int faults = 0;
    struct attend__team *host = start_plain_team(2);
    struct attend__job job = { .units = 2, .run = start_inside, .argument = &faults };
    attend__team_run(host, &job);
    cr_expect_eq(atomic_load(&faults), 0);
    attend__team_stop(host);
}

/* ---- floating point ---- */

static void check_rounding(void *argument, int64_t unit, int64_t next, int member, void *scratch)
{
    (void)unit, (void)next, (void)member, (void)scratch;
    volatile float one = 1, little = 0x1p-30f;
    atomic_fetch_add((atomic_int *)argument, one + little != 1 || one - little != 1);
    fesetround(FE_DOWNWARD); /* the next job must not find this */
}

Test(team, units_run_with_a_known_floating_point_state)
{
    atomic_int wrong = 0;
    fesetround(FE_UPWARD);
    struct attend__team *team = start_plain_team(3);
    for (int i = 0; i < 50; i++) {
        struct attend__job job = { .units = 1, .run = check_rounding, .argument = &wrong };
        attend__team_run(team, &job);
    }
    cr_expect_eq(atomic_load(&wrong), 0);
    cr_expect_eq(fegetround(), FE_UPWARD, "the caller's rounding has changed");
    attend__team_stop(team);
}

Test(team, no_team_is_ignored)
{
    attend__team_stop(NULL);
    attend__team_abandon(NULL);
    cr_expect_eq(attend__team_size(NULL), 0);
    cr_expect_eq(attend__team_bound(NULL), 0);
    cr_expect_eq(attend__team_cpu(NULL, 0), -1);
}
