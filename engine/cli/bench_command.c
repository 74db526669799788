/* attend bench: measures problems on engines of one or more thread counts and reports each beside the machine's
 * limits. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/cli/bench_report.h"
#include "engine/cli/command_options.h"
#include "engine/cli/command_problem.h"
#include "engine/cli/commands.h"
#include "engine/cli/json_document.h"
#include "engine/cli/messages.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char help_text[] =
    "Usage: attend bench PROBLEM... [OPTION]...\n"
    "Measures problems beside the machine's limits (multiply-adds in registers; reading 1 GiB), in turns. A result is\n"
    "checked against float64 on sampled rows before it is reported.\n\n"
    PROBLEM_HELP
    "  --threads LIST     sizes of the team, as in 1,2 or 1-4; one thread per usable core unless told\n"
    ENGINE_OPTION_HELP
    "  --repeat N         timed runs; as many as take about 1.5 s unless told\n"
    "  --cold             every run on other copies of the tensors, more than 1 GiB in all\n"
    "  --json             print a JSON document\n\n"
    "Columns:\n"
    "  median, min        times of one run in milliseconds\n"
    "  spread             (max - min)/median of the times\n"
    "  GFLOP/s, of peak   2*(d_k+d_v) operations per visible pair of row and key, at the median; as a share of the\n"
    "                     same threads' multiply-adds in registers\n"
    "  GB/s, of read      visible keys and values, each once, at the median; as a share of reading 1 GiB\n"
    "  scaling            speed-up over the problem's first line, divided by the ratio of the thread counts\n\n"
    "Example:\n"
    "  attend bench b32.h12.q128.k128.d64:lengths=16..128 b1.h16.q1024.k1024.d64:causal --threads 1,2\n";

/* Half a CPU's worth of other work. */
static const double busy_load = 0.5;

enum { ERROR_BYTES = 512, REPEAT_LIMIT = 1000000 };

enum { OPTION_REPEAT = OPTION_OWN, OPTION_COLD };

struct bench_options {
    struct engine_settings engine;
    struct number_list threads; /* empty: the library's default */
    int64_t repeat;
    bool cold, json, help;
    char **texts; /* of the problems, [count] */
    int count;
};

struct bench {
    const struct bench_options *options;
    struct problem_string *problems; /* [options->count] */
    struct page_memory read_memory[2]; /* huge, small; mapped when first needed */
    json_t *machine, *results; /* with --json */
    bool headed;
};

/* ---- options ----------------------------------------------------------------------------------------------------- */

static int read_option(void *target, int option, int place)
{
    struct bench_options *options = target;
    (void)place;
    switch (option) {
    case OPTION_JSON: options->json = true; return STATUS_DONE;
    case OPTION_COLD: options->cold = true; return STATUS_DONE;
    case OPTION_REPEAT:
        if (!option_read_whole(optarg, 1, REPEAT_LIMIT, &options->repeat))
            return message_usage("--repeat is '%s'; it must be a whole number from 1 to %d", optarg, REPEAT_LIMIT);
        return STATUS_DONE;
    case OPTION_THREADS:
        if (!option_read_list(optarg, 1, THREADS_LIMIT, &options->threads))
            return message_usage("--threads is '%s'; it must list numbers from 1 to %d, as in 1,2", optarg,
                                 THREADS_LIMIT);
        return STATUS_DONE;
    default: return engine_settings_read(&options->engine, option, optarg);
    }
}

static int read_options(struct bench_options *options, int argc, char **argv)
{
    static const struct option table[] = {
        { "repeat", required_argument, NULL, OPTION_REPEAT },
        { "cold", no_argument, NULL, OPTION_COLD },
        { "json", no_argument, NULL, OPTION_JSON },
        { "help", no_argument, NULL, OPTION_HELP },
        ENGINE_OPTION_ENTRIES,
        { NULL, 0, NULL, 0 },
    };
    int status = options_walk(argc, argv, table, read_option, options, &options->help);
    options->texts = argv + optind;
    options->count = argc - optind;
    if (status == STATUS_DONE && !options->help && options->count == 0)
        status = message_usage("a problem is missing, such as b8.h12.q512.k512.d64");
    return status;
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */

static int parse_problems(struct bench *bench)
{
    const struct bench_options *options = bench->options;
    bench->problems = calloc((size_t)options->count, sizeof *bench->problems);
    if (!bench->problems)
        return message_failure("not enough memory for %d problems", options->count);
    for (int i = 0; i < options->count; i++) {
        int status = command_problem_read(&bench->problems[i], options->texts[i]);
        if (status != STATUS_DONE)
            return status;
    }
    return STATUS_DONE;
}

static int find_read_memory(struct bench *bench, bool small_pages, const void **memory)
{
    struct page_memory *pages = &bench->read_memory[small_pages];
    if (!pages->data && !measure_map_read_memory(pages, small_pages))
        return message_failure("not enough memory for the read limit, which needs %zu bytes", MEASURE_READ_BYTES);
    *memory = pages->data;
    return STATUS_DONE;
}

static void report_entry(struct bench *bench, const struct bench_entry *entry, const attend_engine_info *info)
{
    if (bench->options->json) {
        if (!bench->machine)
            bench->machine = bench_machine_json(info);
        json_array_append_new(bench->results, bench_entry_json(entry));
        return;
    }
    if (!bench->headed)
        bench_print_heading(info);
    bench->headed = true;
    if (isnan(entry->scaling))
        bench_print_problem(entry);
    bench_print_entry(entry);
}

/* `first` holds the problem's first entry, against which the others scale; it is filled when it is empty. */
static int measure_entry(struct bench *bench, int index, attend_engine *engine, struct problem_data *data,
                         struct bench_entry *first)
{
    char error[ERROR_BYTES];
    const struct bench_options *options = bench->options;
    struct measure_options how = { .repeat = options->repeat, .cold = options->cold };
    struct bench_entry entry = { .text = options->texts[index], .problem = &bench->problems[index],
                                 .cold = options->cold };
    attend_engine_info info = ATTEND_ENGINE_INFO_INIT;
    int status = find_read_memory(bench, entry.problem->small_pages, &how.read_memory);
    if (status != STATUS_DONE)
        return status;
    if (attend_engine_describe(engine, &info) != ATTEND_OK)
        return message_failure("%s", message_library_text(attend_last_error()));
    if (!measure_problem(&entry.measurement, engine, data, &how, error, sizeof error))
        return message_failure("problem %s: %s", entry.text, message_library_text(error));
    entry.isa = info.isa;
    entry.threads = info.threads > 0 ? info.threads : 1;
    double speedup = first->measurement.seconds.median / entry.measurement.seconds.median;
    entry.scaling = first->threads ? speedup * first->threads / entry.threads : (double)NAN;
    if (first->threads == 0)
        *first = entry;
    report_entry(bench, &entry, &info);
    return STATUS_DONE;
}

static void tell_progress(const struct bench *bench, int index, int32_t threads)
{
    if (!isatty(STDERR_FILENO) || !bench->options->json)
        return;
    if (threads > 0)
        message_note("problem %d of %d, %d threads", index + 1, bench->options->count, threads);
    else
        message_note("problem %d of %d", index + 1, bench->options->count);
}

static int measure_threads(struct bench *bench, int index, int32_t threads, struct problem_data *data,
                           struct bench_entry *first)
{
    struct engine_settings settings = bench->options->engine;
    settings.threads = threads;
    attend_engine *engine = NULL;
    tell_progress(bench, index, threads);
    int status = engine_settings_create(&settings, &engine);
    if (status == STATUS_DONE)
        status = measure_entry(bench, index, engine, data, first);
    attend_engine_destroy(engine);
    return status;
}

static int measure_one(struct bench *bench, int index)
{
    char error[ERROR_BYTES];
    const struct bench_options *options = bench->options;
    struct problem_data data;
    struct bench_entry first = { .threads = 0 };
    size_t rotation = options->cold ? MEASURE_READ_BYTES : 0;
    if (!problem_data_make(&data, &bench->problems[index], rotation, error, sizeof error))
        return message_failure("problem %s: %s", options->texts[index], error);
    int status = STATUS_DONE;
    if (options->threads.count == 0)
        status = measure_threads(bench, index, 0, &data, &first);
    for (size_t i = 0; status == STATUS_DONE && i < options->threads.count; i++)
        status = measure_threads(bench, index, options->threads.numbers[i], &data, &first);
    problem_data_release(&data);
    return status;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int finish_report(struct bench *bench)
{
    if (!bench->options->json)
        return message_finish_output();
    json_t *document = json_object();
    json_put(document, "machine", json_incref(bench->machine));
    json_put(document, "results", json_incref(bench->results));
    return json_finish(document);
}

/* Others at work make times longer and limits lower; the figures would not be this machine's. */
static void note_load(void)
{
    double load;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    if (getloadavg(&load, 1) == 1 && load >= busy_load)
        message_note("the load average of the last minute is %.2f on %ld CPUs: the machine may not be idle", load,
                     cpus);
}

static int measure_all(const struct bench_options *options)
{
    struct bench bench = { .options = options };
    int status = parse_problems(&bench);
    if (status == STATUS_DONE)
        note_load();
    if (options->json)
        bench.results = json_array();
    for (int i = 0; status == STATUS_DONE && i < options->count; i++)
        status = measure_one(&bench, i);
    if (status == STATUS_DONE)
        status = finish_report(&bench);
    json_decref(bench.machine);
    json_decref(bench.results);
    page_memory_unmap(&bench.read_memory[0]);
    page_memory_unmap(&bench.read_memory[1]);
    free(bench.problems);
    return status;
}

int command_bench(int argc, char **argv)
{
    struct bench_options options = { .count = 0 };
    int status = read_options(&options, argc, argv);
    if (status == STATUS_DONE && options.help) {
        status = options_print_help(help_text);
    } else if (status == STATUS_DONE) {
        status = measure_all(&options);
    }
    engine_settings_release(&options.engine);
    free(options.threads.numbers);
    return status;
}
