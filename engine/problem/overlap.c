/* See overlap.h. A byte of a is a byte of b when Σ i·s - Σ j·t = distance has a solution within the extents: a bounded linear
 * equation, searched from the largest stride down. After choosing some coefficients the remainder must lie within what the
 * smaller strides can still reach, which leaves one or two choices per axis for nested layouts. */
#include "engine/problem/overlap.h"

#include "engine/base/sizes.h"

/* coefficient·stride with low ≤ coefficient ≤ high; stride > 0. */
struct term {
    int64_t stride, low, high;
};

enum {
    MOST_TERMS = 2 * (ATTEND__SPAN_AXES + 1),
    SEARCH_BUDGET = 4096 /* nodes; some hundred µs at worst */
};

struct equation {
    struct term term[MOST_TERMS];
    int count;
};

static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Adds a term in its place, largest stride first; a negative stride is turned round. */
static void add_term(struct equation *equation, int64_t stride, int64_t low, int64_t high)
{
    if (stride == 0 || (low == 0 && high == 0))
        return;
    struct term term = stride > 0 ? (struct term){ stride, low, high } : (struct term){ -stride, -high, -low };
    int at = equation->count++;
    for (; at > 0 && equation->term[at - 1].stride < term.stride; at--)
        equation->term[at] = equation->term[at - 1];
    equation->term[at] = term;
}

static bool solve(const struct equation *equation, int from, int64_t target, int *budget)
{
    if (--*budget < 0)
        return false;
    if (from == equation->count)
        return target == 0;
    int64_t rest_low = 0, rest_high = 0;
    for (int i = from + 1; i < equation->count; i++) {
        rest_low += equation->term[i].stride * equation->term[i].low;
        rest_high += equation->term[i].stride * equation->term[i].high;
    }
    const struct term *term = &equation->term[from];
    const int64_t low = attend__max(term->low, -floor_divide(rest_high - target, term->stride));
    const int64_t high = attend__min(term->high, floor_divide(target - rest_low, term->stride));
    for (int64_t c = low; c <= high && *budget >= 0; c++)
        if (solve(equation, from + 1, target - c * term->stride, budget))
            return true;
    return false;
}

static bool solvable(const struct equation *equation, int64_t target)
{
    int budget = SEARCH_BUDGET;
    return solve(equation, 0, target, &budget);
}

static void bounds(const struct attend__span *span, uintptr_t *low, uintptr_t *high)
{
    *low = *high = span->first;
    for (int i = 0; i < ATTEND__SPAN_AXES; i++) {
        const int64_t reach = (span->extent[i] - 1) * span->stride[i];
        *(reach < 0 ? low : high) += (uintptr_t)reach;
    }
    *high += (uintptr_t)span->element;
}

bool attend__spans_overlap(const struct attend__span *a, const struct attend__span *b)
{
    uintptr_t a_low, a_high, b_low, b_high;
    bounds(a, &a_low, &a_high);
    bounds(b, &b_low, &b_high);
    if (a_high <= b_low || b_high <= a_low)
        return false;
    struct equation equation = { .count = 0 };
    for (int i = 0; i < ATTEND__SPAN_AXES; i++) {
        add_term(&equation, a->stride[i], 0, a->extent[i] - 1);
        add_term(&equation, b->stride[i], -(b->extent[i] - 1), 0);
    }
    add_term(&equation, 1, 0, a->element - 1);
    add_term(&equation, 1, -(b->element - 1), 0);
    return solvable(&equation, (int64_t)(b->first - a->first));
}

bool attend__span_overlaps_itself(const struct attend__span *span)
{
    for (int lead = 0; lead < ATTEND__SPAN_AXES; lead++) {
        if (span->extent[lead] == 1)
            continue;
        if (span->stride[lead] == 0)
            return true;
        struct equation equation = { .count = 0 };
        add_term(&equation, span->stride[lead], 1, span->extent[lead] - 1);
        for (int i = lead + 1; i < ATTEND__SPAN_AXES; i++)
            add_term(&equation, span->stride[i], -(span->extent[i] - 1), span->extent[i] - 1);
        add_term(&equation, 1, -(span->element - 1), span->element - 1);
        if (solvable(&equation, 0))
            return true;
    }
    return false;
}
