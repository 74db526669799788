/* One run of a problem's data for the plain runner: the whole batch in one call or each item in its own, and the bytes
 * of the results. Judges nothing. */
#ifndef ATTEND_TESTS_PLAIN_RUN_H
#define ATTEND_TESTS_PLAIN_RUN_H

#include "bench/problem_data.h"

/* Fills data's output and LSE. False: error[size] is the library's message. */
bool plain_run(attend_engine *engine, struct problem_data *data, bool alone, char *error, size_t size);

/* Writes output and LSE, padding rows included, as little-endian numbers of their types in the order of their axes to
 * STEM.output and STEM.lse. False: error[size] names the file. */
bool plain_run_write(const struct problem_data *data, const char *stem, char *error, size_t size);

#endif
