/* See shown_text.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/cli/shown_text.h"

#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

/* From here on digits before the point only push the other columns apart. */
static const double huge_number = 1e9;

int32_t utf8_take(const char **text)
{
    static const int32_t least[] = { 0, 0x80, 0x800, 0x10000 };
    const unsigned char *bytes = (const unsigned char *)*text;
    int more = bytes[0] < 0x80 ? 0 : bytes[0] >> 5 == 6 ? 1 : bytes[0] >> 4 == 14 ? 2 : bytes[0] >> 3 == 30 ? 3 : -1;
    if (more < 0)
        return -1;
    int32_t point = more == 0 ? bytes[0] : bytes[0] & (0x3f >> more);
    for (int i = 1; i <= more; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return -1;
        point = point << 6 | (bytes[i] & 0x3f);
    }
    if (point < least[more] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
        return -1;
    *text += more + 1;
    return point;
}

void label_prepare(void)
{
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        setlocale(LC_CTYPE, "en_US.UTF-8");
}

/* What would move the cursor, turn the direction of writing, or is no character at all (XML has no place for it). */
static bool needs_spelling(int32_t point)
{
    return point < ' ' || (point >= 0x7f && point < 0xa0) || point == 0x2028 || point == 0x2029 ||
           (point >= 0x200e && point <= 0x200f) || (point >= 0x202a && point <= 0x202e) ||
           (point >= 0x2066 && point <= 0x2069) || (point & 0xfffe) == 0xfffe;
}

/* The character at *text as it is shown, and its width in columns; moves *text behind it. */
static int write_character(char shown[16], const char **text)
{
    const char *start = *text;
    int32_t point = utf8_take(text);
    if (point < 0)
        ++*text;
    if (point < 0 || needs_spelling(point)) {
        if (point < 0)
            return snprintf(shown, 16, "\\x%02x", (unsigned char)*start);
        if (point == '\n' || point == '\r' || point == '\t')
            return snprintf(shown, 16, "\\%c", point == '\n' ? 'n' : point == '\r' ? 'r' : 't');
        return snprintf(shown, 16, "\\u%04x", (unsigned)point);
    }
    snprintf(shown, 16, "%.*s", (int)(*text - start), start);
    int width = wcwidth((wchar_t)point);
    /* Characters younger than the C library's tables. */
    return width < 0 ? 1 : width;
}

void label_make(struct label *label, const char *text, int most)
{
    static const char ellipsis[] = "\xe2\x80\xa6";
    size_t length = 0, cut_length = 0;
    int columns = 0, cut_columns = 0;
    if (*text == '\0')
        text = "\"\"";
    while (*text) {
        char shown[16];
        int width = write_character(shown, &text);
        size_t bytes = strlen(shown);
        if (columns + width > most || length + bytes + sizeof ellipsis > LABEL_BYTES) {
            memcpy(label->text + cut_length, ellipsis, sizeof ellipsis);
            label->columns = cut_columns + 1;
            return;
        }
        memcpy(label->text + length, shown, bytes);
        length += bytes;
        columns += width;
        if (columns < most) {
            /* An ellipsis would still fit behind this character. */
            cut_length = length;
            cut_columns = columns;
        }
    }
    label->text[length] = '\0';
    label->columns = columns;
}

int number_write(char text[NUMBER_BYTES], double number, int digits)
{
    int length = snprintf(text, NUMBER_BYTES, fabs(number) < huge_number ? "%.*f" : "%.*e", digits, number);
    if (text[0] == '-' && strspn(text + 1, "0.") == (size_t)length - 1) {
        memmove(text, text + 1, (size_t)length);
        length--;
    }
    /* The sign of a NaN depends on the processor. */
    if (isnan(number))
        length = snprintf(text, NUMBER_BYTES, "nan");
    return length;
}
