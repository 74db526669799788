/* Fetching ahead: cache lines of what comes after the present tile, one with every step of the score tile's loop, so that memory
 * works while the multiply-adds do. What comes next is the following tile, or what the unit says of the next unit. Hints only:
 * no bit of a result and no fault depends on it. */
#ifndef ATTEND__AHEAD_TMPL_H
#define ATTEND__AHEAD_TMPL_H

enum { LINE_BYTES = 64 };

struct ahead {
    struct attend__region region[ATTEND__NEXT_REGIONS]; /* bytes ≤ LINE_BYTES, or several lines of a row apart from the next row */
    int regions, at;                                   /* region[at] is being fetched */
    int64_t plane, line, row;                          /* of it, next */
    int64_t pace, wait;                                /* one run of lines every `pace` panels; panels until the next */
};

/* Lines at, at + step, …: as many as a panel has features. A step of 0 fetches the same line, which is in cache. */
struct line_run {
    const char *at;
    int64_t step;
};

static int64_t region_lines(const struct attend__region *region)
{
    return attend__divide_up(region->bytes, LINE_BYTES);
}

/* Rows without gaps are one long row of lines. */
static struct attend__region joined(struct attend__region region)
{
    if (region.stride == region.bytes) {
        region.rows = attend__divide_up(region.bytes * region.rows, LINE_BYTES);
        region.bytes = region.stride = LINE_BYTES;
    }
    return region;
}

/* Spreads the regions' lines over `panels` panels of `features` lines each. What would not be fetched in time is left to the
 * processor: half a region helps little. */
static void plan_ahead(struct ahead *ahead, const struct attend__region *region, int regions, int64_t features, int64_t panels)
{
    *ahead = (struct ahead){ .regions = 0 };
    int64_t runs = 0;
    for (int i = 0; i < regions; i++) {
        const struct attend__region lines = joined(region[i]);
        runs += lines.planes * region_lines(&lines) * attend__divide_up(lines.rows, attend__max(features, 1));
        if (runs > panels)
            break;
        if (lines.rows > 0 && lines.planes > 0 && lines.bytes > 0)
            ahead->region[ahead->regions++] = lines;
        ahead->pace = panels / attend__max(runs, 1);
    }
}

static struct line_run take_run(struct ahead *ahead, int64_t features, const void *cached)
{
    struct line_run run = { cached, 0 };
    if (ahead->at == ahead->regions || --ahead->wait > 0)
        return run;
    const struct attend__region *region = &ahead->region[ahead->at];
    ahead->wait = ahead->pace;
    run.at = (const char *)((uintptr_t)region->base + (uintptr_t)(ahead->plane * region->plane_stride) +
                            (uintptr_t)(ahead->row * region->stride) + (uintptr_t)(ahead->line * LINE_BYTES));
    run.step = region->stride;
    ahead->row += features;
    if (ahead->row < region->rows)
        return run;
    ahead->row = 0;
    if (++ahead->line < region_lines(region))
        return run;
    ahead->line = 0;
    if (++ahead->plane < region->planes)
        return run;
    ahead->plane = 0;
    ahead->at++;
    return run;
}

#endif
