/* Rows of a CSV file, with the lines that their fields stand on. Knows nothing of what the columns mean. */
#ifndef ATTEND_CLI_CSV_ROWS_H
#define ATTEND_CLI_CSV_ROWS_H

#include <stdbool.h>
#include <stddef.h>

struct csv_field {
    char *text;  /* terminated UTF-8 without NUL, quotes removed; unquoted text without spaces around it */
    size_t line; /* on which the field ends, from 1 */
};

/* Takes a row of one field or more; they are gone when it returns. False, after its own message, ends the reading. */
typedef bool (*csv_take_row)(void *user, const struct csv_field *fields, size_t count);

/* How messages call the file: its path, or "standard input" for "-". */
const char *csv_rows_name(const char *path);

/* Reads the file, standard input for "-", and hands over its rows in order; lines may end in LF, CR or both, empty ones
 * are skipped. False after a message: a file that cannot be read or is no CSV in UTF-8, or a row that was not taken. */
bool csv_rows_read(const char *path, csv_take_row take, void *user);

#endif
