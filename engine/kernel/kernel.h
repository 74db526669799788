/* What a kernel is: the function that attends the rows of one unit, one instance per instruction set, all with the same bits.
 * A kernel sees rows as pointers with a range of keys each; it knows no batch, plan or thread. The contract that a new
 * instruction set has to meet is in README.md beside this file. */
#ifndef ATTEND__KERNEL_H
#define ATTEND__KERNEL_H

#include "attend/attend.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Constants of the reduction contract: part of every result's bits, so never tuned per machine. */
enum {
    ATTEND__KV_TILE = 512, /* keys of one tile: unit of online softmax and of merging */
    ATTEND__CHAIN = 128,   /* keys summed by one chain of multiply-adds in the value product */
    ATTEND__LANES = 16     /* partial sums of exponentials: lane j mod 16 */
};

/* Rows of the score tile that stays in registers, the same in all kernels; a unit that is not the last of its rows is whole blocks. */
enum { ATTEND__BLOCK_ROWS = 6 };

/* Bounds of a unit's rows, multiples of a block. Every unit packs the keys it sees for itself, which costs about as much as 6 rows'
 * work: the more rows, the smaller the share. */
enum {
    ATTEND__UNIT_ROWS_MOST = 768,
    ATTEND__UNIT_ROWS_LEAST = 24 /* below this packing takes more than a fifth */
};

/* One row of a unit. Keys count from the item's first real key; the row sees keys low <= j < high, and of those only the ones
 * whose visible byte is not 0, where visibility is given. */
struct attend__row {
    const float *query; /* [d_k], stride query_step */
    float *output;      /* [d_v], stride output_step */
    float *lse;         /* NULL: not wanted; the same for all rows of a unit */
    int64_t low, high;
};

/* What few calls ask for. */
struct attend__row_details {
    const uint8_t *visible; /* of key 0, stride visible_step; NULL: all of the range */
    float *scores;          /* of key 0, stride scores_step; NULL: not wanted */
    float *weights;         /* of key 0, stride weights_step; NULL: not wanted */
};

/* planes × rows pieces of `bytes` bytes; strides in bytes. */
struct attend__region {
    const void *base;
    int64_t bytes, rows, stride, planes, plane_stride;
};

enum { ATTEND__NEXT_REGIONS = 4 };

struct attend__unit {
    const struct attend__row *row; /* row[rows] */
    const struct attend__row_details *details; /* details[rows]; NULL: none of any row */
    int64_t low, high;             /* union of the rows' ranges; both 0 for none */
    bool alike;                    /* every row sees all keys of the union, which is not empty */
    int64_t rows;                  /* 1 … ATTEND__UNIT_ROWS_MOST */
    const float *key, *value;      /* of key 0; keys from `high` on are never read */
    int64_t key_stride, value_stride; /* from key to key */
    int64_t d_k, d_v;
    int64_t query_step, key_step, value_step, output_step; /* from feature to feature */
    int64_t visible_step, scores_step, weights_step;       /* from key to key */
    float scale;
    /* What the thread will touch after this unit: a hint for its caches, in order of urgency. Never read. */
    struct attend__region next[ATTEND__NEXT_REGIONS];
    int nexts;
};

struct attend__kernel {
    attend_isa isa;
    const char *name;
    int register_rows, register_keys; /* the score tile that stays in registers */

    /* Bytes of scratch that `run` needs for units of these widths and at most `rows` rows; 0 when that does not fit a size. */
    size_t (*scratch_bytes)(int64_t d_k, int64_t d_v, int64_t rows);

    /* Attends the unit's rows: output, LSE, and scores and weights for the keys inside each row's range. scratch is aligned to
     * 64 bytes. The floating-point state is that of fpstate.h. */
    void (*run)(const struct attend__unit *unit, void *scratch);

    /* Performs about `steps` rounds of independent multiply-adds in registers; returns the operations done, 2 each. */
    double (*multiply_adds)(int64_t steps);

    /* Reads memory[bytes] once with vector loads. */
    void (*read)(const void *memory, size_t bytes);
};

/* The kernel of an instruction set; NULL if it is not built or cannot run on this processor and operating system. AUTO gives the
 * best. */
const struct attend__kernel *attend__kernel_find(attend_isa isa);

#endif
