/* See plain_options.h. */
#include "tests/plain_options.h"

#include "bench/failure.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int rows_unless_told = 200;

static const struct option option_names[] = {
    { "file", required_argument, NULL, 'f' },        { "isa", required_argument, NULL, 'i' },
    { "threads", required_argument, NULL, 't' },     { "alone", no_argument, NULL, 'a' },
    { "expect-isas", required_argument, NULL, 'e' }, { "bytes", required_argument, NULL, 'b' },
    { "accuracy", optional_argument, NULL, 'c' },    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
};

static bool add_problem(struct plain_options *options, const char *text, char *error, size_t size)
{
    char **grown = realloc(options->problems, (options->problem_count + 1) * sizeof *grown);
    char *copy = strdup(text);
    if (grown)
        options->problems = grown;
    if (!grown || !copy) {
        free(copy);
        return failure_describe(error, size, "not enough memory for the problems");
    }
    options->problems[options->problem_count++] = copy;
    return true;
}

/* The first word of a line is its problem; # begins a comment. So a golden file is a file of problems. */
static bool add_lines(struct plain_options *options, FILE *stream, char *error, size_t size)
{
    char *line = NULL;
    size_t room = 0;
    bool good = true;
    while (good && getline(&line, &room, stream) >= 0) {
        line[strcspn(line, "#")] = '\0';
        const char *word = strtok(line, " \t\r\n");
        if (word)
            good = add_problem(options, word, error, size);
    }
    free(line);
    return good;
}

static bool add_file(struct plain_options *options, const char *path, char *error, size_t size)
{
    FILE *stream = fopen(path, "r");
    if (!stream)
        return failure_describe(error, size, "%s: %s", path, strerror(errno));
    bool good = add_lines(options, stream, error, size);
    if (good && ferror(stream))
        good = failure_describe(error, size, "%s: cannot be read", path);
    fclose(stream);
    return good;
}

static bool read_count(int *count, const char *name, const char *text, char *error, size_t size)
{
    char *end;
    long number = strtol(text, &end, 10);
    if (end == text || *end != '\0' || number < 1 || number > 1000000)
        return failure_describe(error, size, "--%s is '%s', should be a whole number from 1", name, text);
    *count = (int)number;
    return true;
}

static bool read_option(struct plain_options *options, int letter, char *error, size_t size)
{
    switch (letter) {
    case 'f': return add_file(options, optarg, error, size);
    case 'i': options->isa = optarg; return true;
    case 't': return read_count(&options->threads, "threads", optarg, error, size);
    case 'a': options->alone = true; return true;
    case 'e': options->expected = optarg; return true;
    case 'b': options->folder = optarg; return true;
    case 'c':
        options->judged_rows = rows_unless_told;
        return !optarg || read_count(&options->judged_rows, "accuracy", optarg, error, size);
    case 'h': options->help = true; return true;
    }
    return failure_describe(error, size, "that is no command line of the plain runner; --help shows one");
}

bool plain_options_read(struct plain_options *options, int argc, char **argv, char *error, size_t size)
{
    *options = (struct plain_options){ .isa = "auto" };
    int letter;
    bool good = true;
    while (good && (letter = getopt_long(argc, argv, "", option_names, NULL)) >= 0)
        good = read_option(options, letter, error, size);
    for (int i = optind; good && i < argc; i++)
        good = add_problem(options, argv[i], error, size);
    return good;
}

void plain_options_release(struct plain_options *options)
{
    for (size_t i = 0; i < options->problem_count; i++)
        free(options->problems[i]);
    free(options->problems);
}
