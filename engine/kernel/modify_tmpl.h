/* What happens to a product before it is a score, beyond a positive scale: softcap, bias and ALiBi. The rest of step 2 of the reduction
 * contract, in a pass of its own over the products of a row. */
#ifndef ATTEND__MODIFY_TMPL_H
#define ATTEND__MODIFY_TMPL_H

/* Scales that are not positive turn the order of the products around, or make a hidden key's -inf a NaN. */
static inline bool modifies_products(const struct attend__unit *unit)
{
    return !(unit->scale > 0.0f) || unit->softcap > 0.0f || unit->biased || unit->distant;
}

/* The bias of keys j … j + VL - 1 of the tile; of keys from `high` on, which may not exist, anything. */
static inline vf load_bias(const float *bias, int64_t step, int j, int high)
{
    if (step == 1)
        return j + VL <= high ? vf_load(bias + j) : vf_load_part(bias + j, (int)attend__max(high - j, 0));
    float lanes[VL] = { 0.0f };
    for (int i = 0; i < VL && j + i < high; i++)
        lanes[i] = bias[(j + i) * step];
    return vf_load(lanes);
}

/* What is done to the products of one row, and how far key 0 of the tile lies before the row's diagonal. */
struct modifier {
    vf scale, softcap, share; /* share is 1 / softcap */
    vf fall;                  /* -slope */
    bool capped, distant;
    const float *bias; /* of the tile's key 0; NULL: none */
    int64_t bias_step;
    int64_t before;
};

static inline vf lane_numbers(void)
{
    static const float numbers[ATTEND__LANES] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    return vf_load(numbers);
}

/* before - j for lanes j …, each rounded to nearest. */
static vf round_distances(int64_t before, int j)
{
    float lanes[VL];
    for (int i = 0; i < VL; i++)
        lanes[i] = (float)(before - j - i);
    return vf_load(lanes);
}

/* Whole numbers up to here, and their differences, are exact in floats. */
static inline bool counts_exactly(int64_t before)
{
    return before > -(INT64_C(1) << 23) && before < INT64_C(1) << 23;
}

/* Products of keys low ≤ j < high, whole vectors, become scores; `hides`, a compile-time constant, where row r does not see all of them.
 * Returns the largest by lane. */
static inline __attribute__((always_inline)) vf modify_keys(const struct modifier *by, const bool hides, float *scores,
                                                            const struct tile_view *view, int r, int low, int high)
{
    const bool exact = counts_exactly(by->before);
    vf largest = vf_set1(-FLT_MAX);
    vf distance = vf_sub(vf_set1((float)(by->before - low)), lane_numbers());
    for (int j = low; j < high; j += VL) {
        vf s = vf_mul(vf_load(scores + j), by->scale);
        if (by->capped)
            s = vf_fma(by->softcap, tanh_any(vf_mul(s, by->share)), vf_set1(0.0f)); /* + 0: one sign of zero */
        if (by->bias)
            s = vf_add(s, load_bias(by->bias, by->bias_step, j, view->row[r].high));
        if (by->distant) {
            const vf signed_distance = exact ? distance : round_distances(by->before, j);
            s = vf_fma(by->fall, vf_max(signed_distance, vf_sub(vf_set1(0.0f), signed_distance)), s);
            distance = vf_sub(distance, vf_set1((float)VL));
        }
        if (hides)
            s = vf_hide(s, (uint32_t)(seen_word(view, r, j / 64 * 64) >> j % 64));
        largest = vf_max(largest, s);
        vf_store(scores + j, s);
    }
    return largest;
}

/* The products of row `row` of the unit, row r of its block, become scores, hidden ones -inf; returns the largest by lane. */
static vf modify_row(const struct attend__unit *unit, int64_t row, float *scores, const struct tile_view *view, int r,
                     int64_t first_key)
{
    const struct attend__row_details *details = unit->details ? &unit->details[row] : NULL;
    const int low = group_low(view), high = group_high(view);
    const struct modifier by = {
        .scale = vf_set1(unit->scale),
        .softcap = vf_set1(unit->softcap),
        .share = vf_set1(1.0f / unit->softcap),
        .fall = vf_set1(unit->distant ? -details->slope : 0.0f),
        .capped = unit->softcap > 0.0f,
        .distant = unit->distant,
        .bias = unit->biased && details->bias ? details->bias + first_key * unit->bias_step : NULL,
        .bias_step = unit->bias_step,
        .before = unit->distant ? details->diagonal - first_key : 0,
    };
    if (view->row[r].low == low && view->row[r].high == high && !view->row[r].dotted)
        return modify_keys(&by, false, scores, view, r, low, high);
    return modify_keys(&by, true, scores, view, r, low, high);
}

#endif
