/* Fetching ahead: cache lines of what comes after the present tile, one with every step of the register tiles' loops, so that memory
 * works while the multiply-adds do. What comes next is the following tile, or what the unit says of the next unit. Hints only:
 * no bit of a result and no fault depends on it. */
#ifndef ATTEND__AHEAD_TMPL_H
#define ATTEND__AHEAD_TMPL_H

enum { LINE_BYTES = 64, AHEAD_REGIONS = 2 + ATTEND__NEXT_REGIONS }; /* keys, values, and what a unit names */

struct ahead {
    struct attend__region region[AHEAD_REGIONS];
    int regions, at;          /* region[at] is being fetched */
    int64_t plane, line, row; /* of it, next */
    int64_t pace;             /* steps per line */
    int64_t idle;             /* steps until the next line is due */
};

/* Lines at, at + step, …: one for every step of a loop. A step of 0 fetches the same line, which is in cache. */
struct line_run {
    uintptr_t at; /* no pointer: a run may go beyond its region, where nothing may point */
    int64_t step;
};

static inline void fetch_line(uintptr_t at)
{
    __builtin_prefetch((const void *)at, 0, 2); /* to the second level */
}

static inline void fetch_next(struct line_run *run)
{
    fetch_line(run->at);
    run->at += (uintptr_t)run->step;
}

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

/* Spreads the regions' lines over `steps` steps of loops. What would not be fetched in time is left to the processor: half a region
 * helps little. */
static void plan_ahead(struct ahead *ahead, const struct attend__region *region, int regions, int64_t steps)
{
    ahead->regions = ahead->at = 0; /* by field: clearing the regions takes longer than planning for a short tile */
    ahead->plane = ahead->line = ahead->row = ahead->idle = 0;
    int64_t lines = 0;
    for (int i = 0; i < regions; i++) {
        const struct attend__region next = joined(region[i]);
        const int64_t more = next.planes * next.rows * region_lines(&next);
        if (lines + more > steps)
            break;
        if (more > 0)
            ahead->region[ahead->regions++] = next;
        lines += more;
    }
    ahead->pace = steps / attend__max(lines, 1);
}

/* For a loop of `steps` steps; `cached` is what it reads anyway. */
static inline struct line_run take_run(struct ahead *ahead, int64_t steps, const void *cached)
{
    struct line_run run = { (uintptr_t)cached, 0 };
    if (ahead->at == ahead->regions)
        return run;
    ahead->idle -= steps;
    if (ahead->idle > 0)
        return run;
    const struct attend__region *region = &ahead->region[ahead->at];
    ahead->idle += steps * ahead->pace;
    const int64_t plane = region->plane ? region->plane[ahead->plane] : ahead->plane;
    run.at = (uintptr_t)region->base + (uintptr_t)(plane * region->plane_stride) +
             (uintptr_t)(ahead->row * region->stride) + (uintptr_t)(ahead->line * LINE_BYTES);
    run.step = region->stride;
    ahead->row += steps;
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
