/* Scores and weights written out, for tests, teaching and diagnosis: a second pass over the tiles after the fold, when each row's
 * M and L are known. The scores are the bits that the first pass had; w = E(s - M) / L. Not fast, and need not be. */
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

/* Row `row` of the unit, row r of its block. */
static void diagnose_row(const struct attend__unit *unit, const struct scratch *scratch, int64_t row,
                         const struct tile_view *view, int r, const float *scores, float scale, int64_t first_key)
{
    const struct attend__row_details *details = &unit->details[row];
    const float largest = scratch->done.largest[row], total = scratch->done.total[row];
    const int low = (int)attend__clamp(unit->row[row].low - first_key, 0, ATTEND__KV_TILE);
    const int high = (int)attend__clamp(unit->row[row].high - first_key, 0, ATTEND__KV_TILE);
    for (int j = low / VL * VL; j < high; j += VL) {
        const vf s = vf_mul(vf_load(scores + j), vf_set1(scale));
        if (details->scores)
            write_vector(details->scores + first_key * unit->scores_step, unit->scores_step, s, view, r, j, low, high,
                         -__builtin_inff());
        if (details->weights) {
            vf w = vf_set1(0.0f);
            if (total != 0.0f)
                w = vf_div(exp_nonpositive(vf_sub(s, vf_set1(largest))), vf_set1(total));
            write_vector(details->weights + first_key * unit->weights_step, unit->weights_step, w, view, r, j, low, high, 0.0f);
        }
    }
}

static void diagnose_strip(const struct attend__unit *unit, const struct scratch *scratch, struct tile *tile, struct strip *strip)
{
    float largest[STRIP_SLOTS];
    float scale = 1.0f;
    if (view_strip(strip, unit, tile))
        scale = score_strip(unit, scratch, tile, strip, largest);
    for (int b = 0; b < strip->blocks; b++) {
        const struct block *block = &strip->block[b];
        for (int r = 0; r < block->rows; r++)
            diagnose_row(unit, scratch, block->first + r, block->view, r,
                         scratch->scores + (block->first + r - strip->first) * SCORE_STRIDE, scale, tile->first_key);
    }
}

#endif
