/* Making, describing and ending engines. See engine.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/api/engine.h"

#include "engine/base/fpstate.h"
#include "engine/base/status.h"
#include "engine/base/structs.h"
#include "engine/threads/quota.h"
#include "engine/threads/topology.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_THREADS = 4096, DEFAULT_SLOTS = 8, MOST_SLOTS = 1024, MOST_SPIN_MICROSECONDS = 1000000 };

/* About 25 µs of one AVX-512 core, which is where a hand-off between threads (some 10 µs) begins to pay. */
static const int64_t default_inline_work = 1000000;

static attend_status check_limit(const char *name, int64_t value, int64_t low, int64_t high)
{
    if (value >= low && value <= high)
        return ATTEND_OK;
    return attend__fail(ATTEND_ERR_ARGUMENT, "options.%s is %" PRId64 "; it must be between %" PRId64 " and %" PRId64, name,
                        value, low, high);
}

static attend_status check_options(const attend_engine_options *options)
{
    const struct {
        const char *name;
        int64_t value, low, high;
    } limits[] = {
        { "threads", options->threads, 0, MOST_THREADS },
        { "bind", options->bind, ATTEND_BIND_AUTO, ATTEND_BIND_OFF },
        { "placement", options->placement, ATTEND_PLACEMENT_COMPACT, ATTEND_PLACEMENT_SPREAD },
        { "strict_bind", options->strict_bind, 0, 1 },
        { "slots", options->slots, 0, MOST_SLOTS },
        { "inline_work", options->inline_work, -1, INT64_MAX },
        { "spin_microseconds", options->spin_microseconds, 0, MOST_SPIN_MICROSECONDS },
    };
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        attend_status status = check_limit(limits[i].name, limits[i].value, limits[i].low, limits[i].high);
        if (status)
            return status;
    }
    if (!options->allocate != !options->release)
        return attend__fail(ATTEND_ERR_ARGUMENT, "options.%s is NULL; allocate and release must be given together",
                            options->allocate ? "release" : "allocate");
    return ATTEND_OK;
}

static attend_status choose_kernel(attend_engine *engine, attend_isa isa)
{
    const char *name = attend_isa_name(isa);
    if (!name)
        return attend__fail(ATTEND_ERR_ARGUMENT, "options.isa is %d; it must be an attend_isa", (int)isa);
    engine->kernel = attend__kernel_find(isa);
    if (!engine->kernel)
        return attend__fail(ATTEND_ERR_UNSUPPORTED,
                            "options.isa is %s; this processor, operating system or build does not have it", name);
    engine->kernel_is_fallback = engine->kernel->isa == ATTEND_ISA_PORTABLE && isa != ATTEND_ISA_PORTABLE;
    return ATTEND_OK;
}

static attend_status place(attend_engine *engine, const attend_engine_options *options)
{
    const char *note = NULL;
    engine->machine = attend__topology(&note);
    if (note)
        attend__log(&engine->log, ATTEND_LOG_INFO, "%s", note);
    engine->in_mask = attend__allocate_zeroed(&engine->allocator, (size_t)engine->machine->cpu_count * sizeof(bool));
    if (!engine->in_mask)
        return attend__fail(ATTEND_ERR_MEMORY, "no memory for the mask of %d CPUs", engine->machine->cpu_count);
    attend__affinity_read(engine->machine, engine->in_mask);
    engine->quota = attend__quota_read("");
    const struct attend__placement_request request = {
        .machine = engine->machine,
        .in_mask = engine->in_mask,
        .quota = engine->quota,
        .threads = options->threads,
        .cpus = options->cpus,
        .cpu_count = options->cpu_count,
        .bind = options->bind,
        .placement = options->placement,
    };
    attend_status status = attend__placement_make(&engine->placement, &request, &engine->allocator);
    if (!status && options->strict_bind && options->bind == ATTEND_BIND_CORES && !engine->placement.bind)
        status = attend__fail(ATTEND_ERR_SYSTEM, "options.strict_bind is 1 and bind is cores; %s",
                              engine->placement.warning[0] ? engine->placement.warning : "the team cannot be bound");
    if (!status && engine->placement.warning[0])
        attend__log(&engine->log, ATTEND_LOG_WARNING, "%s", engine->placement.warning);
    return status;
}

static attend_status start_team(attend_engine *engine, const attend_engine_options *options)
{
    const struct attend__team_options team = {
        .threads = engine->placement.threads,
        .cpus = engine->placement.bind ? engine->placement.cpus : NULL,
        .strict = options->strict_bind,
        .spin_microseconds = options->spin_microseconds,
        .allocator = engine->allocator,
        .log = engine->log,
    };
    return attend__team_start(&engine->team, &team);
}

static void free_placement(attend_engine *engine)
{
    attend__placement_free(&engine->placement, &engine->allocator);
    attend__release(&engine->allocator, engine->in_mask, (size_t)engine->machine->cpu_count * sizeof(bool));
}

static attend_status build(attend_engine *engine, const attend_engine_options *options)
{
    attend_status status = choose_kernel(engine, options->isa);
    if (status)
        return status;
    status = attend__slots_create(&engine->slots, options->slots ? options->slots : DEFAULT_SLOTS, &engine->allocator);
    if (status)
        return status;
    status = place(engine, options);
    if (!status)
        status = start_team(engine, options);
    if (status) {
        free_placement(engine);
        attend__slots_destroy(&engine->slots);
    }
    return status;
}

attend_status attend_engine_create(attend_engine **engine, const attend_engine_options *caller)
{
    attend_engine_options options = ATTEND_ENGINE_OPTIONS_INIT;
    if (!engine)
        return attend__fail(ATTEND_ERR_ARGUMENT, "engine is NULL; it must point to where the handle goes");
    *engine = NULL;
    attend_status status = caller ? attend__struct_read(&options, sizeof options, sizeof options, caller, "options") : ATTEND_OK;
    if (!status)
        status = check_options(&options);
    if (status)
        return status;
    const struct attend__allocator allocator = { options.allocate, options.release, options.allocator_user };
    attend_engine *made = attend__allocate_zeroed(&allocator, sizeof *made);
    if (!made)
        return attend__fail(ATTEND_ERR_MEMORY, "no memory for an engine of %zu bytes", sizeof *made);
    made->allocator = allocator;
    made->log = (struct attend__log){ options.log, options.log_user };
    made->owner = attend__process_now();
    made->inline_work = options.inline_work ? options.inline_work : default_inline_work;
    const attend__fpstate state = attend__fpstate_enter(); /* quotas are divided in it */
    status = build(made, &options);
    attend__fpstate_leave(state);
    if (status) {
        attend__release(&allocator, made, sizeof *made);
        return status;
    }
    made->threads_requested = made->placement.threads;
    *engine = made;
    return ATTEND_OK;
}

void attend_engine_destroy(attend_engine *engine)
{
    if (!engine)
        return;
    if (attend__process_is_now(&engine->owner)) {
        attend__team_stop(engine->team);
        attend__slots_destroy(&engine->slots);
    } else {
        attend__team_abandon(engine->team);
        attend__slots_abandon(&engine->slots);
    }
    free_placement(engine);
    const struct attend__allocator allocator = engine->allocator;
    attend__release(&allocator, engine, sizeof *engine);
}

int attend__engine_threads(const attend_engine *engine)
{
    return engine->team ? attend__team_size(engine->team) : 1;
}

bool attend__engine_runs_inline(const attend_engine *engine, double cost)
{
    return !engine->team || cost < (double)engine->inline_work;
}

static int count_mask(const attend_engine *engine)
{
    int count = 0;
    for (int i = 0; i < engine->machine->cpu_count; i++)
        count += engine->in_mask[i] && engine->machine->cpus[i].allowed;
    return count;
}

attend_status attend_engine_describe(attend_engine *given, attend_engine_info *info)
{
    attend_engine *engine;
    attend_status status = attend__engine_use(&engine, given);
    if (status)
        return status;
    const struct attend__machine *machine = engine->machine;
    const attend_engine_info now = {
        .threads_requested = engine->threads_requested,
        .threads = engine->team ? attend__team_size(engine->team) : 0,
        .threads_bound = engine->team ? attend__team_bound(engine->team) : 0,
        .isa = engine->kernel->isa,
        .slots = engine->slots.count,
        .packages = machine->packages,
        .nodes = machine->nodes,
        .cores = machine->cores,
        .cpus = machine->cpu_count,
        .cpus_in_mask = count_mask(engine),
        .cpu_quota = engine->quota,
        .l1d_bytes = machine->l1d_bytes,
        .l2_bytes = machine->l2_bytes,
        .l3_bytes = machine->l3_bytes,
        .jobs = atomic_load_explicit(&engine->jobs, memory_order_relaxed),
        .inline_jobs = atomic_load_explicit(&engine->inline_jobs, memory_order_relaxed),
    };
    return attend__struct_write(info, sizeof now, &now, sizeof now, "info");
}

static int member_on(const attend_engine *engine, int cpu)
{
    if (engine->team)
        for (int member = 0; member < attend__team_size(engine->team); member++)
            if (attend__team_cpu(engine->team, member) == cpu)
                return member;
    return -1;
}

size_t attend_engine_cpus(attend_engine *given, attend_cpu *cpus, size_t capacity)
{
    attend_engine *engine;
    if (attend__engine_use(&engine, given))
        return 0;
    const size_t count = (size_t)engine->machine->cpu_count;
    for (size_t i = 0; cpus && i < count && i < capacity; i++) {
        const struct attend__cpu *cpu = &engine->machine->cpus[i];
        const int member = member_on(engine, cpu->os);
        attend_cpu_use use = engine->placement.use[i];
        if (use == ATTEND_CPU_MEMBER && member < 0)
            use = ATTEND_CPU_ELIGIBLE; /* OpenMP granted fewer members, or the bind failed */
        cpus[i] = (attend_cpu){ cpu->os, cpu->core, cpu->package, cpu->node, cpu->l3, member, use };
    }
    return count;
}
