/* The engine's team of threads: started once, fed with jobs, stopped once. A job is a number of independent units;
 * members (and nobody else) claim them one by one, so that any team size is right and a stalled member holds up no more than
 * the unit it runs and the one it knows to be next. Jobs that wait are served in order, and members go on to the next job while others finish the last. Knows
 * nothing of attention. */
#ifndef ATTEND__TEAM_H
#define ATTEND__TEAM_H

#include "attend/attend.h"
#include "engine/base/alloc.h"
#include "engine/base/log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attend__team;

/* Runs one unit on member `member` (0 … size-1) with that member's own scratch, at least as large as was last reserved. `next` is the
 * unit that the member will run after it, or -1: not known yet. Called with the floating-point state of fpstate.h. */
typedef void (*attend__unit_fn)(void *argument, int64_t unit, int64_t next, int member, void *scratch);

/* Lies with the caller of attend__team_run, usually on its stack: no member touches it any more when that returns. */
struct attend__job {
    int64_t units; /* 0: nothing is run */
    attend__unit_fn run;
    void *argument;
    /* the team's own, set by attend__team_run */
    atomic_llong next;        /* the unit to be claimed next */
    int users;                /* members that work on it */
    atomic_bool done;         /* set under the team's mutex; the caller may poll it without */
    pthread_cond_t finished;
    struct attend__job *following; /* in the queue */
};

struct attend__team_options {
    int threads;       /* > 0 */
    const int *cpus;   /* cpus[threads]: operating system number to bind each member to; NULL: none. Not kept */
    bool strict;       /* a failed bind is an error of start */
    int64_t spin_microseconds;
    struct attend__allocator allocator;
    struct attend__log log;
};

/* Starts the team and returns when every member waits for work; on failure *team is NULL. Members take no signals but
 * their own faults. Without OpenMP: ATTEND_OK and *team NULL. Errors: MEMORY, SYSTEM (threads; a bind that failed with
 * options.strict). OpenMP ends the process when it gets no thread, so that as many threads are started and joined
 * before: what remains is that another part of the process or user takes them in the moment between. */
attend_status attend__team_start(struct attend__team **team, const struct attend__team_options *options);

/* Members that were granted (≥ 1; 0 for a team that is NULL), members that are bound, and the CPU that member m is
 * bound to (-1: none). Constant while the team lives. Any thread. */
int attend__team_size(const struct attend__team *team);
int attend__team_bound(const struct attend__team *team);
int attend__team_cpu(const struct attend__team *team, int member);

/* Makes every member's scratch at least `bytes` large before its next job: every job that is handed in after this
 * returned has it. Allocates here, never in a member; the member touches it first, and finds what it holds unspecified.
 * The block that a member gives up is released at the next reserve that grows, or when the team ends. May be called
 * while jobs run. Any thread that is no member. Errors: MEMORY, which leaves everything as it was. */
attend_status attend__team_reserve(struct attend__team *team, size_t bytes);
size_t attend__team_scratch_bytes(struct attend__team *team);

/* Runs the job on the team and returns when every unit has run. Any thread that is no member; allocates nothing. */
void attend__team_run(struct attend__team *team, struct attend__job *job);

/* Ends the members, joins them and frees the team. NULL is ignored. */
void attend__team_stop(struct attend__team *team);

/* Frees the team's memory in a forked child, where the members do not exist, and touches nothing that they may have
 * locked. Scratch that was just changing hands when the process forked is leaked. NULL is ignored. */
void attend__team_abandon(struct attend__team *team);

#endif
