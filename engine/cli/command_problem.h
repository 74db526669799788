/* Problem strings on the command line, as bench and explain take them. Makes no tensors. */
#ifndef ATTEND_CLI_COMMAND_PROBLEM_H
#define ATTEND_CLI_COMMAND_PROBLEM_H

#include "bench/problem_string.h"

/* What --help says about problem strings. */
#define PROBLEM_HELP                                                                                                  \
    "A problem is b8.h12.g12.q512.k512.d64.v64 (batch, heads, kv heads, query rows, keys, widths; g and v\n"           \
    "optional), then options, each after a colon: causal, causal-top-left, position=N (the key of the first row),\n"   \
    "window=L,R (keys before and after a row's own, -1: all), prefix=N (first keys, visible to all), lengths=A..B\n"   \
    "(item lengths from A to B), left (padding on the left), packed (no padding), visible=AXES, bits=AXES and\n"       \
    "bias=AXES (random ones; AXES of bhq, the axes that are not broadcast, perhaps none), full (these hide and add\n"  \
    "nothing), scale=X, softcap=X, alibi, sinks, keysums, memory=huge|small (pages of the operating system), seed=N.\n\n"

/* Reads a problem that this release can run; STATUS_DONE, or the exit status after a message. */
int command_problem_read(struct problem_string *problem, const char *text);

#endif
