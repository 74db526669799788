/* See run_options.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/cli/run_options.h"

#include "engine/cli/messages.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

/* Values of getopt_long: OPTION_FILE + a run_file, then the rest. */
enum {
    OPTION_CAUSAL = OPTION_OWN, OPTION_DIAGONAL, OPTION_WINDOW, OPTION_VISIBLE_TAIL, OPTION_ALIBI, OPTION_SCALE,
    OPTION_SOFTCAP, OPTION_DTYPE, OPTION_BF16, OPTION_DEADLINE, OPTION_LATER, OPTION_FILE = OPTION_LATER + 1
};

static const struct option table[] = {
    { "query", required_argument, NULL, OPTION_FILE + FILE_QUERY },
    { "key", required_argument, NULL, OPTION_FILE + FILE_KEY },
    { "value", required_argument, NULL, OPTION_FILE + FILE_VALUE },
    { "output", required_argument, NULL, OPTION_FILE + FILE_OUTPUT },
    { "lse", required_argument, NULL, OPTION_FILE + FILE_LSE },
    { "weights", required_argument, NULL, OPTION_FILE + FILE_WEIGHTS },
    { "key-lengths", required_argument, NULL, OPTION_FILE + FILE_KEY_LENGTHS },
    { "key-starts", required_argument, NULL, OPTION_FILE + FILE_KEY_STARTS },
    { "query-lengths", required_argument, NULL, OPTION_FILE + FILE_QUERY_LENGTHS },
    { "query-starts", required_argument, NULL, OPTION_FILE + FILE_QUERY_STARTS },
    { "key-sums", required_argument, NULL, OPTION_FILE + FILE_KEY_SUMS },
    { "query-offsets", required_argument, NULL, OPTION_FILE + FILE_QUERY_OFFSETS },
    { "key-offsets", required_argument, NULL, OPTION_FILE + FILE_KEY_OFFSETS },
    { "visible", required_argument, NULL, OPTION_FILE + FILE_VISIBLE },
    { "visible-tail", required_argument, NULL, OPTION_VISIBLE_TAIL },
    { "positions", required_argument, NULL, OPTION_FILE + FILE_POSITIONS },
    { "prefix-lengths", required_argument, NULL, OPTION_FILE + FILE_PREFIX_LENGTHS },
    { "bias", required_argument, NULL, OPTION_FILE + FILE_BIAS },
    { "alibi", no_argument, NULL, OPTION_ALIBI },
    { "alibi-slopes", required_argument, NULL, OPTION_FILE + FILE_ALIBI_SLOPES },
    { "sinks", required_argument, NULL, OPTION_FILE + FILE_SINKS },
    { "causal", required_argument, NULL, OPTION_CAUSAL },
    { "diagonal", required_argument, NULL, OPTION_DIAGONAL },
    { "window", required_argument, NULL, OPTION_WINDOW },
    { "scale", required_argument, NULL, OPTION_SCALE },
    { "softcap", required_argument, NULL, OPTION_SOFTCAP },
    { "dtype", required_argument, NULL, OPTION_DTYPE },
    { "bf16", no_argument, NULL, OPTION_BF16 },
    { "deadline", required_argument, NULL, OPTION_DEADLINE },
    { "arithmetic", required_argument, NULL, OPTION_LATER },
    { "quiet", no_argument, NULL, OPTION_QUIET },
    { "help", no_argument, NULL, OPTION_HELP },
    ENGINE_OPTION_ENTRIES,
    { NULL, 0, NULL, 0 },
};

const char *run_file_argument(int file)
{
    static const char *const arguments[FILE_COUNT] = {
        [FILE_QUERY] = "--query", [FILE_KEY] = "--key", [FILE_VALUE] = "--value",
        [FILE_KEY_STARTS] = "--key-starts", [FILE_KEY_LENGTHS] = "--key-lengths",
        [FILE_QUERY_STARTS] = "--query-starts", [FILE_QUERY_LENGTHS] = "--query-lengths",
        [FILE_POSITIONS] = "--positions", [FILE_PREFIX_LENGTHS] = "--prefix-lengths",
        [FILE_QUERY_OFFSETS] = "--query-offsets", [FILE_KEY_OFFSETS] = "--key-offsets", [FILE_VISIBLE] = "--visible",
        [FILE_BIAS] = "--bias", [FILE_ALIBI_SLOPES] = "--alibi-slopes", [FILE_SINKS] = "--sinks",
        [FILE_OUTPUT] = "--output", [FILE_LSE] = "--lse", [FILE_WEIGHTS] = "--weights", [FILE_KEY_SUMS] = "--key-sums",
    };
    return arguments[file];
}

/* The word of --causal or --diagonal. */
static int read_diagonal(const char *argument, const char *text, int *diagonal)
{
    if (strcmp(text, "top-left") == 0)
        *diagonal = ATTEND_DIAGONAL_TOP_LEFT;
    else if (strcmp(text, "bottom-right") == 0)
        *diagonal = ATTEND_DIAGONAL_BOTTOM_RIGHT;
    else
        return message_usage("%s is '%s'; it must be top-left or bottom-right", argument, text);
    return STATUS_DONE;
}

static bool read_side(const char *text, int64_t *side)
{
    *side = -1;
    return strcmp(text, "-1") == 0 || option_read_whole(text, 0, INT64_MAX, side);
}

/* The two sides, as in 255,0. */
static int read_window(struct run_options *options, const char *text)
{
    enum { SIDE_BYTES = 32 };
    char left[SIDE_BYTES] = "";
    const char *comma = strchr(text, ',');
    options->windowed = true;
    if (comma && comma - text < SIDE_BYTES) {
        memcpy(left, text, (size_t)(comma - text));
        if (read_side(left, &options->window_left) && read_side(comma + 1, &options->window_right))
            return STATUS_DONE;
    }
    return message_usage("--window is '%s'; it must be two whole numbers as in 255,0, each at least 0, or -1 for unbounded",
                         text);
}

static int read_dtype(struct run_options *options, const char *text)
{
    static const struct {
        const char *name;
        attend_dtype dtype;
    } dtypes[] = { { "f32", ATTEND_F32 }, { "bf16", ATTEND_BF16 }, { "f16", ATTEND_F16 } };
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(text, dtypes[i].name) == 0) {
            options->has_dtype = true;
            options->dtype = dtypes[i].dtype;
            return STATUS_DONE;
        }
    return message_usage("--dtype is '%s'; it must be f32, bf16 or f16", text);
}

static int read_scale(struct run_options *options, const char *text)
{
    options->has_scale = true;
    if (option_read_real(text, &options->scale))
        return STATUS_DONE;
    return message_usage("--scale is '%s'; it must be a finite number", text);
}

static int read_above_zero(const char *argument, const char *text, float *value)
{
    if (option_read_real(text, value) && *value > 0)
        return STATUS_DONE;
    return message_usage("%s is '%s'; it must be a finite number above 0", argument, text);
}

static int read_tail(struct run_options *options, const char *text)
{
    if (option_read_whole(text, 1, INT64_MAX, &options->visible_tail))
        return STATUS_DONE;
    return message_usage("--visible-tail is '%s'; it must be a whole number of at least 1", text);
}

/* The words of --causal and --diagonal as they come; -1: not given. */
struct diagonal_words {
    int causal, diagonal;
};

struct reading {
    struct run_options *options;
    struct diagonal_words words;
};

static int read_option(void *target, int option, int place)
{
    struct run_options *options = ((struct reading *)target)->options;
    struct diagonal_words *words = &((struct reading *)target)->words;
    if (option >= OPTION_FILE) {
        options->files[option - OPTION_FILE] = optarg;
        return STATUS_DONE;
    }
    switch (option) {
    case OPTION_CAUSAL: return read_diagonal("--causal", optarg, &words->causal);
    case OPTION_DIAGONAL: return read_diagonal("--diagonal", optarg, &words->diagonal);
    case OPTION_WINDOW: return read_window(options, optarg);
    case OPTION_VISIBLE_TAIL: return read_tail(options, optarg);
    case OPTION_ALIBI: options->alibi = true; return STATUS_DONE;
    case OPTION_SCALE: return read_scale(options, optarg);
    case OPTION_SOFTCAP: return read_above_zero("--softcap", optarg, &options->softcap);
    case OPTION_DEADLINE: return read_above_zero("--deadline", optarg, &options->deadline);
    case OPTION_DTYPE: return read_dtype(options, optarg);
    case OPTION_BF16: options->bf16 = true; return STATUS_DONE;
    case OPTION_LATER:
        return message_failure("--%s is not supported yet by attend %s", table[place].name, attend_version());
    case OPTION_QUIET: options->quiet = true; return STATUS_DONE;
    default: return engine_settings_read(&options->engine, option, optarg);
    }
}

/* Positions set the diagonal and override the word of --causal; two words that differ are a contradiction. */
static int choose_diagonal(struct run_options *options, const struct diagonal_words *words)
{
    options->causal = words->causal >= 0;
    options->diagonal_given = words->diagonal >= 0;
    if (words->causal >= 0 && words->diagonal >= 0 && words->causal != words->diagonal)
        return message_usage("--diagonal contradicts the word of --causal; give one of them, or the same word");
    if (words->diagonal >= 0 && options->files[FILE_POSITIONS])
        return message_usage("--diagonal contradicts --positions, which set the diagonal themselves");
    if (options->files[FILE_POSITIONS])
        options->diagonal = ATTEND_DIAGONAL_POSITION;
    else if (words->diagonal >= 0)
        options->diagonal = (attend_diagonal)words->diagonal;
    else if (words->causal >= 0)
        options->diagonal = (attend_diagonal)words->causal;
    return STATUS_DONE;
}

/* Files of which the first makes the second meaningless. */
static int check_contradictions(const struct run_options *options)
{
    static const struct {
        int file, other;
    } pairs[] = {
        { FILE_QUERY_OFFSETS, FILE_QUERY_STARTS }, { FILE_QUERY_OFFSETS, FILE_QUERY_LENGTHS },
        { FILE_KEY_OFFSETS, FILE_KEY_STARTS }, { FILE_KEY_OFFSETS, FILE_KEY_LENGTHS },
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (options->files[pairs[i].file] && options->files[pairs[i].other])
            return message_usage("%s contradicts %s: packed items have no padding", run_file_argument(pairs[i].other),
                                 run_file_argument(pairs[i].file));
    if (options->has_dtype && options->dtype == ATTEND_BF16 && !options->bf16)
        return message_usage("--dtype bf16 needs --bf16: .npy has no bfloat16, and the output will be a file of uint16");
    if (options->alibi && options->files[FILE_ALIBI_SLOPES])
        return message_usage("--alibi contradicts --alibi-slopes, which gives the slopes itself");
    if (options->visible_tail > 0 && !options->files[FILE_VISIBLE])
        return message_usage("--visible-tail needs --visible");
    return STATUS_DONE;
}

static int check_complete(const struct run_options *options, int argc, char **argv)
{
    static const int required[] = { FILE_QUERY, FILE_KEY, FILE_VALUE, FILE_OUTPUT };
    if (optind < argc)
        return message_usage("'%s' is not an option", argv[optind]);
    for (int i = 0; i < 4; i++)
        if (!options->files[required[i]])
            return message_usage("%s is missing", run_file_argument(required[i]));
    return STATUS_DONE;
}

int run_options_read(struct run_options *options, int argc, char **argv)
{
    struct reading reading = { options, { -1, -1 } };
    memset(options, 0, sizeof *options);
    int status = options_walk(argc, argv, table, read_option, &reading, &options->help);
    if (status != STATUS_DONE || options->help)
        return status;
    status = choose_diagonal(options, &reading.words);
    if (status == STATUS_DONE)
        status = check_contradictions(options);
    return status != STATUS_DONE ? status : check_complete(options, argc, argv);
}

void run_options_release(struct run_options *options)
{
    engine_settings_release(&options->engine);
}
