/* See forks.h. */
#include "engine/base/forks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static pthread_mutex_t guards[ATTEND__GUARDS] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };
static atomic_uint generation;
static pthread_once_t registered = PTHREAD_ONCE_INIT;

/* A fork in the middle of registering leaves a child that registers again: its handlers then run twice, and the second run must do
 * nothing. */
static _Thread_local bool forking;

static void before_fork(void)
{
    if (forking)
        return;
    forking = true;
    for (int i = 0; i < ATTEND__GUARDS; i++)
        pthread_mutex_lock(&guards[i]);
}

static void after_fork(void)
{
    if (!forking)
        return;
    for (int i = ATTEND__GUARDS; i-- > 0;)
        pthread_mutex_unlock(&guards[i]);
    forking = false;
}

static void after_fork_in_child(void)
{
    if (forking)
        atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed);
    after_fork();
}

static void register_handlers(void)
{
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

struct attend__process attend__process_now(void)
{
    pthread_once(&registered, register_handlers);
    return (struct attend__process){ getpid(), atomic_load_explicit(&generation, memory_order_relaxed) };
}

bool attend__process_is_now(const struct attend__process *process)
{
    const struct attend__process now = attend__process_now();
    return process->id == now.id && process->generation == now.generation;
}

void attend__guard_take(enum attend__guard guard)
{
    pthread_once(&registered, register_handlers);
    pthread_mutex_lock(&guards[guard]);
}

void attend__guard_leave(enum attend__guard guard)
{
    pthread_mutex_unlock(&guards[guard]);
}
