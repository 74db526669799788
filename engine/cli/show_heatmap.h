/* Draws attention weights as an SVG picture: a row per query, a column per key, darker is larger, hidden keys hatched.
 * Knows SVG, not files. */
#ifndef ATTEND_CLI_SHOW_HEATMAP_H
#define ATTEND_CLI_SHOW_HEATMAP_H

#include "engine/cli/show_steps.h"

#include <stdio.h>

/* Writes the picture to the stream. `title` is the name of the table's file. Returns a status; the stream's own error
 * tells whether it was written. */
int show_heatmap_write(FILE *stream, const char *title, const struct vector_table *table,
                       const struct show_steps *steps, int digits);

#endif
