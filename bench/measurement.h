/* The measurement: rounds of {multiply-add limit, the problem, read limit} on one engine, so that each figure is
 * compared with limits found in the same moments. The result is checked against the oracle before it is handed out.
 * Knows no output format. */
#ifndef BENCH_MEASUREMENT_H
#define BENCH_MEASUREMENT_H

#include "bench/problem_data.h"
#include "bench/statistics.h"

/* Bytes that one pass of the read limit goes through, and that a cold measurement rotates over. */
#define MEASURE_READ_BYTES ((size_t)1 << 30)

struct measure_options {
    int64_t repeat;          /* rounds; 0: as many as take about 1.5 seconds, 5 to 100 */
    bool cold;               /* every run on the next copy of the tensors, none warmed up */
    const void *read_memory; /* MEASURE_READ_BYTES bytes, touched, in the problem's kind of pages */
};

struct measurement {
    struct statistics seconds; /* of one run */
    int64_t rounds;
    double visible_flops;      /* 2·(d_k + d_v) per (row, key) pair that is visible but for tensors and biases */
    double kv_bytes;           /* keys and values that any row sees, each once */
    double flop_rate, byte_rate; /* per second, at the median time */
    double peak_flop_rate, read_byte_rate; /* medians of the limits */
    double peak_fraction, read_fraction;
};

/* Measures `data` on `engine`. False: error[size] tells in one line what failed: a call of the library, memory, or a
 * row that differs from the oracle. */
bool measure_problem(struct measurement *result, attend_engine *engine, struct problem_data *data,
                     const struct measure_options *options, char *error, size_t size);

/* Memory for the read limit, every page written. False: not enough memory. */
bool measure_map_read_memory(struct page_memory *memory, bool small_pages);

#endif
