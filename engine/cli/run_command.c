/* attend run: attention of tensors in .npy files. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/cli/commands.h"
#include "engine/cli/messages.h"
#include "engine/cli/output_files.h"
#include "engine/cli/progress_display.h"
#include "engine/cli/run_results.h"
#include "engine/cli/text_line.h"

#include <stdlib.h>
#include <time.h>

static const char help_text[] =
    "Usage: attend run --query FILE --key FILE --value FILE --output FILE [OPTION]...\n"
    "Computes softmax(Q*K^T*scale)*V over the visible keys of every row.\n\n"
    "Tensors are .npy files of float32 or float16, shape (batch, heads, rows, width) or (rows, width). float64 is\n"
    "rounded to float32, Fortran order is accepted. Keys and values may have fewer heads, which divide those of the query.\n"
    "  --query FILE, --key FILE, --value FILE\n"
    "  --output FILE      context, of the query's rank\n"
    "  --lse FILE         logarithm of the sum of exponentials, shape (batch, heads, rows)\n"
    "  --weights FILE     attention weights, shape (batch, heads, rows, keys)\n"
    "  --key-sums FILE    sum of each key's weights over the rows, shape (batch, heads, keys)\n"
    "  --quiet            say nothing unless it fails; long runs show their progress on a terminal otherwise\n\n"
    "Padding: int32 or int64, shape (batch,). Key j is inside when start <= j < start + length; rows likewise.\n"
    "  --key-lengths FILE, --key-starts FILE, --query-lengths FILE, --query-starts FILE\n\n"
    "Packed items lie one after the other without padding, in tensors of shape (heads, tokens, width) or (1, heads,\n"
    "tokens, width). Item i has the tokens from offset i up to offset i + 1: int32 or int64, shape (batch + 1,).\n"
    "  --query-offsets FILE, --key-offsets FILE\n\n"
    "Visibility; what is given combines.\n"
    "  --visible FILE     bool or uint8, true: visible; shape (batch, heads, rows, keys) or (rows, keys), where all\n"
    "                     but keys may be 1\n"
    "  --visible-tail N   --visible has columns for the last N keys of each item only; those before are visible\n"
    "  --causal WORD      keys after the row's own are hidden; WORD places its own key: top-left (row i at key i) or\n"
    "                     bottom-right (the last row at the last key)\n"
    "  --window L,R       a row sees L keys before its own, its own, and R keys after it; -1: all on that side\n"
    "  --diagonal WORD    where a row's own key lies, as above; bottom-right unless told\n"
    "  --positions FILE   the key of each item's first row, int32 or int64, shape (batch,); overrides the word of\n"
    "                     --causal\n"
    "  --prefix-lengths FILE\n"
    "                     --causal and --window hide none of an item's first keys, so many; int32 or int64, shape\n"
    "                     (batch,)\n\n"
    "Scores, in this order:\n"
    "  --scale X          1/sqrt(width of the query) unless told\n"
    "  --softcap X        score = X*tanh(score/X)\n"
    "  --bias FILE        is added; float32, shaped like --visible; -inf hides\n"
    "  --alibi            slope*distance from the row's own key is subtracted, with the usual slopes\n"
    "  --alibi-slopes FILE\n"
    "                     the same with slopes of shape (heads,)\n"
    "  --sinks FILE       a score more in each row's softmax, without a value: shape (heads,); --lse leaves it out\n\n"
    "Computation:\n"
    "  --dtype f32|bf16|f16\n"
    "                     round or widen query, key and value to this type, and write the output in it; that of\n"
    "                     the files unless told. Everything between is float32\n"
    "  --bf16             uint16 files of query, key and value hold bfloat16, and so will the output\n"
    "  --deadline X       give up after so many seconds of the run\n"
    "  --threads N        size of the team; one thread per usable core unless told\n"
    ENGINE_OPTION_HELP
    "\nExample: a batch padded to equal length, one causal mask for all:\n"
    "  attend run --query query.npy --key key.npy --value value.npy --output context.npy \\\n"
    "             --key-lengths lengths.npy --query-lengths lengths.npy --causal bottom-right\n";

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ---- what ran where ---------------------------------------------------------------------------------------------- */

static void append_sizes(struct text_line *line, const attend_problem *problem)
{
    text_add_count(line, problem->batch, "item");
    text_add(line, ", ");
    text_add_count(line, problem->heads, "head");
    if (problem->kv_heads != problem->heads)
        text_add(line, " on %lld", (long long)problem->kv_heads);
    text_add(line, ", ");
    text_add_count(line, problem->rows, "row");
    text_add(line, ", ");
    text_add_count(line, problem->keys, "key");
    text_add(line, ", width %lld", (long long)problem->d_k);
    if (problem->d_v != problem->d_k)
        text_add(line, " and %lld", (long long)problem->d_v);
}

/* CPUs that members are bound to, as in " on CPUs 0-3,8". */
static void append_cpus(struct text_line *line, attend_engine *engine)
{
    size_t count = attend_engine_cpus(engine, NULL, 0);
    attend_cpu *cpus = calloc(count + 1, sizeof *cpus);
    if (!cpus)
        return;
    attend_engine_cpus(engine, cpus, count);
    const char *separator = " on CPUs ";
    for (size_t i = 0; i < count; i++) {
        if (cpus[i].member < 0)
            continue;
        size_t last = i;
        while (last + 1 < count && cpus[last + 1].member >= 0 && cpus[last + 1].cpu == cpus[last].cpu + 1)
            last++;
        text_add(line, last > i ? "%s%d-%d" : "%s%d", separator, cpus[i].cpu, cpus[last].cpu);
        separator = ",";
        i = last;
    }
    free(cpus);
}

static void append_team(struct text_line *line, attend_engine *engine, const attend_explanation *explanation)
{
    attend_engine_info info = ATTEND_ENGINE_INFO_INIT;
    if (attend_engine_describe(engine, &info) != ATTEND_OK)
        return;
    if (info.threads == 0 || explanation->inline_run) {
        text_add(line, "in the calling thread");
    } else {
        text_add_count(line, info.threads, "thread");
        if (info.threads_bound > 0)
            append_cpus(line, engine);
        else
            text_add(line, ", not bound");
    }
    text_add(line, ", %s", attend_isa_name(info.isa));
}

static void report_run(attend_engine *engine, const attend_plan *plan, const struct run_inputs *inputs, double seconds)
{
    attend_explanation explanation = ATTEND_EXPLANATION_INIT;
    struct text_line line = { .length = 0 };
    attend_args args = inputs->args;
    args.visible = args.bias = NULL; /* they skip nothing, and would be read number by number */
    if (attend_plan_explain(plan, &args, &explanation) != ATTEND_OK)
        return;
    append_sizes(&line, &inputs->problem);
    text_add(&line, "; ");
    append_team(&line, engine, &explanation);
    text_add(&line, seconds < 1 ? "; %.3g ms" : "; %.4g s", seconds < 1 ? 1e3 * seconds : seconds);
    text_add(&line, " for one run, planning excluded");
    if (explanation.padded_pairs > 0) {
        /* Small problems compute more than they hold: whole register tiles. */
        double skipped = 1 - explanation.computed_pairs / explanation.padded_pairs;
        text_add(&line, "; %.1f %% of ", skipped > 0 ? 100 * skipped : 0);
        text_add_amount(&line, explanation.padded_pairs);
        text_add(&line, " padded pairs skipped");
    }
    message_note("%s", line.text);
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

/* Nanoseconds of CLOCK_MONOTONIC, as far as they go. */
static int64_t deadline_at(double seconds)
{
    const double latest = 9e18, nanoseconds = 1e9 * seconds;
    return (int64_t)(nanoseconds < latest ? nanoseconds : latest);
}

/* Runs with its progress on the terminal. */
static attend_status run_shown(const attend_plan *plan, const attend_args *given, const struct run_options *options,
                               double *seconds)
{
    attend_args args = *given;
    attend_progress progress = { 0, 0 };
    args.progress = &progress;
    output_files_before_death(progress_display_wipe);
    if (!options->quiet)
        progress_display_begin(&progress);
    double start = now();
    args.deadline = options->deadline > 0 ? deadline_at(start + (double)options->deadline) : 0;
    attend_status status = attend_run(plan, &args);
    *seconds = now() - start;
    progress_display_end();
    return status;
}

static int run_plan(attend_engine *engine, const attend_plan *plan, const struct run_inputs *inputs,
                    struct run_results *results, const struct run_options *options)
{
    double seconds;
    attend_status ran = run_shown(plan, &inputs->args, options, &seconds);
    if (ran == ATTEND_ERR_TIMEOUT)
        return message_failure("the run is not done within --deadline of %g s", (double)options->deadline);
    if (ran != ATTEND_OK)
        return message_failure("%s", message_library_text(attend_last_error()));
    int status = run_results_write(results);
    if (status == STATUS_DONE)
        report_run(engine, plan, inputs, seconds);
    return status;
}

static int run_engine(const struct run_inputs *inputs, struct run_results *results, const struct run_options *options)
{
    attend_engine *engine = NULL;
    attend_plan *plan = NULL;
    int status = engine_settings_create(&options->engine, &engine);
    if (status == STATUS_DONE && attend_plan_create(&plan, engine, &inputs->problem) != ATTEND_OK)
        status = message_failure("%s", message_library_text(attend_last_error()));
    if (status == STATUS_DONE)
        status = run_plan(engine, plan, inputs, results, options);
    attend_plan_destroy(plan);
    attend_engine_destroy(engine);
    return status;
}

/* What alone changes nothing: a diagonal only says from where --causal, --window and ALiBi count, a prefix what the first two
 * leave visible. */
static void note_unused(const struct run_options *options)
{
    const bool hiding = options->causal || options->windowed;
    const bool counting = hiding || options->alibi || options->files[FILE_ALIBI_SLOPES];
    if (!counting && options->files[FILE_POSITIONS])
        message_note("--positions has no effect without --causal, --window or --alibi");
    if (!counting && options->diagonal_given)
        message_note("--diagonal has no effect without --causal, --window or --alibi");
    if (!hiding && options->files[FILE_PREFIX_LENGTHS])
        message_note("--prefix-lengths has no effect without --causal or --window");
}

static int run_files(const struct run_options *options)
{
    struct run_inputs inputs;
    int status = run_inputs_read(&inputs, options);
    if (status == STATUS_DONE) {
        struct run_results results;
        note_unused(options);
        status = run_results_make(&results, &inputs, options);
        if (status == STATUS_DONE)
            status = run_engine(&inputs, &results, options);
        run_results_release(&results);
    }
    run_inputs_release(&inputs);
    return status;
}

int command_run(int argc, char **argv)
{
    struct run_options options;
    int status = run_options_read(&options, argc, argv);
    if (status == STATUS_DONE && options.help) {
        status = options_print_help(help_text);
    } else if (status == STATUS_DONE) {
        message_set_quiet(options.quiet);
        status = run_files(&options);
    }
    run_options_release(&options);
    return status;
}
