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

/* One row of a unit. Keys count from the item's first real key; the row sees the unit's prefix and keys low <= j < high, and of those only
 * the ones whose visible flag is not 0 and whose bias is above -inf, where these are given. */
struct attend__row {
    const void *query;  /* [d_k] of query_dtype, stride query_step */
    void *output;       /* [d_v] of output_dtype, stride output_step */
    float *lse;         /* NULL: not wanted; the same for all rows of a unit */
    int64_t low, high;
};

/* What not every call has. */
struct attend__row_details {
    const uint8_t *visible; /* of column 0, see attend__unit.visible_column; NULL: all of the range */
    const float *bias;      /* of key 0, stride bias_step; NULL: none */
    int64_t diagonal;       /* the row's own key, for ALiBi */
    float slope;            /* of ALiBi: slope·|distance from the diagonal| is taken off a score */
    float sink;             /* a score without a key; -inf: none */
    float *largest, *total; /* M and L of the row's partial; NULL: not wanted. Read by resume and sum_weights */
    float *scores;          /* of key 0, stride scores_step; NULL: not wanted */
    float *weights;         /* of key 0, stride weights_step; NULL: not wanted */
    float *sums;            /* of the first key of the tile, for sum_weights: room for a KV tile */
};

/* Where the keys, or the values, of an item's kv head lie. Key j is at base + j·stride; or, where there are pages, it is number n = first + j
 * of the sequence that they hold, at base + pages[n / page_keys]·page_stride + n mod page_keys·stride. Strides count elements
 * of dtype: one of the types of numbers, as are those of queries and output. */
struct attend__places {
    const void *base;
    attend_dtype dtype;
    int64_t stride, step; /* from key to key; from feature to feature */
    const int32_t *pages; /* NULL: contiguous; the next three are unused */
    int64_t page_keys, page_stride, first;
};

/* Keys low ≤ j < high, which a thread will want next. */
struct attend__keys_ahead {
    struct attend__places key, value;
    int64_t low, high;
};

/* planes × rows pieces of `bytes` bytes; strides in bytes. */
struct attend__region {
    const void *base;
    int64_t bytes, rows, stride, planes, plane_stride;
    const int32_t *plane; /* plane p is at base + plane[p]·plane_stride; NULL: at base + p·plane_stride */
};

enum { ATTEND__NEXT_REGIONS = 2 };

struct attend__unit {
    const struct attend__row *row; /* row[rows] */
    const struct attend__row_details *details; /* details[rows]; NULL: none of any row */
    int64_t low, high;             /* all keys that some row may see lie between them; both 0 for none */
    int64_t prefix;                /* keys before it are seen by every row, besides its range */
    int64_t gap_low, gap_high;     /* no row sees keys gap_low <= j < gap_high; equal for none */
    bool alike;                    /* every row sees all keys between low and high, and there are some */
    bool masked;                   /* some details have visible or bias */
    bool biased, distant;          /* some have a bias; some have a slope */
    bool sunken;                   /* some have a sink */
    bool partial;                  /* output is the partial's A; details have largest and total */
    bool resume;                   /* likewise, and they say with what the rows begin */
    bool diagnosed;                /* some details have scores or weights */
    float *slots;                  /* where partials are left, or found: attend__slot_floats each, in the order of their keys; NULL: rows are
                                      finished. Written by run: one of all tiles, or with `apart` one of each tile from `low` on, whose totals
                                      are 0 before */
    int64_t slot_count;            /* for join */
    float *shared_slots;           /* for join: slots of a cascade with shared_rows rows, which come before; the unit's begin at shared_first */
    int64_t shared_count, shared_rows, shared_first;
    bool apart;
    int64_t rows;                  /* 1 … ATTEND__UNIT_ROWS_MOST */
    struct attend__places key, value; /* of key 0 on; keys from `high` on are never read */
    int64_t d_k, d_v;
    attend_dtype query_dtype, output_dtype; /* output of partials is ATTEND_F32; `key` and `value` have one dtype */
    int64_t query_step, output_step; /* from feature to feature */
    int64_t visible_step, bias_step, scores_step, weights_step; /* from key to key */
    int64_t visible_column;        /* key j's flag is in column j + visible_column; before column 0 keys are visible */
    bool visible_bits;             /* columns are bits, the lowest of a byte first, and the step is 1; otherwise bytes */
    float scale;
    float softcap;                 /* 0: none */
    bool (*halted)(void *argument); /* asked before every strip of rows: true ends the unit at once. NULL: never */
    void *halted_argument;
    /* What the thread will touch after this unit: a hint for its caches, in order of urgency. Never read. */
    const struct attend__region *next; /* next[nexts] */
    int nexts;                         /* at most ATTEND__NEXT_REGIONS */
    const struct attend__keys_ahead *keys_ahead; /* likewise, and before it; NULL: none */
};

/* A row's partial. sum[columns], readable and writable up to the next multiple of ATTEND__LANES. */
struct attend__partial {
    float largest, total; /* total 0, or largest -inf: no key above -inf so far, and the sums hold anything */
    float *sum;
};

struct attend__finish {
    float *output; /* stride output_step */
    int64_t output_step;
    float *lse;    /* NULL: not wanted */
    float sink;    /* -inf: none */
    bool partial;
    float *largest, *total; /* of the partial */
};

/* A slot holds the partials of some rows over the same keys: largest[rows], total[rows], each with room for a vector more, and
 * sum[rows][width], width the next multiple of ATTEND__LANES from d_v on. */
static inline int64_t attend__slot_numbers(int64_t rows)
{
    return (rows + 2 * ATTEND__LANES - 1) / ATTEND__LANES * ATTEND__LANES;
}

static inline int64_t attend__slot_floats(int64_t rows, int64_t d_v)
{
    return 2 * attend__slot_numbers(rows) + rows * ((d_v + ATTEND__LANES - 1) / ATTEND__LANES * ATTEND__LANES);
}

struct attend__kernel {
    attend_isa isa;
    const char *name;
    int register_rows, register_keys; /* the score tile that stays in registers */

    /* Bytes of scratch that `run` needs for units of these widths and at most `rows` rows; 0 when that does not fit a size. */
    size_t (*scratch_bytes)(int64_t d_k, int64_t d_v, int64_t rows);

    /* Attends the unit's rows: output, LSE, and scores and weights for the keys inside each row's range. scratch is aligned to
     * 64 bytes. The floating-point state is that of fpstate.h. */
    void (*run)(const struct attend__unit *unit, void *scratch);

    /* Folds the partials that pieces of the unit's keys left in its slots, and finishes the rows as run does. */
    void (*join)(const struct attend__unit *unit, void *scratch);

    /* Adds the weights of the unit's rows, in their order, to details' sums. The rows' largest and total are known, and their keys lie
     * in one KV tile. */
    void (*sum_weights)(const struct attend__unit *unit, void *scratch);

    /* Takes a later part of a row's keys into what is before it; `columns` columns of A. */
    void (*fold)(struct attend__partial *into, const struct attend__partial *part, int64_t columns);

    /* Writes the results of a row: A / L, with the sink in L, and M + ln L where lse is not NULL; or, with `partial`, A as it is given out
     * and M and L. */
    void (*finish)(const struct attend__partial *row, const struct attend__finish *to, int64_t columns);

    /* Performs about `steps` rounds of independent multiply-adds in registers; returns the operations done, 2 each. */
    double (*multiply_adds)(int64_t steps);

    /* Reads memory[bytes] once with vector loads. */
    void (*read)(const void *memory, size_t bytes);
};

/* The kernel of an instruction set; NULL if it is not built or cannot run on this processor and operating system. AUTO gives the
 * best. */
const struct attend__kernel *attend__kernel_find(attend_isa isa);

#endif
