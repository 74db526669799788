/* See append.h. */
#include "engine/problem/append.h"

#include "engine/base/sizes.h"
#include "engine/base/status.h"
#include "engine/base/structs.h"
#include "engine/problem/outputs.h"
#include "engine/problem/pages.h"

#include <inttypes.h>

/* Sizes up to here make no sum or product of bytes overflow; element counts are checked by the strides' reach, tensor by tensor. */
#define SIZE_LIMIT (INT64_C(1) << 56)

/* The caches, which are written, come first. */
enum { TENSORS = 4, CACHES = 2 };

struct attend__append_item attend__append_item(const struct attend__append *append, int64_t b)
{
    const bool packed = append->new_offsets != NULL;
    struct attend__append_item item = { .past = append->lengths ? append->lengths[b] : 0 };
    item.from_batch = packed ? 0 : b;
    item.from_row = packed ? append->new_offsets[b] : 0;
    item.count = packed                ? append->new_offsets[b + 1] - item.from_row
                 : append->new_lengths ? append->new_lengths[b]
                                       : append->rows;
    return item;
}

/* ---- sizes ---- */

static attend_status check_sizes(const attend_append_args *given)
{
    const struct {
        const char *name;
        int64_t value, most;
    } sizes[] = { { "batch", given->batch, SIZE_LIMIT },         { "kv_heads", given->kv_heads, SIZE_LIMIT },
                  { "d_k", given->d_k, SIZE_LIMIT },             { "d_v", given->d_v, SIZE_LIMIT },
                  { "rows", given->rows, SIZE_LIMIT },           { "keys", given->keys, SIZE_LIMIT },
                  { "page_keys", given->page_keys, SIZE_LIMIT }, { "pages", given->pages, INT32_MAX },
                  { "table_stride", given->table_stride, SIZE_LIMIT / attend__max(given->batch, 1) } };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (sizes[i].value < 0 || sizes[i].value > sizes[i].most)
            return attend__fail(ATTEND_ERR_ARGUMENT, "args.%s is %" PRId64 "; it must be between 0 and %" PRId64, sizes[i].name,
                                sizes[i].value, sizes[i].most);
    return ATTEND_OK;
}

static attend_status refuse_pages(const attend_append_args *given)
{
    const char *name = given->block_tables ? "block_tables" : given->table_stride ? "table_stride" : given->pages ? "pages" : NULL;
    return name ? attend__fail(ATTEND_ERR_ARGUMENT, "args.%s is given; it must be unset where page_keys is 0", name) : ATTEND_OK;
}

/* ---- items ---- */

/* From 0 on, never down, to `rows`. */
static attend_status check_offsets(const attend_append_args *given)
{
    const int64_t *offsets = given->new_offsets;
    if (given->new_lengths)
        return attend__fail(ATTEND_ERR_ARGUMENT, "args.new_lengths is given; it must be NULL with new_offsets");
    if (offsets[0] != 0)
        return attend__fail(ATTEND_ERR_ARGUMENT, "args.new_offsets[0] is %" PRId64 "; it must be 0", offsets[0]);
    for (int64_t b = 0; b < given->batch; b++)
        if (offsets[b + 1] < offsets[b])
            return attend__fail(ATTEND_ERR_ARGUMENT,
                                "args.new_offsets[%" PRId64 "] is %" PRId64 "; it must be at least the one before (%" PRId64 ")", b + 1,
                                offsets[b + 1], offsets[b]);
    if (offsets[given->batch] != given->rows)
        return attend__fail(ATTEND_ERR_ARGUMENT, "args.new_offsets[%" PRId64 "] is %" PRId64 "; it must be args.rows (%" PRId64 ")",
                            given->batch, offsets[given->batch], given->rows);
    return ATTEND_OK;
}

static attend_status check_lengths(const struct attend__append *append, struct attend__append_item item, int64_t keys, int64_t b)
{
    if (item.past < 0)
        return attend__fail(ATTEND_ERR_ARGUMENT, "args.lengths[%" PRId64 "] is %" PRId64 "; it must be at least 0", b, item.past);
    if (item.count < 0 || item.count > append->rows)
        return attend__fail(ATTEND_ERR_ARGUMENT,
                            "args.new_lengths[%" PRId64 "] is %" PRId64 "; it must be between 0 and args.rows (%" PRId64 ")", b,
                            item.count, append->rows);
    if (item.count > keys - item.past)
        return attend__fail(ATTEND_ERR_CAPACITY,
                            "args.lengths of item %" PRId64 " is %" PRId64 " and its new keys are %" PRId64 "; the cache holds %" PRId64
                            " (args.keys)",
                            b, item.past, item.count, keys);
    return ATTEND_OK;
}

/* The entries of the pages that the item's new keys go to, and no others. */
static attend_status check_table(struct attend__tables *tables, struct attend__append_item item, int64_t page_keys, int64_t b)
{
    if (page_keys == 0 || item.count == 0)
        return ATTEND_OK;
    const struct attend__range own = { item.past / page_keys, (item.past + item.count - 1) / page_keys + 1 };
    return attend__table_check(tables, own, b);
}

static attend_status check_items(struct attend__append *append, const attend_append_args *given)
{
    struct attend__tables tables = { given->block_tables, given->table_stride, given->batch, given->pages, 0 };
    attend_status status = given->new_offsets ? check_offsets(given) : ATTEND_OK;
    for (int64_t b = 0; !status && b < append->batch; b++) {
        const struct attend__append_item item = attend__append_item(append, b);
        status = check_lengths(append, item, given->keys, b);
        if (!status)
            status = check_table(&tables, item, append->page_keys, b);
    }
    append->table_entries = tables.entries;
    return status;
}

/* ---- tensors ---- */

/* All four tensors have the cache's type of numbers; what is no such type is then refused by name. */
static attend_status read_dtype(attend_dtype *dtype, const attend_tensor *key)
{
    attend_tensor tensor;
    *dtype = ATTEND_F32;
    if (!key)
        return ATTEND_OK;
    attend_status status = attend__struct_read(&tensor, sizeof tensor, sizeof tensor, key, "args.key");
    if (!status && (tensor.dtype == ATTEND_BF16 || tensor.dtype == ATTEND_F16))
        *dtype = tensor.dtype;
    return status;
}

/* A packed tensor has the new keys of all items on its row axis. */
static attend_status check_tensors(struct attend__append *append, const attend_append_args *given)
{
    const bool paged = append->page_keys > 0;
    const int64_t b = paged ? given->pages : append->batch, n = paged ? append->page_keys : given->keys;
    const int64_t nb = append->new_offsets ? 1 : append->batch, g = append->kv_heads, r = append->rows;
    attend_dtype dtype;
    attend_status status = read_dtype(&dtype, given->key);
    if (status)
        return status;
    const struct attend__tensor_rule rules[TENSORS] = {
        { "key", given->key, &append->key, { b, g, n, append->d_k }, dtype, true, NULL },
        { "value", given->value, &append->value, { b, g, n, append->d_v }, dtype, true, NULL },
        { "new_key", given->new_key, &append->new_key, { nb, g, r, append->d_k }, dtype, true, NULL },
        { "new_value", given->new_value, &append->new_value, { nb, g, r, append->d_v }, dtype, true, NULL },
    };
    const struct attend__array_rule arrays[] = {
        { "lengths", append->lengths, append->batch, 8 },
        { "new_lengths", append->new_lengths, append->batch, 8 },
        { "new_offsets", append->new_offsets, append->batch + 1, 8 },
        { "block_tables", append->block_tables, append->table_entries, 4 },
    };
    return attend__tensors_check(&(struct attend__arguments){ rules, CACHES, TENSORS, arrays, sizeof arrays / sizeof *arrays, "a cache" });
}

attend_status attend__append_check(struct attend__append *append, const attend_append_args *caller)
{
    attend_append_args given;
    attend_status status = attend__struct_read(&given, sizeof given, sizeof given, caller, "args");
    if (!status)
        status = check_sizes(&given);
    if (!status && given.page_keys == 0)
        status = refuse_pages(&given);
    if (status)
        return status;
    *append = (struct attend__append){
        .batch = given.batch, .kv_heads = given.kv_heads, .d_k = given.d_k, .d_v = given.d_v, .rows = given.rows,
        .lengths = given.lengths, .new_lengths = given.new_lengths, .new_offsets = given.new_offsets,
        .page_keys = given.page_keys, .block_tables = given.block_tables, .table_stride = given.table_stride,
    };
    status = check_items(append, &given);
    return status ? status : check_tensors(append, &given);
}
