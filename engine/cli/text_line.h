/* A line of text that grows by parts: counts with nouns, large numbers and sizes in readable units. Prints nothing. */
#ifndef ATTEND_CLI_TEXT_LINE_H
#define ATTEND_CLI_TEXT_LINE_H

#include <stddef.h>
#include <stdint.h>

enum { TEXT_LINE_BYTES = 512 };

/* Empty when zeroed; what does not fit is cut. */
struct text_line {
    char text[TEXT_LINE_BYTES];
    size_t length;
};

void text_add(struct text_line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "1 row", "2 rows". */
void text_add_count(struct text_line *line, int64_t count, const char *noun);

/* "6.3 M". */
void text_add_amount(struct text_line *line, double amount);

/* "96 bytes", "48 KiB", "1.5 MiB". */
void text_add_bytes(struct text_line *line, int64_t bytes);

#endif
