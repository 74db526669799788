/* What the rows of one block see of one KV tile: a range each, and bits where a visibility tensor leaves gaps in it. Plain C, no
 * vectors; decides nothing about batches or masks, which the caller has turned into ranges and bytes. */
#ifndef ATTEND__VISIBLE_TMPL_H
#define ATTEND__VISIBLE_TMPL_H

enum { TILE_WORDS = ATTEND__KV_TILE / 64 };

struct row_view {
    int low, high;             /* keys of the tile seen at most; both 0 for none */
    bool dotted;               /* some key between them is hidden: bits tell which */
    uint64_t bits[TILE_WORDS]; /* valid where dotted; bit j of the tile at word j / 64 */
};

struct tile_view {
    struct row_view row[BLOCK_ROWS];
    int low, high; /* union over the rows */
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
static void read_visible(struct row_view *view, const uint8_t *visible, int64_t step)
{
    memset(view->bits, 0, sizeof view->bits);
    int j = view->low;
    while (j < view->high) {
        if (step == 1 && j % 8 == 0 && j + 8 <= view->high) {
            view->bits[j / 64] |= nonzero_bytes(visible + j) << (j % 64);
            j += 8;
        } else {
            view->bits[j / 64] |= (uint64_t)(visible[j * step] != 0) << (j % 64);
            j++;
        }
    }
    int first = ATTEND__KV_TILE, last = -1, seen = 0;
    for (int w = 0; w < TILE_WORDS; w++) {
        if (!view->bits[w])
            continue;
        if (last < 0)
            first = w * 64 + __builtin_ctzll(view->bits[w]);
        last = w * 64 + 63 - __builtin_clzll(view->bits[w]);
        seen += __builtin_popcountll(view->bits[w]);
    }
    view->low = last < 0 ? 0 : first;
    view->high = last + 1;
    view->dotted = seen < view->high - view->low;
}

static void view_row(struct row_view *view, const struct attend__row *row, int64_t visible_step, int64_t first_key)
{
    view->low = (int)attend__clamp(row->low - first_key, 0, ATTEND__KV_TILE);
    view->high = (int)attend__clamp(row->high - first_key, 0, ATTEND__KV_TILE);
    view->dotted = false;
    if (view->low >= view->high)
        view->low = view->high = 0;
    else if (row->visible)
        read_visible(view, row->visible + first_key * visible_step, visible_step);
}

/* Fills the view of the tile that begins at first_key; false when no row sees anything of it. */
static bool view_tile(struct tile_view *view, const struct attend__row *row, int rows, int64_t visible_step,
                      int64_t first_key)
{
    view->low = ATTEND__KV_TILE;
    view->high = 0;
    for (int r = 0; r < rows; r++) {
        const bool same = r > 0 && row[r].visible == row[r - 1].visible && row[r].low == row[r - 1].low &&
                          row[r].high == row[r - 1].high;
        if (same)
            view->row[r] = view->row[r - 1];
        else
            view_row(&view->row[r], &row[r], visible_step, first_key);
        if (view->row[r].low == view->row[r].high)
            continue;
        view->low = view->row[r].low < view->low ? view->row[r].low : view->low;
        view->high = view->row[r].high > view->high ? view->row[r].high : view->high;
    }
    return view->low < view->high;
}

/* Does the row see every key of the union? */
static inline bool row_sees_all(const struct tile_view *view, int r)
{
    return view->row[r].low == view->low && view->row[r].high == view->high && !view->row[r].dotted;
}

/* The visible ones of `count` ≤ 32 keys from key j on, lowest bit first; j is a multiple of count, a power of two. */
static inline uint32_t seen_lanes(const struct row_view *view, int j, int count)
{
    const uint32_t all = count == 32 ? UINT32_MAX : (UINT32_C(1) << count) - 1;
    if (view->low >= j + count || view->high <= j)
        return 0;
    uint32_t seen = all;
    if (view->low > j)
        seen &= all << (view->low - j);
    if (view->high < j + count)
        seen &= all >> (j + count - view->high);
    if (view->dotted)
        seen &= (uint32_t)(view->bits[j / 64] >> (j % 64));
    return seen;
}

#endif
