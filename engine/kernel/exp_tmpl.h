/* The template's own exponential and logarithm: the same operations in the same order on every instruction set, so the same bits.
 * Derivation and measured errors of every constant stand in README.md. */
#ifndef ATTEND__EXP_TMPL_H
#define ATTEND__EXP_TMPL_H

/* E(x) for x ≤ 0: e^x to 1.5e-7 relative near 0 and 3.2e-7 near -64, +0 below -64, exactly 1 at 0; NaN stays NaN.
 * x = n·ln2 + r, |r| ≤ ln2/2. Adding 1.5·2^23 + 126 leaves n + 126 in the sum's low bits: shifted into the exponent field that is
 * 2^(n-1). The polynomial is 2·e^r. What comes of x far below -64 on the way is not used. */
static inline vf exp_nonpositive(vf x)
{
    const vf shifter = vf_set1(0x1.8p23f + 126.0f);
    vf t = vf_fma(x, vf_set1(0x1.715476p+0f), shifter);
    vf n = vf_sub(t, shifter);
    vf r = vf_fma(n, vf_set1(-0x1.62e43p-1f), x);
    vf p = vf_set1(0x1.0fa7cap-6f);
    p = vf_fma(p, r, vf_set1(0x1.573bd2p-4f));
    p = vf_fma(p, r, vf_set1(0x1.555a28p-2f));
    p = vf_fma(p, r, vf_set1(0x1.fffdbcp-1f));
    p = vf_fma(p, r, vf_set1(0x1.fffff8p+0f));
    p = vf_fma(p, r, vf_set1(2.0f));
    return vf_mul_above(p, vf_exponent_from_sum(t), x, vf_set1(-64.0f));
}

/* tanh(y) to 3.1e-7 relative; NaN stays NaN, and a zero may have either sign. y·P(y²) / Q(y²) on |y| ≤ 8.4, where it is 1 to 1.2e-7; all coefficients are positive, so that
 * nothing cancels. */
static inline vf tanh_any(vf y)
{
    y = vf_at_most(vf_at_least(y, vf_set1(-8.4f)), vf_set1(8.4f));
    const vf z = vf_mul(y, y);
    vf p = vf_set1(0x1.d32984p-27f);
    p = vf_fma(p, z, vf_set1(0x1.5c5fbep-16f));
    p = vf_fma(p, z, vf_set1(0x1.cb5ba6p-9f));
    p = vf_fma(p, z, vf_set1(0x1.12330ep-3f));
    p = vf_fma(p, z, vf_set1(1.0f));
    vf q = vf_set1(0x1.a67a7ep-21f);
    q = vf_fma(q, z, vf_set1(0x1.5a186ep-12f));
    q = vf_fma(q, z, vf_set1(0x1.a887d2p-6f));
    q = vf_fma(q, z, vf_set1(0x1.de6ee2p-2f));
    q = vf_fma(q, z, vf_set1(1.0f));
    return vf_div_tanh(vf_mul(y, p), q);
}

/* ln(x) for normal x > 0, exactly 0 at 1; NaN for NaN and infinity.
 * x = 2^e·(1 + f) with 1 + f in [√½, √2); ln(1 + f) = f - f²/2 + f³·P(f); ln2 in two parts, the first short enough that its
 * product with e is exact. */
static inline vf log_positive(vf x)
{
    vf e, fraction;
    vf_split(x, &e, &fraction);
    vf f = vf_sub(fraction, vf_set1(1.0f));
    vf z = vf_mul(f, f);
    vf p = vf_set1(-0.07634498924016953f);
    p = vf_fma(p, f, vf_set1(0.1276157796382904f));
    p = vf_fma(p, f, vf_set1(-0.13160181045532227f));
    p = vf_fma(p, f, vf_set1(0.14201757311820984f));
    p = vf_fma(p, f, vf_set1(-0.16623356938362122f));
    p = vf_fma(p, f, vf_set1(0.20001226663589478f));
    p = vf_fma(p, f, vf_set1(-0.2500081956386566f));
    p = vf_fma(p, f, vf_set1(0.3333333134651184f));
    vf y = vf_mul(vf_mul(f, z), p);
    y = vf_fma(e, vf_set1(-2.12194440e-4f), y);
    y = vf_fma(z, vf_set1(-0.5f), y);
    y = vf_add(f, y);
    y = vf_fma(e, vf_set1(0.693359375f), y);
    return vf_add(y, vf_sub(x, x));
}

#endif
