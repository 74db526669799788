/* What the rows of one block see of one KV tile: a range each, and bits where a visibility tensor leaves gaps in it. Plain C, no
 * vectors; decides nothing about batches or masks, which the caller has turned into ranges and bytes. */
#ifndef ATTEND__VISIBLE_TMPL_H
#define ATTEND__VISIBLE_TMPL_H

enum { TILE_WORDS = ATTEND__KV_TILE / 64 };

struct row_view {
    int low, high; /* keys of the tile seen at most; both 0 for none */
    bool dotted;   /* some key between them is hidden: the row's bits tell which */
};

struct tile_view {
    struct row_view row[BLOCK_ROWS];
    int low, high;             /* union over the rows; both 0 for none */
    int whole_low, whole_high; /* keys that every row sees; high ≤ low for none */
    uint64_t bits[BLOCK_ROWS][TILE_WORDS]; /* valid where dotted; bit j of the tile at word j / 64 */
};

/* Bit i is set where byte i of the eight is not 0. */
static inline uint64_t nonzero_bytes(const uint8_t *bytes)
{
    uint64_t x;
    memcpy(&x, bytes, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    const uint64_t low_bits = UINT64_C(0x7f7f7f7f7f7f7f7f);
    uint64_t top = (x | ((x & low_bits) + low_bits)) & ~low_bits;
    return ((top >> 7) * UINT64_C(0x0102040810204080)) >> 56;
}

/* Gathers the visible bytes of keys view->low … view->high - 1 of a tile into bits and tightens the range to the first and last
 * visible key. `visible` is that of the tile's first key. */
static void read_visible(struct row_view *view, uint64_t *bits, const uint8_t *visible, int64_t step)
{
    memset(bits, 0, TILE_WORDS * sizeof *bits);
    int j = view->low;
    while (j < view->high) {
        if (step == 1 && j % 8 == 0 && j + 8 <= view->high) {
            bits[j / 64] |= nonzero_bytes(visible + j) << (j % 64);
            j += 8;
        } else {
            bits[j / 64] |= (uint64_t)(visible[j * step] != 0) << (j % 64);
            j++;
        }
    }
    int first = ATTEND__KV_TILE, last = -1, seen = 0;
    for (int w = 0; w < TILE_WORDS; w++) {
        if (!bits[w])
            continue;
        if (last < 0)
            first = w * 64 + __builtin_ctzll(bits[w]);
        last = w * 64 + 63 - __builtin_clzll(bits[w]);
        seen += __builtin_popcountll(bits[w]);
    }
    view->low = last < 0 ? 0 : first;
    view->high = last + 1;
    view->dotted = seen < view->high - view->low;
}

/* Fills the view of the tile that begins at first_key; false when no row sees anything of it. `details` is that of the first row, or
 * NULL. */
static bool view_tile(struct tile_view *view, const struct attend__row *row, const struct attend__row_details *details, int rows,
                      int64_t visible_step, int64_t first_key)
{
    view->low = view->whole_low = ATTEND__KV_TILE;
    view->high = view->whole_high = 0;
    int most_low = 0, least_high = ATTEND__KV_TILE;
    bool dotted = false;
    for (int r = 0; r < rows; r++) {
        struct row_view *seen = &view->row[r];
        seen->low = (int)attend__clamp(row[r].low - first_key, 0, ATTEND__KV_TILE);
        seen->high = (int)attend__clamp(row[r].high - first_key, 0, ATTEND__KV_TILE);
        seen->dotted = false;
        if (details && details[r].visible && seen->low < seen->high)
            read_visible(seen, view->bits[r], details[r].visible + first_key * visible_step, visible_step);
        if (seen->low >= seen->high) {
            seen->low = seen->high = least_high = 0;
            continue;
        }
        dotted |= seen->dotted;
        most_low = seen->low > most_low ? seen->low : most_low;
        least_high = seen->high < least_high ? seen->high : least_high;
        view->low = seen->low < view->low ? seen->low : view->low;
        view->high = seen->high > view->high ? seen->high : view->high;
    }
    if (!dotted) {
        view->whole_low = most_low;
        view->whole_high = least_high;
    }
    if (view->low < view->high)
        return true;
    view->low = view->high = 0;
    return false;
}

/* Keys of the union widened to whole groups of lanes: what scores and softmax run over. */
static inline int group_low(const struct tile_view *view) { return view->low / ATTEND__LANES * ATTEND__LANES; }
static inline int group_high(const struct tile_view *view)
{
    return (view->high + ATTEND__LANES - 1) / ATTEND__LANES * ATTEND__LANES;
}

/* Does the row see every key of the union? */
static inline bool row_sees_all(const struct tile_view *view, int r)
{
    return view->row[r].low == view->low && view->row[r].high == view->high && !view->row[r].dotted;
}

/* The keys of the 64 from key j on that row r sees, lowest bit first; j is a multiple of 64. */
static inline uint64_t seen_word(const struct tile_view *view, int r, int j)
{
    const int low = view->row[r].low - j, high = view->row[r].high - j;
    if (low >= 64 || high <= 0)
        return 0;
    uint64_t seen = UINT64_MAX;
    if (low > 0)
        seen &= UINT64_MAX << low;
    if (high < 64)
        seen &= UINT64_MAX >> (64 - high);
    return view->row[r].dotted ? seen & view->bits[r][j / 64] : seen;
}

static inline bool sees_key(const struct tile_view *view, int r, int j)
{
    return seen_word(view, r, j / 64 * 64) >> (j % 64) & 1;
}

#endif
