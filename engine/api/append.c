/* New keys and values into the caches of a generation, contiguous or in pages: copies of bits, in the caller. */
#include "engine/api/engine.h"

#include "engine/base/sizes.h"
#include "engine/problem/append.h"

#include <string.h>

/* Keys that lie one behind the other on both sides. */
struct stretch {
    int64_t from_batch, from_row; /* of the new tensor */
    int64_t to_batch, to_row;     /* of the cache: item and key, or page and key in it */
    int64_t count;
};

/* Steps are in bytes. */
static inline void copy_apart(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t width, size_t size)
{
    for (int64_t d = 0; d < width; d++)
        memcpy(to + d * to_step, from + d * from_step, size);
}

/* Elements are moved as bytes: a float register may turn a signalling NaN into a quiet one. Their size is told where the compiler
 * sees it, that an element is a move and no call. */
static void copy_features(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t width, int64_t size)
{
    if (to_step == 1 && from_step == 1)
        memcpy(to, from, (size_t)(width * size));
    else if (size == 2)
        copy_apart(to, to_step * 2, from, from_step * 2, width, 2);
    else
        copy_apart(to, to_step * 4, from, from_step * 4, width, 4);
}

static void copy_stretch(const struct attend__view *cache, const struct attend__view *fresh, const struct stretch *stretch,
                         int64_t kv_heads, int64_t width)
{
    if (!cache->data || !fresh->data) /* no elements */
        return;
    const int64_t *to = cache->stride, *from = fresh->stride, size = cache->size;
    for (int64_t g = 0; g < kv_heads; g++) {
        char *to_head = cache->data + (stretch->to_batch * to[0] + g * to[1]) * size;
        const char *from_head = fresh->data + (stretch->from_batch * from[0] + g * from[1]) * size;
        for (int64_t r = 0; r < stretch->count; r++)
            copy_features(to_head + (stretch->to_row + r) * to[2] * size, to[3],
                          from_head + (stretch->from_row + r) * from[2] * size, from[3], width, size);
    }
}

/* The new keys of an item from its r-th on that go to one page, or all that are left where there are no pages. */
static struct stretch find_stretch(const struct attend__append *append, const struct attend__append_item *item, int64_t b, int64_t r)
{
    const int64_t key = item->past + r;
    struct stretch stretch = {
        .from_batch = item->from_batch, .from_row = item->from_row + r, .to_batch = b, .to_row = key, .count = item->count - r,
    };
    if (append->page_keys > 0) {
        stretch.to_batch = append->block_tables[b * append->table_stride + key / append->page_keys];
        stretch.to_row = key % append->page_keys;
        stretch.count = attend__min(stretch.count, append->page_keys - stretch.to_row);
    }
    return stretch;
}

static void append_item(const struct attend__append *append, int64_t b)
{
    const struct attend__append_item item = attend__append_item(append, b);
    for (int64_t r = 0; r < item.count;) {
        const struct stretch stretch = find_stretch(append, &item, b, r);
        copy_stretch(&append->key, &append->new_key, &stretch, append->kv_heads, append->d_k);
        copy_stretch(&append->value, &append->new_value, &stretch, append->kv_heads, append->d_v);
        r += stretch.count;
    }
}

attend_status attend_append(attend_engine *given, const attend_append_args *args)
{
    attend_engine *engine;
    struct attend__append append;
    attend_status status = attend__engine_use(&engine, given);
    if (!status)
        status = attend__append_check(&append, args);
    if (status)
        return status;
    for (int64_t b = 0; b < append.batch; b++)
        append_item(&append, b);
    return ATTEND_OK;
}
