/* How the files of this folder describe a failure: one line in a buffer of the caller's. */
#ifndef BENCH_FAILURE_H
#define BENCH_FAILURE_H

#include <stdbool.h>
#include <stddef.h>

/* Writes the printf-style message, cut to fit, into error[size]; returns false, so that a function can fail in one
 * line. */
bool failure_describe(char *error, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4), cold));

#endif
