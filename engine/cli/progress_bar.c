/* See progress_bar.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/cli/progress_bar.h"

#include <stdio.h>
#include <string.h>

enum { PERCENT_COLUMNS = 5, LEAST_BAR = 6, MOST_BAR = 40, TIME_BYTES = 24, FIELDS = 3, FIELD_BYTES = 64 };

/* Remaining times beyond are guesses not worth showing. */
static const double longest_seconds = 99 * 3600;

/* 0:07, 12:34, 1:02:03. */
static void print_time(char *text, double seconds)
{
    if (!(seconds < longest_seconds)) {
        snprintf(text, TIME_BYTES, "-:--");
        return;
    }
    int whole = (int)(seconds + 0.5), minutes = whole / 60;
    if (minutes < 60)
        snprintf(text, TIME_BYTES, "%d:%02d", minutes, whole % 60);
    else
        snprintf(text, TIME_BYTES, "%d:%02d:%02d", minutes / 60, minutes % 60, whole % 60);
}

/* The fields right of the bar. Those that the room is too small for are left empty: first the elapsed time goes, then
 * the rate. */
static int print_fields(char fields[FIELDS][FIELD_BYTES], const struct progress_state *state, int room)
{
    enum { RATE, ELAPSED, LEFT };
    char elapsed[TIME_BYTES], left[TIME_BYTES];
    double rate = state->seconds > 0 ? state->done / state->seconds : 0;
    print_time(elapsed, state->seconds);
    print_time(left, rate > 0 ? (state->total - state->done) / rate : longest_seconds);
    snprintf(fields[RATE], FIELD_BYTES, rate < 5e9 ? "  %3.1f GFLOP/s" : "  %3.0f GFLOP/s", 2e-9 * rate);
    snprintf(fields[ELAPSED], FIELD_BYTES, "  %s elapsed", elapsed);
    snprintf(fields[LEFT], FIELD_BYTES, "  %s left", left);
    static const int dropped[] = { ELAPSED, RATE, LEFT };
    int columns = 0;
    for (int i = 0; i < FIELDS; i++)
        columns += (int)strlen(fields[i]);
    for (int i = 0; i < FIELDS && columns > room; i++) {
        columns -= (int)strlen(fields[dropped[i]]);
        fields[dropped[i]][0] = '\0';
    }
    return columns;
}

/* Eighths of a column in UTF-8, whole columns otherwise. */
static char *print_bar(char *at, double share, int columns, bool utf8)
{
    static const char *const eighths[] = { " ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█" };
    int filled = (int)(share * 8 * columns);
    *at++ = ' ';
    *at++ = utf8 ? ' ' : '[';
    for (int i = 0; i < columns; i++, filled -= 8) {
        int here = filled < 0 ? 0 : filled > 8 ? 8 : filled;
        const char *part = utf8 ? eighths[here] : here == 8 ? "#" : ".";
        at = stpcpy(at, part);
    }
    *at++ = utf8 ? ' ' : ']';
    *at = '\0';
    return at;
}

int progress_bar_print(char *line, const struct progress_state *state, int columns, bool utf8)
{
    enum { BAR_FRAME = 3 };
    line[0] = '\0';
    if (!(state->total > 0) || columns < PERCENT_COLUMNS)
        return 0;
    if (columns > PROGRESS_COLUMNS_LIMIT)
        columns = PROGRESS_COLUMNS_LIMIT;
    double share = state->done < state->total ? state->done / state->total : 1;
    if (share < 0)
        share = 0;
    char fields[FIELDS][FIELD_BYTES], *at = line + sprintf(line, "%3d %%", (int)(100 * share));
    int used = PERCENT_COLUMNS;
    bool has_bar = columns >= PERCENT_COLUMNS + BAR_FRAME + LEAST_BAR;
    int reserved = has_bar ? BAR_FRAME + LEAST_BAR : 0;
    int beside = print_fields(fields, state, columns - used - reserved);
    if (has_bar) {
        int bar = columns - used - BAR_FRAME - beside;
        bar = bar > MOST_BAR ? MOST_BAR : bar;
        at = print_bar(at, share, bar, utf8);
        used += BAR_FRAME + bar;
    }
    for (int i = 0; i < FIELDS; i++)
        at = stpcpy(at, fields[i]);
    return used + beside;
}
