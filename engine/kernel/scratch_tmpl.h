/* The memory that one unit works in, laid out in one block. */
#ifndef ATTEND__SCRATCH_TMPL_H
#define ATTEND__SCRATCH_TMPL_H

struct scratch {
    float *queries;       /* [BLOCK_ROWS][d_k], for queries whose features are not neighbours; where keys flow see flow_queries */
    float *panels;        /* [KV_TILE / PANEL_KEYS][d_k][PANEL_KEYS] */
    float *values;        /* [KV_TILE][width], for values that are not read where they lie */
    float *scores;        /* [STRIP_ROWS][SCORE_STRIDE] */
    uintptr_t *key_at, *value_at; /* [PLACES]: addresses of the tile's keys, and of its values or their copies */
    struct partials tile; /* of one strip */
    struct partials done; /* of all rows */
    size_t bytes;
};

static float *carve(struct scratch *scratch, char *memory, int64_t floats, bool *fits)
{
    size_t at = scratch->bytes;
    *fits &= floats >= 0 && attend__size_add_product(&scratch->bytes, (size_t)floats, sizeof(float)) &&
             attend__size_add_product(&scratch->bytes, 63, 1);
    scratch->bytes &= ~(size_t)63;
    return memory ? (float *)(memory + at) : NULL;
}

static uintptr_t *carve_places(struct scratch *scratch, char *memory, bool *fits)
{
    return (uintptr_t *)(void *)carve(scratch, memory, PLACES * (int64_t)(sizeof(uintptr_t) / sizeof(float)), fits);
}

static int64_t product(int64_t a, int64_t b, bool *fits)
{
    int64_t result = 0;
    *fits &= !__builtin_mul_overflow(a, b, &result);
    return result;
}

/* Lays the scratch for a unit of `rows` rows out in `memory`, or only measures it for NULL; false when its size does not fit. */
static bool lay_out(struct scratch *scratch, char *memory, int64_t d_k, int64_t d_v, int64_t rows)
{
    bool fits = d_v <= INT64_MAX - ATTEND__LANES;
    const int64_t width = fits ? attend__round_up(d_v, ATTEND__LANES) : 0;
    const int64_t row_slots = rows + ATTEND__LANES;
    scratch->bytes = 0;
    scratch->queries = carve(scratch, memory, product(d_k, FLOW_ROWS_MOST, &fits), &fits);
    scratch->panels = carve(scratch, memory, product(d_k, ATTEND__KV_TILE, &fits), &fits);
    scratch->values = carve(scratch, memory, product(width, ATTEND__KV_TILE, &fits), &fits);
    scratch->scores = carve(scratch, memory, STRIP_ROWS * SCORE_STRIDE, &fits);
    scratch->key_at = carve_places(scratch, memory, &fits);
    scratch->value_at = carve_places(scratch, memory, &fits);
    scratch->tile.largest = carve(scratch, memory, STRIP_SLOTS, &fits);
    scratch->tile.total = carve(scratch, memory, STRIP_SLOTS, &fits);
    scratch->tile.sum = carve(scratch, memory, product(width, STRIP_ROWS, &fits), &fits);
    scratch->done.largest = carve(scratch, memory, row_slots, &fits);
    scratch->done.total = carve(scratch, memory, row_slots, &fits);
    scratch->done.sum = carve(scratch, memory, product(width, rows, &fits), &fits);
    scratch->tile.width = scratch->done.width = width;
    return fits;
}

static size_t unit_scratch_bytes(int64_t d_k, int64_t d_v, int64_t rows)
{
    struct scratch scratch;
    return lay_out(&scratch, NULL, d_k, d_v, rows) ? scratch.bytes : 0;
}

#endif
