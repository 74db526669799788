/* The weighted sum of values over one tile, a = Σ p·v: step 5 of the reduction contract. The same register tile as the scores,
 * with columns of the values in place of keys; values are read where they lie or from a packed copy. */
#ifndef ATTEND__VALUE_TMPL_H
#define ATTEND__VALUE_TMPL_H

struct value_tile {
    const float *weights; /* [rows][SCORE_STRIDE] */
    const uintptr_t *at;  /* of each key's values; features are neighbours */
    attend_dtype dtype;
    int64_t first_column, columns;
    float *sum;           /* [rows][width], of the first column */
    int64_t width;
    int low, high;        /* keys */
    struct ahead *ahead;
    int share, shares;    /* where values flow: the key with number share modulo shares has the one FLOW_KEYS later fetched */
};

/* One chain over keys low … high - 1 of a column block of `vectors` vectors, the last of `last_lanes` lanes. dtype, rows, vectors, partial
 * and flows are compile-time constants. The tile's first chain is stored, later ones are added to it. Where values flow, those some
 * keys later are fetched line for line. */
INLINED void value_chain(const attend_dtype dtype, const int rows, const int vectors, const bool partial, const bool flows,
                         const struct value_tile *tile, int64_t column, int last_lanes, int low, int high, bool first)
{
    vf sum[BLOCK_ROWS][PANEL_VECTORS];
    UNROLLED
    for (int r = 0; r < rows; r++)
        UNROLLED
        for (int v = 0; v < vectors; v++)
            sum[r][v] = vf_set1(0.0f);
    const uintptr_t *at = tile->at;
    const int64_t at_column = tile->first_column + column;
    const float *weights = tile->weights + low;
    struct line_run ahead = take_run(tile->ahead, high - low, (const void *)at[low]);
    const int size = (int)attend__dtype_bytes(dtype);
    int waits = tile->share;
    TWICE
    for (int j = low; j < high; j++) {
        vf x[PANEL_VECTORS];
        UNROLLED
        for (int v = 0; v < vectors; v++)
            x[v] = partial && v == vectors - 1 ? load_elements_part(dtype, at[j], at_column + v * VL, last_lanes)
                                               : load_elements(dtype, at[j], at_column + v * VL);
        UNROLLED
        for (int r = 0; r < rows; r++) {
            const vf p = vf_set1(weights[r * SCORE_STRIDE]);
            UNROLLED
            for (int v = 0; v < vectors; v++)
                sum[r][v] = vf_fma(p, x[v], sum[r][v]);
        }
        weights++;
        if (!flows) {
            fetch_next(&ahead);
        } else if (waits-- == 0) {
            UNROLLED
            for (int v = 0; v < vectors; v += LINE_BYTES / size / VL)
                fetch_line(at[j + FLOW_KEYS] + (uintptr_t)(at_column + v * VL) * (uintptr_t)size);
            waits = tile->shares - 1;
        }
    }
    UNROLLED
    for (int r = 0; r < rows; r++)
        UNROLLED
        for (int v = 0; v < vectors; v++) {
            float *to = tile->sum + r * tile->width + column + v * VL;
            vf_store(to, first ? sum[r][v] : vf_add(vf_load(to), sum[r][v]));
        }
}

/* The chains of one column block in order. Chains that no row sees are left out: they would add +0. */
static inline __attribute__((always_inline)) void value_chains(const int rows, const int vectors, const bool partial,
                                                               const struct value_tile *tile, int64_t column, int last_lanes)
{
    for (int low = tile->low; low < tile->high;) {
        int high = (low / ATTEND__CHAIN + 1) * ATTEND__CHAIN;
        if (high > tile->high)
            high = tile->high;
        value_chain(ATTEND_F32, rows, vectors, partial, false, tile, column, last_lanes, low, high, low == tile->low);
        low = high;
    }
}

/* A column block of as many vectors as its share; only the last block's last vector may be partial. */
static inline __attribute__((always_inline)) void value_block(const int rows, const struct value_tile *tile, int64_t column,
                                                              int vectors, int last_lanes)
{
    switch (last_lanes == VL ? vectors : -vectors) {
    case 1: value_chains(rows, 1, false, tile, column, VL); break;
    case -1: value_chains(rows, 1, true, tile, column, last_lanes); break;
    case -2: value_chains(rows, 2, true, tile, column, last_lanes); break;
#if PANEL_VECTORS > 2
    case 2: value_chains(rows, 2, false, tile, column, VL); break;
    case 3: value_chains(rows, 3, false, tile, column, VL); break;
    case -3: value_chains(rows, 3, true, tile, column, last_lanes); break;
    case -4: value_chains(rows, 4, true, tile, column, last_lanes); break;
#endif
    default: value_chains(rows, PANEL_VECTORS, false, tile, column, VL); break;
    }
}

/* Columns in blocks of nearly equal width: a narrow block at the end would have too few sums to hide the multiply-add's latency. */
static inline __attribute__((always_inline)) void value_columns(const int rows, const struct value_tile *tile)
{
    int64_t vectors = attend__divide_up(tile->columns, VL), column = 0;
    for (int64_t blocks = attend__divide_up(vectors, PANEL_VECTORS); blocks > 0; blocks--) {
        const int share = (int)attend__divide_up(vectors, blocks);
        vectors -= share;
        const int64_t end = column + share * VL;
        value_block(rows, tile, column, share, VL - (int)attend__max(end - tile->columns, 0));
        column = end;
    }
}

static void value_sums(int rows, const struct value_tile *tile)
{
    switch (rows) {
    case 1: value_columns(1, tile); break;
    case 2: value_columns(2, tile); break;
    case 3: value_columns(3, tile); break;
    case 4: value_columns(4, tile); break;
    case 5: value_columns(5, tile); break;
    default: value_columns(BLOCK_ROWS, tile); break;
    }
}

/* One chain where values flow, all its columns, in as few variants as do: the narrow end of the columns waits for multiply-adds, but
 * less than for memory. */
INLINED void flow_columns(const attend_dtype dtype, const int rows, const struct value_tile *tile, int low, int high)
{
    const bool first = low == tile->low;
    int64_t column = 0;
    for (; column + PANEL_KEYS <= tile->columns; column += PANEL_KEYS)
        value_chain(dtype, rows, PANEL_VECTORS, false, true, tile, column, VL, low, high, first);
    for (; column < tile->columns; column += VL)
        value_chain(dtype, rows, 1, true, true, tile, column, (int)attend__min(tile->columns - column, VL), low, high, first);
}

#define FLOW_CHAIN(name, dtype)                                                                               \
    static __attribute__((noinline)) void flow_chain_##name(int rows, const struct value_tile *tile, int low, int high) \
    {                                                                                                         \
        switch (rows) {                                                                                       \
        case 1: flow_columns(dtype, 1, tile, low, high); break;                                               \
        case 2: flow_columns(dtype, 2, tile, low, high); break;                                               \
        case 3: flow_columns(dtype, 3, tile, low, high); break;                                               \
        case 4: flow_columns(dtype, 4, tile, low, high); break;                                               \
        case 5: flow_columns(dtype, 5, tile, low, high); break;                                               \
        default: flow_columns(dtype, BLOCK_ROWS, tile, low, high); break;                                     \
        }                                                                                                     \
    }

FLOW_CHAIN(f32, ATTEND_F32)
FLOW_CHAIN(bf16, ATTEND_BF16)
FLOW_CHAIN(f16, ATTEND_F16)

static void flow_chain(int rows, const struct value_tile *tile, int low, int high)
{
    switch (tile->dtype) {
    case ATTEND_BF16: flow_chain_bf16(rows, tile, low, high); break;
    case ATTEND_F16: flow_chain_f16(rows, tile, low, high); break;
    default: flow_chain_f32(rows, tile, low, high); break;
    }
}

/* A row that does not see every key of the tile multiplied hidden values by +0, which is no change unless such a value is NaN or
 * infinite. Redoes the row's sum key by key, leaving out what it does not see: the same bits as if it had never been there. */
static void redo_value_row(const struct value_tile *tile, const struct tile_view *view, int r)
{
    const float *weights = tile->weights + r * SCORE_STRIDE;
    for (int64_t column = 0; column < tile->columns; column += VL) {
        const int lanes = (int)attend__min(tile->columns - column, VL);
        vf total = vf_set1(0.0f);
        for (int start = 0; start < ATTEND__KV_TILE; start += ATTEND__CHAIN) {
            vf chain = vf_set1(0.0f);
            for (int j = start; j < start + ATTEND__CHAIN; j++)
                if (sees_key(view, r, j))
                    chain = vf_fma(vf_set1(weights[j]), load_elements_part(tile->dtype, tile->at[j], column, lanes), chain);
            total = vf_add(total, chain);
        }
        vf_store(tile->sum + r * tile->width + column, total);
    }
}

static bool row_has_nonfinite(const float *sum, int64_t width)
{
    for (int64_t column = 0; column < width; column += VL)
        if (vf_any_nonfinite(vf_load(sum + column)))
            return true;
    return false;
}

#endif
