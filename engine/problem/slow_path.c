/* What makes a run slow: one table for telling it and for refusing it. See problem.h. */
#include "engine/problem/problem.h"

#include "engine/base/status.h"

#include <inttypes.h>
#include <stddef.h>

static const struct slow_path {
    const char *tensor, *words;
    size_t view;   /* of struct attend__call */
    bool features; /* slow where they are no neighbours; otherwise wherever it is given */
} slow_paths[] = {
    { "query", "features of query that are no neighbours", offsetof(struct attend__call, query), true },
    { "key", "features of key that are no neighbours", offsetof(struct attend__call, key), true },
    { "value", "features of value that are no neighbours", offsetof(struct attend__call, value), true },
    { "output", "features of output that are no neighbours", offsetof(struct attend__call, output), true },
    { "scores", "scores", offsetof(struct attend__call, scores), false },
    { "weights", "weights", offsetof(struct attend__call, weights), false },
};

static const struct attend__view *view_of(const struct attend__call *call, const struct slow_path *path)
{
    return (const struct attend__view *)(const void *)((const char *)call + path->view);
}

static const struct slow_path *find_slow_path(const struct attend__call *call)
{
    for (size_t i = 0; i < sizeof slow_paths / sizeof *slow_paths; i++) {
        const struct attend__view *view = view_of(call, &slow_paths[i]);
        if (view->data && (!slow_paths[i].features || view->stride[3] != 1))
            return &slow_paths[i];
    }
    return NULL;
}

const char *attend__call_slow_path(const struct attend__call *call)
{
    const struct slow_path *path = find_slow_path(call);
    return path ? path->words : NULL;
}

attend_status attend__call_check_fast(const struct attend__call *call)
{
    const struct slow_path *path = find_slow_path(call);
    if (!path)
        return ATTEND_OK;
    if (path->features)
        return attend__fail(ATTEND_ERR_UNSUPPORTED, "args.%s has feature stride %" PRId64 "; with ATTEND_FAST_ONLY it must be 1",
                            path->tensor, view_of(call, path)->stride[3]);
    return attend__fail(ATTEND_ERR_UNSUPPORTED, "args.%s is given; with ATTEND_FAST_ONLY it must be NULL", path->tensor);
}
