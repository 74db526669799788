/* Texts and numbers as people see them: UTF-8 measured in columns of a terminal, control characters spelled out,
 * numbers with a fixed count of digits. Knows no tables and no files. */
#ifndef ATTEND_CLI_SHOWN_TEXT_H
#define ATTEND_CLI_SHOWN_TEXT_H

#include <stddef.h>
#include <stdint.h>

enum {
    LABEL_COLUMNS = 64, /* the widest label */
    LABEL_BYTES = 4 * LABEL_COLUMNS,
    NUMBER_BYTES = 64
};

/* A text as it is shown. */
struct label {
    char text[LABEL_BYTES];
    int columns;
};

/* Lets widths come from the C library's tables where a UTF-8 locale is there; otherwise a character counts as one
 * column. Call it once, before labels are made. */
void label_prepare(void);

/* Makes a label of the UTF-8 text, at most `most` <= LABEL_COLUMNS columns wide: what is longer is cut and ends in an
 * ellipsis, an empty text becomes "". */
void label_make(struct label *label, const char *text, int most);

/* Reads a code point at *text and moves it behind; returns -1, and moves nothing, where the bytes are not UTF-8. The
 * text must be terminated. */
int32_t utf8_take(const char **text);

/* Writes the number with `digits` <= 9 digits behind the point, without a sign when it rounds to 0, and with an
 * exponent when it is huge. Returns the length. */
int number_write(char text[NUMBER_BYTES], double number, int digits);

#endif
