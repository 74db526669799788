/* What the suites of the team share: teams, a job whose units are counted, threads of the process, callers, children. */
#ifndef ATTEND_TESTS_PART_TEAM_H
#define ATTEND_TESTS_PART_TEAM_H

#include "engine/threads/team.h"

#include <pthread.h>
#include <sched.h>

enum { UNITS_MOST = 4096, MEMBERS_MOST = 64 };

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

struct attend__team_options want_team(int threads);

/* A team, or the test fails; it is skipped where there is no OpenMP. */
struct attend__team *start_team(const struct attend__team_options *options);
struct attend__team *start_plain_team(int threads);

/* All zero; to be freed. */
struct tally *make_tally(void);

/* The unit function of a tally. */
void run_tally(void *argument, int64_t unit, int64_t next, int member, void *scratch);
void run_tally_job(struct attend__team *team, struct tally *tally, int64_t units);

/* Runs a job of so many units and returns how many of them did not run exactly once, plus other faults. */
int count_faults(struct attend__team *team, struct tally *tally, int64_t units);

/* Of CLOCK_MONOTONIC, in ns. */
int64_t read_team_clock(void);

/* Threads of the process; threads that OpenMP has ended may take a moment to go. */
int count_tasks(void);
int settle_tasks(int most);

/* A thread that hands in jobs. */
struct caller {
    pthread_t thread;
    struct attend__team *team;
    int jobs, number, faults;
    size_t reserve_bytes; /* of every so many jobs; 0: never */
};

/* With a struct caller: counts its faults. */
void *call_often(void *caller);

/* `callers` threads that hand in `jobs` jobs each, and reserve scratch now and then; reserve_bytes 0: never. */
void run_callers(struct attend__team *team, int callers, int jobs, size_t reserve_bytes);

/* What an allocator was asked for. */
struct counts {
    atomic_long bytes;   /* held */
    atomic_int blocks;
    atomic_int left;     /* allocations until one is refused; negative: never */
    atomic_int strange;  /* calls from threads that are none of ours */
    pthread_t host;
};

struct attend__team_options want_counted_team(int threads, struct counts *counts);

/* Runs `body` in a child process, which must exit with 0 within a few seconds. */
void in_child(int (*body)(void *), void *argument);

#endif
