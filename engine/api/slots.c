/* See slots.h. */
#include "engine/api/slots.h"

#include "engine/base/status.h"

attend_status attend__slots_create(struct attend__slots *slots, int count, const struct attend__allocator *allocator)
{
    slots->slot = attend__allocate_zeroed(allocator, (size_t)count * sizeof *slots->slot);
    if (!slots->slot)
        return attend__fail(ATTEND_ERR_MEMORY, "no memory for %d slots", count);
    slots->count = count;
    slots->allocator = allocator;
    pthread_mutex_init(&slots->lock, NULL);
    pthread_cond_init(&slots->given_back, NULL);
    return ATTEND_OK;
}

void attend__slots_abandon(struct attend__slots *slots)
{
    for (int i = 0; i < slots->count; i++)
        attend__release(slots->allocator, slots->slot[i].memory, slots->slot[i].bytes);
    attend__release(slots->allocator, slots->slot, (size_t)slots->count * sizeof *slots->slot);
}

void attend__slots_destroy(struct attend__slots *slots)
{
    pthread_cond_destroy(&slots->given_back);
    pthread_mutex_destroy(&slots->lock);
    attend__slots_abandon(slots);
}

static attend_status reserve_slot(struct attend__slots *slots, struct attend__slot *slot, size_t bytes)
{
    void *larger = attend__allocate(slots->allocator, bytes);
    if (!larger)
        return attend__fail(ATTEND_ERR_MEMORY, "no memory for a workspace of %zu bytes", bytes);
    pthread_mutex_lock(&slots->lock);
    slot->wanted = true;
    while (slot->taken)
        pthread_cond_wait(&slots->given_back, &slots->lock);
    slot->wanted = false;
    pthread_cond_broadcast(&slots->given_back);
    void *unused = larger;
    size_t unused_bytes = bytes;
    if (slot->bytes < bytes) {
        unused = slot->memory;
        unused_bytes = slot->bytes;
        slot->memory = larger;
        slot->bytes = bytes;
    }
    pthread_mutex_unlock(&slots->lock);
    attend__release(slots->allocator, unused, unused_bytes);
    return ATTEND_OK;
}

attend_status attend__slots_reserve(struct attend__slots *slots, size_t bytes)
{
    for (int i = 0; i < slots->count; i++) {
        pthread_mutex_lock(&slots->lock);
        const bool large_enough = slots->slot[i].bytes >= bytes;
        pthread_mutex_unlock(&slots->lock);
        attend_status status = large_enough ? ATTEND_OK : reserve_slot(slots, &slots->slot[i], bytes);
        if (status)
            return status;
    }
    return ATTEND_OK;
}

static struct attend__slot *find_free(struct attend__slots *slots)
{
    for (int i = 0; i < slots->count; i++)
        if (!slots->slot[i].taken && !slots->slot[i].wanted)
            return &slots->slot[i];
    return NULL;
}

struct attend__slot *attend__slots_take(struct attend__slots *slots)
{
    pthread_mutex_lock(&slots->lock);
    struct attend__slot *slot;
    while (!(slot = find_free(slots)))
        pthread_cond_wait(&slots->given_back, &slots->lock);
    slot->taken = true;
    pthread_mutex_unlock(&slots->lock);
    return slot;
}

void attend__slots_give_back(struct attend__slots *slots, struct attend__slot *slot)
{
    pthread_mutex_lock(&slots->lock);
    slot->taken = false;
    pthread_cond_broadcast(&slots->given_back); /* one waiter would do, but not one that reserves another slot */
    pthread_mutex_unlock(&slots->lock);
}
