/* The machine as plain data: what plan and placement decide from. Built from hwloc, from the affinity mask alone, or by a
 * test. Numbers are logical and dense unless said; sizes are bytes; 0 or -1 stands for not known. */
#ifndef ATTEND__MACHINE_H
#define ATTEND__MACHINE_H

#include <stdbool.h>
#include <stdint.h>

struct attend__cpu {
    int os;      /* the operating system's number */
    int core;    /* CPUs of equal core are SMT siblings */
    int package;
    int node;    /* NUMA node */
    int l3;      /* CPUs of equal l3 share that cache; -1: none known */
    int kind;    /* efficiency rank of hybrid machines, higher is faster; 0 on all CPUs where there is one kind */
    bool allowed; /* by operating system and cpuset */
};

struct attend__machine {
    struct attend__cpu *cpus; /* cpus[cpu_count] in the order of `os` */
    int cpu_count;
    int packages, nodes, cores; /* 0: not known */
    int64_t l1d_bytes, l2_bytes; /* of one core; 0: not known or not credible */
    int64_t l3_bytes;            /* of one L3 */
};

#endif
