/* See pages.h. */
#include "engine/problem/pages.h"

#include "engine/base/sizes.h"
#include "engine/base/status.h"

#include <inttypes.h>

/* Table entries that a call may span. */
#define ENTRY_LIMIT (INT64_C(1) << 56)

struct attend__range attend__pages_of(const struct attend__problem *problem, const struct attend__call *call, int64_t b)
{
    const struct attend__item item = attend__item_of(problem, call, b);
    if (item.keys == 0)
        return (struct attend__range){ 0, 0 };
    return (struct attend__range){ item.key_start / problem->page_keys,
                                   (item.key_start + item.keys - 1) / problem->page_keys + 1 };
}

attend_status attend__table_check(struct attend__tables *tables, struct attend__range own, int64_t b)
{
    if (own.high > tables->stride && tables->batch > 1 && tables->stride != 0)
        return attend__fail(ATTEND_ERR_ARGUMENT,
                            "args.table_stride is %" PRId64 "; item %" PRId64 " needs %" PRId64
                            " entries of its block table (0: one table for all items)",
                            tables->stride, b, own.high);
    if (own.high == 0)
        return ATTEND_OK;
    if (!tables->data)
        return attend__fail(ATTEND_ERR_ARGUMENT, "args.block_tables is NULL; where keys lie in pages it names those of every item");
    tables->entries = attend__max(tables->entries, b * tables->stride + own.high); /* an item may share a longer table */
    const int32_t *table = tables->data + b * tables->stride;
    for (int64_t n = own.low; n < own.high; n++)
        if (table[n] < 0 || table[n] >= tables->pages)
            return attend__fail(ATTEND_ERR_ARGUMENT,
                                "args.block_tables of item %" PRId64 " has block %" PRId32 " at entry %" PRId64
                                "; it must be between 0 and args.pages - 1 (%" PRId64 ")",
                                b, table[n], n, tables->pages - 1);
    return ATTEND_OK;
}

static attend_status refuse_pages(const attend_args *given)
{
    const char *name = given->block_tables ? "block_tables" : given->table_stride ? "table_stride" : given->pages ? "pages" : NULL;
    return name ? attend__fail(ATTEND_ERR_ARGUMENT, "args.%s is given; it must be unset without ATTEND_PAGED_KEYS", name) : ATTEND_OK;
}

attend_status attend__pages_check(struct attend__call *call, const struct attend__problem *problem, const attend_args *given)
{
    if (problem->page_keys == 0)
        return refuse_pages(given);
    if (given->pages < 0 || given->pages > INT32_MAX)
        return attend__fail(ATTEND_ERR_ARGUMENT, "args.pages is %" PRId64 "; it must be between 0 and 2^31 - 1", given->pages);
    if (given->table_stride < 0 || given->table_stride > ENTRY_LIMIT / attend__max(call->batch, 1))
        return attend__fail(ATTEND_ERR_ARGUMENT, "args.table_stride is %" PRId64 "; it must be at least 0, and batch times it at most 2^56",
                            given->table_stride);
    call->block_tables = given->block_tables;
    call->table_stride = given->table_stride;
    call->pages = given->pages;
    struct attend__tables tables = { given->block_tables, given->table_stride, call->batch, given->pages, 0 };
    attend_status status = ATTEND_OK;
    for (int64_t b = 0; !status && b < call->batch; b++)
        status = attend__table_check(&tables, attend__pages_of(problem, call, b), b);
    call->table_entries = tables.entries;
    return status;
}
