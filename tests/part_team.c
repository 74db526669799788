/* See part_team.h. */
#include "tests/part_team.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct attend__team_options want_team(int threads)
{
    return (struct attend__team_options){ .threads = threads };
}

struct attend__team *start_team(const struct attend__team_options *options)
{
    struct attend__team *team;
    attend_status status = attend__team_start(&team, options);
    cr_assert(status == ATTEND_OK, "%s", attend_last_error());
    if (!team)
        cr_skip_test("built without OpenMP");
    return team;
}

struct attend__team *start_plain_team(int threads)
{
    struct attend__team_options options = want_team(threads);
    return start_team(&options);
}

int64_t read_team_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

void run_tally(void *argument, int64_t unit, int64_t next, int member, void *scratch)
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
    for (int64_t end = tally->nanoseconds ? read_team_clock() + tally->nanoseconds : 0; end && read_team_clock() < end;)
        ;
    atomic_fetch_add(&tally->times[unit], 1);
    atomic_fetch_add(&tally->members[member], 1);
}

void run_tally_job(struct attend__team *team, struct tally *tally, int64_t units)
{
    struct attend__job job = { .units = units, .run = run_tally, .argument = tally };
    attend__team_run(team, &job);
}

int count_faults(struct attend__team *team, struct tally *tally, int64_t units)
{
    for (int i = 0; i < UNITS_MOST; i++)
        atomic_store(&tally->times[i], 0);
    atomic_store(&tally->wrong, 0);
    run_tally_job(team, tally, units);
    int faults = atomic_load(&tally->wrong);
    for (int i = 0; i < UNITS_MOST; i++)
        faults += atomic_load(&tally->times[i]) != (i < units);
    return faults;
}

struct tally *make_tally(void)
{
    return calloc(1, sizeof(struct tally));
}

int count_tasks(void)
{
    int tasks = 0;
    DIR *directory = opendir("/proc/self/task");
    cr_assert_not_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));)
        tasks += entry->d_name[0] != '.';
    closedir(directory);
    return tasks;
}

int settle_tasks(int most)
{
    const struct timespec pause = { .tv_nsec = 1000000 };
    for (int i = 0; i < 1000 && count_tasks() > most; i++)
        nanosleep(&pause, NULL);
    return count_tasks();
}

void *call_often(void *argument)
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

void run_callers(struct attend__team *team, int callers, int jobs, size_t reserve_bytes)
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

void in_child(int (*body)(void *), void *argument)
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

struct attend__team_options want_counted_team(int threads, struct counts *counts)
{
    struct attend__team_options options = want_team(threads);
    *counts = (struct counts){ .left = -1, .host = pthread_self() };
    options.allocator = (struct attend__allocator){ count_allocate, count_release, counts };
    return options;
}
