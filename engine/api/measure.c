/* The machine's limits, measured on the engine's own team so that they are those of its cores and instruction set. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/api/engine.h"

#include "engine/base/fpstate.h"
#include "engine/base/sizes.h"
#include "engine/base/status.h"

#include <time.h>

struct probe {
    const struct attend__kernel *kernel;
    const char *memory; /* NULL: multiply-adds */
    size_t bytes;
    int64_t steps;      /* of multiply-adds per unit */
};

/* Memory is handed out in pieces that are large against claiming one and small against the whole. */
enum { READ_PIECE = 4 << 20, MULTIPLY_ADD_UNITS_PER_THREAD = 16 };

static const double multiply_add_seconds = 0.010;

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void run_probe(void *argument, int64_t unit, int64_t next, int member, void *scratch)
{
    (void)next;
    (void)member;
    (void)scratch;
    const struct probe *probe = argument;
    if (!probe->memory) {
        probe->kernel->multiply_adds(probe->steps);
        return;
    }
    const size_t from = (size_t)unit * READ_PIECE;
    const size_t size = probe->bytes - from < READ_PIECE ? probe->bytes - from : READ_PIECE;
    probe->kernel->read(probe->memory + from, size);
}

static double time_units(attend_engine *engine, struct probe *probe, int64_t units)
{
    const double begin = seconds_now();
    if (engine->team) {
        struct attend__job job = { .units = units, .run = run_probe, .argument = probe };
        attend__team_run(engine->team, &job);
    } else {
        for (int64_t unit = 0; unit < units; unit++)
            run_probe(probe, unit, -1, 0, NULL);
    }
    return seconds_now() - begin;
}

/* A short try tells how many steps fill the time. */
static double measure_multiply_adds(attend_engine *engine, struct probe *probe)
{
    enum { TRY_STEPS = 2000 };
    const double begin = seconds_now();
    const double operations = probe->kernel->multiply_adds(TRY_STEPS);
    const double tried = seconds_now() - begin;
    const double steps = TRY_STEPS * multiply_add_seconds / MULTIPLY_ADD_UNITS_PER_THREAD / (tried > 1e-6 ? tried : 1e-6);
    probe->steps = attend__clamp((int64_t)steps, 1, INT64_C(1) << 30);
    const int64_t units = (int64_t)MULTIPLY_ADD_UNITS_PER_THREAD * attend__engine_threads(engine);
    const double seconds = time_units(engine, probe, units);
    return operations / TRY_STEPS * (double)probe->steps * (double)units / seconds;
}

attend_status attend_engine_measure(attend_engine *given, attend_measure what, const void *memory, size_t bytes, double *rate)
{
    attend_engine *engine;
    attend_status status = attend__engine_use(&engine, given);
    if (status)
        return status;
    if (!rate)
        return attend__fail(ATTEND_ERR_ARGUMENT, "rate is NULL; it must point to where the result goes");
    if (what != ATTEND_MEASURE_MULTIPLY_ADD && what != ATTEND_MEASURE_READ)
        return attend__fail(ATTEND_ERR_ARGUMENT, "what is %d; it must be an attend_measure", (int)what);
    if (what == ATTEND_MEASURE_READ && (!memory || bytes == 0))
        return attend__fail(ATTEND_ERR_ARGUMENT, "memory is %p with %zu bytes; reading needs some", memory, bytes);
    struct probe probe = { .kernel = engine->kernel, .memory = what == ATTEND_MEASURE_READ ? memory : NULL, .bytes = bytes };
    const attend__fpstate state = attend__fpstate_enter();
    if (probe.memory)
        *rate = (double)bytes / time_units(engine, &probe, (int64_t)((bytes + READ_PIECE - 1) / READ_PIECE));
    else
        *rate = measure_multiply_adds(engine, &probe);
    attend__fpstate_leave(state);
    return ATTEND_OK;
}
