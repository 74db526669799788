/* Operations on rows for wrappers of 4 lanes, in terms of their own others: vectors this short need no tree of shuffles. Included at the
 * end of such a wrapper. */
#ifndef ATTEND__VEC_FOUR_LANES_H
#define ATTEND__VEC_FOUR_LANES_H

static inline void vf_load_transposed(vf r[4], const float *p, int64_t stride)
{
    for (int i = 0; i < 4; i++)
        r[i] = vf_load(p + i * stride);
    vf_transpose(r);
}

static inline vf vf_max_of_rows(const vf row[4])
{
    vf t[4] = { row[0], row[1], row[2], row[3] };
    vf_transpose(t);
    return vf_max(vf_max(t[0], t[2]), vf_max(t[1], t[3]));
}

static inline vf vf_fold_rows(const vf row[16])
{
    vf t[4];
    for (int i = 0; i < 4; i++)
        t[i] = vf_add(vf_add(row[4 * i], row[4 * i + 2]), vf_add(row[4 * i + 1], row[4 * i + 3]));
    vf_transpose(t);
    return vf_add(vf_add(t[0], t[2]), vf_add(t[1], t[3]));
}

#endif
