/* The second pass over the tiles, after the fold, when each row's M and L are known. The scores are the bits that the first pass had;
 * w = E(s - M) / L. Scores and weights written out are for tests, teaching and diagnosis: not fast, and need not be. Weights summed by
 * key are for hosts that choose which keys to keep. */
#ifndef ATTEND__DIAGNOSE_TMPL_H
#define ATTEND__DIAGNOSE_TMPL_H

/* Writes the keys of one vector that lie inside the row's range; hidden ones get `elsewhere`. */
static void write_vector(float *target, int64_t step, vf v, const struct tile_view *view, int r, int j, int low, int high,
                         float elsewhere)
{
    float lanes[VL];
    vf_store(lanes, vf_canonical(v));
    for (int i = 0; i < VL; i++)
        if (j + i >= low && j + i < high)
            target[(j + i) * step] = sees_key(view, r, j + i) ? lanes[i] : elsewhere;
}

/* Softmax of scores once a row's M and L are known, its sink included. */
struct normaliser {
    vf largest, share, total;
    bool none; /* the row has no key above -inf: weights are 0 */
};

static struct normaliser normaliser_of(const struct attend__unit *unit, const struct scratch *scratch, int64_t row)
{
    const float largest = scratch->done.largest[row], total = scratch->done.total[row];
    const struct sunk sunk = unit->sunken ? sink_row(largest, total, unit->details[row].sink) : (struct sunk){ 1.0f, total };
    return (struct normaliser){ vf_set1(largest), vf_set1(sunk.share), vf_set1(sunk.total), total == 0.0f };
}

static inline vf weight_of(const struct normaliser *by, vf score)
{
    return vf_div(vf_mul(exp_nonpositive(vf_sub(score, by->largest)), by->share), by->total);
}

/* Row `row` of the unit, row r of its block: keys low ≤ j < high of the tile, which are all within the row's range or its prefix. */
static void diagnose_keys(const struct attend__unit *unit, const struct normaliser *by, int64_t row, const struct tile_view *view,
                          int r, const float *scores, float scale, int64_t first_key, int low, int high)
{
    const struct attend__row_details *details = &unit->details[row];
    for (int j = low / VL * VL; j < high; j += VL) {
        const vf s = vf_mul(vf_load(scores + j), vf_set1(scale));
        if (details->scores)
            write_vector(details->scores + first_key * unit->scores_step, unit->scores_step, s, view, r, j, low, high,
                         -__builtin_inff());
        if (details->weights)
            write_vector(details->weights + first_key * unit->weights_step, unit->weights_step,
                         by->none ? vf_set1(0.0f) : weight_of(by, s), view, r, j, low, high, 0.0f);
    }
}

static void diagnose_row(const struct attend__unit *unit, const struct scratch *scratch, int64_t row, const struct tile_view *view,
                         int r, const float *scores, float scale, int64_t first_key)
{
    const struct normaliser by = normaliser_of(unit, scratch, row);
    const int prefix = (int)attend__clamp(unit->prefix - first_key, 0, ATTEND__KV_TILE);
    const int low = (int)attend__clamp(unit->row[row].low - first_key, 0, ATTEND__KV_TILE);
    const int high = (int)attend__clamp(unit->row[row].high - first_key, 0, ATTEND__KV_TILE);
    diagnose_keys(unit, &by, row, view, r, scores, scale, first_key, 0, prefix);
    diagnose_keys(unit, &by, row, view, r, scores, scale, first_key, low, high);
}

/* Adds the row's weights to its sums; those of hidden keys are +0, unless the row is NaN. */
static void sum_row(const struct attend__unit *unit, const struct scratch *scratch, int64_t row, const struct tile_view *view, int r,
                    const float *scores, float scale, int64_t first_key)
{
    (void)first_key; /* the sums are those of the one tile */
    const struct normaliser by = normaliser_of(unit, scratch, row);
    float *sums = unit->details[row].sums;
    if (by.none)
        return;
    if (scratch->done.total[row] != scratch->done.total[row]) {
        for (int j = view->row[r].low; j < view->row[r].high; j++)
            sums[j] = sees_key(view, r, j) ? __builtin_nanf("") : sums[j];
        return;
    }
    for (int j = group_low(view); j < group_high(view); j += VL) {
        const vf s = vf_mul(vf_load(scores + j), vf_set1(scale));
        vf_store(sums + j, vf_add(vf_load(sums + j), weight_of(&by, s)));
    }
}

typedef void (*row_step)(const struct attend__unit *, const struct scratch *, int64_t row, const struct tile_view *, int r,
                         const float *scores, float scale, int64_t first_key);

/* Scores of the strip again, and `take` for each of its rows. */
static void rescore_strip(const struct attend__unit *unit, const struct scratch *scratch, struct tile *tile, struct strip *strip,
                          row_step take)
{
    float largest[STRIP_SLOTS];
    float scale = 1.0f;
    if (view_strip(strip, unit, tile))
        scale = score_strip(unit, scratch, tile, strip, largest);
    for (int b = 0; b < strip->blocks; b++) {
        const struct block *block = &strip->block[b];
        for (int r = 0; r < block->rows; r++)
            take(unit, scratch, block->first + r, block->view, r,
                 scratch->scores + (block->first + r - strip->first) * SCORE_STRIDE, scale, tile->first_key);
    }
}

static void diagnose_strip(const struct attend__unit *unit, const struct scratch *scratch, struct tile *tile, struct strip *strip)
{
    rescore_strip(unit, scratch, tile, strip, diagnose_row);
}

static void sum_strip(const struct attend__unit *unit, const struct scratch *scratch, struct tile *tile, struct strip *strip)
{
    rescore_strip(unit, scratch, tile, strip, sum_row);
}

#endif
