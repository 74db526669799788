/* Arguments of an append, checked once: the copy behind this header relies on what is stated here and can no longer fail. */
#ifndef ATTEND__APPEND_H
#define ATTEND__APPEND_H

#include "engine/problem/problem.h"

/* Sizes are ≥ 0; tensors with data have elements of one size, 2 or 4 bytes; every new key has a place in its item's cache; caches have
 * distinct elements and overlap nothing that is read. */
struct attend__append {
    int64_t batch, kv_heads, d_k, d_v, rows;
    struct attend__view new_key, new_value, key, value;
    const int64_t *lengths, *new_lengths, *new_offsets; /* NULL: not given */
    int64_t page_keys;           /* 0: contiguous caches, whose batch axis is the items */
    const int32_t *block_tables; /* of item b from b·table_stride on; NULL: no item has new keys */
    int64_t table_stride;
    int64_t table_entries; /* from the first one on that are looked at, gaps included */
};

/* One item's new keys, and where they go. */
struct attend__append_item {
    int64_t from_batch, from_row, count; /* of the new tensors */
    int64_t past;                        /* keys in the cache: the first new one's index */
};

struct attend__append_item attend__append_item(const struct attend__append *append, int64_t b);

attend_status attend__append_check(struct attend__append *append, const attend_append_args *caller);

#endif
