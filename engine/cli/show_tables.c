/* See show_tables.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/cli/show_tables.h"

#include "engine/cli/messages.h"
#include "engine/cli/shown_text.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { GAP = 2, SHADES = 9, FIRST_LIGHT_TEXT = 6 };

/* Backgrounds from light to dark, of the 256 colours. Text is black on the first ones and white from FIRST_LIGHT_TEXT
 * on, each at a contrast of 5 or more. */
static const int shades[SHADES] = { 231, 195, 153, 117, 74, 32, 25, 18, 17 };
enum { TEXT_BLACK = 16, TEXT_WHITE = 231 };

struct sheet {
    const struct label *rows, *columns; /* [row_count], [column_count] */
    size_t row_count, column_count;
    const float *cells;  /* [row_count][column_count] */
    const float *scores; /* NULL: plain; else [row_count][shaded_count], -inf in hidden cells, which stay unshaded */
    size_t shaded_count; /* first columns to shade */
    double full;         /* the number with the darkest shade */
};

struct printer {
    int digits, line_columns;
    bool colours;
};

static bool has_colours(void)
{
    const char *term = getenv("TERM"), *no_colour = getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0 && !(no_colour && *no_colour);
}

static int measure_terminal(void)
{
    struct winsize size;
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return INT_MAX;
}

/* ---- one table --------------------------------------------------------------------------------------------------- */

static void print_padded(const struct label *label, int columns, bool right)
{
    int padding = columns > label->columns ? columns - label->columns : 0;
    printf("%*s%s", right ? padding : 0, "", label->text);
    if (!right)
        printf("%*s", padding, "");
}

static int measure_rows(const struct sheet *sheet)
{
    int widest = 0;
    for (size_t row = 0; row < sheet->row_count; row++)
        widest = sheet->rows[row].columns > widest ? sheet->rows[row].columns : widest;
    return widest;
}

static int measure_column(const struct sheet *sheet, size_t column, int digits)
{
    char text[NUMBER_BYTES];
    int widest = sheet->columns[column].columns;
    for (size_t row = 0; row < sheet->row_count; row++) {
        int length = number_write(text, (double)sheet->cells[row * sheet->column_count + column], digits);
        widest = length > widest ? length : widest;
    }
    return widest;
}

/* The gap before a cell is shaded with it: the cells of a row then touch. */
static void print_cell(const struct sheet *sheet, const struct printer *printer, size_t row, size_t column, int width)
{
    char text[NUMBER_BYTES];
    double number = (double)sheet->cells[row * sheet->column_count + column];
    bool shaded = printer->colours && sheet->scores && column < sheet->shaded_count && number >= 0 && sheet->full > 0;
    if (shaded && sheet->scores[row * sheet->shaded_count + column] == -INFINITY)
        shaded = false;
    number_write(text, number, printer->digits);
    if (shaded) {
        int shade = (int)lround(number / sheet->full * (SHADES - 1));
        printf("\033[48;5;%d;38;5;%dm", shades[shade], shade < FIRST_LIGHT_TEXT ? TEXT_BLACK : TEXT_WHITE);
    }
    printf("%*s%s", GAP + width, text, shaded ? "\033[0m" : "");
}

static void print_block(const struct sheet *sheet, const struct printer *printer, const int *widths, size_t first,
                        size_t end)
{
    int margin = measure_rows(sheet);
    printf("%*s", margin, "");
    for (size_t column = first; column < end; column++) {
        printf("%*s", GAP, "");
        print_padded(&sheet->columns[column], widths[column], true);
    }
    printf("\n");
    for (size_t row = 0; row < sheet->row_count; row++) {
        print_padded(&sheet->rows[row], margin, false);
        for (size_t column = first; column < end; column++)
            print_cell(sheet, printer, row, column, widths[column]);
        printf("\n");
    }
}

static int print_sheet(const struct sheet *sheet, const struct printer *printer)
{
    int *widths = malloc(sheet->column_count * sizeof *widths), margin = measure_rows(sheet);
    if (!widths)
        return message_failure("not enough memory for %zu columns", sheet->column_count);
    for (size_t column = 0; column < sheet->column_count; column++)
        widths[column] = measure_column(sheet, column, printer->digits);
    for (size_t first = 0, end; first < sheet->column_count; first = end) {
        int line = margin + GAP + widths[first];
        for (end = first + 1; end < sheet->column_count && line + GAP + widths[end] <= printer->line_columns; end++)
            line += GAP + widths[end];
        print_block(sheet, printer, widths, first, end);
        printf("\n");
    }
    free(widths);
    return STATUS_DONE;
}

/* ---- the steps --------------------------------------------------------------------------------------------------- */

/* A row of the weights with its sum behind it. */
static void append_sums(float *cells, const struct show_steps *steps)
{
    size_t n = steps->tokens;
    for (size_t row = 0; row < n; row++) {
        double sum = 0;
        for (size_t key = 0; key < n; key++) {
            cells[row * (n + 1) + key] = steps->weights[row * n + key];
            sum += (double)steps->weights[row * n + key];
        }
        cells[row * (n + 1) + n] = (float)sum;
    }
}

static int print_weights(const struct show_steps *steps, const struct printer *printer, const struct label *tokens)
{
    size_t n = steps->tokens;
    float *cells = malloc(n * (n + 1) * sizeof *cells);
    struct label *columns = malloc((n + 1) * sizeof *columns);
    int status = STATUS_COULD_NOT;
    if (cells && columns) {
        append_sums(cells, steps);
        memcpy(columns, tokens, n * sizeof *columns);
        label_make(&columns[n], "sum", TOKEN_COLUMNS);
        struct sheet sheet = { tokens, columns, n, n + 1, cells, steps->masked, n, 0 };
        if (steps->largest < n * n)
            sheet.full = (double)steps->weights[steps->largest];
        status = print_sheet(&sheet, printer);
    } else {
        message_failure("not enough memory for the weights of %zu tokens", n);
    }
    free(columns);
    free(cells);
    return status;
}

static int print_context(const struct vector_table *table, const struct show_steps *steps,
                         const struct printer *printer, const struct label *tokens)
{
    struct label *columns = malloc(steps->d_v * sizeof *columns);
    if (!columns)
        return message_failure("not enough memory for %zu columns", steps->d_v);
    for (size_t i = 0; i < steps->d_v; i++)
        label_make(&columns[i], table->value_name[i], TOKEN_COLUMNS);
    int status = print_sheet(&(struct sheet){ tokens, columns, steps->tokens, steps->d_v, steps->context, NULL, 0, 0 },
                             printer);
    free(columns);
    return status;
}

static int print_scores(const struct show_steps *steps, const struct printer *printer, const struct label *tokens,
                        const float *scores)
{
    return print_sheet(&(struct sheet){ tokens, tokens, steps->tokens, steps->tokens, scores, NULL, 0, 0 }, printer);
}

static void head_scale(const struct vector_table *table, const struct show_steps *steps, const struct show_rules *rules)
{
    if (rules->explicit_scale)
        printf("scale: score = %.6g · (q·k), as --scale tells\n", steps->scale);
    else
        printf("scale: score = q·k / √%zu = %.4g · (q·k)\n", table->d_k, steps->scale);
}

static void head_mask(const struct show_steps *steps, const struct show_rules *rules)
{
    printf("mask: before softmax, the score of a hidden key becomes -inf; hidden: %s%s%s\n",
           steps->pad_hidden ? "<pad>" : "", steps->pad_hidden && rules->causal ? ", " : "",
           rules->causal ? "keys after the row's own" : steps->pad_hidden ? "" : "nothing");
}

static void print_largest(const struct show_steps *steps, const struct printer *printer, const struct label *tokens)
{
    char text[NUMBER_BYTES];
    if (steps->largest == steps->tokens * steps->tokens) {
        printf("there is no weight above 0\n");
        return;
    }
    number_write(text, (double)steps->weights[steps->largest], printer->digits);
    printf("largest weight %s: %s attends to %s\n", text, tokens[steps->largest / steps->tokens].text,
           tokens[steps->largest % steps->tokens].text);
}

static int print_steps(const struct vector_table *table, const struct show_steps *steps, const struct show_rules *rules,
                       const struct printer *printer, const struct label *tokens)
{
    printf("match: raw score = q·k, a row per query, a column per key\n");
    int status = print_scores(steps, printer, tokens, steps->raw);
    if (status != STATUS_DONE)
        return status;
    head_scale(table, steps, rules);
    status = print_scores(steps, printer, tokens, steps->scaled);
    if (status != STATUS_DONE)
        return status;
    head_mask(steps, rules);
    status = print_scores(steps, printer, tokens, steps->masked);
    if (status != STATUS_DONE)
        return status;
    printf("normalise: weights = softmax(scores), rows sum to 1%s\n",
           steps->row_empty ? " (to 0 where no key is visible)" : "");
    status = print_weights(steps, printer, tokens);
    if (status != STATUS_DONE)
        return status;
    printf("collect: context = weights · V\n");
    status = print_context(table, steps, printer, tokens);
    if (status == STATUS_DONE)
        print_largest(steps, printer, tokens);
    return status;
}

int show_tables_print(const char *title, const struct vector_table *table, const struct show_steps *steps,
                      const struct show_rules *rules, int digits)
{
    struct printer printer = { digits, measure_terminal(), has_colours() };
    struct label *tokens = malloc(table->tokens * sizeof *tokens), name;
    if (!tokens)
        return message_failure("not enough memory for %zu tokens", table->tokens);
    for (size_t i = 0; i < table->tokens; i++)
        label_make(&tokens[i], table->token[i], TOKEN_COLUMNS);
    label_make(&name, title, LABEL_COLUMNS);
    printf("%s: %zu token%s; %zu column%s of queries and keys, %zu of values\n\n", name.text, table->tokens,
           table->tokens == 1 ? "" : "s", table->d_k, table->d_k == 1 ? "" : "s", table->d_v);
    int status = print_steps(table, steps, rules, &printer, tokens);
    free(tokens);
    return status;
}
