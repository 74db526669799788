/* What fork does to a process with threads: the child has this memory but only one thread. The generation tells which process an
 * object belongs to; the guards are locks that no fork finds taken, for state that a child must find whole. Handlers are
 * registered on first use (pthread_atfork); there is no constructor. */
#ifndef ATTEND__FORKS_H
#define ATTEND__FORKS_H

#include <stdbool.h>
#include <sys/types.h>

/* A fork takes them in this order; a thread that holds one may take those after it. */
enum attend__guard { ATTEND__GUARD_DEFAULT_ENGINE, ATTEND__GUARD_TOPOLOGY, ATTEND__GUARDS };

/* The process that an object was made in. The number alone does not tell: a child in a new PID namespace can have its
 * parent's, and a raw clone runs no handler. */
struct attend__process {
    pid_t id;
    unsigned generation; /* forks between the first process and this one */
};

struct attend__process attend__process_now(void);
bool attend__process_is_now(const struct attend__process *process);

void attend__guard_take(enum attend__guard guard);
void attend__guard_leave(enum attend__guard guard);

#endif
