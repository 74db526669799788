/* The process's default engine, for one-shot calls that bring none: made on first use, kept until the process ends. A forked child
 * makes its own. */
#include "engine/api/engine.h"

#include "engine/base/status.h"

static attend_engine *default_engine; /* under its guard */

static attend_status use_default(attend_engine **engine)
{
    attend_status status = ATTEND_OK;
    attend__guard_take(ATTEND__GUARD_DEFAULT_ENGINE);
    /* The parent's copy is left alone: plans of it may still be destroyed here. */
    if (default_engine && !attend__process_is_now(&default_engine->owner))
        default_engine = NULL;
    if (!default_engine)
        status = attend_engine_create(&default_engine, NULL);
    *engine = default_engine;
    attend__guard_leave(ATTEND__GUARD_DEFAULT_ENGINE);
    return status;
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
