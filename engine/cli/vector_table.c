/* See vector_table.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/cli/vector_table.h"

#include "engine/cli/csv_rows.h"
#include "engine/cli/messages.h"
#include "engine/cli/shown_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How much of a field a message quotes. */
enum { QUOTED_COLUMNS = 40, LIST_BYTES = 512 };

enum kind { KIND_TOKEN, KIND_QUERY, KIND_KEY, KIND_VALUE, KIND_COUNT };

static const char *const kind_names[KIND_COUNT] = { "token", "q_*", "k_*", "v_*" };

struct column {
    char *name;
    enum kind kind;
    size_t place; /* among the columns of its kind; of a query or key, the component of the vector */
};

struct reader {
    struct vector_table *table;
    const char *name; /* of the file */
    struct column *columns;
    size_t count; /* of columns; 0 until the header is read */
    size_t counts[KIND_COUNT];
};

static const char *quote(struct label *label, const char *text)
{
    label_make(label, text, QUOTED_COLUMNS);
    return label->text;
}

static bool fail_memory(const struct reader *reader)
{
    message_failure("%s needs more memory than there is", reader->name);
    return false;
}

/* ---- the header -------------------------------------------------------------------------------------------------- */

static enum kind tell_kind(const char *name)
{
    if (strcmp(name, kind_names[KIND_TOKEN]) == 0)
        return KIND_TOKEN;
    for (int kind = KIND_QUERY; kind < KIND_COUNT; kind++)
        if (strncmp(name, kind_names[kind], 2) == 0)
            return (enum kind)kind;
    return KIND_COUNT;
}

/* Names every column that is none of ours, as far as a line has room. */
static bool check_kinds(const struct reader *reader, size_t line)
{
    char list[LIST_BYTES] = "";
    size_t length = 0, unknown = 0;
    for (size_t i = 0; i < reader->count; i++) {
        struct label label;
        if (reader->columns[i].kind != KIND_COUNT)
            continue;
        quote(&label, reader->columns[i].name);
        if (length + strlen(label.text) + 8 < sizeof list)
            length += (size_t)snprintf(list + length, sizeof list - length, "%s'%s'", unknown ? ", " : "", label.text);
        unknown++;
    }
    if (unknown == 0)
        return true;
    message_failure("%s:%zu: %s %s %s none of token, q_*, k_*, v_*", reader->name, line,
                    unknown == 1 ? "column" : "columns", list, unknown == 1 ? "is" : "are");
    return false;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool check_names_differ(const struct reader *reader, size_t line)
{
    char **names = malloc(reader->count * sizeof *names);
    if (!names)
        return fail_memory(reader);
    for (size_t i = 0; i < reader->count; i++)
        names[i] = reader->columns[i].name;
    qsort(names, reader->count, sizeof *names, compare_names);
    const char *twice = NULL;
    for (size_t i = 1; i < reader->count && !twice; i++)
        twice = strcmp(names[i - 1], names[i]) == 0 ? names[i] : NULL;
    free(names);
    struct label label;
    if (twice)
        message_failure("%s:%zu: column %s is there twice", reader->name, line, quote(&label, twice));
    return !twice;
}

static bool check_counts(const struct reader *reader, size_t line)
{
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        if (reader->counts[kind] > 0)
            continue;
        message_failure("%s:%zu: there is no column %s; a table has columns token, q_*, k_* and v_*", reader->name,
                        line, kind_names[kind]);
        return false;
    }
    size_t queries = reader->counts[KIND_QUERY], keys = reader->counts[KIND_KEY];
    if (queries != keys)
        message_failure("%s:%zu: the columns q_* are %zu and the columns k_* %zu; a score multiplies them one by one, so "
                        "there must be equally many", reader->name, line, queries, keys);
    return queries == keys;
}

/* Sorted by what follows the prefix, queries before keys of the same name. */
static int compare_columns(const void *a, const void *b)
{
    const struct column *one = *(struct column *const *)a, *other = *(struct column *const *)b;
    int order = strcmp(one->name + 2, other->name + 2);
    return order ? order : (int)one->kind - (int)other->kind;
}

/* Gives the keys the places of the queries of their names. Names in common that the order of the columns contradicts,
 * beside names without a partner, are a slip that would give wrong scores silently. */
static bool pair_keys(const struct reader *reader, struct column **sorted, size_t line)
{
    size_t count = 0, common = 0;
    const struct column *crossed = NULL;
    for (size_t i = 0; i < reader->count; i++)
        if (reader->columns[i].kind == KIND_QUERY || reader->columns[i].kind == KIND_KEY)
            sorted[count++] = &reader->columns[i];
    qsort(sorted, count, sizeof *sorted, compare_columns);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(sorted[i - 1]->name + 2, sorted[i]->name + 2) != 0)
            continue;
        common++;
        if (sorted[i - 1]->place != sorted[i]->place)
            crossed = sorted[i];
    }
    struct label label;
    if (common == count / 2) {
        for (size_t i = 1; i < count; i += 2)
            sorted[i]->place = sorted[i - 1]->place;
    } else if (crossed) {
        message_failure("%s:%zu: column %s stands at another place than its q_ column, and not all names of q_* and "
                        "k_* agree; name them alike or order them alike",
                        reader->name, line, quote(&label, crossed->name));
        return false;
    }
    return true;
}

static bool take_names(struct reader *reader, const struct csv_field *fields, size_t count)
{
    reader->columns = calloc(count, sizeof *reader->columns);
    if (!reader->columns)
        return fail_memory(reader);
    for (; reader->count < count; reader->count++) {
        struct column *column = &reader->columns[reader->count];
        column->name = strdup(fields[reader->count].text);
        if (!column->name)
            return fail_memory(reader);
        column->kind = tell_kind(column->name);
        if (column->kind != KIND_COUNT)
            column->place = reader->counts[column->kind]++;
    }
    return true;
}

/* The names of the values are shown, so the table takes them. */
static bool move_value_names(struct reader *reader)
{
    struct vector_table *table = reader->table;
    table->d_k = reader->counts[KIND_KEY];
    table->d_v = reader->counts[KIND_VALUE];
    table->value_name = calloc(table->d_v, sizeof *table->value_name);
    if (!table->value_name)
        return fail_memory(reader);
    for (size_t i = 0; i < reader->count; i++)
        if (reader->columns[i].kind == KIND_VALUE && !(table->value_name[reader->columns[i].place] =
                                                           strdup(reader->columns[i].name)))
            return fail_memory(reader);
    return true;
}

static bool take_header(struct reader *reader, const struct csv_field *fields, size_t count)
{
    size_t line = fields[0].line;
    if (!take_names(reader, fields, count) || !check_kinds(reader, line) || !check_names_differ(reader, line) ||
        !check_counts(reader, line))
        return false;
    struct column **sorted = malloc(count * sizeof *sorted);
    bool good = sorted ? pair_keys(reader, sorted, line) : fail_memory(reader);
    free(sorted);
    return good && move_value_names(reader);
}

/* ---- the rows ---------------------------------------------------------------------------------------------------- */

static bool fail_number(const struct reader *reader, size_t column, const struct csv_field *field, const char *rule)
{
    struct label name, text;
    message_failure("%s:%zu: column %s: '%s' %s", reader->name, field->line, quote(&name, reader->columns[column].name),
                    *field->text ? quote(&text, field->text) : "", rule);
    return false;
}

/* Decimal numbers only: what strtof takes besides (nan, inf, hexadecimal) is a slip in a table. */
static bool read_number(const struct reader *reader, size_t column, const struct csv_field *field, float *number)
{
    char *end;
    *number = strtof(field->text, &end);
    if (end == field->text || *end != '\0')
        return fail_number(reader, column, field, "is not a number");
    if (strspn(field->text, "0123456789+-.eE") == strlen(field->text))
        return isfinite(*number) || fail_number(reader, column, field, "is beyond float32");
    return fail_number(reader, column, field, isfinite(*number) ? "is not a decimal number" : "is not a finite number");
}

static bool grow_vectors(float **vectors, size_t tokens, size_t width)
{
    float *grown = realloc(*vectors, tokens * width * sizeof *grown);
    if (grown)
        *vectors = grown;
    return grown;
}

static bool add_token(struct reader *reader)
{
    struct vector_table *table = reader->table;
    size_t tokens = table->tokens + 1;
    char **token = realloc(table->token, tokens * sizeof *token);
    if (token)
        table->token = token;
    if (!token || !grow_vectors(&table->query, tokens, table->d_k) || !grow_vectors(&table->key, tokens, table->d_k) ||
        !grow_vectors(&table->value, tokens, table->d_v))
        return fail_memory(reader);
    table->token[table->tokens++] = NULL;
    return true;
}

static bool take_field(struct reader *reader, size_t column, const struct csv_field *field)
{
    struct vector_table *table = reader->table;
    size_t token = table->tokens - 1, place = reader->columns[column].place;
    switch (reader->columns[column].kind) {
    case KIND_QUERY: return read_number(reader, column, field, &table->query[token * table->d_k + place]);
    case KIND_KEY: return read_number(reader, column, field, &table->key[token * table->d_k + place]);
    case KIND_VALUE: return read_number(reader, column, field, &table->value[token * table->d_v + place]);
    default: table->token[token] = strdup(field->text); return table->token[token] || fail_memory(reader);
    }
}

static bool take_row(void *user, const struct csv_field *fields, size_t count)
{
    struct reader *reader = user;
    if (reader->count == 0)
        return take_header(reader, fields, count);
    if (count != reader->count) {
        message_failure("%s:%zu: %zu field%s, but the header has %zu%s", reader->name, fields[0].line, count,
                        count == 1 ? "" : "s", reader->count,
                        count > reader->count ? "; a token that has commas must be quoted" : "");
        return false;
    }
    if (reader->table->tokens == TABLE_TOKENS_LIMIT) {
        message_failure("%s:%zu: more than %d tokens; this command is for tables that people read", reader->name,
                        fields[0].line, TABLE_TOKENS_LIMIT);
        return false;
    }
    if (!add_token(reader))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!take_field(reader, i, &fields[i]))
            return false;
    return true;
}

int vector_table_read(struct vector_table *table, const char *path)
{
    struct reader reader = { .table = table, .name = csv_rows_name(path) };
    memset(table, 0, sizeof *table);
    int status = csv_rows_read(path, take_row, &reader) ? STATUS_DONE : STATUS_COULD_NOT;
    if (status == STATUS_DONE && reader.count == 0)
        status = message_failure("%s is empty; a table begins with column names: token, q_*, k_*, v_*", reader.name);
    else if (status == STATUS_DONE && table->tokens == 0)
        status = message_failure("%s has column names but no tokens", reader.name);
    for (size_t i = 0; i < reader.count; i++)
        free(reader.columns[i].name);
    free(reader.columns);
    return status;
}

bool vector_table_is_padding(const struct vector_table *table, size_t token)
{
    return strcmp(table->token[token], "<pad>") == 0;
}

void vector_table_release(struct vector_table *table)
{
    for (size_t i = 0; i < table->tokens; i++)
        free(table->token[i]);
    for (size_t i = 0; i < table->d_v && table->value_name; i++)
        free(table->value_name[i]);
    free(table->token);
    free(table->value_name);
    free(table->query);
    free(table->key);
    free(table->value);
    memset(table, 0, sizeof *table);
}
