/* See statistics.h. */
#include "bench/statistics.h"

#include <stdlib.h>

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

struct statistics statistics_of(double *samples, size_t count)
{
    qsort(samples, count, sizeof *samples, compare_doubles);
    double upper = samples[count / 2], lower = samples[(count - 1) / 2];
    return (struct statistics){ .median = (lower + upper) / 2, .min = samples[0], .max = samples[count - 1] };
}

double statistics_spread(const struct statistics *statistics)
{
    return statistics->median > 0 ? (statistics->max - statistics->min) / statistics->median : 0;
}
