/* A fixed number of workspaces that jobs take and give back; taking waits for a free one, in no particular order. Their size grows
 * when plans are made and never while jobs run. */
#ifndef ATTEND__SLOTS_H
#define ATTEND__SLOTS_H

#include "attend/attend.h"
#include "engine/base/alloc.h"

#include <pthread.h>
#include <stdbool.h>

struct attend__slot {
    void *memory;
    size_t bytes;
    bool taken;
    bool wanted; /* to grow it: nobody takes it before */
};

struct attend__slots {
    pthread_mutex_t lock;
    pthread_cond_t given_back;
    struct attend__slot *slot; /* slot[count] */
    int count;
    const struct attend__allocator *allocator;
};

attend_status attend__slots_create(struct attend__slots *slots, int count, const struct attend__allocator *allocator);
void attend__slots_destroy(struct attend__slots *slots);

/* Frees the memory in a forked child, where threads that waited do not exist: destroying what they wait for would wait for
 * them. */
void attend__slots_abandon(struct attend__slots *slots);

/* Makes every slot at least `bytes` large, waiting for each to be free. On failure some may have grown: no harm. */
attend_status attend__slots_reserve(struct attend__slots *slots, size_t bytes);

/* Takes a slot, waiting while all are taken. */
struct attend__slot *attend__slots_take(struct attend__slots *slots);
void attend__slots_give_back(struct attend__slots *slots, struct attend__slot *slot);

#endif
