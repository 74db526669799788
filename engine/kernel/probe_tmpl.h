/* What the machine could do: multiply-adds that never leave the registers, and plain reading. Benchmarks divide by these. */
#ifndef ATTEND__PROBE_TMPL_H
#define ATTEND__PROBE_TMPL_H

/* The sums of a score tile: enough independent chains to cover the multiply-add's latency on every pipe. */
static double probe_multiply_adds(int64_t steps)
{
    enum { ROUNDS = 16 };
    vf sum[BLOCK_ROWS][PANEL_VECTORS];
    vf factor = vf_set1(0.999f), addend = vf_set1(0.001f);
    UNROLLED
    for (int r = 0; r < BLOCK_ROWS; r++)
        UNROLLED
        for (int v = 0; v < PANEL_VECTORS; v++)
            sum[r][v] = vf_set1((float)(r * PANEL_VECTORS + v)); /* all different: equal chains would be merged */
    for (int64_t i = 0; i < steps; i++) {
        UNROLLED
        for (int k = 0; k < ROUNDS; k++)
            UNROLLED
            for (int r = 0; r < BLOCK_ROWS; r++)
                UNROLLED
                for (int v = 0; v < PANEL_VECTORS; v++)
                    sum[r][v] = vf_fma(sum[r][v], factor, addend);
    }
    float kept[VL];
    volatile float sink;
    UNROLLED
    for (int r = 0; r < BLOCK_ROWS; r++)
        UNROLLED
        for (int v = 0; v < PANEL_VECTORS; v++) {
            vf_store(kept, sum[r][v]);
            sink = kept[0];
        }
    (void)sink;
    return 2.0 * (double)steps * ROUNDS * BLOCK_ROWS * PANEL_VECTORS * VL;
}

static void probe_read(const void *memory, size_t bytes)
{
    enum { STREAMS = 8 };
    const float *p = memory;
    const size_t count = bytes / sizeof(float);
    vf sum[STREAMS];
    UNROLLED
    for (int s = 0; s < STREAMS; s++)
        sum[s] = vf_set1(0.0f);
    size_t i = 0;
    for (; i + STREAMS * VL <= count; i += STREAMS * VL)
        UNROLLED
        for (int s = 0; s < STREAMS; s++)
            sum[s] = vf_max(vf_load(p + i + s * VL), sum[s]);
    for (; i < count; i += VL)
        sum[0] = vf_max(vf_load_part(p + i, count - i < VL ? (int)(count - i) : VL), sum[0]);
    float kept[VL];
    volatile float sink;
    UNROLLED
    for (int s = 0; s < STREAMS; s++) {
        vf_store(kept, sum[s]);
        sink = kept[0];
    }
    (void)sink;
}

#endif
