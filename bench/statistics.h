/* Median, least and greatest of samples. */
#ifndef BENCH_STATISTICS_H
#define BENCH_STATISTICS_H

#include <stddef.h>

struct statistics {
    double median, min, max;
};

/* Sorts samples[count], count > 0, in place. The median of an even count is the mean of the middle two. */
struct statistics statistics_of(double *samples, size_t count);

/* (max - min) / median; 0 for a median of 0. */
double statistics_spread(const struct statistics *statistics);

#endif
