/* Scores and weights written out, for tests, teaching and diagnosis: a second pass over the tiles after the fold, when each row's
 * M and L are known. The scores are the bits that the first pass had; w = E(s - M) / L. Not fast, and need not be. */
#ifndef ATTEND__DIAGNOSE_TMPL_H
#define ATTEND__DIAGNOSE_TMPL_H

/* Writes the keys of one group of lanes that lie inside the row's range; hidden ones get `elsewhere`. */
static void write_group(float *target, int64_t step, vf v, const struct row_view *view, int j, int low, int high,
                        float elsewhere)
{
    float lanes[VL];
    vf_store(lanes, vf_canonical(v));
    for (int i = 0; i < VL; i++)
        if (j + i >= low && j + i < high)
            target[(j + i) * step] = seen_lanes(view, j + i, 1) ? lanes[i] : elsewhere;
}

static void diagnose_row(const struct attend__unit *unit, const struct attend__row *row, const struct row_view *view,
                         const float *scores, float largest, float total, int64_t first_key)
{
    const int low = (int)attend__clamp(row->low - first_key, 0, ATTEND__KV_TILE);
    const int high = (int)attend__clamp(row->high - first_key, 0, ATTEND__KV_TILE);
    for (int j = low / VL * VL; j < high; j += VL) {
        const vf s = vf_load(scores + j);
        if (row->scores)
            write_group(row->scores + first_key * unit->scores_step, unit->scores_step, s, view, j, low, high,
                        -__builtin_inff());
        if (row->weights) {
            vf w = vf_set1(0.0f);
            if (total != 0.0f)
                w = vf_div(exp_nonpositive(vf_sub(s, vf_set1(largest))), vf_set1(total));
            write_group(row->weights + first_key * unit->weights_step, unit->weights_step, w, view, j, low, high, 0.0f);
        }
    }
}

/* Scores are recomputed over all keys that any row of the block has in its range, so that none is left unwritten. */
static void diagnose_block(const struct attend__unit *unit, const struct scratch *scratch, struct tile *tile, int64_t first_row)
{
    const int rows = block_rows(unit, first_row);
    struct tile_view view;
    float largest[ATTEND__LANES];
    if (view_tile(&view, unit->row + first_row, rows, unit->visible_step, tile->first_key))
        score_block(unit, scratch, tile, &view, first_row, largest);
    for (int r = 0; r < rows; r++)
        diagnose_row(unit, &unit->row[first_row + r], &view.row[r], scratch->scores + r * SCORE_STRIDE,
                     scratch->done.largest[first_row + r], scratch->done.total[first_row + r], tile->first_key);
}

#endif
