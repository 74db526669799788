/* The plain runner: problems on chosen instruction sets in one process, for places where Criterion, hwloc or the command
 * cannot go, such as an emulated processor. Sees the library from outside; starts no process; judges by the oracle only.
 * It hashes nothing: it writes the bytes of its results, and sha256sum does the rest (golden_hashes.sh). */
#include "attend/attend.h"
#include "bench/failure.h"
#include "bench/problem_data.h"
#include "bench/result_check.h"
#include "tests/plain_options.h"
#include "tests/plain_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ERROR_BYTES = 512, NAMES_BYTES = 256, STEM_BYTES = 3072, ISA_LIMIT = 16 };

static const char help_text[] =
    "usage: plain_runner [OPTION...] [PROBLEM...]\n"
    "Prints the instruction sets that it detects, best first, then runs the problems, a line for each.\n"
    "  --file F            more problems: the first word of each line; # begins a comment\n"
    "  --isa NAME          auto (the best), all, or one of those detected; auto unless told\n"
    "  --threads N         a team of N, which with N > 1 takes jobs of any size; else the engine decides\n"
    "  --alone             each batch item in a call of its own\n"
    "  --expect-isas LIST  fails unless exactly these are detected, for example \"avx2 portable\"\n"
    "  --bytes FOLDER      writes output and LSE of problem 1 to FOLDER/ISA.0001.output and FOLDER/ISA.0001.lse\n"
    "  --accuracy[=ROWS]   judges about ROWS rows (200) of each problem by float64, fails beyond the bounds, and adds to\n"
    "                      its line: rows; largest error of the output, the same divided by the largest |v|, and\n"
    "                      divided by its bound; largest error of LSE, and divided by its bound\n";

struct isa_list {
    attend_isa isas[ISA_LIMIT];
    size_t count;
    char names[NAMES_BYTES]; /* with blanks between them */
};

static void detect_isas(struct isa_list *list)
{
    size_t length = 0;
    list->count = attend_isa_available(list->isas, ISA_LIMIT);
    for (size_t i = 0; i < list->count; i++)
        length += (size_t)snprintf(list->names + length, sizeof list->names - length, "%s%s", i ? " " : "",
                                   attend_isa_name(list->isas[i]));
}

/* Leaves those of the detected sets that are asked for. */
static bool choose_isas(struct isa_list *list, const char *wanted, char *error, size_t size)
{
    if (strcmp(wanted, "all") == 0)
        return true;
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(wanted, "auto") == 0 || strcmp(wanted, attend_isa_name(list->isas[i])) == 0) {
            list->isas[0] = list->isas[i];
            list->count = 1;
            return true;
        }
    return failure_describe(error, size, "--isa is '%s', detected are: %s", wanted, list->names);
}

/* Members are not bound: there may be more of them than CPUs, and an emulator's CPUs are not real. */
static bool create_engine(attend_engine **engine, attend_isa isa, int threads, char *error, size_t size)
{
    attend_engine_options options = ATTEND_ENGINE_OPTIONS_INIT;
    options.isa = isa;
    options.threads = threads;
    options.bind = ATTEND_BIND_OFF;
    options.inline_work = threads > 1 ? -1 : 0;
    return attend_engine_create(engine, &options) == ATTEND_OK ||
           failure_describe(error, size, "%s", attend_last_error());
}

/* The line of a problem: set, problem and, where it is judged, its errors. */
static bool report(const struct plain_options *options, attend_isa isa, size_t index, const struct problem_data *data,
                   char *error, size_t size)
{
    struct result_check check;
    int rows = options->judged_rows;
    if (rows && !result_check_rows(&check, &data->problem, &data->args, rows, data->seed, error, size))
        return false;
    printf("%s %s", attend_isa_name(isa), options->problems[index]);
    if (rows)
        printf(" %d %.3e %.3e %.4f %.3e %.4f", check.rows, check.output_error, check.output_relative, check.output_share,
               check.lse_error, check.lse_share);
    puts("");
    fflush(stdout);
    return true;
}

/* Problem `index` on made data. */
static bool run_data(const struct plain_options *options, attend_engine *engine, attend_isa isa, size_t index,
                     struct problem_data *data, char *error, size_t size)
{
    char stem[STEM_BYTES];
    if (!plain_run(engine, data, options->alone, error, size) ||
        !report(options, isa, index, data, error, size))
        return false;
    if (!options->folder)
        return true;
    int length = snprintf(stem, sizeof stem, "%s/%s.%04zu", options->folder, attend_isa_name(isa), index + 1);
    if (length < 0 || (size_t)length >= sizeof stem)
        return failure_describe(error, size, "the name of the folder is too long");
    return plain_run_write(data, stem, error, size);
}

static bool run_problem(const struct plain_options *options, attend_engine *engine, attend_isa isa, size_t index,
                        char *error, size_t size)
{
    struct problem_string string;
    struct problem_data data;
    if (!problem_string_parse(&string, options->problems[index], error, size))
        return false;
    const char *unsupported = problem_string_unsupported(&string);
    if (unsupported)
        return failure_describe(error, size, "%s is not supported yet", unsupported);
    if (!problem_data_make(&data, &string, 0, error, size))
        return false;
    bool good = run_data(options, engine, isa, index, &data, error, size);
    problem_data_release(&data);
    return good;
}

static bool run_isa(const struct plain_options *options, attend_isa isa, char *error, size_t size)
{
    char reason[ERROR_BYTES];
    attend_engine *engine = NULL;
    bool good = create_engine(&engine, isa, options->threads, error, size);
    for (size_t i = 0; good && i < options->problem_count; i++)
        if (!run_problem(options, engine, isa, i, reason, sizeof reason))
            good = failure_describe(error, size, "%s on %s: %s", options->problems[i], attend_isa_name(isa), reason);
    attend_engine_destroy(engine);
    return good;
}

static bool run_all(const struct plain_options *options, char *error, size_t size)
{
    struct isa_list list;
    detect_isas(&list);
    printf("instruction sets: %s\n", list.names);
    fflush(stdout);
    if (options->expected && strcmp(options->expected, list.names) != 0)
        return failure_describe(error, size, "detected instruction sets are '%s', should be '%s'", list.names,
                                options->expected);
    bool good = choose_isas(&list, options->isa, error, size);
    for (size_t i = 0; good && i < list.count; i++)
        good = run_isa(options, list.isas[i], error, size);
    return good;
}

/* Exit: 0 done, 1 could not or wrong result, 2 wrong usage. */
int main(int argc, char **argv)
{
    char error[2 * ERROR_BYTES];
    struct plain_options options;
    int status = 0;
    if (!plain_options_read(&options, argc, argv, error, sizeof error))
        status = 2;
    else if (options.help)
        fputs(help_text, stdout);
    else if (!run_all(&options, error, sizeof error))
        status = 1;
    if (fflush(stdout) != 0 && status == 0) {
        failure_describe(error, sizeof error, "the results cannot be printed");
        status = 1;
    }
    if (status != 0)
        fprintf(stderr, "plain_runner: %s\n", error);
    plain_options_release(&options);
    return status;
}
