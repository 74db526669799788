/* See show_heatmap.h. The picture brings its own background, so that it reads the same on light and on dark pages. Text
 * is placed by the width of a monospaced font: 0.602 of its size per column in the widest of the usual ones. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/cli/show_heatmap.h"

#include "engine/cli/messages.h"
#include "engine/cli/shown_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MONOSPACE "font-family=\"'DejaVu Sans Mono', Menlo, Consolas, monospace\""
#define SANS "font-family=\"'DejaVu Sans', Helvetica, Arial, sans-serif\""
#define INK "#24292f"
#define FAINT_INK "#57606a"

enum {
    EDGE = 20,       /* round everything */
    FONT = 13,       /* of tokens and numbers; axis labels too */
    TITLE_FONT = 16, /* bold */
    COLUMN = 8,      /* of a terminal, in FONT */
    CELL_HEIGHT = 36,
    LEAST_CELL = 48,
    BAR_WIDTH = 14,
    BAR_LEAST = 108,
    BAR_MOST = 360,
    LABEL_MOST = 24, /* columns of a token */
    TITLE_MOST = 48,
    SUBTITLE_BYTES = 96
};

/* From white to dark blue; up to LIGHT_TEXT black text has the higher contrast, at least 4.5. */
static const unsigned char ramp[][3] = {
    { 0xf7, 0xfb, 0xff }, { 0xde, 0xeb, 0xf7 }, { 0xc6, 0xdb, 0xef }, { 0x9e, 0xca, 0xe1 }, { 0x6b, 0xae, 0xd6 },
    { 0x42, 0x92, 0xc6 }, { 0x21, 0x71, 0xb5 }, { 0x08, 0x51, 0x9c }, { 0x08, 0x30, 0x6b },
};
enum { RAMP_STEPS = sizeof ramp / sizeof ramp[0] - 1 };
static const double light_text = 0.72;

struct picture {
    FILE *stream;
    const struct show_steps *steps;
    struct label *tokens; /* [steps->tokens] */
    struct label title;
    char subtitle[SUBTITLE_BYTES];
    int digits;
    double full; /* the darkest weight */
    int token_width; /* of the widest token */
    bool slanted;    /* tokens under the columns */
    int cell_width, left, top, grid_width, grid_height, bar_height, foot, width, height;
};

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

static void write_escaped(FILE *stream, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '&': fputs("&amp;", stream); break;
        case '<': fputs("&lt;", stream); break;
        case '>': fputs("&gt;", stream); break;
        case '"': fputs("&quot;", stream); break;
        default: fputc(*text, stream);
        }
    }
}

/* The colour of a weight, `part` of the full one. */
static void write_colour(FILE *stream, double part)
{
    double place = part * RAMP_STEPS;
    int step = place < RAMP_STEPS ? (int)place : RAMP_STEPS - 1;
    fputc('#', stream);
    for (int i = 0; i < 3; i++) {
        double from = ramp[step][i], to = ramp[step + 1][i];
        fprintf(stream, "%02x", (unsigned)lround(from + (to - from) * (place - step)));
    }
}

static void write_number(FILE *stream, double number, int digits)
{
    char text[NUMBER_BYTES];
    number_write(text, number, digits);
    fputs(text, stream);
}

static void write_subtitle(struct picture *picture)
{
    const struct show_steps *steps = picture->steps;
    bool hidden = false;
    for (size_t i = 0; i < steps->tokens * steps->tokens; i++)
        hidden |= steps->masked[i] == -INFINITY;
    snprintf(picture->subtitle, sizeof picture->subtitle, "scale %.4g; rows sum to 1%s%s", steps->scale,
             steps->row_empty ? ", or 0 where no key is visible" : "", hidden ? "; hatched: hidden" : "");
}

/* ---- layout ------------------------------------------------------------------------------------------------------ */

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static void lay_out(struct picture *picture)
{
    const int n = (int)picture->steps->tokens;
    int number_width = (picture->digits ? picture->digits + 2 : 1) * COLUMN;
    int heads = larger((TITLE_FONT * 2 / 3) * picture->title.columns + TITLE_FONT * 11,
                       (int)strlen(picture->subtitle) * (COLUMN - 1));
    for (int i = 0; i < n; i++)
        picture->token_width = larger(picture->token_width, picture->tokens[i].columns * COLUMN);
    picture->cell_width = larger(LEAST_CELL, number_width + 12);
    picture->slanted = picture->token_width + 8 > picture->cell_width;
    picture->left = EDGE + FONT + 12 + picture->token_width + 8;
    picture->top = EDGE + TITLE_FONT + FONT + 40;
    picture->grid_width = n * picture->cell_width;
    picture->grid_height = n * CELL_HEIGHT;
    picture->bar_height = larger(BAR_LEAST, picture->grid_height < BAR_MOST ? picture->grid_height : BAR_MOST);
    picture->foot = picture->slanted ? picture->token_width * 5 / 7 + FONT : FONT + 6;
    picture->width = picture->left + picture->grid_width + 28 + BAR_WIDTH + 8 + larger(number_width, 6 * COLUMN) + EDGE;
    picture->width = larger(picture->width, heads + 2 * EDGE);
    int below = picture->foot + FONT + 14;
    picture->height = picture->top + larger(picture->grid_height + below, picture->bar_height + FONT) + EDGE;
}

/* ---- parts of the picture ---------------------------------------------------------------------------------------- */

static void draw_frame(const struct picture *picture)
{
    FILE *out = picture->stream;
    fprintf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
                 "role=\"img\">\n<title>Attention weights of ",
            picture->width, picture->height, picture->width, picture->height);
    write_escaped(out, picture->title.text);
    fprintf(out, "</title>\n<defs>\n<linearGradient id=\"attend-ramp\" x1=\"0\" y1=\"1\" x2=\"0\" y2=\"0\">\n");
    for (int i = 0; i <= RAMP_STEPS; i++) {
        fprintf(out, "<stop offset=\"%.4g\" stop-color=\"", (double)i / RAMP_STEPS);
        write_colour(out, (double)i / RAMP_STEPS);
        fprintf(out, "\"/>\n");
    }
    fprintf(out, "</linearGradient>\n"
                 "<pattern id=\"attend-hidden\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" "
                 "patternTransform=\"rotate(45)\">"
                 "<rect width=\"7\" height=\"7\" fill=\"#f3f1ec\"/>"
                 "<rect width=\"2\" height=\"7\" fill=\"#d8d3c8\"/></pattern>\n</defs>\n"
                 "<rect width=\"%d\" height=\"%d\" rx=\"10\" fill=\"#ffffff\"/>\n"
                 "<rect x=\"0.5\" y=\"0.5\" width=\"%d\" height=\"%d\" rx=\"9.5\" fill=\"none\" stroke=\"#d0d7de\"/>\n",
            picture->width, picture->height, picture->width - 1, picture->height - 1);
}

static void draw_heads(const struct picture *picture)
{
    FILE *out = picture->stream;
    fprintf(out, "<g " SANS ">\n<text x=\"%d\" y=\"%d\" font-size=\"%d\" font-weight=\"bold\" fill=\"" INK
                 "\">Attention weights: ", EDGE, EDGE + TITLE_FONT - 2, TITLE_FONT);
    write_escaped(out, picture->title.text);
    fprintf(out, "</text>\n<text x=\"%d\" y=\"%d\" font-size=\"%d\" fill=\"" FAINT_INK "\">%s</text>\n", EDGE,
            EDGE + TITLE_FONT + FONT + 7, FONT, picture->subtitle);
    int middle = picture->top + picture->grid_height / 2, left = EDGE + FONT - 2;
    fprintf(out, "<g font-size=\"%d\" fill=\"" INK "\" text-anchor=\"middle\">\n"
                 "<text x=\"%d\" y=\"%d\" transform=\"rotate(-90 %d %d)\">%s</text>\n"
                 "<text x=\"%d\" y=\"%d\">%s</text>\n</g>\n</g>\n",
            FONT, left, middle, left, middle, picture->steps->tokens == 1 ? "query" : "queries",
            picture->left + picture->grid_width / 2, picture->top + picture->grid_height + picture->foot + FONT + 10,
            picture->steps->tokens == 1 ? "key" : "keys");
}

static void draw_tokens(const struct picture *picture)
{
    FILE *out = picture->stream;
    fprintf(out, "<g " MONOSPACE " font-size=\"%d\" fill=\"" INK "\" text-anchor=\"end\">\n", FONT);
    for (int i = 0; i < (int)picture->steps->tokens; i++) {
        fprintf(out, "<text x=\"%d\" y=\"%d\" xml:space=\"preserve\">", picture->left - 8,
                picture->top + i * CELL_HEIGHT + CELL_HEIGHT / 2 + FONT / 3);
        write_escaped(out, picture->tokens[i].text);
        fprintf(out, "</text>\n");
    }
    for (int i = 0; i < (int)picture->steps->tokens; i++) {
        int x = picture->left + i * picture->cell_width + picture->cell_width / 2;
        int y = picture->top + picture->grid_height + FONT + 4;
        fprintf(out, "<text xml:space=\"preserve\" ");
        if (picture->slanted)
            fprintf(out, "x=\"%d\" y=\"%d\" transform=\"rotate(-45 %d %d)\">", x + 5, y, x + 5, y);
        else
            fprintf(out, "x=\"%d\" y=\"%d\" text-anchor=\"middle\">", x, y);
        write_escaped(out, picture->tokens[i].text);
        fprintf(out, "</text>\n");
    }
    fprintf(out, "</g>\n");
}

static void draw_cell(const struct picture *picture, int row, int key)
{
    FILE *out = picture->stream;
    size_t index = (size_t)row * picture->steps->tokens + (size_t)key;
    double weight = (double)picture->steps->weights[index], part = weight / picture->full;
    bool hidden = picture->steps->masked[index] == -INFINITY;
    int x = picture->left + key * picture->cell_width, y = picture->top + row * CELL_HEIGHT;
    fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"", x, y, picture->cell_width, CELL_HEIGHT);
    if (hidden)
        fputs("url(#attend-hidden)", out);
    else if (isfinite(part))
        write_colour(out, part);
    else
        fputs("#ffd8d3", out);
    fprintf(out, "\"/><text x=\"%d\" y=\"%d\" fill=\"%s\"", x + picture->cell_width / 2, y + CELL_HEIGHT / 2 + FONT / 3,
            hidden ? FAINT_INK : part > light_text ? "#ffffff" : "#000000");
    if (hidden)
        fputs(" stroke=\"#f3f1ec\" stroke-width=\"3\" paint-order=\"stroke\"", out);
    fputc('>', out);
    write_number(out, weight, picture->digits);
    fputs("</text>\n", out);
}

static void draw_cells(const struct picture *picture)
{
    FILE *out = picture->stream;
    int n = (int)picture->steps->tokens;
    fprintf(out, "<g " MONOSPACE " font-size=\"%d\" text-anchor=\"middle\">\n", FONT);
    for (int row = 0; row < n; row++)
        for (int key = 0; key < n; key++)
            draw_cell(picture, row, key);
    fprintf(out, "</g>\n<g stroke=\"#ffffff\">\n");
    for (int i = 1; i < n; i++)
        fprintf(out, "<path d=\"M%d %dh%dM%d %dv%d\"/>\n", picture->left, picture->top + i * CELL_HEIGHT,
                picture->grid_width, picture->left + i * picture->cell_width, picture->top, picture->grid_height);
    fprintf(out, "</g>\n<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#8c959f\"/>\n",
            picture->left, picture->top, picture->grid_width, picture->grid_height);
}

static void draw_bar(const struct picture *picture)
{
    enum { TICKS = 2 };
    FILE *out = picture->stream;
    int x = picture->left + picture->grid_width + 28;
    fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"url(#attend-ramp)\" stroke=\"#8c959f\"/>\n"
                 "<text " SANS " x=\"%d\" y=\"%d\" font-size=\"%d\" fill=\"" INK "\">weight</text>\n"
                 "<g " MONOSPACE " font-size=\"%d\" fill=\"" INK "\">\n",
            x, picture->top, BAR_WIDTH, picture->bar_height, x, picture->top - 11, FONT, FONT);
    for (int tick = 0; tick <= TICKS; tick++) {
        int y = picture->top + picture->bar_height - picture->bar_height * tick / TICKS;
        fprintf(out, "<path d=\"M%d %dh4\" stroke=\"#8c959f\"/><text x=\"%d\" y=\"%d\">", x + BAR_WIDTH, y,
                x + BAR_WIDTH + 8, y + FONT / 3);
        write_number(out, picture->full * tick / TICKS, picture->digits);
        fprintf(out, "</text>\n");
    }
    fprintf(out, "</g>\n");
}

int show_heatmap_write(FILE *stream, const char *title, const struct vector_table *table,
                       const struct show_steps *steps, int digits)
{
    struct picture picture = { .stream = stream, .steps = steps, .digits = digits, .full = 1 };
    picture.tokens = malloc(steps->tokens * sizeof *picture.tokens);
    if (!picture.tokens)
        return message_failure("not enough memory for %zu tokens", steps->tokens);
    for (size_t i = 0; i < steps->tokens; i++)
        label_make(&picture.tokens[i], table->token[i], LABEL_MOST);
    label_make(&picture.title, title, TITLE_MOST);
    if (steps->largest < steps->tokens * steps->tokens)
        picture.full = (double)steps->weights[steps->largest];
    write_subtitle(&picture);
    lay_out(&picture);
    draw_frame(&picture);
    draw_heads(&picture);
    draw_tokens(&picture);
    draw_cells(&picture);
    draw_bar(&picture);
    fprintf(stream, "</svg>\n");
    free(picture.tokens);
    return STATUS_DONE;
}
