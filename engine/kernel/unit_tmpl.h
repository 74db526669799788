/* One unit: its rows in strips against the KV tiles that any of them sees, tile by tile, so that a tile's keys are packed once for
 * all of them. */
#ifndef ATTEND__UNIT_TMPL_H
#define ATTEND__UNIT_TMPL_H

static void finish_strip(const struct attend__unit *unit, const struct scratch *scratch, const struct tile *tile,
                         const struct strip *strip)
{
    const struct partials done = strip_partials(scratch, tile, strip->first);
    finish_rows(unit->row + strip->first, strip->rows, &done, unit->output_step, unit->d_v);
}

static void run_unit(const struct attend__unit *unit, void *memory)
{
    struct scratch scratch;
    lay_out(&scratch, memory, unit->d_k, unit->d_v, unit->rows);
    for_each_strip(unit, &scratch, attend_strip, finish_strip);
    if (unit->details && (unit->details->scores || unit->details->weights))
        for_each_strip(unit, &scratch, diagnose_strip, NULL);
}

#endif
