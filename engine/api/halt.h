/* Ending a run before its time: the caller's flag and deadline, as its members ask about them. Knows no unit and no team. */
#ifndef ATTEND__HALT_H
#define ATTEND__HALT_H

#include "attend/attend.h"

#include <stdatomic.h>
#include <stdbool.h>

/* One run's. Members share it. */
struct attend__halt {
    const int32_t *cancel; /* NULL: none */
    int64_t deadline;      /* of CLOCK_MONOTONIC in ns; 0: none */
    atomic_int status;     /* attend_status: why the run ends, once a member noticed */
};

/* Is the run to end? `halt` is a struct attend__halt. The first that notices settles why. */
bool attend__halt_asked(void *halt);

/* ATTEND_OK, or the failure of a run that was ended: to be called when its members are done. */
attend_status attend__halt_status(const struct attend__halt *halt);

#endif
