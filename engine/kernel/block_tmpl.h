/* One block of rows against one KV tile: its scores, and its weighted values. Which blocks take which step when is strip_tmpl.h's
 * business. */
#ifndef ATTEND__BLOCK_TMPL_H
#define ATTEND__BLOCK_TMPL_H

/* Consecutive rows of a unit, at most BLOCK_ROWS. */
struct block {
    int64_t first; /* row of the unit */
    int rows;
    const struct tile_view *view;
};

/* Where the queries of a block lie as floats with their features side by side. */
static void find_queries(const float **queries, const struct attend__unit *unit, const struct scratch *scratch,
                         const struct block *block)
{
    for (int r = 0; r < block->rows; r++) {
        const void *query = unit->row[block->first + r].query;
        queries[r] = query;
        if (unit->query_step == 1 && unit->query_dtype == ATTEND_F32)
            continue;
        float *packed = scratch->queries + r * unit->d_k;
        widen(packed, query, unit->query_dtype, unit->query_step, unit->d_k);
        queries[r] = packed;
    }
}

/* Panel p of the tile, packed by the first block that needs it. */
static const float *packed_panel(const struct attend__unit *unit, const struct scratch *scratch, struct tile *tile, int p)
{
    float *panel = scratch->panels + p * unit->d_k * PANEL_KEYS;
    if (!(tile->packed >> p & 1)) {
        pack_panel(panel, scratch->key_at + p * PANEL_KEYS, unit->key.dtype, unit->key.step, tile->keys - p * PANEL_KEYS, unit->d_k);
        tile->packed |= UINT64_C(1) << p;
    }
    return panel;
}

/* The keys of panel p from its key `skipped` on that each row of the block sees, lowest bit first. */
static const uint64_t *seen_of_panel(struct tile *tile, const struct block *block, int p, int skipped)
{
    if (tile->alike && tile->seen_panel == p)
        return tile->seen;
    const int first = p * PANEL_KEYS + skipped, rows = tile->alike ? BLOCK_ROWS : block->rows;
    for (int r = 0; r < rows; r++)
        tile->seen[r] = seen_word(block->view, tile->alike ? 0 : r, first / 64 * 64) >> first % 64;
    tile->seen_panel = p;
    return tile->seen;
}

/* The panel after p up to which all keys are seen by every row, up to key `end`, and all panels are packed already. */
static int whole_panels_end(const struct tile *tile, int end, int p)
{
    do
        p++;
    while ((p + 1) * PANEL_KEYS <= end && tile->packed >> p & 1);
    return p;
}

/* Products of a block with the groups of lanes that its rows see in keys from … to - 1 of the tile, whole panels: scores[rows][SCORE_STRIDE].
 * Hidden keys get -inf; largest[r] is raised by row r's visible products. */
static void score_block(const struct attend__unit *unit, const struct scratch *scratch, struct tile *tile,
                        const struct block *block, int from, int to, float *scores, vf *largest)
{
    const struct tile_view *view = block->view;
    const float *queries[BLOCK_ROWS];
    find_queries(queries, unit, scratch, block);
    struct score_work work = { .queries = queries, .d_k = unit->d_k, .largest = largest, .ahead = &tile->ahead };
    const int high = (int)attend__min(view->high, to);
    for (int p = (int)attend__max(view->low, from) / PANEL_KEYS, next; p * PANEL_KEYS < high; p = next) {
        const int first = p * PANEL_KEYS, end = first + PANEL_KEYS;
        work.scores = scores + first;
        work.keys = packed_panel(unit, scratch, tile, p);
        if (first >= view->whole_low && end <= view->whole_high) {
            next = whole_panels_end(tile, (int)attend__min(view->whole_high, to), p);
            work.seen = NULL;
            work.panels = next - p;
        } else {
            const int skipped = (int)attend__max(group_low(view) - first, 0);
            next = p + 1;
            work.scores += skipped;
            work.keys += skipped;
            work.seen = seen_of_panel(tile, block, p, skipped);
            work.groups = (int)(attend__min(group_high(view), end) - first - skipped) / ATTEND__LANES;
        }
        score(block->rows, &work);
    }
}

/* Reading values where they lie saves a copy; but vectors that straddle cache lines are loaded at half speed, by every block, and halves
 * would be widened by every block. One block alone does not win the copy back; halves it reads where keys flow only, so that the register
 * tile of packed keys knows one type. */
static bool reads_values_directly(const struct attend__unit *unit)
{
    const struct attend__places *value = &unit->value;
    const uintptr_t strides = (uintptr_t)value->stride | (uintptr_t)(value->pages ? value->page_stride : 0);
    const uintptr_t misaligned = (uintptr_t)value->base | strides * sizeof(float);
    if (value->dtype != ATTEND_F32)
        return keys_flow(unit);
    return value->step == 1 && (misaligned % (VL * sizeof(float)) == 0 || unit->rows <= BLOCK_ROWS);
}

/* From then on values are found where their copies lie. */
static void copy_values(const struct attend__unit *unit, const struct scratch *scratch, const struct tile *tile)
{
    const int64_t width = scratch->tile.width;
    const struct attend__places copies = { .base = scratch->values, .dtype = ATTEND_F32, .stride = width, .step = 1, .pages = NULL };
    pack_values(scratch->values, width, scratch->value_at, unit->value.dtype, unit->value.step, tile->keys, unit->d_v);
    place_keys(scratch->value_at, &copies, 0, tile->keys);
}

/* What the values of a block are summed from and into; copies the tile's values where that is needed. */
static struct value_tile find_values(const struct attend__unit *unit, const struct scratch *scratch, struct tile *tile,
                                     const struct block *block, const float *weights, float *sum)
{
    const struct tile_view *view = block->view;
    struct value_tile values = {
        .weights = weights,
        .at = scratch->value_at,
        .dtype = unit->value.dtype,
        .first_column = 0,
        .columns = unit->d_v,
        .sum = sum,
        .width = scratch->tile.width,
        .low = view->low,
        .high = view->high,
        .ahead = &tile->ahead,
    };
    if (!reads_values_directly(unit)) {
        if (!tile->values_packed)
            copy_values(unit, scratch, tile);
        tile->values_packed = true;
        values.dtype = ATTEND_F32;
        values.columns = attend__round_up(unit->d_v, VL);
    }
    return values;
}

/* Rows whose sums took in a hidden NaN or infinity. */
static void redo_block(const struct attend__unit *unit, const struct value_tile *values, const struct block *block)
{
    const struct tile_view *view = block->view;
    if (view->whole_low == view->low && view->whole_high == view->high)
        return;
    for (int r = 0; r < block->rows; r++)
        if (!row_sees_all(view, r) && row_has_nonfinite(values->sum + r * values->width, unit->d_v))
            redo_value_row(values, view, r);
}

/* Blocks that take the steps of one tile together. */
struct strip {
    int blocks, rows;
    int64_t first; /* row of the unit */
    struct block block[STRIP_BLOCKS];
    struct tile_view view[STRIP_BLOCKS];
};

#endif
