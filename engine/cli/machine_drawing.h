/* The machine as a tree in text: packages, NUMA nodes, shared caches, cores, CPUs, and what the team does with each.
 * A pure function of what the library tells; knows no engine. */
#ifndef ATTEND_CLI_MACHINE_DRAWING_H
#define ATTEND_CLI_MACHINE_DRAWING_H

#include "attend/attend.h"

#include <stdbool.h>
#include <stdio.h>

struct machine_picture {
    const attend_cpu *cpus; /* [count], in the order of their numbers */
    size_t count;
    const attend_engine_info *info;
    bool utf8; /* lines from box characters; otherwise ASCII */
};

/* Draws. Machines of up to 8 cores are drawn core by core; on larger ones cores with equal uses share a line, and so
 * do neighbouring shared caches that look alike. False: not enough memory. */
bool machine_draw(FILE *stream, const struct machine_picture *picture);

#endif
