/* The usual slopes of attention with linear biases. */
#include "attend/attend.h"

#include "engine/base/fpstate.h"
#include "engine/base/status.h"

#include <inttypes.h>
#include <math.h>

/* 2^(-8·(i+1)/n) of a power of two n of heads. */
static float slope_of(int64_t i, int64_t n)
{
    return (float)exp2(-8.0 * (double)(i + 1) / (double)n);
}

attend_status attend_alibi_slopes(int64_t heads, float *slopes)
{
    if (heads < 0)
        return attend__fail(ATTEND_ERR_ARGUMENT, "heads is %" PRId64 "; it must be at least 0", heads);
    if (heads > 0 && !slopes)
        return attend__fail(ATTEND_ERR_ARGUMENT, "slopes is NULL; it must point to %" PRId64 " floats", heads);
    int64_t n = 1;
    while (n <= heads / 2)
        n *= 2;
    const attend__fpstate state = attend__fpstate_enter();
    for (int64_t i = 0; i < heads; i++)
        slopes[i] = i < n ? slope_of(i, n) : slope_of(2 * (i - n), 2 * n);
    attend__fpstate_leave(state);
    return ATTEND_OK;
}
