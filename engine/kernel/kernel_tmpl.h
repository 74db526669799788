/* The template of all kernels. A file per instruction set includes its vector operations and then this; the result is one
 * struct attend__kernel. Its parts follow the steps of the reduction contract. */
#ifndef ATTEND__KERNEL_TMPL_H
#define ATTEND__KERNEL_TMPL_H

#ifndef VL
#error "include a vec_*.h first"
#endif

#include "engine/base/fpstate.h"
#include "engine/base/half.h"
#include "engine/base/sizes.h"
#include "engine/kernel/kernel.h"

#include <float.h>
#include <string.h>

enum {
    BLOCK_ROWS = ATTEND__BLOCK_ROWS,
    PANEL_KEYS = PANEL_VECTORS * VL,
    LANE_VECTORS = ATTEND__LANES / VL,
    PANEL_GROUPS = PANEL_KEYS / ATTEND__LANES,
    /* Blocks that go through the steps together at most: where tiles are short, so that one block's latencies hide behind another's work;
     * where they are wide, so that keys and values are fetched for many rows at a time. */
    STRIP_BLOCKS = 11,
    STRIP_ROWS = STRIP_BLOCKS * BLOCK_ROWS,
    STRIP_SLOTS = STRIP_ROWS + ATTEND__LANES, /* floats of a strip, with room for a whole vector past it */
    FLOW_ROWS = 8, /* that use a key as it comes, with all its sums in registers */
    FLOW_ROWS_MOST = 2 * FLOW_ROWS, /* of a unit: for more rows a key is worth packing */
    /* How many keys ahead of their use keys and values are fetched. Anything from 16 to 64 KiB is as fast: far enough for the latency of
     * memory, near enough to be still in the second-level cache. */
    FLOW_KEYS = ATTEND__CHAIN,
    BEHIND = FLOW_KEYS + ATTEND__LANES, /* places behind a tile's last key */
    PLACES = ATTEND__KV_TILE + BEHIND,
    EXP_ROWS = 3, /* rows whose exponentials are computed side by side: more would not fit 16 registers */
    /* Between the score rows of a block: one vector more than a tile, so that rows do not compete for the same cache sets. */
    SCORE_STRIDE = ATTEND__KV_TILE + ATTEND__LANES
};

_Static_assert(FLOW_ROWS == 8, "flow_keys_even and its kin know it");
_Static_assert(ATTEND__LANES % VL == 0, "lanes of the contract are whole vectors");
_Static_assert((int)PANEL_KEYS == (int)ATTEND__LANES || (int)PANEL_KEYS == 4 * (int)ATTEND__LANES, "score_panel_rows knows these");
_Static_assert(ATTEND__KV_TILE % PANEL_KEYS == 0 && ATTEND__KV_TILE / PANEL_KEYS <= 64, "a tile is at most 64 panels");
_Static_assert(ATTEND__UNIT_ROWS_LEAST % BLOCK_ROWS == 0, "a full unit is whole blocks");

/* UNROLLED unrolls a loop over rows or vectors of a register tile before the compiler decides what lives in registers: without it the
 * sums pass through memory, at a fourth of the speed. TWICE halves a long loop's own instructions: 1 % measured; more gains
 * nothing. */
#ifdef __clang__
#define UNROLLED _Pragma("clang loop unroll(full)")
#define TWICE _Pragma("clang loop unroll_count(2)")
#else
#define UNROLLED _Pragma("GCC unroll 16")
#define TWICE _Pragma("GCC unroll 2")
#endif

#include "engine/kernel/element_tmpl.h"
#include "engine/kernel/exp_tmpl.h"
#include "engine/kernel/visible_tmpl.h"
#include "engine/kernel/place_tmpl.h"
#include "engine/kernel/pack_tmpl.h"
#include "engine/kernel/ahead_tmpl.h"
#include "engine/kernel/score_tmpl.h"
#include "engine/kernel/flow_tmpl.h"
#include "engine/kernel/modify_tmpl.h"
#include "engine/kernel/softmax_tmpl.h"
#include "engine/kernel/value_tmpl.h"
#include "engine/kernel/merge_tmpl.h"
#include "engine/kernel/scratch_tmpl.h"
#include "engine/kernel/tile_tmpl.h"
#include "engine/kernel/block_tmpl.h"
#include "engine/kernel/flow_strip_tmpl.h"
#include "engine/kernel/strip_tmpl.h"
#include "engine/kernel/diagnose_tmpl.h"
#include "engine/kernel/unit_tmpl.h"
#include "engine/kernel/part_tmpl.h"
#include "engine/kernel/probe_tmpl.h"

#define KERNEL_OBJECT_(suffix) attend__kernel_##suffix
#define KERNEL_OBJECT(suffix) KERNEL_OBJECT_(suffix)

extern const struct attend__kernel KERNEL_OBJECT(KERNEL_SUFFIX);

const struct attend__kernel KERNEL_OBJECT(KERNEL_SUFFIX) = {
    .isa = KERNEL_ISA,
    .name = KERNEL_NAME,
    .register_rows = BLOCK_ROWS,
    .register_keys = PANEL_KEYS,
    .scratch_bytes = unit_scratch_bytes,
    .run = run_unit,
    .join = join_unit,
    .sum_weights = sum_unit_weights,
    .fold = fold_partial,
    .finish = finish_partial,
    .multiply_adds = probe_multiply_adds,
    .read = probe_read,
};

#endif
