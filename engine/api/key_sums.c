/* See key_sums.h. */
#include "engine/api/key_sums.h"

#include "engine/base/sizes.h"

#include <math.h>
#include <string.h>

/* Of the item with most keys; an item without keys has one as well, which clears what is padding. */
static int64_t tiles_per_head(const struct attend__unit_work *work)
{
    int64_t keys = 1;
    for (int64_t b = 0; b < work->call.batch; b++)
        keys = attend__max(keys, work->schedule.items[b].keys);
    return attend__divide_up(keys, ATTEND__KV_TILE);
}

int64_t attend__key_sums_count(const struct attend__unit_work *work)
{
    if (!work->call.key_sums.data)
        return 0;
    return work->call.batch * work->plan->problem.kv_heads * tiles_per_head(work);
}

/* One piece: keys first_key … first_key + ATTEND__KV_TILE - 1 of the item, as far as it has them. */
struct piece {
    int64_t item, kv_head, first_key;
    float *sums; /* [group][ATTEND__KV_TILE] */
};

/* Leaves of the unit what it sees of the piece's tile. */
static void clip_unit(struct attend__unit *unit, struct attend__row *row, const struct piece *piece)
{
    const int64_t low = piece->first_key, high = low + ATTEND__KV_TILE;
    unit->low = attend__max(unit->low, low);
    unit->high = attend__max(attend__min(unit->high, high), unit->low);
    unit->gap_low = unit->gap_high = 0;
    unit->alike = unit->alike && unit->low < unit->high;
    for (int64_t m = 0; m < unit->rows; m++) {
        row[m].low = attend__clamp(row[m].low, low, high);
        row[m].high = attend__clamp(row[m].high, low, high);
    }
}

static void sum_rows(const struct attend__unit_work *work, const struct piece *piece, int64_t first, int64_t rows, void *scratch)
{
    const struct attend__plan *plan = work->plan;
    const struct attend__unit_ref ref = { .item = piece->item, .kv_head = piece->kv_head, .first = first, .rows = rows };
    struct attend__unit unit = attend__unit_describe(work, &ref, scratch);
    if (unit.high <= piece->first_key || unit.low >= piece->first_key + ATTEND__KV_TILE)
        return;
    clip_unit(&unit, scratch, piece);
    struct attend__row_details *details = (struct attend__row_details *)((char *)scratch + plan->rows_bytes);
    for (int64_t m = 0; m < rows; m++)
        details[m].sums = piece->sums + (first + m) % plan->problem.group * ATTEND__KV_TILE;
    plan->kernel->sum_weights(&unit, (char *)scratch + plan->rows_bytes + plan->details_bytes);
}

static void fill_sums(const struct attend__view *view, int64_t b, int64_t h, int64_t from, int64_t to, const float *sums)
{
    float *at = (float *)view->data + b * view->stride[0] + h * view->stride[1];
    for (int64_t j = from; j < to; j++) {
        const float sum = sums ? sums[j - from] : 0.0f;
        at[j * view->stride[3]] = isnan(sum) ? __builtin_nanf("") : sum;
    }
}

/* Keys of the padded tensor that are none of the item's. */
static void clear_padding_keys(const struct attend__unit_work *work, const struct attend__item *item, int64_t b, int64_t h)
{
    if (work->plan->problem.packed_keys)
        return;
    fill_sums(&work->call.key_sums, b, h, 0, item->key_start, NULL);
    fill_sums(&work->call.key_sums, b, h, item->key_start + item->keys, work->call.keys, NULL);
}

void attend__key_sums_run(const struct attend__unit_work *work, int64_t number, void *scratch)
{
    const struct attend__plan *plan = work->plan;
    const struct attend__problem *problem = &plan->problem;
    const int64_t tiles = tiles_per_head(work), head = number / tiles, group = problem->group;
    const struct piece piece = {
        .item = head / problem->kv_heads,
        .kv_head = head % problem->kv_heads,
        .first_key = number % tiles * ATTEND__KV_TILE,
        .sums = (float *)((char *)scratch + plan->scratch_bytes - plan->sums_bytes),
    };
    const struct attend__item *item = &work->schedule.items[piece.item];
    const int64_t keys = attend__clamp(item->keys - piece.first_key, 0, ATTEND__KV_TILE), rows = item->rows * group;
    if (work->halt && attend__halt_asked(work->halt))
        return;
    memset(piece.sums, 0, (size_t)group * ATTEND__KV_TILE * sizeof *piece.sums);
    for (int64_t first = 0; keys > 0 && first < rows; first += plan->unit_rows)
        sum_rows(work, &piece, first, attend__min(plan->unit_rows, rows - first), scratch);
    for (int64_t h = 0; h < group; h++) {
        const int64_t first_key = item->key_start + piece.first_key;
        if (keys > 0)
            fill_sums(&work->call.key_sums, piece.item, piece.kv_head * group + h, first_key, first_key + keys,
                      piece.sums + h * ATTEND__KV_TILE);
        if (piece.first_key == 0)
            clear_padding_keys(work, item, piece.item, piece.kv_head * group + h);
    }
}
