/* See team.h. The only file that includes omp.h: OpenMP gives the threads, once; waiting, waking and polling are done
 * here with a mutex, condition variables and C11 atomics.
 *
 * One mutex guards everything in the team but what is said to be constant. Members hold it to choose a job and to leave
 * one, never while a unit runs. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/threads/team.h"

#include "engine/base/fpstate.h"
#include "engine/base/sizes.h"
#include "engine/base/status.h"
#include "engine/threads/affinity.h"
#include "engine/threads/signals.h"

#include <omp.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct block {
    void *memory;
    size_t bytes;
};

struct member {
    int cpu;              /* bound to it, or -1; constant after start */
    int bind_error;       /* of attend__affinity_bind */
    struct block scratch; /* what units get */
    struct block next;    /* replaces scratch when the member takes its next job */
    struct block former;  /* was replaced; released by the next reserve */
    struct block staged[2]; /* guarded by `reserving`: blocks on their way in or out of a reserve */
} __attribute__((aligned(ATTEND__ALIGNMENT)));

struct attend__team {
    pthread_mutex_t mutex;
    pthread_cond_t changed;      /* to members: a job, or stopping */
    pthread_cond_t started;      /* to the starter: every member waits */
    struct attend__job *first, *last; /* the queue */
    int asleep, polling;         /* members that wait for `changed`, and for `posts` */
    atomic_uint posts;           /* counts jobs handed in, and stopping; changed under the mutex, polled without */
    int ready;                   /* members that reached the queue */
    bool stopping;
    size_t scratch_bytes;
    pthread_mutex_t reserving;   /* held by reserve as a whole, and taken before `mutex` */
    /* constant after start */
    pthread_t driver;
    int wanted, size, bound;
    const int *cpus;             /* the starter's, for as long as it waits in start; or NULL */
    int64_t spin_ns;
    struct attend__allocator allocator;
    size_t bytes;                /* of the block that holds this struct and the members */
    struct member members[];
};

/* ---- polling ---- */

/* Reading the clock costs as much as some ten pauses. */
enum { POLLS_PER_CLOCK = 32 };

static int64_t read_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static inline void relax_processor(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void poll_posts(const struct attend__team *team, unsigned seen, int64_t deadline)
{
    do {
        for (int i = 0; i < POLLS_PER_CLOCK; i++) {
            if (atomic_load_explicit(&team->posts, memory_order_relaxed) != seen)
                return;
            relax_processor();
        }
    } while (read_clock() < deadline);
}

static void poll_done(const struct attend__job *job, int64_t deadline)
{
    do {
        for (int i = 0; i < POLLS_PER_CLOCK; i++) {
            if (atomic_load_explicit(&job->done, memory_order_relaxed))
                return;
            relax_processor();
        }
    } while (read_clock() < deadline);
}

/* ---- members: all of this holds the mutex unless said ---- */

static bool is_exhausted(const struct attend__job *job)
{
    return atomic_load_explicit(&job->next, memory_order_relaxed) >= job->units;
}

static void unlink_first(struct attend__team *team)
{
    team->first = team->first->following;
    if (!team->first)
        team->last = NULL;
}

/* The first job with units left, or NULL. Exhausted ones, whose last units still run, leave the queue on the way. */
static struct attend__job *find_job(struct attend__team *team)
{
    while (team->first && is_exhausted(team->first))
        unlink_first(team);
    return team->first;
}

/* Waits for a change: awake and without the mutex until the member has been idle for as long as it may poll, then
 * asleep. *idle_since is 0 when the member comes from a job. */
static void await_change(struct attend__team *team, int64_t *idle_since)
{
    int64_t now = team->spin_ns > 0 ? read_clock() : 0;
    if (*idle_since == 0)
        *idle_since = now;
    if (now - *idle_since < team->spin_ns) {
        unsigned seen = atomic_load_explicit(&team->posts, memory_order_relaxed);
        team->polling++;
        pthread_mutex_unlock(&team->mutex);
        poll_posts(team, seen, *idle_since + team->spin_ns);
        pthread_mutex_lock(&team->mutex);
        team->polling--;
    } else {
        team->asleep++;
        pthread_cond_wait(&team->changed, &team->mutex);
        team->asleep--;
    }
}

static void adopt_scratch(struct member *member)
{
    if (!member->next.memory)
        return;
    member->former = member->scratch;
    member->scratch = member->next;
    member->next.memory = NULL;
}

static int64_t claim_unit(struct attend__job *job)
{
    return atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed);
}

/* Claims and runs units until none is left. Without the mutex. The next unit is claimed before the present one runs, so that its memory
 * can be fetched meanwhile; but not the last few, which others may be free for sooner. A claim is one addition: each
 * visit to a job adds at most one beyond its units, and a job that was found exhausted is not visited again, so that the counter
 * cannot overflow. */
static void run_units(struct attend__job *job, int number, int size, void *scratch)
{
    enum { SHARED_UNITS = 2 }; /* per member */
    const int64_t claimed_ahead = job->units - (int64_t)SHARED_UNITS * size;
    int64_t unit = claim_unit(job);
    while (unit < job->units) {
        const bool ahead = unit < claimed_ahead;
        const int64_t next = ahead ? claim_unit(job) : job->units;
        job->run(job->argument, unit, next < job->units ? next : -1, number, scratch);
        unit = ahead ? next : claim_unit(job);
    }
}

/* The last member that leaves an exhausted job hands it back. The caller can see `done` before the mutex is free, but
 * takes the mutex before it returns: until then the job may be touched. */
static void leave_job(struct attend__team *team, struct attend__job *job)
{
    if (team->first == job)
        unlink_first(team);
    if (--job->users > 0)
        return;
    atomic_store_explicit(&job->done, true, memory_order_relaxed);
    pthread_cond_signal(&job->finished);
}

static void serve_jobs(struct attend__team *team, int number)
{
    struct member *member = &team->members[number];
    int64_t idle_since = 0;
    for (;;) {
        struct attend__job *job = find_job(team);
        if (!job && team->stopping)
            return;
        if (!job) {
            await_change(team, &idle_since);
            continue;
        }
        idle_since = 0;
        adopt_scratch(member);
        job->users++;
        const int size = team->size;
        pthread_mutex_unlock(&team->mutex);
        (void)attend__fpstate_enter();
        run_units(job, number, size, member->scratch.memory);
        pthread_mutex_lock(&team->mutex);
        leave_job(team, job);
    }
}

/* A member's life, from its start in the parallel region to the end of the team. Without the mutex. The thread goes
 * back as it came: some OpenMP runtimes keep it and give it to the next region of anybody in the process. */
static void live_member(struct attend__team *team, int number, int granted)
{
    struct member *member = &team->members[number];
    attend__fpstate fpstate = attend__fpstate_enter();
    struct attend__affinity affinity = { NULL, 0 };
    if (team->cpus) {
        affinity = attend__affinity_keep();
        member->bind_error = attend__affinity_bind(team->cpus[number]);
        if (!member->bind_error)
            member->cpu = team->cpus[number];
    }
    pthread_mutex_lock(&team->mutex);
    team->size = granted;
    team->bound += member->cpu >= 0;
    if (++team->ready == granted)
        pthread_cond_signal(&team->started);
    serve_jobs(team, number);
    pthread_mutex_unlock(&team->mutex);
    attend__affinity_restore(affinity);
    attend__fpstate_leave(fpstate);
}

#ifdef HAVE_OMP_PAUSE_RESOURCE_ALL
extern int kmp_get_blocktime(void) __attribute__((weak)); /* LLVM's OpenMP runtime has it, GCC's has not */
#endif

/* GCC's runtime keeps a region's threads for the next region of the thread that entered it, and when that thread ends lets them go by
 * themselves, some time later: a statically linked process that ends meanwhile may crash over their unwinding. A pause makes them end
 * and joins them. LLVM's runtime has one pool for the whole process, which is not ours to end. */
static void end_region_threads(void)
{
#ifdef HAVE_OMP_PAUSE_RESOURCE_ALL
    if (!kmp_get_blocktime)
        omp_pause_resource_all(omp_pause_hard);
#endif
}

static void *drive_team(void *argument)
{
    struct attend__team *team = argument;
#pragma omp parallel num_threads(team->wanted)
    live_member(team, omp_get_thread_num(), omp_get_num_threads());
    /* The region's end orders the members before what follows, but by means that a thread sanitizer does not see; the
     * mutex says it in its language. */
    pthread_mutex_lock(&team->mutex);
    pthread_mutex_unlock(&team->mutex);
    end_region_threads();
    return NULL;
}

/* ---- starting ---- */

/* Threads that do nothing but exist at the same time. */
struct rehearsal {
    pthread_mutex_t mutex;
    pthread_cond_t opened;
    bool open;
};

struct understudy {
    pthread_t thread;
    long id; /* the kernel's */
    struct rehearsal *rehearsal;
};

static void *await_opening(void *argument)
{
    struct understudy *understudy = argument;
    struct rehearsal *rehearsal = understudy->rehearsal;
    understudy->id = syscall(SYS_gettid);
    pthread_mutex_lock(&rehearsal->mutex);
    while (!rehearsal->open)
        pthread_cond_wait(&rehearsal->opened, &rehearsal->mutex);
    pthread_mutex_unlock(&rehearsal->mutex);
    return NULL;
}

/* A joined thread counts against the limits of user and control group until the kernel has let go of it, some
 * microseconds later; OpenMP would not survive a refusal. Gives up after about a tenth of a second. */
static void await_departure(const struct understudy *understudies, int count)
{
    const struct timespec pause = { .tv_nsec = 100000 };
    int pauses = 1000;
    for (int i = 0; i < count; i++)
        while (syscall(SYS_tgkill, (long)getpid(), understudies[i].id, 0L) == 0 && pauses-- > 0)
            nanosleep(&pause, NULL);
}

/* Starts and joins as many threads as the team shall have. */
static attend_status rehearse_threads(struct understudy *understudies, int count)
{
    struct rehearsal rehearsal = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false };
    int started = 0, error = 0;
    while (started < count && !error) {
        understudies[started].rehearsal = &rehearsal;
        error = pthread_create(&understudies[started].thread, NULL, await_opening, &understudies[started]);
        started += !error;
    }
    pthread_mutex_lock(&rehearsal.mutex);
    rehearsal.open = true;
    pthread_cond_broadcast(&rehearsal.opened);
    pthread_mutex_unlock(&rehearsal.mutex);
    for (int i = 0; i < started; i++)
        pthread_join(understudies[i].thread, NULL);
    await_departure(understudies, started);
    pthread_cond_destroy(&rehearsal.opened);
    pthread_mutex_destroy(&rehearsal.mutex);
    if (error)
        return attend__fail(ATTEND_ERR_SYSTEM, "options.threads is %d; thread %d could not be started: %s", count,
                            started + 1, strerror(error));
    return ATTEND_OK;
}

static attend_status allocate_team(struct attend__team **team, const struct attend__team_options *options)
{
    size_t count = (size_t)options->threads;
    size_t bytes = sizeof(struct attend__team) + count * sizeof(struct member);
    *team = attend__allocate_zeroed(&options->allocator, bytes);
    if (!*team)
        return attend__fail(ATTEND_ERR_MEMORY, "no memory for a team of %d (%zu bytes)", options->threads, bytes);
    struct attend__team *made = *team;
    made->bytes = bytes;
    made->allocator = options->allocator;
    made->wanted = options->threads;
    made->cpus = options->cpus;
    made->spin_ns = options->spin_microseconds * 1000;
    for (int i = 0; i < options->threads; i++)
        made->members[i].cpu = -1;
    pthread_mutex_init(&made->mutex, NULL);
    pthread_mutex_init(&made->reserving, NULL);
    pthread_cond_init(&made->changed, NULL);
    pthread_cond_init(&made->started, NULL);
    return ATTEND_OK;
}

static void free_team(struct attend__team *team)
{
    for (int i = 0; i < team->wanted; i++) {
        struct member *member = &team->members[i];
        attend__release(&team->allocator, member->scratch.memory, member->scratch.bytes);
        attend__release(&team->allocator, member->next.memory, member->next.bytes);
        attend__release(&team->allocator, member->former.memory, member->former.bytes);
    }
    struct attend__allocator allocator = team->allocator;
    attend__release(&allocator, team, team->bytes);
}

static void destroy_team(struct attend__team *team)
{
    pthread_cond_destroy(&team->started);
    pthread_cond_destroy(&team->changed);
    pthread_mutex_destroy(&team->reserving);
    pthread_mutex_destroy(&team->mutex);
    free_team(team);
}

static attend_status start_driver(struct attend__team *team)
{
    int error = pthread_create(&team->driver, NULL, drive_team, team);
    if (error)
        return attend__fail(ATTEND_ERR_SYSTEM, "options.threads is %d; thread 1 could not be started: %s", team->wanted,
                            strerror(error));
    pthread_mutex_lock(&team->mutex);
    while (team->size == 0 || team->ready < team->size)
        pthread_cond_wait(&team->started, &team->mutex);
    pthread_mutex_unlock(&team->mutex);
    return ATTEND_OK;
}

/* Names the first member that is not where it should be: an error in strict mode, else one warning for all. */
static attend_status judge_binding(const struct attend__team *team, const struct attend__team_options *options)
{
    int first = 0;
    while (first < team->size && !team->members[first].bind_error)
        first++;
    if (first == team->size)
        return ATTEND_OK;
    int error = team->members[first].bind_error, cpu = options->cpus[first];
    const char *reason = error == ATTEND__AFFINITY_OTHER ? "the mask read back is another one" : strerror(error);
    if (options->strict)
        return attend__fail(ATTEND_ERR_SYSTEM,
                            "options.strict_bind is 1, and member %d of %d could not be bound to CPU %d: %s", first,
                            team->size, cpu, reason);
    attend__log(&options->log, ATTEND_LOG_WARNING,
                "%d of %d members run unbound: member %d was to be bound to CPU %d: %s", team->size - team->bound,
                team->size, first, cpu, reason);
    return ATTEND_OK;
}

/* With signals blocked in the calling thread, which the new threads inherit. */
static attend_status start_quietly(struct attend__team **team, const struct attend__team_options *options)
{
    size_t bytes = (size_t)options->threads * sizeof(struct understudy);
    struct understudy *understudies = attend__allocate(&options->allocator, bytes);
    if (!understudies)
        return attend__fail(ATTEND_ERR_MEMORY, "no memory to start %d threads (%zu bytes)", options->threads, bytes);
    attend_status status = rehearse_threads(understudies, options->threads);
    attend__release(&options->allocator, understudies, bytes);
    if (!status)
        status = allocate_team(team, options);
    if (!status)
        status = start_driver(*team);
    if (status && *team) {
        destroy_team(*team);
        *team = NULL;
    }
    return status;
}

attend_status attend__team_start(struct attend__team **team, const struct attend__team_options *options)
{
    sigset_t before;
    *team = NULL;
    attend__signals_block(&before);
    attend_status status = start_quietly(team, options);
    attend__signals_restore(&before);
    if (!status)
        status = judge_binding(*team, options);
    if (status) {
        attend__team_stop(*team);
        *team = NULL;
    }
    return status;
}

int attend__team_size(const struct attend__team *team)
{
    return team ? team->size : 0;
}

int attend__team_bound(const struct attend__team *team)
{
    return team ? team->bound : 0;
}

int attend__team_cpu(const struct attend__team *team, int member)
{
    return team && member >= 0 && member < team->size ? team->members[member].cpu : -1;
}

/* ---- scratch ---- */

/* A block for every member, or none. Members beyond the granted size do not exist and get none. */
static attend_status stage_blocks(struct attend__team *team, size_t bytes)
{
    for (int i = 0; i < team->size; i++) {
        struct block *block = &team->members[i].staged[0];
        *block = (struct block){ attend__allocate(&team->allocator, bytes), bytes };
        if (block->memory)
            continue;
        while (i-- > 0)
            attend__release(&team->allocator, team->members[i].staged[0].memory, bytes);
        return attend__fail(ATTEND_ERR_MEMORY, "no memory for scratch of %zu bytes for each of %d members", bytes,
                            team->size);
    }
    return ATTEND_OK;
}

/* Publishes the staged blocks and takes back what the members have given up or never taken. */
static void exchange_blocks(struct attend__team *team, size_t bytes)
{
    pthread_mutex_lock(&team->mutex);
    for (int i = 0; i < team->size; i++) {
        struct member *member = &team->members[i];
        struct block fresh = member->staged[0];
        member->staged[0] = member->next;
        member->staged[1] = member->former;
        member->next = fresh;
        member->former.memory = NULL;
    }
    team->scratch_bytes = bytes;
    pthread_mutex_unlock(&team->mutex);
    for (int i = 0; i < team->size; i++)
        for (int j = 0; j < 2; j++)
            attend__release(&team->allocator, team->members[i].staged[j].memory, team->members[i].staged[j].bytes);
}

attend_status attend__team_reserve(struct attend__team *team, size_t bytes)
{
    attend_status status = ATTEND_OK;
    pthread_mutex_lock(&team->reserving);
    if (bytes > team->scratch_bytes) { /* only reserve writes it, so that `reserving` suffices to read it */
        status = stage_blocks(team, bytes);
        if (!status)
            exchange_blocks(team, bytes);
    }
    pthread_mutex_unlock(&team->reserving);
    return status;
}

size_t attend__team_scratch_bytes(struct attend__team *team)
{
    pthread_mutex_lock(&team->mutex);
    size_t bytes = team->scratch_bytes;
    pthread_mutex_unlock(&team->mutex);
    return bytes;
}

/* ---- jobs ---- */

/* Queues the job and returns how many sleepers it is worth waking: members that are awake look at the queue before they
 * sleep, and those that poll see the post. */
static int queue_job(struct attend__team *team, struct attend__job *job)
{
    pthread_mutex_lock(&team->mutex);
    if (team->last)
        team->last->following = job;
    else
        team->first = job;
    team->last = job;
    atomic_fetch_add_explicit(&team->posts, 1, memory_order_relaxed);
    int sleepers = (int)attend__clamp(job->units - team->polling, 0, team->asleep);
    bool all = sleepers == team->asleep;
    pthread_mutex_unlock(&team->mutex);
    return all && sleepers > 1 ? -1 : sleepers;
}

static void wake_members(struct attend__team *team, int sleepers)
{
    if (sleepers < 0)
        pthread_cond_broadcast(&team->changed);
    for (int i = 0; i < sleepers; i++)
        pthread_cond_signal(&team->changed);
}

void attend__team_run(struct attend__team *team, struct attend__job *job)
{
    if (job->units <= 0)
        return;
    atomic_init(&job->next, 0);
    atomic_init(&job->done, false);
    job->users = 0;
    job->following = NULL;
    pthread_cond_init(&job->finished, NULL);
    wake_members(team, queue_job(team, job));
    if (team->spin_ns > 0)
        poll_done(job, read_clock() + team->spin_ns);
    pthread_mutex_lock(&team->mutex);
    while (!atomic_load_explicit(&job->done, memory_order_relaxed))
        pthread_cond_wait(&job->finished, &team->mutex);
    pthread_mutex_unlock(&team->mutex);
    pthread_cond_destroy(&job->finished);
}

/* ---- the end ---- */

void attend__team_stop(struct attend__team *team)
{
    if (!team)
        return;
    pthread_mutex_lock(&team->mutex);
    team->stopping = true;
    atomic_fetch_add_explicit(&team->posts, 1, memory_order_relaxed);
    pthread_cond_broadcast(&team->changed);
    pthread_mutex_unlock(&team->mutex);
    pthread_join(team->driver, NULL);
    destroy_team(team);
}

void attend__team_abandon(struct attend__team *team)
{
    if (!team)
        return;
    /* A mutex that a lost thread holds stays locked in the child: then blocks were changing hands and are not to be
     * trusted. The condition variables are not destroyed, which would wait for sleepers that do not exist. */
    bool steady = pthread_mutex_trylock(&team->reserving) == 0 && pthread_mutex_trylock(&team->mutex) == 0;
    struct attend__allocator allocator = team->allocator;
    if (steady)
        free_team(team);
    else
        attend__release(&allocator, team, team->bytes);
}
