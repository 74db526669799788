/* What the rows of one block see of one KV tile: a range each, and bits where flags, a bias or the end of a prefix leave gaps in it. Decides
 * nothing about batches or rules, which the caller has turned into ranges. */
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

/* Bits of the 64 keys from `key` on (of the item) that the flags let row `details` see; of the keys from `end` on anything. Nothing
 * beyond the flags of the keys before `end` is read. */
static uint64_t flags_word(const struct attend__unit *unit, const struct attend__row_details *details, int64_t key, int64_t end)
{
    const int64_t column = key + unit->visible_column;
    const int count = (int)attend__min(end - key, 64);
    const uint8_t *flags = details->visible;
    if (count == 64 && column >= 0 && unit->visible_bits) {
        const int shift = (int)(column % 8);
        uint64_t word = 0;
        for (int i = 0; i < 8; i++)
            word |= (uint64_t)flags[column / 8 + i] << 8 * i;
        return shift == 0 ? word : word >> shift | (uint64_t)flags[column / 8 + 8] << (64 - shift);
    }
    if (count == 64 && column >= 0 && unit->visible_step == 1)
        return bytes_not_zero(flags + column);
    uint64_t word = 0;
    for (int i = 0; i < count; i++) {
        const int64_t c = column + i;
        const bool seen = c < 0 || (unit->visible_bits ? flags[c / 8] >> c % 8 & 1 : flags[c * unit->visible_step] != 0);
        word |= (uint64_t)seen << i;
    }
    return word;
}

/* Likewise what the bias lets it see: only -inf hides. */
static uint64_t bias_word(const struct attend__unit *unit, const struct attend__row_details *details, int64_t key, int64_t end)
{
    const float *bias = details->bias + key * unit->bias_step;
    uint64_t word = 0;
    if (end - key >= 64 && unit->bias_step == 1) {
        for (int i = 0; i < 64; i += VL)
            word |= (uint64_t)vf_above_minus_inf(vf_load(bias + i)) << i;
        return word;
    }
    for (int i = 0; i < 64 && key + i < end; i++)
        word |= (uint64_t)(bias[i * unit->bias_step] != -__builtin_inff()) << i;
    return word;
}

/* Keys low ≤ j < high of the 64 from key j on. */
static inline uint64_t range_word(int low, int high, int j)
{
    low -= j;
    high -= j;
    if (low >= 64 || high <= 0 || low >= high)
        return 0;
    uint64_t word = UINT64_MAX;
    if (low > 0)
        word &= UINT64_MAX << low;
    if (high < 64)
        word &= UINT64_MAX >> (64 - high);
    return word;
}

/* Gathers what the row sees into bits and tightens the view to its first and last key. The row sees keys below `prefix` and those of the
 * view, as far as flags and bias let it. */
static void read_bits(struct row_view *seen, uint64_t *bits, const struct attend__unit *unit,
                      const struct attend__row_details *details, int prefix, int64_t first_key)
{
    const int end = seen->high > prefix ? seen->high : prefix;
    int first = 0, last = -1, count = 0;
    for (int w = 0; w < TILE_WORDS; w++) {
        const int j = w * 64;
        uint64_t word = range_word(seen->low, seen->high, j) | range_word(0, prefix, j);
        if (word && details && details->visible)
            word &= flags_word(unit, details, first_key + j, first_key + end);
        if (word && details && details->bias)
            word &= bias_word(unit, details, first_key + j, first_key + end);
        bits[w] = word;
        if (!word)
            continue;
        if (last < 0)
            first = j + __builtin_ctzll(word);
        last = j + 63 - __builtin_clzll(word);
        count += __builtin_popcountll(word);
    }
    seen->low = first;
    seen->high = last + 1;
    seen->dotted = count < seen->high - seen->low;
}

/* Row r of the unit may see the same keys as the row before it, flag by flag. */
static bool sees_like_previous(const struct attend__row *row, const struct attend__row_details *details, int r)
{
    return r > 0 && row[r].low == row[r - 1].low && row[r].high == row[r - 1].high &&
           details[r].visible == details[r - 1].visible && details[r].bias == details[r - 1].bias;
}

/* What row r of `row` sees of the tile; both ends 0 for nothing. */
static void view_row(struct tile_view *view, const struct attend__unit *unit, const struct attend__row *row,
                     const struct attend__row_details *details, int r, int64_t first_key)
{
    struct row_view *seen = &view->row[r];
    if (unit->masked && sees_like_previous(row, details, r)) {
        *seen = view->row[r - 1];
        memcpy(view->bits[r], view->bits[r - 1], sizeof view->bits[r]);
        return;
    }
    const int prefix = (int)attend__clamp(unit->prefix - first_key, 0, ATTEND__KV_TILE);
    seen->low = (int)attend__clamp(row[r].low - first_key, 0, ATTEND__KV_TILE);
    seen->high = (int)attend__clamp(row[r].high - first_key, 0, ATTEND__KV_TILE);
    seen->dotted = false;
    if (seen->low >= seen->high)
        seen->low = seen->high = prefix;
    if ((unit->masked || seen->low > prefix) && (unit->masked || prefix > 0))
        read_bits(seen, view->bits[r], unit, unit->masked ? &details[r] : NULL, prefix, first_key);
    else if (prefix > 0)
        seen->low = 0;
    if (seen->low >= seen->high)
        seen->low = seen->high = 0;
}

/* Fills the view that `rows` rows of the unit, from row `first` on, have of the tile that begins at first_key; false when no row sees
 * anything of it. */
static bool view_tile(struct tile_view *view, const struct attend__unit *unit, int64_t first, int rows, int64_t first_key)
{
    const struct attend__row *row = unit->row + first;
    const struct attend__row_details *details = unit->details ? unit->details + first : NULL;
    view->low = view->whole_low = ATTEND__KV_TILE;
    view->high = view->whole_high = 0;
    int most_low = 0, least_high = ATTEND__KV_TILE;
    bool dotted = false;
    for (int r = 0; r < rows; r++) {
        view_row(view, unit, row, details, r, first_key);
        const struct row_view *seen = &view->row[r];
        if (seen->low >= seen->high) {
            least_high = 0;
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
    const uint64_t seen = range_word(view->row[r].low, view->row[r].high, j);
    return view->row[r].dotted ? seen & view->bits[r][j / 64] : seen;
}

static inline bool sees_key(const struct tile_view *view, int r, int j)
{
    return seen_word(view, r, j / 64 * 64) >> (j % 64) & 1;
}

#endif
