/* attend explain: the plan of a problem, as text or JSON. Knows how to show it; the reasons are plan_reasons.h's. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/cli/command_options.h"
#include "engine/cli/command_problem.h"
#include "engine/cli/commands.h"
#include "engine/cli/json_document.h"
#include "engine/cli/messages.h"
#include "engine/cli/plan_reasons.h"
#include "engine/cli/terminal.h"
#include "engine/cli/text_line.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char help_text[] =
    "Usage: attend explain PROBLEM [OPTION]...\n"
    "Tells how a problem would be computed here, and why: kernel, block sizes, units, skipped work, memory. Runs\n"
    "nothing and takes no memory for tensors.\n\n"
    PROBLEM_HELP
    ISA_OPTION_HELP
    "  --threads N        size of the team; one thread per usable core unless told\n"
    "  --json             print a JSON document\n\n"
    "A unit is what a thread takes at a time: some rows of one kv head of one item. Pairs are (row, key) over all\n"
    "heads; tiles are (unit, KV tile), partial where some row of the unit sees only a part.\n\n"
    "Example:\n"
    "  attend explain b32.h12.q128.k128.d64:causal:lengths=16..128\n";

enum { ERROR_BYTES = 512, USUAL_COLUMNS = 80, LEAST_COLUMNS = 40, MOST_COLUMNS = 100, LABEL_COLUMNS = 19 };

struct explain_options {
    struct engine_settings engine;
    const char *text; /* of the problem */
    bool json, help;
};

static int read_option(void *target, int option, int place)
{
    struct explain_options *options = target;
    (void)place;
    if (option != OPTION_JSON)
        return engine_settings_read(&options->engine, option, optarg);
    options->json = true;
    return STATUS_DONE;
}

static int read_options(struct explain_options *options, int argc, char **argv)
{
    static const struct option table[] = {
        { "isa", required_argument, NULL, OPTION_ISA },
        { "threads", required_argument, NULL, OPTION_THREADS },
        { "json", no_argument, NULL, OPTION_JSON },
        { "help", no_argument, NULL, OPTION_HELP },
        { NULL, 0, NULL, 0 },
    };
    int status = options_walk(argc, argv, table, read_option, options, &options->help);
    if (status != STATUS_DONE || options->help)
        return status;
    if (optind >= argc)
        return message_usage("a problem is missing, such as b8.h12.q512.k512.d64");
    if (optind + 1 < argc)
        return message_usage("'%s' is a second problem; explain takes one", argv[optind + 1]);
    options->text = argv[optind];
    return STATUS_DONE;
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* Length of the next word; a number keeps its unit of one letter, as in 1.0 M or 5 %. */
static int measure_word(const char *text)
{
    size_t length = strcspn(text, " ");
    bool unit = text[length] == ' ' && text[length + 1] && (!text[length + 2] || strchr(" ,;", text[length + 2]));
    return (int)(unit && text[0] >= '0' && text[0] <= '9' ? length + 1 + strcspn(text + length + 1, " ") : length);
}

/* Indented like the other values and broken at the width of the terminal. */
static void print_sentence(const char *label, const char *sentence)
{
    int columns = terminal_columns(STDOUT_FILENO, USUAL_COLUMNS), used = LABEL_COLUMNS;
    columns = columns < LEAST_COLUMNS ? LEAST_COLUMNS : columns > MOST_COLUMNS ? MOST_COLUMNS : columns;
    printf("%-*s", LABEL_COLUMNS, label);
    while (*sentence) {
        int word = measure_word(sentence);
        bool first = used == LABEL_COLUMNS;
        if (!first && used + 1 + word > columns) {
            printf("\n%*s", LABEL_COLUMNS, "");
            used = LABEL_COLUMNS;
            first = true;
        }
        printf("%s%.*s", first ? "" : " ", word, sentence);
        used += word + !first;
        sentence += word + strspn(sentence + word, " ");
    }
    printf("\n");
}

static void print_pairs(const attend_explanation *plan)
{
    struct text_line line = { .length = 0 };
    text_add_amount(&line, plan->padded_pairs);
    text_add(&line, " padded, ");
    text_add_amount(&line, plan->computed_pairs);
    text_add(&line, " computed, ");
    text_add_amount(&line, plan->visible_pairs);
    text_add(&line, " visible; ");
    text_add_amount(&line, plan->multiply_adds);
    text_add(&line, " multiply-adds");
    print_sentence("pairs", line.text);
}

static void print_memory(const attend_explanation *plan)
{
    struct text_line line = { .length = 0 };
    text_add(&line, "workspace ");
    text_add_bytes(&line, plan->workspace_bytes);
    text_add(&line, " per run, scratch ");
    text_add_bytes(&line, plan->scratch_bytes);
    text_add(&line, " per thread");
    print_sentence("memory", line.text);
}

static void print_units(const struct plan_view *view)
{
    const attend_explanation *plan = &view->plan;
    struct text_line line = { .length = 0 };
    text_add_count(&line, plan->units, "unit");
    text_add(&line, " of up to ");
    text_add_count(&line, plan->unit_rows, "row");
    text_add(&line, plan->inline_run ? ", in the calling thread" : ", by a team of ");
    if (!plan->inline_run)
        text_add_count(&line, view->threads, "thread");
    print_sentence("units", line.text);
}

static int print_text(const struct plan_view *view)
{
    const attend_explanation *plan = &view->plan;
    struct text_line kernel = { .length = 0 }, tiles = { .length = 0 };
    print_sentence("problem", view->text);
    text_add(&kernel, "%s, %lld x %lld scores (rows x keys) in registers, KV tiles of %lld keys", plan->kernel,
             (long long)plan->register_rows, (long long)plan->register_keys, (long long)plan->kv_tile);
    print_sentence("kernel", kernel.text);
    print_units(view);
    print_pairs(plan);
    text_add(&tiles, "%lld full, %lld partial, %lld skipped", (long long)plan->tiles_full,
             (long long)plan->tiles_partial, (long long)plan->tiles_skipped);
    print_sentence("tiles", tiles.text);
    print_memory(plan);
    printf("\n");
    struct plan_reasons reasons;
    plan_reasons_tell(&reasons, view);
    for (int i = 0; i < reasons.count; i++)
        print_sentence(reasons.of[i].label, reasons.of[i].sentence.text);
    return message_finish_output();
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static json_t *json_blocks(const attend_explanation *plan)
{
    json_t *blocks = json_object();
    json_put(blocks, "register_rows", json_integer(plan->register_rows));
    json_put(blocks, "register_keys", json_integer(plan->register_keys));
    json_put(blocks, "kv_tile", json_integer(plan->kv_tile));
    json_put(blocks, "unit_rows", json_integer(plan->unit_rows));
    json_put(blocks, "unit_rows_most", json_integer(plan->unit_rows_most));
    return blocks;
}

static void put_work(json_t *document, const attend_explanation *plan)
{
    json_t *pairs = json_object(), *tiles = json_object();
    json_put(pairs, "padded", json_number(plan->padded_pairs));
    json_put(pairs, "computed", json_number(plan->computed_pairs));
    json_put(pairs, "visible", json_number(plan->visible_pairs));
    json_put(tiles, "full", json_integer(plan->tiles_full));
    json_put(tiles, "partial", json_integer(plan->tiles_partial));
    json_put(tiles, "skipped", json_integer(plan->tiles_skipped));
    json_put(document, "pairs", pairs);
    json_put(document, "tiles", tiles);
    json_put(document, "multiply_adds", json_number(plan->multiply_adds));
    json_put(document, "work", json_number(plan->work));
    json_put(document, "pieces", json_integer(plan->pieces));
    json_put(document, "inline_limit", json_integer(plan->inline_limit));
}

static int print_json(const struct plan_view *view)
{
    const attend_explanation *plan = &view->plan;
    struct plan_reasons reasons;
    json_t *document = json_object(), *why = json_object();
    plan_reasons_tell(&reasons, view);
    for (int i = 0; i < reasons.count; i++)
        json_put(why, reasons.of[i].name, json_string(reasons.of[i].sentence.text));
    json_put(document, "problem", json_string(view->text));
    json_put(document, "attend", json_string(attend_version()));
    json_put(document, "kernel", json_string(plan->kernel));
    json_put(document, "isa", json_string(attend_isa_name(view->isa)));
    json_put(document, "threads", json_integer(view->threads));
    json_put(document, "inline", json_boolean(plan->inline_run));
    json_put(document, "blocks", json_blocks(plan));
    json_put(document, "units", json_integer(plan->units));
    json_put(document, "padding_units", json_integer(plan->padding_units));
    put_work(document, plan);
    json_put(document, "workspace_bytes", json_integer(plan->workspace_bytes));
    json_put(document, "scratch_bytes", json_integer(plan->scratch_bytes));
    json_put(document, "why", why);
    return json_finish(document);
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int look_at_plan(struct plan_view *view, attend_engine *engine, const struct problem_data *data)
{
    attend_plan *plan = NULL;
    attend_engine_info info = ATTEND_ENGINE_INFO_INIT;
    view->plan = (attend_explanation)ATTEND_EXPLANATION_INIT;
    if (attend_engine_describe(engine, &info) != ATTEND_OK ||
        attend_plan_create(&plan, engine, &data->problem) != ATTEND_OK ||
        attend_plan_explain(plan, &data->args, &view->plan) != ATTEND_OK) {
        attend_plan_destroy(plan);
        return message_failure("problem %s: %s", view->text, message_library_text(attend_last_error()));
    }
    attend_plan_destroy(plan);
    view->isa = info.isa;
    view->threads = info.threads;
    return STATUS_DONE;
}

static int explain_problem(const struct explain_options *options, const struct problem_string *problem,
                           const struct problem_data *data)
{
    struct plan_view view = { .text = options->text, .problem = problem, .data = data,
                              .isa_asked = options->engine.isa != ATTEND_ISA_AUTO };
    attend_engine *engine = NULL;
    /* Nothing runs, so warnings about binding the team would be noise. */
    message_set_quiet(true);
    int status = engine_settings_create(&options->engine, &engine);
    if (status == STATUS_DONE)
        status = look_at_plan(&view, engine, data);
    attend_engine_destroy(engine);
    if (status == STATUS_DONE)
        status = options->json ? print_json(&view) : print_text(&view);
    return status;
}

static int explain(const struct explain_options *options)
{
    char error[ERROR_BYTES];
    struct problem_string problem;
    struct problem_data data;
    int status = command_problem_read(&problem, options->text);
    if (status != STATUS_DONE)
        return status;
    if (!problem_data_outline(&data, &problem, error, sizeof error))
        return message_failure("problem %s: %s", options->text, error);
    status = explain_problem(options, &problem, &data);
    problem_data_release(&data);
    return status;
}

int command_explain(int argc, char **argv)
{
    struct explain_options options = { .text = NULL };
    int status = read_options(&options, argc, argv);
    if (status == STATUS_DONE && options.help) {
        status = options_print_help(help_text);
    } else if (status == STATUS_DONE) {
        status = explain(&options);
    }
    engine_settings_release(&options.engine);
    return status;
}
