/* One unit: its rows in strips against the KV tiles that any of them sees, tile by tile, so that a tile's keys are packed once for
 * all of them. */
#ifndef ATTEND__UNIT_TMPL_H
#define ATTEND__UNIT_TMPL_H

static void finish_strip(const struct attend__unit *unit, const struct scratch *scratch, const struct tile *tile,
                         const struct strip *strip)
{
    const struct attend__row *row = unit->row + strip->first;
    const struct attend__row_details *details = unit->details ? unit->details + strip->first : NULL;
    struct partials done = strip_partials(scratch, tile, strip->first);
    float totals[STRIP_SLOTS];
    if (row->lse)
        finish_lse(row, strip->rows, &done);
    for (int r = 0; details && details->largest && r < strip->rows; r++)
        give_out(details[r].largest, details[r].total, done.largest[r], done.total[r]);
    if (unit->partial) {
        for (int r = 0; r < strip->rows; r++)
            give_out_sums(row[r].output, unit->output_step, done.sum + r * done.width, done.total[r], unit->d_v);
        return;
    }
    if (unit->sunken) {
        sink_rows(details, strip->rows, &done, totals, unit->d_v);
        done.total = totals;
    }
    finish_outputs(unit->output_dtype, row, strip->rows, &done, unit->output_step, unit->d_v);
}

/* The rows begin with the partials that their results hold. */
static void resume_rows(const struct attend__unit *unit, const struct scratch *scratch)
{
    for (int64_t r = 0; r < unit->rows; r++) {
        const float largest = *unit->details[r].largest;
        float *sum = scratch->done.sum + r * scratch->done.width;
        scratch->done.largest[r] = largest;
        scratch->done.total[r] = largest == -__builtin_inff() ? 0.0f : *unit->details[r].total + (largest - largest);
        memset(sum, 0, (size_t)scratch->done.width * sizeof *sum); /* beyond d_v: finish_normal looks at whole vectors */
        const float *output = unit->row[r].output;
        for (int64_t d = 0; d < unit->d_v; d++)
            sum[d] = output[d * unit->output_step];
    }
}

static void run_unit(const struct attend__unit *unit, void *memory)
{
    struct scratch scratch;
    lay_out(&scratch, memory, unit->d_k, unit->d_v, unit->rows);
    if (unit->slots)
        scratch.done = slot_of(unit, 0);
    if (unit->resume)
        resume_rows(unit, &scratch);
    for_each_strip(unit, &scratch, attend_strip, unit->slots ? NULL : finish_strip);
    if (unit->diagnosed)
        for_each_strip(unit, &scratch, diagnose_strip, NULL);
}

/* What rows resume from is in the first slot. A fold into nothing is a copy. */
static void join_unit(const struct attend__unit *unit, void *memory)
{
    struct scratch scratch;
    const struct tile tile = { .only = false };
    lay_out(&scratch, memory, unit->d_k, unit->d_v, unit->rows);
    memset(scratch.done.total, 0, (size_t)unit->rows * sizeof *scratch.done.total);
    struct strip strip;
    for (strip.first = 0; strip.first < unit->rows; strip.first += strip.rows) {
        strip.rows = (int)attend__min(unit->rows - strip.first, STRIP_ROWS);
        const struct partials into = partials_from(&scratch.done, strip.first);
        for (int64_t s = 0; s < unit->shared_count; s++) {
            const struct partials all = slot_from(unit->shared_slots, s, unit->shared_rows, unit->d_v);
            const struct partials part = partials_from(&all, unit->shared_first + strip.first);
            merge_tile(strip.rows, unit->d_v, &into, &part);
        }
        for (int64_t s = 0; s < unit->slot_count; s++) {
            const struct partials all = slot_of(unit, s), part = partials_from(&all, strip.first);
            merge_tile(strip.rows, unit->d_v, &into, &part);
        }
        finish_strip(unit, &scratch, &tile, &strip);
    }
}

static void sum_unit_weights(const struct attend__unit *unit, void *memory)
{
    struct scratch scratch;
    lay_out(&scratch, memory, unit->d_k, unit->d_v, unit->rows);
    for (int64_t r = 0; r < unit->rows; r++) {
        scratch.done.largest[r] = *unit->details[r].largest;
        scratch.done.total[r] = *unit->details[r].total;
    }
    for_each_strip(unit, &scratch, sum_strip, NULL);
}

#endif
