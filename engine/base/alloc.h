/* The engine's memory: the host's hooks, or the C library where there are none. */
#ifndef ATTEND__ALLOC_H
#define ATTEND__ALLOC_H

#include "attend/attend.h"

/* Alignment of every block: a cache line, which is also the widest vector. */
enum { ATTEND__ALIGNMENT = 64 };

struct attend__allocator {
    attend_allocate_fn allocate; /* NULL: the C library */
    attend_release_fn release;
    void *user;
};

/* `bytes` bytes (0 counts as 1), uninitialised and not touched, aligned to ATTEND__ALIGNMENT; NULL when there are none. */
void *attend__allocate(const struct attend__allocator *allocator, size_t bytes);

/* The same, filled with zeros. */
void *attend__allocate_zeroed(const struct attend__allocator *allocator, size_t bytes);

/* Gives back what attend__allocate returned for `bytes`; NULL is ignored. */
void attend__release(const struct attend__allocator *allocator, void *memory, size_t bytes);

#endif
