/* Numbers for tests: every one is a function of integers, made with integer arithmetic and one exact conversion, so
 * that a seed means the same numbers on every machine and compiler. */
#ifndef ATTEND_TESTS_HELP_COUNTER_H
#define ATTEND_TESTS_HELP_COUNTER_H

#include <stddef.h>
#include <stdint.h>

/* 64 well mixed bits for a seed and a place. */
uint64_t counter_bits(uint64_t seed, uint64_t place);

/* About normally distributed with deviation 1.15, within ±4; a multiple of 2⁻¹⁵. */
float counter_normal(uint64_t bits);

/* A sequence of such bits. */
struct dice {
    uint64_t seed, thrown;
};

/* From low to high, both included. */
int64_t dice_between(struct dice *dice, int64_t low, int64_t high);

/* One of values[count]. */
int64_t dice_pick(struct dice *dice, const int64_t *values, size_t count);

/* The seed and the number of rounds that a randomised test starts with: ATTEND_TEST_SEED and ATTEND_TEST_COUNT of the
 * environment where given. */
uint64_t test_seed(uint64_t usual);
int64_t test_count(int64_t usual);

#endif
