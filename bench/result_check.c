/* See result_check.h. */
#include "bench/result_check.h"

#include "bench/failure.h"
#include "bench/half.h"
#include "tests/oracle.h"

#include <math.h>
#include <stdlib.h>

struct place {
    int64_t item, head, row;
};

static uint64_t draw(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t x = *state;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* The item that a packed row belongs to. */
static int64_t find_item(const int64_t *offsets, int64_t row)
{
    int64_t item = 0;
    while (offsets[item + 1] <= row)
        item++;
    return item;
}

/* Place n of the sample: four corners, then drawn ones. Modulo is good enough for choosing rows. */
static struct place choose_place(const attend_problem *problem, const attend_args *args, int n, uint64_t *state)
{
    struct place place = { .item = n & 2 ? problem->batch - 1 : 0, .head = n & 2 ? problem->heads - 1 : 0,
                           .row = n & 1 ? problem->rows - 1 : 0 };
    if (n >= 4)
        place = (struct place){ .item = (int64_t)(draw(state) % (uint64_t)problem->batch),
                                .head = (int64_t)(draw(state) % (uint64_t)problem->heads),
                                .row = (int64_t)(draw(state) % (uint64_t)problem->rows) };
    if (args->query_offsets)
        place.item = find_item(args->query_offsets, place.row);
    return place;
}

static float element_at(const attend_tensor *tensor, const attend_args *args, struct place place, int64_t feature)
{
    const int64_t batch = args->query_offsets ? 0 : place.item;
    const int64_t index = batch * tensor->stride[0] + place.head * tensor->stride[1] + place.row * tensor->stride[2] +
                          feature * tensor->stride[3];
    return half_read(tensor->data, index, tensor->dtype);
}

/* Whether `found` is within `bound` of `expected`; infinities and NaN must be met exactly. Raises *error and *share. */
static bool judge(double found, double expected, double bound, double *error, double *share)
{
    if (!isfinite(expected))
        return isnan(expected) ? isnan(found) : found == expected;
    double difference = fabs(found - expected);
    if (!(difference <= bound))
        return false;
    if (difference > *error)
        *error = difference;
    if (difference > 0 && difference / bound > *share)
        *share = difference / bound;
    return true;
}

static bool check_row(struct result_check *check, const attend_problem *problem, const attend_args *args,
                      struct place place, double *expected, char *error, size_t size)
{
    struct oracle_row row = { .output = expected };
    oracle_attend_row(problem, args, place.item, place.head, place.row, &row);
    bool empty = !row.inside || row.visible == 0;
    double lse_bound = empty ? 0 : oracle_lse_bound(problem, &row);
    double output_bound = empty ? 0 : oracle_output_bound(problem, &row);
    double lse = element_at(args->lse, args, place, 0), wanted = row.inside ? row.lse : -INFINITY;
    if (!judge(lse, wanted, lse_bound, &check->lse_error, &check->lse_share))
        return failure_describe(error, size,
                                "item %lld, head %lld, row %lld: LSE is %.9g, the oracle has %.9g, the bound is %.3g",
                                (long long)place.item, (long long)place.head, (long long)place.row, lse, wanted,
                                lse_bound);
    double row_error = 0;
    for (int64_t d = 0; d < problem->d_v; d++) {
        double found = element_at(args->output, args, place, d);
        wanted = row.inside ? expected[d] : 0;
        const double bound = output_bound + half_rounding(args->output->dtype, fabs(wanted) + output_bound);
        if (!judge(found, wanted, bound, &row_error, &check->output_share))
            return failure_describe(error, size,
                                    "item %lld, head %lld, row %lld: output %lld is %.9g, the oracle has %.9g, "
                                    "the bound is %.3g",
                                    (long long)place.item, (long long)place.head, (long long)place.row, (long long)d,
                                    found, wanted, bound);
    }
    check->output_error = fmax(check->output_error, row_error);
    if (row_error > 0)
        check->output_relative = fmax(check->output_relative, row_error / row.value_max);
    return true;
}

bool result_check_rows(struct result_check *check, const attend_problem *problem, const attend_args *args, int rows,
                       uint64_t seed, char *error, size_t size)
{
    *check = (struct result_check){ 0 };
    if (problem->batch == 0 || problem->heads == 0 || problem->rows == 0)
        return true;
    double *expected = calloc((size_t)problem->d_v + 1, sizeof *expected);
    if (!expected)
        return failure_describe(error, size, "not enough memory for a row of the oracle");
    uint64_t state = seed;
    bool good = true;
    for (int n = 0; good && n < rows; n++) {
        good = check_row(check, problem, args, choose_place(problem, args, n, &state), expected, error, size);
        check->rows += good;
    }
    free(expected);
    return good;
}
