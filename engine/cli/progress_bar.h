/* The line that shows how far a run has come: percentage, bar, rate, elapsed and remaining time, as many of them as
 * the columns allow. A pure function; prints nothing. */
#ifndef ATTEND_CLI_PROGRESS_BAR_H
#define ATTEND_CLI_PROGRESS_BAR_H

#include <stdbool.h>
#include <stddef.h>

struct progress_state {
    double done, total; /* multiply-adds */
    double seconds;     /* since the run began */
};

/* Longest line in bytes, terminator included: a column takes up to three. */
enum { PROGRESS_COLUMNS_LIMIT = 160, PROGRESS_BYTES = 3 * PROGRESS_COLUMNS_LIMIT + 1 };

/* Writes a line of at most `columns` columns into line[PROGRESS_BYTES] and returns how many it takes; 0 and an empty
 * line when there is no work or no room. */
int progress_bar_print(char *line, const struct progress_state *state, int columns, bool utf8);

#endif
