/* The team: every unit runs exactly once whatever the size granted, with scratch of its own, for any number of
 * callers. */
#include "engine/threads/team.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { UNITS_MOST = 4096, MEMBERS_MOST = 64 };

/* ---- teams ---- */

static struct attend__team_options want(int threads)
{
    return (struct attend__team_options){ .threads = threads };
}

static struct attend__team *start(const struct attend__team_options *options)
{
    struct attend__team *team;
    attend_status status = attend__team_start(&team, options);
    cr_assert(status == ATTEND_OK, "%s", attend_last_error());
    if (!team)
        cr_skip_test("built without OpenMP");
    return team;
}

static struct attend__team *start_plain(int threads)
{
    struct attend__team_options options = want(threads);
    return start(&options);
}

/* ---- a job that is checked ---- */

struct tally {
    struct attend__team *team;
    atomic_int times[UNITS_MOST];     /* how often each unit ran */
    atomic_int members[MEMBERS_MOST]; /* units of each member */
    int64_t announced[MEMBERS_MOST];  /* 1 more than the unit that each member said to run next; 0: none */
    atomic_int wrong;
    cpu_set_t mask;                   /* that members shall have */
    size_t scratch_bytes;             /* at least, for every member; 0: not looked at */
    int64_t nanoseconds;              /* of each unit */
};

static int64_t read_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void run_tally(void *argument, int64_t unit, int64_t next, int member, void *scratch)
{
    struct tally *tally = argument;
    if (unit < 0 || unit >= UNITS_MOST || member < 0 || member >= MEMBERS_MOST) {
        atomic_fetch_add(&tally->wrong, 1);
        return;
    }
    if (tally->announced[member] > 0 && tally->announced[member] != unit + 1)
        atomic_fetch_add(&tally->wrong, 1);
    tally->announced[member] = next + 1;
    if (tally->scratch_bytes > 0) {
        /* Fills the scratch and reads it back a moment later: two members on one block, or a block that is too short or
         * gone, show here or in the sanitizers. */
        memset(scratch, member + 1, tally->scratch_bytes);
        sched_yield();
        unsigned char *bytes = scratch;
        bool same = bytes[0] == member + 1 && bytes[tally->scratch_bytes - 1] == member + 1;
        atomic_fetch_add(&tally->wrong, !same || (uintptr_t)scratch % ATTEND__ALIGNMENT != 0);
    }
    for (int64_t end = tally->nanoseconds ? read_clock() + tally->nanoseconds : 0; end && read_clock() < end;)
        ;
    atomic_fetch_add(&tally->times[unit], 1);
    atomic_fetch_add(&tally->members[member], 1);
}

static void run_job(struct attend__team *team, struct tally *tally, int64_t units)
{
    struct attend__job job = { .units = units, .run = run_tally, .argument = tally };
    attend__team_run(team, &job);
}

/* Runs a job of so many units and returns how many of them did not run exactly once, plus other faults. */
static int count_faults(struct attend__team *team, struct tally *tally, int64_t units)
{
    for (int i = 0; i < UNITS_MOST; i++)
        atomic_store(&tally->times[i], 0);
    atomic_store(&tally->wrong, 0);
    run_job(team, tally, units);
    int faults = atomic_load(&tally->wrong);
    for (int i = 0; i < UNITS_MOST; i++)
        faults += atomic_load(&tally->times[i]) != (i < units);
    return faults;
}

static struct tally *make_tally(void)
{
    return calloc(1, sizeof(struct tally));
}

static int count_tasks(void)
{
    int tasks = 0;
    DIR *directory = opendir("/proc/self/task");
    cr_assert_not_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));)
        tasks += entry->d_name[0] != '.';
    closedir(directory);
    return tasks;
}

/* Threads that OpenMP has ended may take a moment to go. */
static int settle_tasks(int most)
{
    const struct timespec pause = { .tv_nsec = 1000000 };
    for (int i = 0; i < 1000 && count_tasks() > most; i++)
        nanosleep(&pause, NULL);
    return count_tasks();
}

TestSuite(team, .timeout = 60);

/* ---- units ---- */

Test(team, runs_every_unit_once)
{
    static const int64_t units[] = { 1, 2, 3, 7, 64, 1000, UNITS_MOST };
    struct tally *tally = make_tally();
    for (int threads = 1; threads <= 8; threads++) {
        struct attend__team *team = start_plain(threads);
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
    struct attend__team *team = start_plain(2);
    cr_expect_eq(count_faults(team, tally, 0), 0);
    attend__team_stop(team);
    free(tally);
}

Test(team, all_members_take_part)
{
    struct tally *tally = make_tally();
    struct attend__team *team = start_plain(4);
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
    struct attend__team_options options = want(3);
    options.spin_microseconds = 200;
    struct attend__team *team = start(&options);
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
    struct attend__team_options options = want(2);
    options.spin_microseconds = 500000;
    int64_t before = read_clock();
    struct attend__team *team = start(&options);
    for (int i = 0; i < 20; i++)
        cr_assert_eq(count_faults(team, tally, 2), 0);
    attend__team_stop(team);
    cr_expect_lt(read_clock() - before, INT64_C(4000000000), "20 jobs took longer than 8 rounds of polling");
    free(tally);
}

struct caller {
    pthread_t thread;
    struct attend__team *team;
    int jobs, number, faults;
    size_t reserve_bytes; /* of every so many jobs; 0: never */
};

static void *call_often(void *argument)
{
    struct caller *caller = argument;
    struct tally *tally = make_tally();
    for (int i = 0; i < caller->jobs; i++) {
        if (caller->reserve_bytes && i % 8 == 0)
            caller->faults += attend__team_reserve(caller->team, caller->reserve_bytes * (size_t)(i + 1)) != ATTEND_OK;
        tally->scratch_bytes = caller->reserve_bytes ? attend__team_scratch_bytes(caller->team) : 0;
        caller->faults += count_faults(caller->team, tally, (i * 7 + caller->number) % 20);
    }
    free(tally);
    return NULL;
}

static void run_callers(struct attend__team *team, int callers, int jobs, size_t reserve_bytes)
{
    struct caller *all = calloc((size_t)callers, sizeof *all);
    for (int i = 0; i < callers; i++) {
        all[i] = (struct caller){ .team = team, .jobs = jobs, .number = i, .reserve_bytes = reserve_bytes };
        cr_assert_eq(pthread_create(&all[i].thread, NULL, call_often, &all[i]), 0);
    }
    for (int i = 0; i < callers; i++) {
        pthread_join(all[i].thread, NULL);
        cr_expect_eq(all[i].faults, 0, "caller %d: %d faults", i, all[i].faults);
    }
    free(all);
}

Test(team, many_callers)
{
    for (int spin = 0; spin <= 50; spin += 50) {
        struct attend__team_options options = want(3);
        options.spin_microseconds = spin;
        struct attend__team *team = start(&options);
        run_callers(team, 16, 100, 0);
        attend__team_stop(team);
    }
}

/* ---- threads ---- */

Test(team, threads_depend_on_the_team_not_on_callers)
{
    int before = count_tasks();
    struct attend__team *team = start_plain(3);
    cr_expect_eq(settle_tasks(before + 3), before + 3);
    run_callers(team, 8, 10, 0);
    cr_expect_eq(settle_tasks(before + 3), before + 3);
    attend__team_stop(team);
}

Test(team, starts_and_stops_leave_nothing)
{
    int before = count_tasks();
    attend__team_stop(start_plain(4)); /* what libraries set up once */
    before = settle_tasks(before);
    for (int i = 0; i < 200; i++) {
        struct tally *tally = make_tally();
        struct attend__team *team = start_plain(1 + i % 4);
        cr_assert_eq(count_faults(team, tally, 5), 0);
        attend__team_stop(team);
        free(tally);
    }
    cr_expect_eq(settle_tasks(before), before);
}

Test(team, idle_members_use_no_processor)
{
    struct tally *tally = make_tally();
    struct attend__team_options options = want(4);
    options.spin_microseconds = 1000;
    struct attend__team *team = start(&options);
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
    struct attend__team *team = start_plain(3);
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

/* Runs `body` in a child process, which must exit with 0 within a few seconds. */
static void in_child(int (*body)(void *), void *argument)
{
    fflush(NULL);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        alarm(10);
        _exit(body(argument));
    }
    int status;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    cr_expect(WIFEXITED(status), "the child was ended by signal %d", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    cr_expect_eq(WIFEXITED(status) ? WEXITSTATUS(status) : 0, 0, "the child found fault %d", WEXITSTATUS(status));
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
    struct attend__team_options options = want(32);
    struct attend__team *team = (void *)&options;
    if (attend__team_start(&team, &options) != ATTEND_ERR_SYSTEM || team)
        return 3;
    return strncmp(attend_last_error(), "options.threads is 32; thread ", 30) ? 4 : 0;
}

Test(team, refused_threads_are_an_error)
{
    attend__team_stop(start_plain(1)); /* or skips */
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
        struct attend__team_options options = want(4);
        struct attend__team *team;
        /* OpenMP's threads of the round before may still be going; then the answer is an error, and never the end. */
        attend_status status = attend__team_start(&team, &options);
        if (status && status != ATTEND_ERR_SYSTEM)
            return 2;
        if (i == 0 && status)
            return 3;
        attend__team_stop(team);
        options = want(5);
        if (attend__team_start(&team, &options) == ATTEND_OK)
            attend__team_stop(team); /* where the limit is not enforced */
    }
    return 0;
}

Test(team, a_team_that_just_fits_starts)
{
    attend__team_stop(start_plain(1)); /* or skips */
    in_child(start_at_limit, NULL);
}

/* ---- what OpenMP grants ---- */

/* The runtime reads its environment when it is loaded: this test runs itself again with the variable set. */
static void run_again_with(const char *name, const char *value, int most)
{
    if (getenv("ATTEND_TEST_TEAM_AGAIN")) {
        alarm(20);
        struct tally *tally = make_tally();
        struct attend__team *team = start_plain(6);
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
    attend__team_stop(start_plain(1)); /* or skips */
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
    struct attend__team_options options = want(3);
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
    struct attend__team *host = start_plain(2);
    struct attend__job job = { .units = 2, .run = start_inside, .argument = &faults };
    attend__team_run(host, &job);
    cr_expect_eq(atomic_load(&faults), 0);
    attend__team_stop(host);
}

/* ---- scratch ---- */

Test(team, scratch_grows_and_is_aligned)
{
    static const size_t sizes[] = { 1, 100, 50, 4097, 300000, 300001 };
    struct tally *tally = make_tally();
    struct attend__team *team = start_plain(3);
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

struct counts {
    atomic_long bytes;   /* held */
    atomic_int blocks;
    atomic_int left;     /* allocations until one is refused; negative: never */
    atomic_int strange;  /* calls from threads that are none of ours */
    pthread_t host;
};

static void *count_allocate(void *user, size_t bytes, size_t alignment)
{
    struct counts *counts = user;
    void *memory = NULL;
    atomic_fetch_add(&counts->strange, !pthread_equal(counts->host, pthread_self()));
    if (atomic_fetch_sub(&counts->left, 1) == 0 || posix_memalign(&memory, alignment, bytes))
        return NULL;
    atomic_fetch_add(&counts->bytes, (long)bytes);
    atomic_fetch_add(&counts->blocks, 1);
    return memset(memory, 0xa5, bytes);
}

static void count_release(void *user, void *memory, size_t bytes)
{
    struct counts *counts = user;
    atomic_fetch_add(&counts->strange, !pthread_equal(counts->host, pthread_self()));
    atomic_fetch_sub(&counts->bytes, (long)bytes);
    atomic_fetch_sub(&counts->blocks, 1);
    memset(memory, 0x5a, bytes);
    free(memory);
}

static struct attend__team_options want_counted(int threads, struct counts *counts)
{
    struct attend__team_options options = want(threads);
    *counts = (struct counts){ .left = -1, .host = pthread_self() };
    options.allocator = (struct attend__allocator){ count_allocate, count_release, counts };
    return options;
}

Test(team, memory_is_given_back_and_never_touched_by_members)
{
    struct counts counts;
    struct attend__team_options options = want_counted(3, &counts);
    struct tally *tally = make_tally();
    struct attend__team *team = start(&options);
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
    struct attend__team_options options = want_counted(3, &counts);
    struct tally *tally = make_tally();
    struct attend__team *team = start(&options);
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
    struct attend__team *team = start_plain(3);
    run_callers(team, 6, 60, 64);
    attend__team_stop(team);
}

/* ---- binding ---- */

static void check_place(void *argument, int64_t unit, int64_t next, int member, void *scratch)
{
    (void)unit, (void)next, (void)scratch;
    struct tally *tally = argument;
    cpu_set_t mask;
    int cpu = attend__team_cpu(tally->team, member);
    bool right = sched_getaffinity(0, sizeof mask, &mask) == 0 && CPU_COUNT(&mask) == 1 && CPU_ISSET(cpu, &mask);
    atomic_fetch_add(&tally->wrong, !right || sched_getcpu() != cpu);
    for (int64_t end = read_clock() + 1000000; read_clock() < end;)
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
    struct attend__team_options options = want(4);
    list_cpus(cpus, 4);
    options.cpus = cpus;
    options.strict = true;
    sched_getaffinity(0, sizeof before, &before);
    struct attend__team *team = tally->team = start(&options);
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
    for (int64_t end = read_clock() + 1000000; read_clock() < end;)
        ;
}

/* Some OpenMP runtimes keep threads from one team to the next: they must not keep the binding. */
Test(team, an_unbound_team_after_a_bound_one)
{
    int cpus[3];
    struct tally *tally = make_tally();
    struct attend__team_options options = want(3);
    list_cpus(cpus, 3);
    sched_getaffinity(0, sizeof tally->mask, &tally->mask);
    options.cpus = cpus;
    attend__team_stop(start(&options));
    struct attend__team *team = start_plain(3);
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
    struct attend__team_options options = want(3);
    int before = count_tasks();
    list_cpus(cpus, 3);
    cpus[1] = 50000;
    options.cpus = cpus;
    options.log = (struct attend__log){ keep_line, &lines };
    struct attend__team *team = start(&options);
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
    struct attend__team *team = start_plain(3);
    for (int i = 0; i < 50; i++) {
        struct attend__job job = { .units = 1, .run = check_rounding, .argument = &wrong };
        attend__team_run(team, &job);
    }
    cr_expect_eq(atomic_load(&wrong), 0);
    cr_expect_eq(fegetround(), FE_UPWARD, "the caller's rounding has changed");
    attend__team_stop(team);
}

/* ---- fork ---- */

static int abandon_and_start_again(void *argument)
{
    struct counts *counts = ((void **)argument)[1];
    attend__team_abandon(((void **)argument)[0]);
    if (atomic_load(&counts->bytes) != 0)
        return 1;
    struct tally *tally = make_tally();
    struct attend__team_options options = want(3);
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
    struct attend__team_options options = want_counted(3, &counts);
    struct attend__team *team = start(&options);
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
    struct attend__team *team = start_plain(3);
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
    struct attend__team_options options = want(2);
    options.allocator = (struct attend__allocator){ gate_allocate, gate_release, &gate };
    struct attend__team *team = start(&options);
    atomic_store(&gate.closed, true);
    cr_assert_eq(pthread_create(&thread, NULL, reserve_some, team), 0);
    while (!atomic_load(&gate.waiting))
        sched_yield();
    in_child(abandon_alone, team);
    atomic_store(&gate.closed, false);
    pthread_join(thread, NULL);
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
