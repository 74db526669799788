/* attend show: the steps of attention for a table of vectors, token by token. Knows the options; reading, computing,
 * printing and drawing have files of their own. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/cli/command_options.h"
#include "engine/cli/commands.h"
#include "engine/cli/csv_rows.h"
#include "engine/cli/messages.h"
#include "engine/cli/output_files.h"
#include "engine/cli/show_heatmap.h"
#include "engine/cli/show_steps.h"
#include "engine/cli/show_tables.h"
#include "engine/cli/shown_text.h"
#include "engine/cli/vector_table.h"

#include <getopt.h>
#include <string.h>
#include <strings.h>

static const char help_text[] =
    "Usage: attend show TABLE.csv [OPTION]...\n"
    "Prints every step of attention, token by token: raw scores, scaled scores, masked scores, weights and context.\n\n"
    "The table has a row per token and the columns token, q_*, k_* and v_*, as many as you like and in any order; the\n"
    "rest of a name is yours. q_NAME is multiplied with k_NAME where all names agree, else with the k_ column at the\n"
    "same place. A token spelled <pad> hides its key; its query row is still shown. TABLE.csv may be - for standard\n"
    "input. In a terminal the weights are shaded, unless NO_COLOR is set.\n\n"
    "  --scale X          what scores are multiplied with; 1/sqrt(number of q_ columns) unless told\n"
    "  --no-padding-mask  let <pad> keys be seen like others\n"
    "  --causal WORD      hide the keys after the row's own: top-left or bottom-right, which are the same here, where\n"
    "                     every token is a query and a key\n"
    "  --digits N         digits behind the point, 0 to 9; 3 unless told\n"
    "  --heatmap FILE.svg draw the weights as well: rows are queries, columns keys, darker is larger\n"
    ISA_OPTION_HELP
    "\nExample: a table of four words and one <pad>, with a picture:\n"
    "  attend show ticket.csv --heatmap ticket.svg\n"
    "where ticket.csv begins with\n"
    "  token,q_request,q_urgency,k_request,k_urgency,v_refund\n"
    "  refund,1.0,0.2,1.0,0.1,1.0\n";

enum { OPTION_SCALE = OPTION_OWN, OPTION_NO_PADDING_MASK, OPTION_CAUSAL, OPTION_DIGITS, OPTION_HEATMAP };
enum { DIGITS_DEFAULT = 3, DIGITS_LIMIT = 9 };

struct show_options {
    const char *table, *heatmap;
    struct show_rules rules;
    int digits;
    bool help;
};

static int read_causal(struct show_rules *rules, const char *word)
{
    bool top_left = strcmp(word, "top-left") == 0;
    if (!top_left && strcmp(word, "bottom-right") != 0)
        return message_usage("--causal is '%s'; it must be top-left or bottom-right", word);
    rules->causal = true;
    rules->diagonal = top_left ? ATTEND_DIAGONAL_TOP_LEFT : ATTEND_DIAGONAL_BOTTOM_RIGHT;
    return STATUS_DONE;
}

static int read_isa(struct show_rules *rules, const char *name)
{
    struct engine_settings settings = { .isa = ATTEND_ISA_AUTO };
    int status = engine_settings_read(&settings, OPTION_ISA, name);
    rules->isa = settings.isa;
    return status;
}

static int read_option(void *target, int option, int place)
{
    struct show_options *options = target;
    int64_t digits;
    (void)place;
    switch (option) {
    case OPTION_NO_PADDING_MASK: options->rules.pad_visible = true; return STATUS_DONE;
    case OPTION_HEATMAP: options->heatmap = optarg; return STATUS_DONE;
    case OPTION_CAUSAL: return read_causal(&options->rules, optarg);
    case OPTION_SCALE:
        options->rules.explicit_scale = true;
        if (!option_read_real(optarg, &options->rules.scale))
            return message_usage("--scale is '%s'; it must be a finite number", optarg);
        return STATUS_DONE;
    case OPTION_DIGITS:
        if (!option_read_whole(optarg, 0, DIGITS_LIMIT, &digits))
            return message_usage("--digits is '%s'; it must be a whole number from 0 to %d", optarg, DIGITS_LIMIT);
        options->digits = (int)digits;
        return STATUS_DONE;
    default: return read_isa(&options->rules, optarg);
    }
}

static int read_options(struct show_options *options, int argc, char **argv)
{
    static const struct option table[] = {
        { "scale", required_argument, NULL, OPTION_SCALE },
        { "no-padding-mask", no_argument, NULL, OPTION_NO_PADDING_MASK },
        { "causal", required_argument, NULL, OPTION_CAUSAL },
        { "digits", required_argument, NULL, OPTION_DIGITS },
        { "heatmap", required_argument, NULL, OPTION_HEATMAP },
        { "isa", required_argument, NULL, OPTION_ISA },
        { "help", no_argument, NULL, OPTION_HELP },
        { NULL, 0, NULL, 0 },
    };
    int status = options_walk(argc, argv, table, read_option, options, &options->help);
    if (status != STATUS_DONE || options->help)
        return status;
    if (optind == argc)
        return message_usage("a table is missing, a CSV file with columns token, q_*, k_*, v_*");
    if (optind + 1 < argc)
        return message_usage("'%s' is one table too many", argv[optind + 1]);
    options->table = argv[optind];
    return STATUS_DONE;
}

static int draw_heatmap(const struct show_options *options, const char *title, const struct vector_table *table,
                        const struct show_steps *steps)
{
    const char *source = strcmp(options->table, "-") == 0 ? "/dev/stdin" : options->table;
    if (!output_files_differ("--heatmap", options->heatmap, "the table", source))
        return STATUS_COULD_NOT;
    int file = output_files_open("--heatmap", options->heatmap);
    if (file < 0)
        return STATUS_COULD_NOT;
    FILE *stream = output_files_stream(file);
    int status = show_heatmap_write(stream, title, table, steps, options->digits);
    if (status == STATUS_DONE && (fflush(stream) != 0 || ferror(stream))) {
        output_files_report(file);
        status = STATUS_COULD_NOT;
    }
    return status;
}

static void note_format(const char *path)
{
    size_t length = strlen(path);
    if (length < 4 || strcasecmp(path + length - 4, ".svg") != 0)
        message_note("--heatmap %s is SVG; its name does not end in .svg", path);
}

/* The picture is complete before anything is printed, and appears after all was: neither is there without the other. */
static int present_steps(const struct show_options *options, const struct vector_table *table,
                         const struct show_steps *steps)
{
    const char *name = csv_rows_name(options->table), *slash = strrchr(name, '/');
    const char *title = slash && slash[1] ? slash + 1 : name;
    int status = options->heatmap ? draw_heatmap(options, title, table, steps) : STATUS_DONE;
    if (status == STATUS_DONE)
        status = show_tables_print(title, table, steps, &options->rules, options->digits);
    if (status == STATUS_DONE)
        status = message_finish_output();
    if (status == STATUS_DONE && options->heatmap && !output_files_commit())
        status = STATUS_COULD_NOT;
    output_files_discard();
    if (status == STATUS_DONE && options->heatmap)
        note_format(options->heatmap);
    return status;
}

static int show_table(const struct show_options *options)
{
    struct vector_table table;
    struct show_steps steps = { .memory = NULL };
    label_prepare();
    int status = vector_table_read(&table, options->table);
    if (status == STATUS_DONE)
        status = show_steps_compute(&steps, &table, &options->rules);
    if (status == STATUS_DONE)
        status = present_steps(options, &table, &steps);
    show_steps_release(&steps);
    vector_table_release(&table);
    return status;
}

int command_show(int argc, char **argv)
{
    struct show_options options = { .digits = DIGITS_DEFAULT };
    int status = read_options(&options, argc, argv);
    if (status == STATUS_DONE && options.help)
        return options_print_help(help_text);
    return status == STATUS_DONE ? show_table(&options) : status;
}
