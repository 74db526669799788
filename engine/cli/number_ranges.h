/* Lists of numbers as people write them: 0-3,8,10-14:2 (from 10 to 14 in steps of 2, as taskset spells it). */
#ifndef ATTEND_CLI_NUMBER_RANGES_H
#define ATTEND_CLI_NUMBER_RANGES_H

#include <stddef.h>
#include <stdint.h>

/* Writes numbers[count] in their order, cut to fit buffer[size] and always terminated; returns the whole length. */
size_t number_ranges_print(const int32_t *numbers, size_t count, char *buffer, size_t size);

#endif
