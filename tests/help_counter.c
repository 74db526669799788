/* See help_counter.h. */
#include "tests/help_counter.h"

#include <stdlib.h>

/* The finaliser of splitmix64. */
static uint64_t mix_bits(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t counter_bits(uint64_t seed, uint64_t place)
{
    return mix_bits(mix_bits(seed + 0x9e3779b97f4a7c15u) + place * 0x9e3779b97f4a7c15u);
}

float counter_normal(uint64_t bits)
{
    int32_t sum = (int32_t)(bits & 0xffff) + (int32_t)(bits >> 16 & 0xffff) + (int32_t)(bits >> 32 & 0xffff) +
                  (int32_t)(bits >> 48);
    return (float)(sum - 131070) * 0x1p-15f;
}

int64_t dice_between(struct dice *dice, int64_t low, int64_t high)
{
    uint64_t bits = counter_bits(dice->seed, dice->thrown++);
    return low + (int64_t)(bits % (uint64_t)(high - low + 1));
}

int64_t dice_pick(struct dice *dice, const int64_t *values, size_t count)
{
    return values[dice_between(dice, 0, (int64_t)count - 1)];
}

uint64_t test_seed(uint64_t usual)
{
    const char *text = getenv("ATTEND_TEST_SEED");
    return text ? strtoull(text, NULL, 0) : usual;
}

int64_t test_count(int64_t usual)
{
    const char *text = getenv("ATTEND_TEST_COUNT");
    if (text)
        return strtoll(text, NULL, 0);
    return getenv("ATTEND_TEST_SEED") ? 1 : usual;
}
