/* See csv_rows.h. The only file that knows libcsv. The parser counts no lines, so it is fed line by line. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/cli/csv_rows.h"

#include "engine/cli/messages.h"
#include "engine/cli/shown_text.h"

#include <csv.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A table for people is thousands of times smaller. */
enum { FILE_LIMIT = 16 << 20, READ_BYTES = 1 << 16 };

struct text {
    char *bytes; /* [length], terminated */
    size_t length;
};

struct reader {
    const char *name;
    csv_take_row take;
    void *user;
    struct csv_field *fields; /* of the row under way */
    size_t count, capacity;
    size_t line;       /* that is being fed */
    size_t first_line; /* of the row under way */
    bool failed;       /* and told */
};

const char *csv_rows_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static bool read_stream(FILE *stream, const char *name, struct text *text)
{
    size_t got;
    do {
        char *bytes = realloc(text->bytes, text->length + READ_BYTES + 1);
        if (!bytes) {
            message_failure("%s needs more memory than there is", name);
            return false;
        }
        text->bytes = bytes;
        got = fread(bytes + text->length, 1, READ_BYTES, stream);
        text->length += got;
        bytes[text->length] = '\0';
        if (text->length > FILE_LIMIT) {
            message_failure("%s is longer than %d MiB; this command is for tables that people read", name,
                            FILE_LIMIT >> 20);
            return false;
        }
    } while (got > 0);
    if (ferror(stream))
        message_failure("%s cannot be read: %s", name, strerror(errno));
    return !ferror(stream);
}

static bool read_file(const char *path, struct text *text)
{
    const char *name = csv_rows_name(path);
    if (name != path)
        return read_stream(stdin, name, text);
    FILE *stream = fopen(path, "rb");
    if (!stream)
        return message_failure("%s cannot be opened: %s", name, strerror(errno)), false;
    bool good = read_stream(stream, name, text);
    fclose(stream);
    return good;
}

static bool check_encoding(const char *name, const struct text *text)
{
    const char *at = text->bytes;
    size_t line = 1;
    while (at < text->bytes + text->length) {
        /* A NUL is no text either; UTF-16 is full of them. */
        int32_t point = utf8_take(&at);
        if (point <= 0) {
            message_failure("%s:%zu: is not text in UTF-8; save the table in that encoding", name, line);
            return false;
        }
        line += point == '\n';
    }
    return true;
}

/* ---- the rows ---------------------------------------------------------------------------------------------------- */

static bool fail_memory(struct reader *reader)
{
    if (!reader->failed)
        message_failure("%s needs more memory than there is", reader->name);
    reader->failed = true;
    return false;
}

static bool reserve_field(struct reader *reader)
{
    if (reader->count < reader->capacity)
        return true;
    size_t capacity = 2 * reader->capacity + 16;
    struct csv_field *fields = realloc(reader->fields, capacity * sizeof *fields);
    if (!fields)
        return fail_memory(reader);
    reader->fields = fields;
    reader->capacity = capacity;
    return true;
}

static void forget_row(struct reader *reader)
{
    for (size_t i = 0; i < reader->count; i++)
        free(reader->fields[i].text);
    reader->count = 0;
}

static void end_field(void *text, size_t length, void *user)
{
    struct reader *reader = user;
    if (reader->failed || !reserve_field(reader))
        return;
    char *copy = strndup(text, length);
    if (!copy) {
        fail_memory(reader);
        return;
    }
    reader->fields[reader->count++] = (struct csv_field){ copy, reader->line };
}

static void end_row(int terminator, void *user)
{
    struct reader *reader = user;
    (void)terminator;
    if (!reader->failed && !reader->take(reader->user, reader->fields, reader->count))
        reader->failed = true;
    forget_row(reader);
    reader->first_line = reader->line + 1;
}

/* The length of the line at text[0..length), its end included: LF, CR or CR LF. */
static size_t measure_line(const char *text, size_t length)
{
    size_t end = 0;
    while (end < length && text[end] != '\n' && text[end] != '\r')
        end++;
    if (end + 1 < length && text[end] == '\r' && text[end + 1] == '\n')
        end++;
    return end < length ? end + 1 : length;
}

static bool fail_parse(struct reader *reader, struct csv_parser *parser)
{
    if (csv_error(parser) != CSV_EPARSE)
        return fail_memory(reader);
    message_failure("%s:%zu: a quote stands inside a field; quote the whole field and double the quotes inside it",
                    reader->name, reader->line);
    return false;
}

static bool feed_lines(struct reader *reader, struct csv_parser *parser, const char *text, size_t length)
{
    while (length > 0 && !reader->failed) {
        size_t line_length = measure_line(text, length);
        size_t parsed = csv_parse(parser, text, line_length, end_field, end_row, reader);
        if (parsed != line_length)
            return fail_parse(reader, parser);
        text += line_length;
        length -= line_length;
        reader->line++;
        if (reader->count == 0 && parser->entry_pos == 0)
            reader->first_line = reader->line;
    }
    if (reader->failed)
        return false;
    /* The last line may have no end; its row is on the line that was fed last. */
    reader->line--;
    if (csv_fini(parser, end_field, end_row, reader) != 0) {
        message_failure("%s:%zu: a quoted field that begins in this row is never closed", reader->name,
                        reader->first_line);
        return false;
    }
    return !reader->failed;
}

static bool parse_text(struct reader *reader, const struct text *text)
{
    static const char mark[] = "\xef\xbb\xbf";
    struct csv_parser parser;
    size_t skipped = strncmp(text->bytes, mark, sizeof mark - 1) == 0 ? sizeof mark - 1 : 0;
    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) != 0)
        return fail_memory(reader);
    csv_set_blk_size(&parser, READ_BYTES);
    bool good = feed_lines(reader, &parser, text->bytes + skipped, text->length - skipped);
    csv_free(&parser);
    forget_row(reader);
    free(reader->fields);
    return good;
}

bool csv_rows_read(const char *path, csv_take_row take, void *user)
{
    struct text text = { NULL, 0 };
    struct reader reader = { .name = csv_rows_name(path), .take = take, .user = user, .line = 1, .first_line = 1 };
    bool good = read_file(path, &text) && check_encoding(reader.name, &text) && parse_text(&reader, &text);
    free(text.bytes);
    return good;
}
