/* One block of rows against one KV tile. Reads like the lesson: scores, hide, softmax, weighted values, merge. */
#ifndef ATTEND__BLOCK_TMPL_H
#define ATTEND__BLOCK_TMPL_H

/* Where in a tile of the unit the work stands. */
struct tile {
    int64_t first_key;
    int keys;         /* of the tile up to the largest `high` of the unit's rows */
    uint64_t packed;  /* bit p: panel p is in scratch->panels */
    bool values_packed;
};

static inline int block_rows(const struct attend__unit *unit, int64_t first_row)
{
    return (int)attend__min(unit->rows - first_row, BLOCK_ROWS);
}

/* A row of the next block, fetched while this one computes: it is the only part of a unit that no prefetcher foresees. */
static void fetch_row(const struct attend__unit *unit, int64_t r)
{
    enum { LINE_FLOATS = 16 };
    if (r < unit->rows)
        for (int64_t d = 0; d < unit->d_k; d += LINE_FLOATS)
            __builtin_prefetch(unit->row[r].query + d);
}

/* Where the queries of a block lie with their features side by side. */
static void find_queries(const float **queries, const struct attend__unit *unit, const struct scratch *scratch,
                         int64_t first_row)
{
    for (int r = 0; r < block_rows(unit, first_row); r++) {
        queries[r] = unit->row[first_row + r].query;
        if (unit->query_step == 1) {
            fetch_row(unit, first_row + r + BLOCK_ROWS);
            continue;
        }
        float *packed = scratch->queries + r * unit->d_k;
        pack_query(packed, queries[r], unit->query_step, unit->d_k);
        queries[r] = packed;
    }
}

/* Scores of a block against the panels that its rows see. Afterwards hidden keys hold -inf, and largest[r] is each row's largest
 * score, or the most negative finite number where there is none: m - s then stays -inf instead of becoming NaN. */
static void score_block(const struct attend__unit *unit, const struct scratch *scratch, struct tile *tile,
                        const struct tile_view *view, int64_t first_row, float *largest)
{
    const int rows = block_rows(unit, first_row);
    const float *queries[BLOCK_ROWS];
    find_queries(queries, unit, scratch, first_row);
    vf best[BLOCK_ROWS];
    for (int r = 0; r < BLOCK_ROWS; r++)
        best[r] = vf_set1(-__builtin_inff());
    for (int p = view->low / PANEL_KEYS; p * PANEL_KEYS < view->high; p++) {
        float *panel = scratch->panels + p * unit->d_k * PANEL_KEYS;
        if (!(tile->packed >> p & 1)) {
            const int64_t key = tile->first_key + p * PANEL_KEYS;
            pack_panel(panel, unit->key + key * unit->key_stride, unit->key_stride, unit->key_step,
                       tile->keys - p * PANEL_KEYS, unit->d_k);
            tile->packed |= UINT64_C(1) << p;
        }
        score_panel(rows, scratch->scores + p * PANEL_KEYS, queries, panel, unit->d_k, vf_set1(unit->scale), best,
                    view->high - p * PANEL_KEYS);
    }
    /* From a panel's first key on nothing hidden took part in the maximum, unless a row sees less than the block. */
    const bool aligned = view->low % PANEL_KEYS == 0;
    for (int r = 0; r < rows; r++) {
        if (!aligned || !row_sees_all(view, r))
            best[r] = hide_row(scratch->scores + r * SCORE_STRIDE, view, r);
        const float most = vf_reduce_max(best[r]);
        largest[r] = most > -FLT_MAX ? most : -FLT_MAX;
    }
}

/* Reading values where they lie saves a copy; but vectors that straddle cache lines are loaded at half speed, by every block. One
 * block alone does not win the copy back. */
static bool reads_values_directly(const struct attend__unit *unit)
{
    const uintptr_t misaligned = (uintptr_t)unit->value | (uintptr_t)unit->value_stride * sizeof(float);
    return unit->value_step == 1 && (misaligned % (VL * sizeof(float)) == 0 || unit->rows <= BLOCK_ROWS);
}

static void sum_block_values(const struct attend__unit *unit, const struct scratch *scratch, struct tile *tile,
                             const struct tile_view *view, int rows)
{
    struct value_tile values = {
        .weights = scratch->scores,
        .value = unit->value + tile->first_key * unit->value_stride,
        .stride = unit->value_stride,
        .columns = unit->d_v,
        .sum = scratch->tile.sum,
        .width = scratch->tile.width,
        .low = view->low,
        .high = view->high,
    };
    if (!reads_values_directly(unit)) {
        if (!tile->values_packed)
            pack_values(scratch->values, values.width, values.value, values.stride, unit->value_step, tile->keys, unit->d_v);
        tile->values_packed = true;
        values.value = scratch->values;
        values.stride = values.width;
        values.columns = attend__round_up(unit->d_v, VL);
    }
    value_sums(rows, &values);
    for (int r = 0; r < rows; r++)
        if (!row_sees_all(view, r) && row_has_nonfinite(values.sum + r * values.width, unit->d_v))
            redo_value_row(&values, &view->row[r], r);
}

static void attend_block(const struct attend__unit *unit, const struct scratch *scratch, struct tile *tile, int64_t first_row)
{
    const int rows = block_rows(unit, first_row);
    struct tile_view view;
    if (!view_tile(&view, unit->row + first_row, rows, unit->visible_step, tile->first_key))
        return;
    score_block(unit, scratch, tile, &view, first_row, scratch->tile.largest);
    exponentials(rows, scratch->scores, group_low(&view), group_high(&view), scratch->tile.largest, scratch->tile.total);
    sum_block_values(unit, scratch, tile, &view, rows);
    const struct partials into = {
        .largest = scratch->done.largest + first_row,
        .total = scratch->done.total + first_row,
        .sum = scratch->done.sum + first_row * scratch->done.width,
        .width = scratch->done.width,
    };
    merge_tile(rows, unit->d_v, &into, &scratch->tile);
}

typedef void (*block_step)(const struct attend__unit *, const struct scratch *, struct tile *, int64_t first_row);
typedef void (*block_end)(const struct attend__unit *, const struct scratch *, int64_t first_row);

/* Calls `visit` for every block of rows and every tile, tile by tile, between the lowest and the highest key that a row sees; and
 * `finish` for every block after its last tile: results are then written while the next block computes. */
static void for_each_block(const struct attend__unit *unit, const struct scratch *scratch, block_step visit, block_end finish)
{
    int64_t low = INT64_MAX, high = 0; /* nothing in sight: one tile without keys, that rows are finished */
    for (int64_t r = 0; r < unit->rows; r++)
        if (unit->row[r].low < unit->row[r].high) {
            low = attend__min(low, unit->row[r].low);
            high = attend__max(high, unit->row[r].high);
        }
    low = attend__min(low, high);
    int64_t key = low / ATTEND__KV_TILE * ATTEND__KV_TILE;
    do {
        struct tile tile = { .first_key = key, .keys = (int)attend__clamp(high - key, 0, ATTEND__KV_TILE) };
        key += ATTEND__KV_TILE;
        for (int64_t row = 0; row < unit->rows; row += BLOCK_ROWS) {
            visit(unit, scratch, &tile, row);
            if (finish && key >= high)
                finish(unit, scratch, row);
        }
    } while (key < high);
}

#endif
