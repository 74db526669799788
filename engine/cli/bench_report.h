/* How attend bench shows measurements: a JSON document, or a table for people. Measures nothing. */
#ifndef ATTEND_CLI_BENCH_REPORT_H
#define ATTEND_CLI_BENCH_REPORT_H

#include "bench/measurement.h"

#include <jansson.h>

/* One line of the results. */
struct bench_entry {
    const char *text; /* the problem as given on the command line */
    const struct problem_string *problem;
    attend_isa isa;
    int32_t threads;
    bool cold;
    struct measurement measurement;
    double scaling; /* speed-up over the problem's first entry divided by the ratio of the thread counts; NAN for the
                       first */
};

/* "machine" of the document. */
json_t *bench_machine_json(const attend_engine_info *info);

json_t *bench_entry_json(const struct bench_entry *entry);

/* The table: one heading for all, then each problem and a line for each of its thread counts. */
void bench_print_heading(const attend_engine_info *info);
void bench_print_problem(const struct bench_entry *entry);
void bench_print_entry(const struct bench_entry *entry);

#endif
