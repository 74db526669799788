/* See problem_string.h. Sizes and options are tables; every option has one reader and one sentence that states its
 * rule. */
#include "bench/problem_string.h"

#include "bench/failure.h"
#include "bench/half.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sizes up to 2^40 keep every sum of a few of them far from overflow; products are checked where memory is sized. */
static const int64_t size_limit = INT64_C(1) << 40;

static const struct size_name {
    char letter;
    bool optional;
    size_t offset;
} size_names[] = {
    { 'b', false, offsetof(struct problem_string, batch) }, { 'h', false, offsetof(struct problem_string, heads) },
    { 'g', true, offsetof(struct problem_string, kv_heads) }, { 'q', false, offsetof(struct problem_string, rows) },
    { 'k', false, offsetof(struct problem_string, keys) }, { 'd', false, offsetof(struct problem_string, d_k) },
    { 'v', true, offsetof(struct problem_string, d_v) },
};

/* Of the axes that a tensor may have of its own. */
static const char axis_letters[] = "bhq";

enum { SIZE_COUNT = sizeof size_names / sizeof size_names[0] };

static int64_t *size_at(struct problem_string *problem, int index)
{
    return (int64_t *)((char *)problem + size_names[index].offset);
}

/* Digits only: no sign, no blank, nothing after them. */
static bool read_whole(const char *text, uint64_t limit, uint64_t *value)
{
    if (text[0] == '\0' || text[strspn(text, "0123456789")] != '\0')
        return false;
    errno = 0;
    unsigned long long number = strtoull(text, NULL, 10);
    *value = number;
    return errno == 0 && number <= limit;
}

static bool read_size(const char *text, int64_t limit, int64_t *value)
{
    uint64_t number;
    if (!read_whole(text, (uint64_t)limit, &number))
        return false;
    *value = (int64_t)number;
    return true;
}

/* Cuts text at the first separator and returns what follows it, or NULL when there is none. */
static char *cut_at(char *text, const char *separator)
{
    char *found = strstr(text, separator);
    if (!found)
        return NULL;
    *found = '\0';
    return found + strlen(separator);
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

static bool read_f32(struct problem_string *problem, char *value)
{
    (void)value;
    problem->dtype = ATTEND_F32;
    return true;
}

static bool read_bf16(struct problem_string *problem, char *value)
{
    (void)value;
    problem->dtype = ATTEND_BF16;
    return true;
}

static bool read_f16(struct problem_string *problem, char *value)
{
    (void)value;
    problem->dtype = ATTEND_F16;
    return true;
}

static bool read_kv(struct problem_string *problem, char *value)
{
    problem->has_kv_dtype = true;
    problem->kv_dtype = strcmp(value, "bf16") == 0 ? ATTEND_BF16 : ATTEND_F16;
    return problem->kv_dtype == ATTEND_BF16 || strcmp(value, "f16") == 0;
}

static bool read_exact(struct problem_string *problem, char *value)
{
    (void)value;
    problem->arithmetic = PROBLEM_ARITHMETIC_EXACT;
    return true;
}

static bool read_fast(struct problem_string *problem, char *value)
{
    (void)value;
    problem->arithmetic = PROBLEM_ARITHMETIC_FAST;
    return true;
}

static bool read_causal(struct problem_string *problem, char *value)
{
    (void)value;
    problem->causal = PROBLEM_CAUSAL_BOTTOM_RIGHT;
    return true;
}

static bool read_causal_top_left(struct problem_string *problem, char *value)
{
    (void)value;
    problem->causal = PROBLEM_CAUSAL_TOP_LEFT;
    return true;
}

static bool read_window_side(const char *text, int64_t *side)
{
    if (strcmp(text, "-1") == 0) {
        *side = -1;
        return true;
    }
    return read_size(text, size_limit, side);
}

static bool read_window(struct problem_string *problem, char *value)
{
    char *right = cut_at(value, ",");
    problem->has_window = true;
    return right && read_window_side(value, &problem->window_left) && read_window_side(right, &problem->window_right);
}

static bool read_lengths(struct problem_string *problem, char *value)
{
    char *last = cut_at(value, "..");
    problem->has_lengths = true;
    return last && read_size(value, problem->keys, &problem->shortest) &&
           read_size(last, problem->keys, &problem->longest) && problem->shortest <= problem->longest;
}

static bool read_left(struct problem_string *problem, char *value)
{
    (void)value;
    problem->left = true;
    return true;
}

static bool read_packed(struct problem_string *problem, char *value)
{
    (void)value;
    problem->packed = true;
    return true;
}

/* A finite number in the range of float. */
static bool read_real(const char *text, float *value)
{
    char *end;
    *value = strtof(text, &end);
    return end != text && *end == '\0' && isfinite(*value);
}

static bool read_scale(struct problem_string *problem, char *value)
{
    problem->has_scale = true;
    return read_real(value, &problem->scale);
}

static bool read_softcap(struct problem_string *problem, char *value)
{
    return read_real(value, &problem->softcap) && problem->softcap > 0;
}

static bool read_position(struct problem_string *problem, char *value)
{
    problem->has_position = true;
    return read_size(value, size_limit, &problem->position);
}

static bool read_shared(struct problem_string *problem, char *value)
{
    return read_size(value, size_limit, &problem->shared);
}

static bool read_prefix(struct problem_string *problem, char *value)
{
    return read_size(value, size_limit, &problem->prefix);
}

/* The letters of axes, in their order; NULL, where the option has no value: none of them. */
static bool read_axes(const char *text, struct problem_axes *axes)
{
    axes->given = true;
    if (!text || *text == '\0')
        return !text;
    for (int axis = 0; axis < 3; axis++)
        if (*text == axis_letters[axis]) {
            axes->own[axis] = true;
            text++;
        }
    return *text == '\0';
}

static bool read_bias(struct problem_string *problem, char *value)
{
    return read_axes(value, &problem->bias);
}

static bool read_visible(struct problem_string *problem, char *value)
{
    return read_axes(value, &problem->visible);
}

static bool read_bits(struct problem_string *problem, char *value)
{
    problem->bits = true;
    return read_axes(value, &problem->visible);
}

static bool read_full(struct problem_string *problem, char *value)
{
    (void)value;
    problem->full = true;
    return true;
}

static bool read_alibi(struct problem_string *problem, char *value)
{
    (void)value;
    problem->alibi = true;
    return true;
}

static bool read_sinks(struct problem_string *problem, char *value)
{
    (void)value;
    problem->sinks = true;
    return true;
}

static bool read_keysums(struct problem_string *problem, char *value)
{
    (void)value;
    problem->keysums = true;
    return true;
}

static bool read_page(struct problem_string *problem, char *value)
{
    return read_size(value, size_limit, &problem->page) && problem->page > 0;
}

static bool read_memory(struct problem_string *problem, char *value)
{
    problem->small_pages = strcmp(value, "small") == 0;
    return problem->small_pages || strcmp(value, "huge") == 0;
}

static bool read_seed(struct problem_string *problem, char *value)
{
    return read_whole(value, UINT64_MAX, &problem->seed);
}

enum value_rule { NO_VALUE, VALUE, MAYBE_VALUE };

/* Options of one group exclude each other. */
static const struct option_name {
    const char *name;
    int group;
    enum value_rule value;
    bool (*read)(struct problem_string *problem, char *value);
    const char *rule;
} option_names[] = {
    { "f32", 0, NO_VALUE, read_f32, "f32 takes no value" },
    { "bf16", 0, NO_VALUE, read_bf16, "bf16 takes no value" },
    { "f16", 0, NO_VALUE, read_f16, "f16 takes no value" },
    { "exact", 1, NO_VALUE, read_exact, "exact takes no value" },
    { "fast", 1, NO_VALUE, read_fast, "fast takes no value" },
    { "causal", 2, NO_VALUE, read_causal, "causal takes no value" },
    { "causal-top-left", 2, NO_VALUE, read_causal_top_left, "causal-top-left takes no value" },
    { "window", 3, VALUE, read_window, "window=L,R needs two whole numbers, each at least 0, or -1 for unbounded" },
    { "lengths", 4, VALUE, read_lengths, "lengths=A..B needs whole numbers with A <= B <= k" },
    { "left", 5, NO_VALUE, read_left, "left takes no value" },
    { "packed", 6, NO_VALUE, read_packed, "packed takes no value" },
    { "softcap", 7, VALUE, read_softcap, "softcap=X needs a finite number above 0" },
    { "page", 8, VALUE, read_page, "page=N needs a whole number of at least 1" },
    { "memory", 9, VALUE, read_memory, "memory= needs huge or small" },
    { "seed", 10, VALUE, read_seed, "seed=N needs a whole number below 2^64" },
    { "scale", 11, VALUE, read_scale, "scale=X needs a finite number" },
    { "position", 12, VALUE, read_position, "position=N needs a whole number from 0 to 2^40" },
    { "prefix", 13, VALUE, read_prefix, "prefix=N needs a whole number from 0 to 2^40" },
    { "bias", 14, MAYBE_VALUE, read_bias, "bias=AXES needs letters of b, h and q, in this order" },
    { "visible", 15, MAYBE_VALUE, read_visible, "visible=AXES needs letters of b, h and q, in this order" },
    { "bits", 15, MAYBE_VALUE, read_bits, "bits=AXES needs letters of b, h and q, in this order" },
    { "full", 16, NO_VALUE, read_full, "full takes no value" },
    { "alibi", 17, NO_VALUE, read_alibi, "alibi takes no value" },
    { "sinks", 18, NO_VALUE, read_sinks, "sinks takes no value" },
    { "keysums", 19, NO_VALUE, read_keysums, "keysums takes no value" },
    { "shared", 20, VALUE, read_shared, "shared=N needs a whole number from 0 to 2^40" },
    { "kv", 21, VALUE, read_kv, "kv= needs bf16 or f16" },
};

enum { OPTION_COUNT = sizeof option_names / sizeof option_names[0] };

static const struct option_name *find_option(const char *name)
{
    for (int i = 0; i < OPTION_COUNT; i++)
        if (strcmp(option_names[i].name, name) == 0)
            return &option_names[i];
    return NULL;
}

static bool read_option(struct problem_string *problem, char *text, unsigned *groups, char *error, size_t size)
{
    char whole[PROBLEM_STRING_BYTES];
    snprintf(whole, sizeof whole, "%s", text);
    char *value = cut_at(text, "=");
    const struct option_name *option = find_option(text);
    if (!option)
        return failure_describe(error, size, "option '%s' is not known", whole);
    if (*groups & 1u << option->group)
        return failure_describe(error, size, "option '%s' repeats or contradicts an earlier option", whole);
    *groups |= 1u << option->group;
    bool fits = option->value == MAYBE_VALUE || (option->value == VALUE) == (value != NULL);
    if (!fits || !option->read(problem, value))
        return failure_describe(error, size, "option '%s': %s", whole, option->rule);
    return true;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static bool read_size_part(struct problem_string *problem, const char *text, char *error, size_t size)
{
    for (int i = 0; i < SIZE_COUNT; i++) {
        if (text[0] != size_names[i].letter)
            continue;
        int64_t *target = size_at(problem, i);
        if (*target >= 0)
            return failure_describe(error, size, "size '%s': %c is given twice", text, text[0]);
        if (!read_size(text + 1, size_limit, target))
            return failure_describe(error, size, "size '%s': %c needs a whole number from 0 to 2^40", text, text[0]);
        return true;
    }
    return failure_describe(error, size,
                            "size '%s' is not known; sizes are b, h, g, q, k, d and v, as in b8.h12.q512.k512.d64",
                            text);
}

static bool read_sizes(struct problem_string *problem, char *text, char *error, size_t size)
{
    for (int i = 0; i < SIZE_COUNT; i++)
        *size_at(problem, i) = -1;
    while (text) {
        char *rest = cut_at(text, ".");
        if (!read_size_part(problem, text, error, size))
            return false;
        text = rest;
    }
    for (int i = 0; i < SIZE_COUNT; i++)
        if (*size_at(problem, i) < 0 && !size_names[i].optional)
            return failure_describe(error, size, "size %c is missing, as in b8.h12.q512.k512.d64",
                                    size_names[i].letter);
    if (problem->kv_heads < 0)
        problem->kv_heads = problem->heads;
    if (problem->d_v < 0)
        problem->d_v = problem->d_k;
    if (problem->d_k == 0)
        return failure_describe(error, size, "size 'd0': d must be at least 1, for the scale is 1/sqrt(d)");
    bool divides = problem->kv_heads > 0 ? problem->heads % problem->kv_heads == 0 : problem->heads == 0;
    if (!divides)
        return failure_describe(error, size, "size 'g%lld': h (%lld) must be a multiple of g",
                                (long long)problem->kv_heads, (long long)problem->heads);
    return true;
}

/* Options that need or exclude others. */
static bool check_options(const struct problem_string *problem, char *error, size_t size)
{
    if (problem->left && !problem->has_lengths)
        return failure_describe(error, size, "option 'left' needs lengths=A..B: without them there is no padding");
    if (problem->left && problem->packed)
        return failure_describe(error, size, "option 'left' contradicts 'packed', which has no padding");
    if (problem->packed && (problem->bias.own[0] || problem->visible.own[0]))
        return failure_describe(error, size, "option 'packed' excludes the axis b: rows and keys of all items have axes of their own");
    if (problem->has_position && problem->causal == PROBLEM_CAUSAL_TOP_LEFT)
        return failure_describe(error, size, "option 'position' contradicts 'causal-top-left', which has position 0");
    if (problem->shared > 0 && problem->page == 0)
        return failure_describe(error, size, "option 'shared' needs page=N: only pages can be shared");
    if (problem->full && !problem->bias.given && !problem->visible.given)
        return failure_describe(error, size, "option 'full' needs bias, visible or bits");
    return true;
}

bool problem_string_parse(struct problem_string *problem, const char *text, char *error, size_t size)
{
    char copy[PROBLEM_STRING_BYTES];
    if (strlen(text) >= sizeof copy)
        return failure_describe(error, size, "a problem string has at most %zu characters, this one has %zu",
                                sizeof copy - 1, strlen(text));
    memcpy(copy, text, strlen(text) + 1);
    memset(problem, 0, sizeof *problem);
    problem->seed = 1;
    char *option = cut_at(copy, ":");
    if (!read_sizes(problem, copy, error, size))
        return false;
    unsigned groups = 0;
    while (option) {
        char *rest = cut_at(option, ":");
        if (!read_option(problem, option, &groups, error, size))
            return false;
        option = rest;
    }
    if (!problem->has_kv_dtype)
        problem->kv_dtype = problem->dtype;
    problem->has_kv_dtype = problem->kv_dtype != problem->dtype;
    return check_options(problem, error, size);
}

/* Appends to buffer[size], counting what did not fit. */
static void append(char *buffer, size_t size, size_t *length, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void append(char *buffer, size_t size, size_t *length, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    size_t room = *length < size ? size - *length : 0;
    int written = vsnprintf(room ? buffer + *length : NULL, room, format, arguments);
    va_end(arguments);
    *length += written > 0 ? (size_t)written : 0;
}

static void append_sizes(const struct problem_string *problem, char *buffer, size_t size, size_t *length)
{
    append(buffer, size, length, "b%lld.h%lld", (long long)problem->batch, (long long)problem->heads);
    if (problem->kv_heads != problem->heads)
        append(buffer, size, length, ".g%lld", (long long)problem->kv_heads);
    append(buffer, size, length, ".q%lld.k%lld.d%lld", (long long)problem->rows, (long long)problem->keys,
           (long long)problem->d_k);
    if (problem->d_v != problem->d_k)
        append(buffer, size, length, ".v%lld", (long long)problem->d_v);
}

static void append_axes(const char *name, const struct problem_axes *axes, char *buffer, size_t size, size_t *length)
{
    if (!axes->given)
        return;
    append(buffer, size, length, ":%s", name);
    for (int axis = 0, count = 0; axis < 3; axis++)
        if (axes->own[axis])
            append(buffer, size, length, "%s%c", count++ ? "" : "=", axis_letters[axis]);
}

/* Where keys lie and which of them are visible. */
static void append_ranges(const struct problem_string *problem, char *buffer, size_t size, size_t *length)
{
    if (problem->causal != PROBLEM_CAUSAL_NONE)
        append(buffer, size, length, problem->causal == PROBLEM_CAUSAL_TOP_LEFT ? ":causal-top-left" : ":causal");
    if (problem->has_position)
        append(buffer, size, length, ":position=%lld", (long long)problem->position);
    if (problem->has_window)
        append(buffer, size, length, ":window=%lld,%lld", (long long)problem->window_left, (long long)problem->window_right);
    if (problem->prefix != 0)
        append(buffer, size, length, ":prefix=%lld", (long long)problem->prefix);
    if (problem->has_lengths)
        append(buffer, size, length, ":lengths=%lld..%lld", (long long)problem->shortest, (long long)problem->longest);
    if (problem->left)
        append(buffer, size, length, ":left");
    if (problem->packed)
        append(buffer, size, length, ":packed");
    append_axes(problem->bits ? "bits" : "visible", &problem->visible, buffer, size, length);
}

/* What becomes of scores. */
static void append_scores(const struct problem_string *problem, char *buffer, size_t size, size_t *length)
{
    if (problem->has_scale)
        append(buffer, size, length, ":scale=%.9g", (double)problem->scale);
    if (problem->softcap != 0)
        append(buffer, size, length, ":softcap=%.9g", (double)problem->softcap);
    append_axes("bias", &problem->bias, buffer, size, length);
    if (problem->full)
        append(buffer, size, length, ":full");
    if (problem->alibi)
        append(buffer, size, length, ":alibi");
    if (problem->sinks)
        append(buffer, size, length, ":sinks");
    if (problem->keysums)
        append(buffer, size, length, ":keysums");
}

size_t problem_string_print(const struct problem_string *problem, char *buffer, size_t size)
{
    size_t length = 0;
    append_sizes(problem, buffer, size, &length);
    if (problem->dtype != ATTEND_F32)
        append(buffer, size, &length, ":%s", half_dtype_name(problem->dtype));
    if (problem->has_kv_dtype)
        append(buffer, size, &length, ":kv=%s", half_dtype_name(problem->kv_dtype));
    if (problem->arithmetic != PROBLEM_ARITHMETIC_DEFAULT)
        append(buffer, size, &length, problem->arithmetic == PROBLEM_ARITHMETIC_EXACT ? ":exact" : ":fast");
    append_ranges(problem, buffer, size, &length);
    append_scores(problem, buffer, size, &length);
    if (problem->page != 0)
        append(buffer, size, &length, ":page=%lld", (long long)problem->page);
    if (problem->shared != 0)
        append(buffer, size, &length, ":shared=%lld", (long long)problem->shared);
    if (problem->small_pages)
        append(buffer, size, &length, ":memory=small");
    if (problem->seed != 1)
        append(buffer, size, &length, ":seed=%llu", (unsigned long long)problem->seed);
    return length;
}

const char *problem_string_unsupported(const struct problem_string *problem)
{
    const bool halves = problem->dtype != ATTEND_F32 || problem->kv_dtype != ATTEND_F32;
    if (!halves && problem->arithmetic != PROBLEM_ARITHMETIC_DEFAULT)
        return problem->arithmetic == PROBLEM_ARITHMETIC_EXACT ? "exact" : "fast";
    return NULL;
}

/* round(A + (B - A)·i/(b - 1)) in whole numbers, halves up; one item alone has A. The product of two sizes
 * needs more than 64 bits. */
int64_t problem_string_length(const struct problem_string *problem, int64_t item)
{
    if (!problem->has_lengths)
        return problem->keys;
    if (problem->batch < 2)
        return problem->shortest;
    __extension__ typedef __int128 wide;
    wide steps = problem->batch - 1;
    wide span = problem->longest - problem->shortest;
    return problem->shortest + (int64_t)((2 * span * item + steps) / (2 * steps));
}

int64_t problem_string_rows(const struct problem_string *problem, int64_t item)
{
    return problem->rows == problem->keys ? problem_string_length(problem, item) : problem->rows;
}
