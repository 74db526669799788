/* The KV tiles of a unit: which comes after which, how they are gone through, and where their keys and values lie. */
#ifndef ATTEND__TILE_TMPL_H
#define ATTEND__TILE_TMPL_H

/* Where in a tile of the unit the work stands. */
struct tile {
    int64_t first_key;
    bool first, only; /* of the unit's tiles */
    bool alike;       /* all rows of the unit see the same keys of it: those of `view` */
    struct tile_view view;
    int seen_panel;            /* where alike: the panel that `seen` is of; -1 for none */
    uint64_t seen[BLOCK_ROWS]; /* keys of it that each row of a block sees */
    int keys;         /* of the tile up to the largest `high` of the unit's rows */
    uint64_t packed;  /* bit p: panel p is in scratch->panels */
    bool values_packed;
    struct ahead ahead;
    bool flows;       /* keys are used as they come */
};

/* Keys and values of a wide tile do not stay in the second-level cache from one block to the next. A strip then takes many blocks, and
 * takes all of them through a panel, or a block of columns, before the next: 1.65 times faster at widths of 576 and 512. At 256 and
 * 256 that is 3 % slower. */
static bool is_wide(const struct attend__unit *unit)
{
    enum { WIDE_BYTES = 1 << 20 }; /* of a tile */
    return unit->d_k + unit->d_v > WIDE_BYTES / (ATTEND__KV_TILE * (int64_t)sizeof(float));
}

/* Few rows take keys as they come; scattered features would need packing. */
static bool keys_flow(const struct attend__unit *unit)
{
    return unit->rows <= FLOW_ROWS_MOST && unit->key.step == 1 && unit->value.step == 1 && !is_wide(unit);
}

/* The first key of the tile after the one that begins at first_key, without those that no row sees. */
static int64_t next_tile(const struct attend__unit *unit, int64_t first_key)
{
    const int64_t next = first_key + ATTEND__KV_TILE;
    const int64_t after_gap = unit->gap_high / ATTEND__KV_TILE * ATTEND__KV_TILE;
    return next >= unit->gap_low && next < after_gap ? after_gap : next;
}

/* Addresses of what is read after the tile's values: the next tile's keys, or those of the next unit, or, since there must be some, the
 * last ones again. */
static void place_next(uintptr_t *at, const struct attend__unit *unit, const struct tile *tile)
{
    const int64_t next = next_tile(unit, tile->first_key);
    const struct attend__keys_ahead *then = unit->keys_ahead;
    int64_t count = attend__clamp(unit->high - next, 0, FLOW_KEYS);
    if (count > 0)
        place_keys(at, &unit->key, next, (int)count);
    else if (then && (count = attend__clamp(then->high - then->low, 0, FLOW_KEYS)) > 0)
        place_keys(at, &then->key, then->low, (int)count);
    for (; count < BEHIND; count++)
        at[count] = at[-1];
}

/* Where keys flow, what is read after the tile's keys and values has its place behind theirs. */
static void place_tile(const struct attend__unit *unit, const struct scratch *scratch, const struct tile *tile)
{
    if (tile->keys == 0)
        return;
    place_keys(scratch->key_at, &unit->key, tile->first_key, tile->keys);
    place_keys(scratch->value_at, &unit->value, tile->first_key, tile->keys);
    if (!tile->flows)
        return;
    place_next(scratch->value_at + tile->keys, unit, tile);
    memcpy(scratch->key_at + tile->keys, scratch->value_at, BEHIND * sizeof *scratch->key_at);
}

#endif
