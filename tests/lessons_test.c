/* The tables that people learn attention from, with the digits they are printed with: a support ticket of four words
 * and a <pad> token, and a worked example of four tokens. */
#include "tests/help_suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef TESTS_SRCDIR
#define TESTS_SRCDIR "."
#endif

enum { MOST_TOKENS = 8, MOST_COLUMNS = 16 };

struct table {
    int64_t tokens, columns; /* columns without the token's name */
    char name[MOST_TOKENS][16];
    float cell[MOST_TOKENS][MOST_COLUMNS];
};

static FILE *open_fixture(const char *name)
{
    const char *folder = getenv("srcdir");
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/fixtures/%s", folder ? folder : TESTS_SRCDIR, name);
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s cannot be opened; srcdir must name the top of the source tree", path);
    return file;
}

static void read_cells(struct table *table, char *line)
{
    char *rest = NULL;
    char *cell = strtok_r(line, ",\r\n", &rest);
    snprintf(table->name[table->tokens], sizeof table->name[0], "%s", cell);
    table->columns = 0;
    while ((cell = strtok_r(NULL, ",\r\n", &rest)))
        table->cell[table->tokens][table->columns++] = (float)strtod(cell, NULL);
    table->tokens++;
}

static struct table read_csv(const char *name)
{
    struct table table = { 0 };
    char line[1024];
    FILE *file = open_fixture(name);
    cr_assert_not_null(fgets(line, sizeof line, file));
    while (table.tokens < MOST_TOKENS && fgets(line, sizeof line, file))
        read_cells(&table, line);
    fclose(file);
    return table;
}

/* float32 in C order, version 1 of the format. */
static void read_npy(const char *name, float *cells, size_t count)
{
    unsigned char head[10];
    FILE *file = open_fixture(name);
    cr_assert(fread(head, 1, sizeof head, file) == sizeof head && !memcmp(head, "\x93NUMPY\x01", 7));
    cr_assert(fseek(file, head[8] | head[9] << 8, SEEK_CUR) == 0);
    cr_assert(fread(cells, sizeof *cells, count, file) == count, "%s is too short", name);
    cr_assert(fgetc(file) == EOF, "%s is too long", name);
    fclose(file);
}

struct lesson {
    float query[MOST_TOKENS * MOST_COLUMNS], key[MOST_TOKENS * MOST_COLUMNS], value[MOST_TOKENS * MOST_COLUMNS];
    float output[MOST_TOKENS * MOST_COLUMNS], weights[MOST_TOKENS * MOST_TOKENS], scores[MOST_TOKENS * MOST_TOKENS];
    attend_tensor query_view, key_view, value_view, output_view, weights_view, scores_view, visible_view;
    attend_problem problem;
    attend_args args;
};

static void set_up_lesson(struct lesson *lesson, int64_t tokens, int64_t d_k, int64_t d_v)
{
    lesson->query_view = attend_view_bhsd(lesson->query, 1, tokens, d_k);
    lesson->key_view = attend_view_bhsd(lesson->key, 1, tokens, d_k);
    lesson->value_view = attend_view_bhsd(lesson->value, 1, tokens, d_v);
    lesson->output_view = attend_view_bhsd(lesson->output, 1, tokens, d_v);
    lesson->weights_view = attend_view_bhsd(lesson->weights, 1, tokens, tokens);
    lesson->scores_view = attend_view_bhsd(lesson->scores, 1, tokens, tokens);
    lesson->problem = (attend_problem)ATTEND_PROBLEM_INIT;
    lesson->problem.batch = lesson->problem.heads = lesson->problem.kv_heads = 1;
    lesson->problem.rows = lesson->problem.keys = tokens;
    lesson->problem.d_k = d_k;
    lesson->problem.d_v = d_v;
    lesson->args = (attend_args)ATTEND_ARGS_INIT;
    lesson->args.query = &lesson->query_view;
    lesson->args.key = &lesson->key_view;
    lesson->args.value = &lesson->value_view;
    lesson->args.output = &lesson->output_view;
    lesson->args.weights = &lesson->weights_view;
    lesson->args.scores = &lesson->scores_view;
}

static void take_columns(float *cells, const struct table *table, int64_t first, int64_t count)
{
    for (int64_t token = 0; token < table->tokens; token++)
        for (int64_t column = 0; column < count; column++)
            *cells++ = table->cell[token][first + column];
}

static void load_lesson(struct lesson *lesson, const struct table *table, int64_t d_k, int64_t d_v)
{
    set_up_lesson(lesson, table->tokens, d_k, d_v);
    take_columns(lesson->query, table, 0, d_k);
    take_columns(lesson->key, table, d_k, d_k);
    take_columns(lesson->value, table, 2 * d_k, d_v);
}

/* "1.02 0.00 …", as a lesson prints a row. */
static void expect_digits(const float *numbers, int64_t count, int digits, const char *printed)
{
    char text[256] = "";
    for (int64_t i = 0; i < count; i++) {
        size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, "%s%.*f", i ? " " : "", digits, (double)numbers[i]);
    }
    cr_expect_str_eq(text, printed, "printed %s, the lesson has %s", text, printed);
}

static float find_largest(const float *numbers, int64_t count)
{
    float largest = -INFINITY;
    for (int64_t i = 0; i < count; i++)
        largest = fmaxf(largest, numbers[i]);
    return largest;
}

static void load_ticket(struct lesson *ticket)
{
    struct table table = read_csv("support_ticket_vectors.csv");
    cr_assert(table.tokens == 5 && table.columns == 8);
    cr_assert_str_eq(table.name[4], "<pad>");
    load_lesson(ticket, &table, 3, 2);
}

static void set_scale(struct lesson *lesson, float scale)
{
    lesson->problem.flags |= ATTEND_EXPLICIT_SCALE;
    lesson->problem.scale = scale;
}

static void run_lesson(struct lesson *lesson, attend_isa isa)
{
    attend_engine *engine = need_engine(isa, 2, 0);
    expect_ok(attend_forward(engine, &lesson->problem, &lesson->args));
    attend_engine_destroy(engine);
}

static void expect_ticket_row(const struct lesson *ticket)
{
    expect_digits(ticket->scores, 5, 3, "0.589 0.000 0.577 0.139 -inf");
    expect_digits(ticket->weights, 5, 3, "0.314 0.174 0.311 0.200 0.000");
    expect_digits(ticket->output, 2, 3, "0.572 0.454");
}

static void check_ticket_by_length(attend_isa isa)
{
    static const int64_t lengths[] = { 4 };
    struct lesson ticket;
    load_ticket(&ticket);
    ticket.args.key_lengths = lengths;
    run_lesson(&ticket, isa);
    expect_ticket_row(&ticket);
}

static void check_ticket_by_tensor(attend_isa isa)
{
    static unsigned char flags[] = { 1, 1, 1, 1, 0 };
    struct lesson ticket;
    load_ticket(&ticket);
    ticket.visible_view = (attend_tensor)ATTEND_TENSOR_INIT;
    ticket.visible_view.data = flags;
    ticket.visible_view.dtype = ATTEND_BOOL;
    ticket.visible_view.stride[3] = 1;
    ticket.args.visible = &ticket.visible_view;
    run_lesson(&ticket, isa);
    expect_ticket_row(&ticket);
}

static void check_ticket_raw(attend_isa isa)
{
    struct lesson ticket;
    load_ticket(&ticket);
    set_scale(&ticket, 1.0f);
    run_lesson(&ticket, isa);
    expect_digits(ticket.scores, 5, 2, "1.02 0.00 1.00 0.24 0.00");
    float largest = find_largest(ticket.weights, 25);
    expect_digits(&largest, 1, 3, "0.450");
}

static void check_ticket_unmasked(attend_isa isa)
{
    struct lesson ticket;
    load_ticket(&ticket);
    run_lesson(&ticket, isa);
    float largest = find_largest(ticket.weights, 25);
    expect_digits(&largest, 1, 3, "0.335");
}

ISA_TESTS(lessons, ticket_padding_by_length, check_ticket_by_length)
ISA_TESTS(lessons, ticket_padding_by_tensor, check_ticket_by_tensor)
ISA_TESTS(lessons, ticket_without_scale, check_ticket_raw)
ISA_TESTS(lessons, ticket_without_mask, check_ticket_unmasked)

static void expect_worked_example(const struct lesson *example)
{
    static const char *const weights[] = { "0.3385 0.2865 0.1560 0.2190", "0.2617 0.3769 0.0806 0.2808",
                                           "0.1458 0.2187 0.1915 0.4441", "0.3683 0.2974 0.2646 0.0697" };
    static const char *const outputs[] = { "-1.5223 -0.9709 0.1333", "-1.8853 -0.8206 0.1676", "-1.7339 -0.7920 0.4547",
                                           "-1.1056 -1.0340 0.0768" };
    for (int token = 0; token < 4; token++) {
        expect_digits(example->weights + 4 * token, 4, 4, weights[token]);
        expect_digits(example->output + 3 * token, 3, 4, outputs[token]);
    }
}

static void check_worked_example_csv(attend_isa isa)
{
    struct lesson example;
    struct table table = read_csv("worked_example_vectors.csv");
    cr_assert(table.tokens == 4 && table.columns == 9);
    load_lesson(&example, &table, 3, 3);
    run_lesson(&example, isa);
    expect_worked_example(&example);
}

static void check_worked_example_npy(attend_isa isa)
{
    struct lesson example;
    set_up_lesson(&example, 4, 3, 3);
    read_npy("worked_example_query.npy", example.query, 12);
    read_npy("worked_example_key.npy", example.key, 12);
    read_npy("worked_example_value.npy", example.value, 12);
    run_lesson(&example, isa);
    expect_worked_example(&example);
}

ISA_TESTS(lessons, worked_example_csv, check_worked_example_csv)
ISA_TESTS(lessons, worked_example_npy, check_worked_example_npy)
