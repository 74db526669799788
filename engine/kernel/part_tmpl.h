/* One row's partial at a time, for parts of its keys that were computed apart: the same fold and the same end as inside a unit. */
#ifndef ATTEND__PART_TMPL_H
#define ATTEND__PART_TMPL_H

/* A lone row as merge_tile sees rows: its numbers are the first lane of a vector. */
struct lone {
    float largest[VL], total[VL];
    struct partials partials;
};

static void set_lone(struct lone *lone, const struct attend__partial *row, int64_t columns)
{
    const bool none = row->largest == -__builtin_inff();
    vf_store(lone->largest, vf_set1(none ? -FLT_MAX : row->largest));
    /* A NaN or infinity in M must show, whatever L is. */
    vf_store(lone->total, vf_set1(none ? 0.0f : row->total + (row->largest - row->largest)));
    lone->partials = (struct partials){
        .largest = lone->largest, .total = lone->total, .sum = row->sum, .width = attend__round_up(columns, ATTEND__LANES)
    };
}

static void fold_partial(struct attend__partial *into, const struct attend__partial *part, int64_t columns)
{
    struct lone before, after;
    set_lone(&before, into, columns);
    set_lone(&after, part, columns);
    merge_tile(1, columns, &before.partials, &after.partials);
    into->largest = before.total[0] == 0.0f ? -__builtin_inff() : before.largest[0];
    into->total = before.total[0];
}

static void finish_partial(const struct attend__partial *row, const struct attend__finish *to, int64_t columns)
{
    struct lone lone;
    set_lone(&lone, row, columns);
    const struct attend__row result = { .output = to->output, .lse = to->lse };
    if (to->lse)
        finish_lse(&result, 1, &lone.partials);
    if (to->partial) {
        give_out(to->largest, to->total, lone.largest[0], lone.total[0]);
        give_out_sums(to->output, to->output_step, row->sum, lone.total[0], columns);
        return;
    }
    const struct sunk sunk = sink_row(lone.largest[0], lone.total[0], to->sink);
    scale_row(row->sum, sunk.share, columns);
    vf_store(lone.total, vf_set1(sunk.total));
    finish_outputs(ATTEND_F32, &result, 1, &lone.partials, to->output_step, columns);
}

#endif
