/* Prints the steps of attention as aligned tables, a row per token. Knows terminals, not how anything is computed. */
#ifndef ATTEND_CLI_SHOW_TABLES_H
#define ATTEND_CLI_SHOW_TABLES_H

#include "engine/cli/show_steps.h"

/* Tokens are cut to this width, so that one sentence in the column does not push everything out of sight. */
enum { TOKEN_COLUMNS = 20 };

/* Prints to standard output. In a terminal that has colours the weights are shaded, and tables wider than it are broken
 * into blocks of columns. `title` is the name of the table's file. */
int show_tables_print(const char *title, const struct vector_table *table, const struct show_steps *steps,
                      const struct show_rules *rules, int digits);

#endif
