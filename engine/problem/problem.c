/* Checks of the problem that a plan is made for. See problem.h. */
#include "engine/problem/problem.h"

#include "engine/base/sizes.h"
#include "engine/base/status.h"
#include "engine/base/structs.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>

/* Leaves room for adding and rounding up. */
#define SIZE_LIMIT (INT64_C(1) << 56)

static attend_status check_sizes(const attend_problem *given)
{
    const struct {
        const char *name;
        int64_t value;
    } sizes[] = {
        { "batch", given->batch }, { "heads", given->heads }, { "kv_heads", given->kv_heads }, { "rows", given->rows },
        { "keys", given->keys },   { "d_k", given->d_k },     { "d_v", given->d_v },
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (sizes[i].value < 0 || sizes[i].value > SIZE_LIMIT)
            return attend__fail(ATTEND_ERR_ARGUMENT, "problem.%s is %" PRId64 "; it must be between 0 and 2^56", sizes[i].name,
                                sizes[i].value);
    if (given->heads > 0 && (given->kv_heads == 0 || given->heads % given->kv_heads != 0))
        return attend__fail(ATTEND_ERR_ARGUMENT,
                            "problem.heads is %" PRId64 " and kv_heads is %" PRId64
                            "; heads must be a multiple of kv_heads, which must be at least 1",
                            given->heads, given->kv_heads);
    return ATTEND_OK;
}

static bool product_fits(int64_t a, int64_t b, int64_t c, int64_t d)
{
    int64_t product;
    return !__builtin_mul_overflow(attend__max(a, 1), attend__max(b, 1), &product) &&
           !__builtin_mul_overflow(product, attend__max(c, 1), &product) &&
           !__builtin_mul_overflow(product, attend__max(d, 1), &product);
}

static attend_status check_products(const attend_problem *given)
{
    const int64_t width = attend__max(given->d_k, given->d_v);
    const int64_t query_batch = given->flags & ATTEND_PACKED_QUERIES ? 1 : given->batch;
    const int64_t key_batch = given->flags & ATTEND_PACKED_KEYS ? 1 : given->batch;
    if (!product_fits(query_batch, given->heads, given->rows, width))
        return attend__fail(ATTEND_ERR_ARGUMENT,
                            "problem.batch %" PRId64 " x heads %" PRId64 " x rows %" PRId64 " x width %" PRId64
                            " is too large; the number of elements must fit 63 bits",
                            query_batch, given->heads, given->rows, width);
    if (!product_fits(key_batch, given->kv_heads, given->keys, width))
        return attend__fail(ATTEND_ERR_ARGUMENT,
                            "problem.batch %" PRId64 " x kv_heads %" PRId64 " x keys %" PRId64 " x width %" PRId64
                            " is too large; the number of elements must fit 63 bits",
                            key_batch, given->kv_heads, given->keys, width);
    return ATTEND_OK;
}

static attend_status check_dtypes(const attend_problem *given)
{
    const struct {
        const char *name;
        attend_dtype value;
    } dtypes[] = { { "query_dtype", given->query_dtype },
                   { "kv_dtype", given->kv_dtype },
                   { "output_dtype", given->output_dtype } };
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        if (dtypes[i].value != ATTEND_F32 && dtypes[i].value != ATTEND_BF16 && dtypes[i].value != ATTEND_F16)
            return attend__fail(ATTEND_ERR_ARGUMENT, "problem.%s is %d; it must be ATTEND_F32 (0), ATTEND_BF16 (1) or ATTEND_F16 (2)",
                                dtypes[i].name, (int)dtypes[i].value);
    }
    return ATTEND_OK;
}

static attend_status check_options(const attend_problem *given)
{
    const uint32_t known = ATTEND_EXPLICIT_SCALE | ATTEND_KEEP_PADDING_ROWS | ATTEND_WINDOW | ATTEND_PACKED_QUERIES |
                           ATTEND_PACKED_KEYS | ATTEND_KEY_SUMS | ATTEND_FAST_ONLY | ATTEND_PAGED_KEYS |
                           ATTEND_SHARED_PREFIXES;
    if (given->flags & ~known)
        return attend__fail(ATTEND_ERR_UNSUPPORTED, "problem.flags is 0x%" PRIx32 "; attend %s knows the bits 0x%" PRIx32,
                            given->flags, attend_version(), known);
    if (given->causal != 0 && given->causal != 1)
        return attend__fail(ATTEND_ERR_ARGUMENT, "problem.causal is %" PRId32 "; it must be 0 or 1", given->causal);
    if ((unsigned)given->diagonal > ATTEND_DIAGONAL_POSITION)
        return attend__fail(ATTEND_ERR_ARGUMENT, "problem.diagonal is %d; it must be an attend_diagonal",
                            (int)given->diagonal);
    if (given->reserved != 0)
        return attend__fail(ATTEND_ERR_ARGUMENT, "problem.reserved is %" PRId32 "; it must be 0", given->reserved);
    if (given->reserved_2 != 0)
        return attend__fail(ATTEND_ERR_ARGUMENT, "problem.reserved_2 is %" PRId32 "; it must be 0", given->reserved_2);
    const bool capped = given->softcap >= FLT_MIN && isfinite(given->softcap); /* below, 1 / softcap overflows */
    if (given->softcap != 0.0f && !capped)
        return attend__fail(ATTEND_ERR_ARGUMENT, "problem.softcap is %g; it must be 0, or finite and at least %g",
                            (double)given->softcap, (double)FLT_MIN);
    return ATTEND_OK;
}

static attend_status check_pages(const attend_problem *given)
{
    const bool paged = (given->flags & ATTEND_PAGED_KEYS) != 0;
    if (paged && given->flags & ATTEND_PACKED_KEYS)
        return attend__fail(ATTEND_ERR_ARGUMENT, "problem.flags has ATTEND_PAGED_KEYS and ATTEND_PACKED_KEYS; keys lie in one way");
    if (!paged && given->flags & ATTEND_SHARED_PREFIXES)
        return attend__fail(ATTEND_ERR_ARGUMENT, "problem.flags has ATTEND_SHARED_PREFIXES; it needs ATTEND_PAGED_KEYS as well");
    if (!paged && given->page_keys != 0)
        return attend__fail(ATTEND_ERR_ARGUMENT, "problem.page_keys is %" PRId64 "; it must be 0 without the flag ATTEND_PAGED_KEYS",
                            given->page_keys);
    if (paged && (given->page_keys < 1 || given->page_keys > INT32_MAX))
        return attend__fail(ATTEND_ERR_ARGUMENT, "problem.page_keys is %" PRId64 "; it must be between 1 and 2^31 - 1",
                            given->page_keys);
    return ATTEND_OK;
}

static attend_status check_window(const attend_problem *given, const attend_problem *caller)
{
    const bool wanted = (given->flags & ATTEND_WINDOW) != 0;
    const struct {
        const char *name;
        int64_t value;
    } sides[] = { { "window_left", given->window_left }, { "window_right", given->window_right } };
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
        if (!wanted && sides[i].value != 0)
            return attend__fail(ATTEND_ERR_ARGUMENT, "problem.%s is %" PRId64 "; it must be 0 without the flag ATTEND_WINDOW",
                                sides[i].name, sides[i].value);
        if (sides[i].value < -1)
            return attend__fail(ATTEND_ERR_ARGUMENT, "problem.%s is %" PRId64 "; it must be at least 0, or -1 for unbounded",
                                sides[i].name, sides[i].value);
    }
    /* A struct that ends before the sides has none to give. */
    const size_t with_window = offsetof(attend_problem, softcap);
    return wanted ? attend__struct_check(caller, with_window, "problem") : ATTEND_OK;
}

static int64_t reach_of(const attend_problem *given, int64_t side)
{
    if (!(given->flags & ATTEND_WINDOW) || side < 0)
        return ATTEND__UNBOUNDED;
    return attend__min(side, ATTEND__UNBOUNDED);
}

static attend_status find_scale(float *scale, const attend_problem *given)
{
    if (given->flags & ATTEND_EXPLICIT_SCALE) {
        if (!isfinite(given->scale))
            return attend__fail(ATTEND_ERR_ARGUMENT, "problem.scale is %g; it must be finite", (double)given->scale);
        *scale = given->scale;
        return ATTEND_OK;
    }
    if (given->d_k == 0)
        return attend__fail(ATTEND_ERR_ARGUMENT,
                            "problem.d_k is 0 without ATTEND_EXPLICIT_SCALE; the default scale 1/sqrt(d_k) needs d_k > 0");
    *scale = (float)(1.0 / sqrt((double)given->d_k));
    return ATTEND_OK;
}

attend_status attend__problem_check(struct attend__problem *problem, const attend_problem *caller)
{
    attend_problem given;
    const size_t without_window = offsetof(attend_problem, window_left);
    attend_status status = attend__struct_read(&given, sizeof given, without_window, caller, "problem");
    if (!status)
        status = check_sizes(&given);
    if (!status)
        status = check_products(&given);
    if (!status)
        status = check_dtypes(&given);
    if (!status)
        status = check_options(&given);
    if (!status)
        status = check_pages(&given);
    if (!status)
        status = check_window(&given, caller);
    if (!status)
        status = find_scale(&problem->scale, &given);
    if (status)
        return status;
    problem->batch = given.batch;
    problem->heads = given.heads;
    problem->kv_heads = given.heads > 0 ? given.kv_heads : 0;
    problem->group = given.heads > 0 ? given.heads / given.kv_heads : 1;
    problem->rows = given.rows;
    problem->keys = given.keys;
    problem->d_k = given.d_k;
    problem->d_v = given.d_v;
    problem->query_dtype = given.query_dtype;
    problem->kv_dtype = given.kv_dtype;
    problem->output_dtype = given.output_dtype;
    problem->left = reach_of(&given, given.window_left);
    problem->right = given.causal ? 0 : reach_of(&given, given.window_right);
    problem->diagonal = given.diagonal;
    problem->softcap = given.softcap;
    problem->keep_padding_rows = (given.flags & ATTEND_KEEP_PADDING_ROWS) != 0;
    problem->packed_queries = (given.flags & ATTEND_PACKED_QUERIES) != 0;
    problem->packed_keys = (given.flags & ATTEND_PACKED_KEYS) != 0;
    problem->page_keys = given.page_keys;
    problem->shared_prefixes = (given.flags & ATTEND_SHARED_PREFIXES) != 0;
    problem->key_sums = (given.flags & ATTEND_KEY_SUMS) != 0;
    problem->fast_only = (given.flags & ATTEND_FAST_ONLY) != 0;
    return ATTEND_OK;
}
