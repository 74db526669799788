/* One unit: its rows in blocks against the KV tiles that any of them sees, tile by tile, so that a tile's keys are packed once for
 * all blocks. */
#ifndef ATTEND__UNIT_TMPL_H
#define ATTEND__UNIT_TMPL_H

static void finish_block(const struct attend__unit *unit, const struct scratch *scratch, int64_t first_row)
{
    finish_rows(unit, &scratch->done, first_row, block_rows(unit, first_row));
}

static void run_unit(const struct attend__unit *unit, void *memory)
{
    struct scratch scratch;
    lay_out(&scratch, memory, unit->d_k, unit->d_v);
    memset(scratch.done.total, 0, (size_t)(unit->rows + ATTEND__LANES) * sizeof(float));
    for_each_block(unit, &scratch, attend_block, finish_block);
    if (unit->row[0].scores || unit->row[0].weights)
        for_each_block(unit, &scratch, diagnose_block, NULL);
}

#endif
