/* See npy_header.h. A cursor walks the text; every reader advances it or fails, and the first failure describes
 * itself. */
#include "bench/npy_header.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct cursor {
    const char *at, *end;
    char *error;
    size_t error_size;
};

static bool fail(struct cursor *cursor, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool fail(struct cursor *cursor, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(cursor->error, cursor->error_size, format, arguments);
    va_end(arguments);
    return false;
}

static bool fail_garbled(struct cursor *cursor)
{
    return fail(cursor, "has a garbled header: it must be a dictionary of descr, fortran_order and shape");
}

static void skip_blanks(struct cursor *cursor)
{
    while (cursor->at < cursor->end && memchr(" \t\r\n", *cursor->at, 4))
        cursor->at++;
}

/* Takes one character if it comes next, after blanks. */
static bool take(struct cursor *cursor, char wanted)
{
    skip_blanks(cursor);
    if (cursor->at == cursor->end || *cursor->at != wanted)
        return false;
    cursor->at++;
    return true;
}

static bool take_word(struct cursor *cursor, const char *word)
{
    skip_blanks(cursor);
    size_t length = strlen(word);
    if ((size_t)(cursor->end - cursor->at) < length || memcmp(cursor->at, word, length) != 0)
        return false;
    cursor->at += length;
    return true;
}

/* A quoted string without escapes, which none of the keys and types needs. */
static bool read_string(struct cursor *cursor, char *text, size_t size)
{
    skip_blanks(cursor);
    if (cursor->at == cursor->end || (*cursor->at != '\'' && *cursor->at != '"'))
        return fail_garbled(cursor);
    char quote = *cursor->at++;
    const char *close = memchr(cursor->at, quote, (size_t)(cursor->end - cursor->at));
    if (!close || (size_t)(close - cursor->at) >= size || memchr(cursor->at, '\\', (size_t)(close - cursor->at)))
        return fail_garbled(cursor);
    memcpy(text, cursor->at, (size_t)(close - cursor->at));
    text[close - cursor->at] = '\0';
    cursor->at = close + 1;
    return true;
}

/* ---- descr ------------------------------------------------------------------------------------------------------- */

/* Byte order, kind, size: <f4. Times carry a unit in brackets after the size. */
static bool read_descr(struct cursor *cursor, struct npy_header *header)
{
    skip_blanks(cursor);
    if (cursor->at < cursor->end && (*cursor->at == '[' || *cursor->at == '('))
        return fail(cursor, "has a structured dtype; it must hold plain numbers");
    if (!read_string(cursor, header->descr, sizeof header->descr))
        return false;
    const char *text = header->descr;
    if (!memchr("<>|=", text[0], 4) || text[1] == '\0')
        return fail(cursor, "has the unknown dtype '%s'", text);
    header->big_endian = text[0] == '>';
    header->kind = text[1];
    if (header->kind == 'O')
        return fail(cursor, "has dtype %s, Python objects; it must hold plain numbers", text);
    size_t digits = strspn(text + 2, "0123456789");
    if (digits == 0 || digits > 9 || (text[2 + digits] != '\0' && text[2 + digits] != '['))
        return fail(cursor, "has the unknown dtype '%s'", text);
    header->item_bytes = 0;
    for (size_t i = 0; i < digits; i++)
        header->item_bytes = 10 * header->item_bytes + (size_t)(text[2 + i] - '0');
    if (header->kind == 'U')
        header->item_bytes *= 4;
    return true;
}

/* ---- shape ------------------------------------------------------------------------------------------------------- */

static bool read_extent(struct cursor *cursor, int64_t *extent)
{
    skip_blanks(cursor);
    if (cursor->at < cursor->end && *cursor->at == '-')
        return fail(cursor, "has a negative extent in its shape");
    const char *first = cursor->at;
    int64_t value = 0;
    for (; cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9'; cursor->at++)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *cursor->at - '0', &value))
            return fail(cursor, "has an extent beyond 64 bits in its shape");
    if (cursor->at == first)
        return fail_garbled(cursor);
    take(cursor, 'L'); /* written by Python 2 */
    *extent = value;
    return true;
}

static bool read_shape(struct cursor *cursor, struct npy_header *header)
{
    if (!take(cursor, '('))
        return fail_garbled(cursor);
    header->rank = 0;
    while (!take(cursor, ')')) {
        if (header->rank == NPY_RANK_LIMIT)
            return fail(cursor, "has more than %d axes", NPY_RANK_LIMIT);
        if (!read_extent(cursor, &header->shape[header->rank++]))
            return false;
        if (!take(cursor, ',') && !(cursor->at < cursor->end && *cursor->at == ')'))
            return fail_garbled(cursor);
    }
    return true;
}

/* An empty array may have extents whose product overflows before its 0 comes: the 0 wins. */
static bool count_elements(struct cursor *cursor, struct npy_header *header)
{
    bool empty = false, fits = true;
    size_t elements = 1;
    for (int axis = 0; axis < header->rank; axis++) {
        empty |= header->shape[axis] == 0;
        fits = fits && !__builtin_mul_overflow(elements, (size_t)header->shape[axis], &elements);
    }
    header->elements = empty ? 0 : elements;
    fits = empty || fits;
    fits = fits && !__builtin_mul_overflow(header->elements, header->item_bytes, &header->data_bytes);
    /* Offsets into the data must be signed 64-bit numbers. */
    if (!fits || header->data_bytes > INT64_MAX / 2)
        return fail(cursor, "has a shape whose size in bytes overflows");
    return true;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

enum { KEY_DESCR = 1, KEY_FORTRAN = 2, KEY_SHAPE = 4, KEY_ALL = 7 };

static bool read_order(struct cursor *cursor, struct npy_header *header)
{
    header->fortran_order = take_word(cursor, "True");
    return header->fortran_order || take_word(cursor, "False") || fail_garbled(cursor);
}

static bool read_entry(struct cursor *cursor, struct npy_header *header, int *found)
{
    char name[16];
    if (!read_string(cursor, name, sizeof name))
        return false;
    if (!take(cursor, ':'))
        return fail_garbled(cursor);
    int key = strcmp(name, "descr") == 0           ? KEY_DESCR
              : strcmp(name, "fortran_order") == 0 ? KEY_FORTRAN
              : strcmp(name, "shape") == 0         ? KEY_SHAPE
                                                   : 0;
    if (key == 0 || (*found & key))
        return fail_garbled(cursor);
    *found |= key;
    return key == KEY_DESCR ? read_descr(cursor, header)
           : key == KEY_SHAPE ? read_shape(cursor, header)
                              : read_order(cursor, header);
}

bool npy_header_parse(struct npy_header *header, const char *text, size_t length, char *error, size_t size)
{
    struct cursor cursor = { .at = text, .end = text + length, .error = error, .error_size = size };
    int found = 0;
    memset(header, 0, sizeof *header);
    if (!take(&cursor, '{'))
        return fail_garbled(&cursor);
    while (!take(&cursor, '}')) {
        if (!read_entry(&cursor, header, &found))
            return false;
        if (!take(&cursor, ',') && !(cursor.at < cursor.end && *cursor.at == '}'))
            return fail_garbled(&cursor);
    }
    skip_blanks(&cursor);
    if (found != KEY_ALL || cursor.at != cursor.end)
        return fail_garbled(&cursor);
    return count_elements(&cursor, header);
}

void npy_header_print_shape(const struct npy_header *header, char *buffer, size_t size)
{
    size_t length = (size_t)snprintf(buffer, size, "(");
    for (int axis = 0; axis < header->rank && length < size; axis++)
        length += (size_t)snprintf(buffer + length, size - length, axis ? ", %lld" : "%lld",
                                   (long long)header->shape[axis]);
    if (length < size)
        snprintf(buffer + length, size - length, header->rank == 1 ? ",)" : ")");
}
