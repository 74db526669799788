/* See halt.h. */
#include "engine/api/halt.h"

#include "engine/base/status.h"

#include <inttypes.h>
#include <time.h>

static int64_t read_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void settle(struct attend__halt *halt, attend_status why)
{
    int none = ATTEND_OK;
    atomic_compare_exchange_strong_explicit(&halt->status, &none, why, memory_order_relaxed, memory_order_relaxed);
}

bool attend__halt_asked(void *argument)
{
    struct attend__halt *halt = argument;
    if (atomic_load_explicit(&halt->status, memory_order_relaxed) != ATTEND_OK)
        return true;
    if (halt->cancel && __atomic_load_n(halt->cancel, __ATOMIC_RELAXED) != 0)
        settle(halt, ATTEND_ERR_CANCELLED);
    else if (halt->deadline > 0 && read_clock() >= halt->deadline)
        settle(halt, ATTEND_ERR_TIMEOUT);
    else
        return false;
    return true;
}

attend_status attend__halt_status(const struct attend__halt *halt)
{
    switch (atomic_load_explicit(&halt->status, memory_order_relaxed)) {
    case ATTEND_OK: return ATTEND_OK;
    case ATTEND_ERR_CANCELLED:
        return attend__fail(ATTEND_ERR_CANCELLED, "the run was cancelled through args.cancel; its outputs hold anything");
    default:
        return attend__fail(ATTEND_ERR_TIMEOUT, "args.deadline of %" PRId64 " ns passed; the outputs hold anything", halt->deadline);
    }
}
