/* The process's default engine, for one-shot calls that bring none: made on first use, kept until the process ends. A forked child
 * makes its own. */
#include "engine/api/engine.h"

#include "engine/base/status.h"

#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static attend_engine *default_engine;

static attend_status use_default(attend_engine **engine)
{
    attend_status status = ATTEND_OK;
    pthread_mutex_lock(&lock);
    if (default_engine && default_engine->owner != getpid()) {
        attend_engine_destroy(default_engine); /* the parent's: frees this process's copy of the memory */
        default_engine = NULL;
    }
    if (!default_engine)
        status = attend_engine_create(&default_engine, NULL);
    *engine = default_engine;
    pthread_mutex_unlock(&lock);
    return status;
}

attend_status attend__engine_use(attend_engine **engine, attend_engine *given)
{
    if (!given)
        return use_default(engine);
    *engine = given;
    if (given->owner == getpid())
        return ATTEND_OK;
    return attend__fail(ATTEND_ERR_FORKED, "engine was made by process %ld; a forked child must create its own",
                        (long)given->owner);
}
