/* The plain runner's command line: options, and the problem strings from its arguments and from a file. Reads and keeps
 * text; knows neither the grammar of problems nor the library's engine. */
#ifndef ATTEND_TESTS_PLAIN_OPTIONS_H
#define ATTEND_TESTS_PLAIN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct plain_options {
    bool help;
    const char *isa;      /* a name, "auto" or "all" */
    const char *expected; /* the sets that must be detected, best first; NULL: any */
    int threads;          /* 0: the engine's default */
    bool alone;           /* each batch item in a call of its own */
    int judged_rows;      /* of each problem, against the oracle; 0: none */
    const char *folder;   /* for the bytes of the results; NULL: none are written */
    char **problems;      /* [problem_count], owned */
    size_t problem_count;
};

/* False: error[size] says in one line what is wrong with the command line or the file. Either way
 * plain_options_release follows. */
bool plain_options_read(struct plain_options *options, int argc, char **argv, char *error, size_t size);

void plain_options_release(struct plain_options *options);

#endif
