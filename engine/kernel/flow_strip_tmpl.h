/* Units of few rows, as in generation: what they cost is reading keys and values once, so all their rows take each key as it comes, and
 * the lines that memory is asked for run evenly ahead of those in use: through the tile's keys, on to its values, and on to the next
 * tile's or unit's keys. */
#ifndef ATTEND__FLOW_STRIP_TMPL_H
#define ATTEND__FLOW_STRIP_TMPL_H

/* Rows that take keys together, from row `first` on, of a unit of `rows` rows: as even as may be. */
static int flow_rows_from(int first, int rows)
{
    const int half = (rows + 1) / 2;
    return rows <= FLOW_ROWS ? rows : first == 0 ? half : rows - half;
}

/* The unit's queries by feature: [d_k][rows] for each of as many flows as share out its rows. */
static void flow_queries(const struct attend__unit *unit, const struct scratch *scratch)
{
    float *to = scratch->queries;
    for (int first = 0, rows; first < unit->rows; first += rows) {
        rows = flow_rows_from(first, (int)unit->rows);
        for (int r = 0; r < rows; r++) {
            const uintptr_t query = (uintptr_t)unit->row[first + r].query;
            for (int64_t d = 0; d < unit->d_k; d++)
                to[d * rows + r] = load_element(unit->query_dtype, query, d * unit->query_step);
        }
        to += rows * unit->d_k;
    }
}

/* Of VL keys from key j on, which each row of the strip sees. */
static void seen_by_rows(uint32_t *seen, const struct strip *strip, int j)
{
    for (int b = 0; b < strip->blocks; b++)
        for (int r = 0; r < strip->block[b].rows; r++)
            *seen++ = (uint32_t)(seen_word(strip->block[b].view, r, j / 64 * 64) >> j % 64);
}

/* Products of all rows with the keys as they come, VL keys for all rows before the next. */
static void flow_strip(const struct attend__unit *unit, const struct scratch *scratch, const struct tile *tile,
                       const struct strip *strip, vf *largest)
{
    int low = ATTEND__KV_TILE, high = 0, whole_low = 0, whole_high = ATTEND__KV_TILE;
    for (int b = 0; b < strip->blocks; b++) {
        const struct tile_view *view = strip->block[b].view;
        low = (int)attend__min(low, group_low(view));
        high = (int)attend__max(high, group_high(view));
        whole_low = (int)attend__max(whole_low, view->whole_low);
        whole_high = (int)attend__min(whole_high, view->whole_high);
    }
    for (int j = low; j < high; j += VL) {
        const bool whole = j >= whole_low && j + VL <= whole_high;
        uint32_t seen[FLOW_ROWS_MOST];
        if (!whole)
            seen_by_rows(seen, strip, j);
        for (int first = 0, rows; first < strip->rows; first += rows) {
            rows = flow_rows_from(first, strip->rows);
            const struct flow_work work = { .scores = scratch->scores + first * SCORE_STRIDE,
                                            .queries = scratch->queries + first * unit->d_k,
                                            .at = scratch->key_at,
                                            .d_k = unit->d_k,
                                            .dtype = unit->key.dtype,
                                            .keys = tile->keys,
                                            .largest = largest + first,
                                            .seen = whole ? NULL : seen + first,
                                            .fetches = first == 0 };
            flow_keys(rows, &work, j);
        }
    }
}

/* Weighted sums of the tile's values: a chain of all columns for all blocks before the next chain. */
static void sum_flowing_values(const struct strip *strip, struct value_tile *values)
{
    int low = ATTEND__KV_TILE, high = 0;
    for (int b = 0; b < strip->blocks; b++) {
        values[b].share = b;
        values[b].shares = strip->blocks;
        low = (int)attend__min(low, values[b].low);
        high = (int)attend__max(high, values[b].high);
    }
    for (int chain = low / ATTEND__CHAIN * ATTEND__CHAIN; chain < high; chain += ATTEND__CHAIN)
        for (int b = 0; b < strip->blocks; b++) {
            const int from = (int)attend__max(values[b].low, chain), to = (int)attend__min(values[b].high, chain + ATTEND__CHAIN);
            if (from < to)
                flow_chain(strip->block[b].rows, &values[b], from, to);
        }
}

#endif
