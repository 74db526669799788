/* See number_ranges.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/cli/number_ranges.h"

#include <stdio.h>

/* Numbers from the first on that grow by one step, which is stored; at least 1. */
static size_t measure_run(const int32_t *numbers, size_t count, int32_t *step)
{
    size_t length = 1;
    *step = count > 1 ? numbers[1] - numbers[0] : 0;
    while (*step > 0 && length < count && numbers[length] - numbers[length - 1] == *step)
        length++;
    return length;
}

size_t number_ranges_print(const int32_t *numbers, size_t count, char *buffer, size_t size)
{
    size_t length = 0;
    if (size > 0)
        buffer[0] = '\0';
    for (size_t i = 0; i < count;) {
        int32_t step;
        char part[48];
        size_t run = measure_run(numbers + i, count - i, &step);
        if (run == 2 && step > 1)
            run = 1;
        int32_t last = numbers[i + run - 1];
        const char *comma = i > 0 ? "," : "";
        if (run == 1)
            snprintf(part, sizeof part, "%s%d", comma, numbers[i]);
        else if (step == 1)
            snprintf(part, sizeof part, "%s%d-%d", comma, numbers[i], last);
        else
            snprintf(part, sizeof part, "%s%d-%d:%d", comma, numbers[i], last, step);
        size_t room = length < size ? size - length : 0;
        length += (size_t)snprintf(room ? buffer + length : NULL, room, "%s", part);
        i += run;
    }
    return length;
}
