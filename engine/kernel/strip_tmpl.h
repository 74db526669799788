/* A strip: some blocks of a unit that take the steps of one KV tile together, each step for all of them before the next. A tile of
 * few keys is little work for a block, and every step of it waits for the one before; with several blocks at hand there is always
 * one whose turn it is. Reads like the lesson: scores, softmax, weighted values, merge. */
#ifndef ATTEND__STRIP_TMPL_H
#define ATTEND__STRIP_TMPL_H

/* Rows per strip of a unit whose tiles have up to `keys` keys: as many blocks as keep the scores of one block with a full tile, a third of a
 * small first-level cache. Wide tiles get large strips of nearly equal size, since a small one would fetch the tile for few rows. */
static int64_t strip_rows(const struct attend__unit *unit, int64_t keys)
{
    enum { SHORT_BLOCKS = 8 };
    if (keys_flow(unit))
        return unit->rows;
    if (!is_wide(unit))
        return attend__clamp(ATTEND__KV_TILE / attend__max(keys, 1), 1, SHORT_BLOCKS) * BLOCK_ROWS;
    const int64_t strips = attend__divide_up(unit->rows, STRIP_ROWS);
    return attend__round_up(attend__divide_up(unit->rows, strips), BLOCK_ROWS);
}

/* Cuts `rows` rows from `first` on into blocks of nearly equal size: two rows alone would leave the multiply-add's latency in
 * sight. */
static void cut_strip(struct strip *strip, int64_t first, int rows)
{
    strip->first = first;
    strip->rows = rows;
    strip->blocks = (rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
    const int least = rows / strip->blocks, larger = rows - least * strip->blocks;
    for (int b = 0; b < strip->blocks; b++) {
        strip->block[b].first = first;
        strip->block[b].rows = least + (b < larger);
        first += strip->block[b].rows;
    }
}

/* false when no row sees anything of the tile. */
static bool view_strip(struct strip *strip, const struct attend__unit *unit, const struct tile *tile)
{
    bool any = tile->alike;
    for (int b = 0; b < strip->blocks; b++) {
        struct block *block = &strip->block[b];
        block->view = tile->alike ? &tile->view : &strip->view[b];
        if (!tile->alike)
            any |= view_tile(&strip->view[b], unit, block->first, block->rows, tile->first_key);
    }
    return any;
}

/* Products of all rows with packed keys, the whole tile for a block before the next, or panel by panel where tiles are wide. */
static void pack_strip(const struct attend__unit *unit, const struct scratch *scratch, struct tile *tile, const struct strip *strip,
                       vf *most)
{
    const int step = is_wide(unit) ? PANEL_KEYS : ATTEND__KV_TILE;
    for (int key = 0; key < tile->keys; key += step)
        for (int b = 0; b < strip->blocks; b++) {
            const struct block *block = &strip->block[b];
            const int64_t row = block->first - strip->first;
            score_block(unit, scratch, tile, block, key, key + step, scratch->scores + row * SCORE_STRIDE, most + row);
        }
}

/* Products of all rows, or their scores where more than a scale makes them such, and m of each: its largest visible score, or a very
 * negative finite number where there is none: s - m then stays -inf instead of becoming NaN. Returns the scale by which they are still to
 * be multiplied. */
static float score_strip(const struct attend__unit *unit, const struct scratch *scratch, struct tile *tile,
                         const struct strip *strip, float *largest)
{
    const bool modified = modifies_products(unit);
    const float scale = modified ? 1.0f : unit->scale;
    vf most[STRIP_SLOTS];
    for (int r = 0; r < strip->rows + VL; r++)
        most[r] = vf_set1(-FLT_MAX);
    if (tile->flows)
        flow_strip(unit, scratch, tile, strip, most);
    else
        pack_strip(unit, scratch, tile, strip, most);
    for (int b = 0; modified && b < strip->blocks; b++) {
        const struct block *block = &strip->block[b];
        const int64_t row = block->first - strip->first;
        for (int r = 0; r < block->rows; r++)
            most[row + r] = modify_row(unit, block->first + r, scratch->scores + (row + r) * SCORE_STRIDE, block->view, r,
                                       tile->first_key);
    }
    /* Scaling keeps the order, so the largest product has the largest score. */
    for (int r = 0; r < strip->rows; r += VL)
        vf_store(largest + r, vf_max(vf_mul(vf_max_of_rows(most + r), vf_set1(scale)), vf_set1(-FLT_MAX)));
    return scale;
}

/* Products become p; total[r] is row r's sum. */
static void exponentials_strip(const struct scratch *scratch, const struct tile *tile, const struct strip *strip,
                               const float *largest, float scale, float *total)
{
    vf lanes[STRIP_SLOTS * LANE_VECTORS];
    if (tile->alike)
        exponentials(strip->rows, scratch->scores, group_low(&tile->view), group_high(&tile->view), largest, scale, lanes);
    else
        for (int b = 0; b < strip->blocks; b++) {
            const struct block *block = &strip->block[b];
            const int64_t row = block->first - strip->first;
            exponentials(block->rows, scratch->scores + row * SCORE_STRIDE, group_low(block->view), group_high(block->view),
                         largest + row, scale, lanes + row * LANE_VECTORS);
        }
    for (int r = strip->rows * LANE_VECTORS; r < (strip->rows + VL) * LANE_VECTORS; r++)
        lanes[r] = vf_set1(0.0f);
    for (int r = 0; r < strip->rows; r += VL)
        vf_store(total + r, vf_fold_rows(lanes + r * LANE_VECTORS));
}

static struct value_tile strip_values(const struct attend__unit *unit, const struct scratch *scratch, struct tile *tile,
                                      const struct strip *strip, const struct block *block, const struct partials *partials)
{
    const int64_t row = block->first - strip->first;
    return find_values(unit, scratch, tile, block, scratch->scores + row * SCORE_STRIDE, partials->sum + row * partials->width);
}

static void sum_wide_values(const struct strip *strip, const struct value_tile *values)
{
    const int64_t columns = values[0].columns;
    for (int64_t column = 0; column < columns; column += PANEL_KEYS)
        for (int b = 0; b < strip->blocks; b++) {
            struct value_tile part = values[b];
            part.first_column = column;
            part.sum += column;
            part.columns = attend__min(columns - column, PANEL_KEYS);
            value_sums(strip->block[b].rows, &part);
        }
}

/* Weighted sums of the tile's values, block by block; or, where tiles are wide, in blocks of columns, each for all blocks of rows. */
static void sum_values(const struct attend__unit *unit, const struct scratch *scratch, struct tile *tile, const struct strip *strip,
                       const struct partials *partials)
{
    struct value_tile values[STRIP_BLOCKS];
    int block = 0; /* there is at least one */
    do
        values[block] = strip_values(unit, scratch, tile, strip, &strip->block[block], partials);
    while (++block < strip->blocks);
    if (tile->flows)
        sum_flowing_values(strip, values);
    else if (is_wide(unit))
        sum_wide_values(strip, values);
    else
        for (int b = 0; b < strip->blocks; b++)
            value_sums(strip->block[b].rows, &values[b]);
    for (int b = 0; b < strip->blocks; b++)
        redo_block(unit, &values[b], &strip->block[b]);
}

static struct partials partials_from(const struct partials *all, int64_t first)
{
    return (struct partials){ all->largest + first, all->total + first, all->sum + first * all->width, all->width };
}

/* What the strip's rows have so far; a unit of one tile needs no memory beyond the strip. */
static struct partials strip_partials(const struct scratch *scratch, const struct tile *tile, int64_t first)
{
    return tile->only ? scratch->tile : partials_from(&scratch->done, first);
}

static void attend_strip(const struct attend__unit *unit, const struct scratch *scratch, struct tile *tile, struct strip *strip)
{
    const struct partials into = strip_partials(scratch, tile, strip->first);
    if (!view_strip(strip, unit, tile)) {
        if (tile->first)
            memset(into.total, 0, (size_t)strip->rows * sizeof *into.total);
        return;
    }
    /* A row's first tile needs no merge. */
    const struct partials *partials = tile->first ? &into : &scratch->tile;
    const float scale = score_strip(unit, scratch, tile, strip, partials->largest);
    exponentials_strip(scratch, tile, strip, partials->largest, scale, partials->total);
    sum_values(unit, scratch, tile, strip, partials);
    if (!tile->first)
        merge_tile(strip->rows, unit->d_v, &into, &scratch->tile);
}

/* Keys low ≤ j < high, for the caches; more of the first page where pages are small. */
static struct attend__region key_region(const struct attend__places *places, int64_t width, int64_t low, int64_t high)
{
    const int64_t size = attend__dtype_bytes(places->dtype), count = high - low;
    struct attend__region region = { .base = places->base, .bytes = width * size, .rows = count, .stride = places->stride * size, .planes = 1 };
    if (width == 0) /* and perhaps no memory */
        return region;
    if (!places->pages) {
        region.base = (const char *)places->base + low * places->stride * size;
        return region;
    }
    const int64_t number = places->first + low, slot = number % places->page_keys;
    region.plane = places->pages + number / places->page_keys;
    region.plane_stride = places->page_stride * size;
    if (slot > 0 && places->page_keys >= count) { /* the rest of a large page */
        region.base = (const char *)places->base + slot * places->stride * size;
        region.rows = attend__min(count, places->page_keys - slot);
    } else {
        region.rows = places->page_keys;
        region.planes = attend__divide_up(slot + count, places->page_keys);
    }
    return region;
}

/* Keys and values, a tile at most. */
static int keys_regions(struct attend__region *region, const struct attend__unit *unit, const struct attend__keys_ahead *keys)
{
    if (keys->low >= keys->high || keys->key.step != 1 || keys->value.step != 1)
        return 0;
    region[0] = key_region(&keys->key, unit->d_k, keys->low, keys->high);
    region[1] = key_region(&keys->value, unit->d_v, keys->low, keys->high);
    return 2;
}

/* Steps of the loops over features and over keys that the tile takes: of all rows and keys, the share that the first and the last row
 * see of the unit's keys. */
static int64_t tile_steps(const struct attend__unit *unit, const struct tile *tile)
{
    const struct attend__row *row = unit->row, *last = &row[unit->rows - 1];
    const int64_t panels = attend__divide_up(tile->keys, PANEL_KEYS), column_blocks = attend__divide_up(unit->d_v, PANEL_KEYS);
    const int64_t all = attend__divide_up(unit->rows, BLOCK_ROWS) * (panels * unit->d_k + column_blocks * tile->keys);
    const double seen = (double)(row->high - row->low) + (double)(last->high - last->low) + 2.0 * (double)unit->prefix;
    return (int64_t)((double)all * seen / (2.0 * (double)attend__max(unit->high - unit->low, 1)));
}

/* The next tile, or what the unit says of the next unit. */
static void look_ahead(struct tile *tile, const struct attend__unit *unit, int64_t high)
{
    struct attend__region region[AHEAD_REGIONS];
    const int64_t next = next_tile(unit, tile->first_key);
    int regions = 0;
    if (tile->flows) {
        plan_ahead(&tile->ahead, NULL, 0, 1);
        return;
    }
    if (next < high) {
        const struct attend__keys_ahead own = { unit->key, unit->value, next, attend__min(high, next + ATTEND__KV_TILE) };
        regions = keys_regions(region, unit, &own);
    } else {
        if (unit->keys_ahead)
            regions = keys_regions(region, unit, unit->keys_ahead);
        for (int i = 0; i < unit->nexts; i++)
            region[regions++] = unit->next[i];
    }
    plan_ahead(&tile->ahead, region, regions, tile_steps(unit, tile));
}

/* Slot number `slot` of those with `rows` rows. */
static struct partials slot_from(float *slots, int64_t slot, int64_t rows, int64_t d_v)
{
    const int64_t numbers = attend__slot_numbers(rows);
    float *memory = slots + slot * attend__slot_floats(rows, d_v);
    return (struct partials){ memory, memory + numbers, memory + 2 * numbers, attend__round_up(d_v, ATTEND__LANES) };
}

static struct partials slot_of(const struct attend__unit *unit, int64_t slot)
{
    return slot_from(unit->slots, slot, unit->rows, unit->d_v);
}

typedef void (*strip_step)(const struct attend__unit *, const struct scratch *, struct tile *, struct strip *);
typedef void (*strip_end)(const struct attend__unit *, const struct scratch *, const struct tile *, const struct strip *);

/* Calls `visit` for every strip and every tile, tile by tile, between the lowest and the highest key that a row sees; and `finish`
 * for every strip after its last tile: results are then written while the next strip computes. Where nothing is in sight there is one
 * tile without keys, that rows are finished. */
static void for_each_strip(const struct attend__unit *unit, struct scratch *scratch, strip_step visit, strip_end finish)
{
    const int64_t first = unit->low / ATTEND__KV_TILE * ATTEND__KV_TILE, high = unit->high;
    const int64_t step = strip_rows(unit, high - first);
    struct strip strip;
    struct tile tile; /* set by field: most of it is seldom used, and clearing it would show in short units */
    tile.first_key = first;
    tile.first = !unit->resume;
    tile.only = high - first <= ATTEND__KV_TILE && !unit->diagnosed && !unit->resume && !unit->slots;
    tile.alike = unit->alike;
    tile.flows = keys_flow(unit);
    do {
        if (unit->apart)
            scratch->done = slot_of(unit, (tile.first_key - first) / ATTEND__KV_TILE);
        tile.keys = (int)attend__clamp(high - tile.first_key, 0, ATTEND__KV_TILE);
        tile.packed = 0;
        tile.values_packed = false;
        tile.seen_panel = -1;
        const bool last = next_tile(unit, tile.first_key) >= high;
        look_ahead(&tile, unit, high);
        place_tile(unit, scratch, &tile);
        if (unit->alike)
            view_tile(&tile.view, unit, 0, (int)attend__min(unit->rows, BLOCK_ROWS), tile.first_key);
        for (int64_t row = 0; row < unit->rows; row += step) {
            if (unit->halted && unit->halted(unit->halted_argument))
                return;
            cut_strip(&strip, row, (int)attend__min(unit->rows - row, step));
            if (tile.flows && tile.first_key == first)
                flow_queries(unit, scratch);
            visit(unit, scratch, &tile, &strip);
            if (finish && last)
                finish(unit, scratch, &tile, &strip);
        }
        tile.first_key = next_tile(unit, tile.first_key);
        tile.first = unit->apart;
    } while (tile.first_key < high);
}

#endif
