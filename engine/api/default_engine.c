/* The process's default engine, for one-shot calls that bring none: made on first use, kept until the process ends. A forked child
 * makes its own. */
#include "engine/api/engine.h"

#include "engine/base/status.h"

static attend_engine *default_engine; /* under its guard */

/* The default engine of this process, or NULL. A parent's copy is left alone: plans of it may still be destroyed here. */
static attend_engine *find_default(void)
{
    if (default_engine && !attend__process_is_now(&default_engine->owner))
        default_engine = NULL;
    return default_engine;
}

/* Creating an engine starts an OpenMP team, and OpenMP runtimes may hold locks of their own while the process forks: the guard, for
 * which a fork waits, must not be held meanwhile. So two first callers may each make an engine; the second is not kept. */
static attend_status use_default(attend_engine **engine)
{
    attend__guard_take(ATTEND__GUARD_DEFAULT_ENGINE);
    *engine = find_default();
    attend__guard_leave(ATTEND__GUARD_DEFAULT_ENGINE);
    if (*engine)
        return ATTEND_OK;
    attend_engine *made;
    attend_status status = attend_engine_create(&made, NULL);
    if (status)
        return status;
    attend__guard_take(ATTEND__GUARD_DEFAULT_ENGINE);
    *engine = find_default();
    if (!*engine)
        *engine = default_engine = made;
    attend__guard_leave(ATTEND__GUARD_DEFAULT_ENGINE);
    if (*engine != made)
        attend_engine_destroy(made);
    return ATTEND_OK;
}

attend_status attend__engine_use(attend_engine **engine, attend_engine *given)
{
    if (!given)
        return use_default(engine);
    *engine = given;
    if (attend__process_is_now(&given->owner))
        return ATTEND_OK;
    return attend__fail(ATTEND_ERR_FORKED, "engine was made by process %ld; a forked child must create its own",
                        (long)given->owner.id);
}
