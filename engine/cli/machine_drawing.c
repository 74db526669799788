/* See machine_drawing.h. The tree is walked twice: once to find how wide the columns of its leaves are, once to print.
 * A row is a core with its CPUs; a leaf is a line for rows whose CPUs have the same uses. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/cli/machine_drawing.h"

#include "engine/cli/number_ranges.h"
#include "engine/cli/text_line.h"

#include <stdlib.h>
#include <string.h>

enum { FOLD_ABOVE = 8, RANGE_BYTES = 256, STEP = 3, DEPTH_LIMIT = 4, WIDEST_CPUS = 24 };

enum level { LEVEL_PACKAGE, LEVEL_NODE, LEVEL_L3, LEVELS };

struct row {
    const attend_cpu *const *cpus; /* [count], those of one core */
    size_t count;
};

struct drawing {
    FILE *stream; /* NULL: only measure */
    const struct machine_picture *picture;
    const attend_cpu **order;
    struct row *rows;
    size_t row_count;
    int32_t *numbers; /* [count], what a leaf lists */
    bool fold;
    bool more[DEPTH_LIMIT]; /* by depth: a further branch follows, so its line goes on */
    int cores_end, cpus_width; /* columns */
};

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static int32_t key_of(const attend_cpu *cpu, enum level level)
{
    return level == LEVEL_PACKAGE ? cpu->package : level == LEVEL_NODE ? cpu->node : cpu->l3;
}

static int compare_places(const void *left, const void *right)
{
    const attend_cpu *a = *(const attend_cpu *const *)left, *b = *(const attend_cpu *const *)right;
    for (int level = 0; level < LEVELS; level++)
        if (key_of(a, level) != key_of(b, level))
            return key_of(a, level) < key_of(b, level) ? -1 : 1;
    if (a->core != b->core)
        return a->core < b->core ? -1 : 1;
    return a->cpu < b->cpu ? -1 : a->cpu > b->cpu;
}

static bool share_core(const attend_cpu *a, const attend_cpu *b)
{
    return a->core >= 0 && a->core == b->core && a->package == b->package && a->node == b->node && a->l3 == b->l3;
}

static void make_rows(struct drawing *drawing)
{
    size_t count = drawing->picture->count;
    for (size_t i = 0; i < count; i++)
        drawing->order[i] = &drawing->picture->cpus[i];
    qsort(drawing->order, count, sizeof *drawing->order, compare_places);
    for (size_t i = 0; i < count; i++) {
        bool same = i > 0 && share_core(drawing->order[i - 1], drawing->order[i]);
        if (!same)
            drawing->rows[drawing->row_count++] = (struct row){ &drawing->order[i], 0 };
        drawing->rows[drawing->row_count - 1].count++;
    }
    drawing->fold = drawing->row_count > FOLD_ABOVE;
}

/* May two rows stand in one line? */
static bool look_alike(const struct row *a, const struct row *b)
{
    if (a->count != b->count || (a->cpus[0]->core < 0) != (b->cpus[0]->core < 0))
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->cpus[i]->use != b->cpus[i]->use || (a->cpus[i]->member < 0) != (b->cpus[i]->member < 0))
            return false;
    return true;
}

/* Is rows[at] the first of its kind from `low` on? */
static bool begins_leaf(const struct drawing *drawing, size_t low, size_t at)
{
    for (size_t i = low; drawing->fold && i < at; i++)
        if (look_alike(&drawing->rows[i], &drawing->rows[at]))
            return false;
    return true;
}

/* ---- leaves ------------------------------------------------------------------------------------------------------ */

static void print_lines(const struct drawing *drawing, int depth, bool branch)
{
    static const char *const lines[2][4] = { { "|  ", "   ", "|- ", "`- " }, { "│  ", "   ", "├─ ", "└─ " } };
    const char *const *set = lines[drawing->picture->utf8];
    for (int i = 0; i < depth; i++)
        fputs(set[drawing->more[i] ? 0 : 1], drawing->stream);
    fputs(set[(drawing->more[depth] ? 0 : 1) + (branch ? 2 : 0)], drawing->stream);
}

static void describe_use(struct text_line *line, const struct drawing *drawing, attend_cpu_use use, bool several)
{
    const attend_engine_info *info = drawing->picture->info;
    switch (use) {
    case ATTEND_CPU_MEMBER: text_add(line, "in use"); return;
    case ATTEND_CPU_ELIGIBLE:
        text_add(line, "eligible%s", info->threads == 0         ? ""
                                     : info->threads_bound == 0 ? "; threads are not bound"
                                                                : ", but unused");
        return;
    case ATTEND_CPU_SIBLING: text_add(line, several ? "siblings of CPUs in use" : "sibling of a CPU in use"); return;
    case ATTEND_CPU_AFFINITY: text_add(line, "excluded: affinity mask"); return;
    case ATTEND_CPU_DISALLOWED: text_add(line, "excluded: disallowed by the system"); return;
    case ATTEND_CPU_UNLISTED: text_add(line, "excluded: not in --cpus"); return;
    case ATTEND_CPU_QUOTA: text_add(line, "excluded: beyond the quota of %.4g CPUs", info->cpu_quota); return;
    }
    text_add(line, "not known");
}

/* The rows of the leaf that begins at rows[first]: their cores, or the CPUs or members at one place of each core. */
enum listed { LIST_CORES, LIST_CPUS, LIST_MEMBERS };

static void describe_list(struct text_line *line, const struct drawing *drawing, size_t first, size_t high,
                          enum listed what, size_t place)
{
    static const char *const nouns[] = { "core", "CPU", "thread" };
    char ranges[RANGE_BYTES];
    size_t count = 0;
    for (size_t i = first; i < (drawing->fold ? high : first + 1); i++) {
        if (i > first && !look_alike(&drawing->rows[first], &drawing->rows[i]))
            continue;
        const attend_cpu *cpu = drawing->rows[i].cpus[place];
        drawing->numbers[count++] = what == LIST_CORES ? cpu->core : what == LIST_CPUS ? cpu->cpu : cpu->member;
    }
    size_t length = number_ranges_print(drawing->numbers, count, ranges, sizeof ranges);
    text_add(line, "%s%s %s%s", nouns[what], count > 1 ? "s" : "", ranges, length >= sizeof ranges ? "..." : "");
}

/* The CPUs at one place of the leaf's cores: columns of cores (of the first place only), CPUs and what they do. */
static void draw_place(struct drawing *drawing, int depth, size_t first, size_t high, size_t place)
{
    const attend_cpu *cpu = drawing->rows[first].cpus[place];
    struct text_line cores = { .length = 0 }, cpus = { .length = 0 }, use = { .length = 0 };
    if (place == 0 && cpu->core >= 0)
        describe_list(&cores, drawing, first, high, LIST_CORES, place);
    describe_list(&cpus, drawing, first, high, LIST_CPUS, place);
    int indent = STEP * (depth + 1);
    if (!drawing->stream) {
        int end = indent + (int)cores.length, width = (int)cpus.length;
        drawing->cores_end = end > drawing->cores_end ? end : drawing->cores_end;
        if (width > drawing->cpus_width && width <= WIDEST_CPUS)
            drawing->cpus_width = width;
        return;
    }
    if (cpu->member >= 0)
        describe_list(&use, drawing, first, high, LIST_MEMBERS, place);
    else
        describe_use(&use, drawing, cpu->use, strchr(cpus.text, '-') || strchr(cpus.text, ','));
    print_lines(drawing, depth, place == 0);
    int cores_width = cores.length || drawing->cores_end > indent ? drawing->cores_end - indent : 0;
    fprintf(drawing->stream, "%-*s%s%-*s   %s\n", cores_width, cores.text, cores_width ? "   " : "",
            drawing->cpus_width, cpus.text, use.text);
}

static void draw_leaves(struct drawing *drawing, int depth, size_t low, size_t high)
{
    for (size_t i = low; i < high; i++) {
        if (!begins_leaf(drawing, low, i))
            continue;
        bool more = false;
        for (size_t later = i + 1; later < high && !more; later++)
            more = begins_leaf(drawing, low, later);
        drawing->more[depth] = more;
        for (size_t place = 0; place < drawing->rows[i].count; place++)
            draw_place(drawing, depth, i, high, place);
    }
}

/* ---- branches ---------------------------------------------------------------------------------------------------- */

static int32_t row_key(const struct drawing *drawing, size_t row, enum level level)
{
    return key_of(drawing->rows[row].cpus[0], level);
}

static size_t group_end(const struct drawing *drawing, size_t low, size_t high, enum level level)
{
    size_t end = low + 1;
    while (end < high && row_key(drawing, end, level) == row_key(drawing, low, level))
        end++;
    return end;
}

/* Do the rows from `a` and those from `b` on, `count` each, look alike one by one? */
static bool groups_alike(const struct drawing *drawing, size_t a, size_t b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!look_alike(&drawing->rows[a + i], &drawing->rows[b + i]))
            return false;
    return true;
}

/* Behind the rows that share a branch with rows[low]: its group, *each rows, and on folded machines the groups of
 * neighbouring shared caches that look alike. */
static size_t branch_end(const struct drawing *drawing, size_t low, size_t high, enum level level, size_t *each)
{
    size_t end = group_end(drawing, low, high, level), count = end - low;
    *each = count;
    if (!drawing->fold || level != LEVEL_L3 || row_key(drawing, low, level) < 0)
        return end;
    while (end < high && group_end(drawing, end, high, level) == end + count && groups_alike(drawing, low, end, count))
        end += count;
    return end;
}

static void describe_caches(struct text_line *line, const struct drawing *drawing, size_t low, size_t end, size_t each)
{
    int64_t bytes = drawing->picture->info->l3_bytes;
    size_t count = 0;
    for (size_t i = low; i < end; i += each)
        drawing->numbers[count++] = row_key(drawing, i, LEVEL_L3);
    char ranges[RANGE_BYTES];
    number_ranges_print(drawing->numbers, count, ranges, sizeof ranges);
    text_add(line, bytes > 0 ? "L3 %s" : "L3 #%s", ranges); /* without a size, a number alone would pass for one */
    if (bytes == 0 && count == 1)
        return;
    text_add(line, " (");
    if (bytes > 0)
        text_add_bytes(line, bytes);
    if (count > 1) {
        text_add(line, bytes > 0 ? " and " : "");
        text_add_count(line, (int64_t)each, "core");
        text_add(line, " each");
    }
    text_add(line, ")");
}

static void describe_group(struct text_line *line, const struct drawing *drawing, size_t low, size_t end, size_t each,
                           enum level level)
{
    static const char *const names[] = { "package", "node", "L3" };
    int32_t key = row_key(drawing, low, level);
    text_add(line, line->length ? ", " : "");
    if (key < 0)
        text_add(line, "%s not known", names[level]);
    else if (level == LEVEL_L3)
        describe_caches(line, drawing, low, end, each);
    else
        text_add(line, "%s %d", names[level], key);
}

static bool level_unknown(const struct drawing *drawing, size_t low, size_t high, enum level level)
{
    return group_end(drawing, low, high, level) == high && row_key(drawing, low, level) < 0;
}

static void print_branch(const struct drawing *drawing, int depth, const struct text_line *title)
{
    if (!drawing->stream)
        return;
    print_lines(drawing, depth, true);
    fprintf(drawing->stream, "%s\n", title->text);
}

/* Rows [low, high), which agree in all levels before this one. `title` holds what single branches above were called:
 * they share a line with the branch below. */
static void draw_level(struct drawing *drawing, int depth, size_t low, size_t high, enum level level,
                       const struct text_line *title)
{
    while (level < LEVELS && level_unknown(drawing, low, high, level))
        level++;
    size_t each;
    bool single = level < LEVELS && branch_end(drawing, low, high, level, &each) == high;
    if (!single && title->length)
        print_branch(drawing, depth++, title);
    if (level == LEVELS) {
        draw_leaves(drawing, depth, low, high);
        return;
    }
    for (size_t at = low, end; at < high; at = end) {
        struct text_line name = { .length = 0 };
        end = branch_end(drawing, at, high, level, &each);
        if (single)
            name = *title;
        else
            drawing->more[depth] = end < high;
        describe_group(&name, drawing, at, end, each, level);
        draw_level(drawing, depth, at, end, level == LEVEL_L3 ? LEVELS : level + 1, &name);
    }
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void add_cache(struct text_line *line, const char *name, int64_t bytes, const char **separator)
{
    if (bytes == 0)
        return;
    text_add(line, "%s%s ", *separator, name);
    text_add_bytes(line, bytes);
    *separator = ", ";
}

static void print_title(FILE *stream, const attend_engine_info *info, size_t cpus)
{
    const struct {
        const char *noun;
        int32_t count;
    } counts[] = { { "package", info->packages }, { "node", info->nodes }, { "core", info->cores } };
    struct text_line line = { .length = 0 };
    for (int i = 0; i < 3; i++)
        if (counts[i].count > 0) {
            text_add_count(&line, counts[i].count, counts[i].noun);
            text_add(&line, ", ");
        }
    text_add_count(&line, (int64_t)cpus, "CPU");
    const char *separator = "; each core ";
    add_cache(&line, "L1d", info->l1d_bytes, &separator);
    add_cache(&line, "L2", info->l2_bytes, &separator);
    fprintf(stream, "%s\n", line.text);
}

bool machine_draw(FILE *stream, const struct machine_picture *picture)
{
    static const struct text_line no_title;
    size_t count = picture->count;
    struct drawing drawing = { .picture = picture };
    drawing.order = calloc(count + 1, sizeof *drawing.order);
    drawing.rows = calloc(count + 1, sizeof *drawing.rows);
    drawing.numbers = calloc(count + 1, sizeof *drawing.numbers);
    bool good = drawing.order && drawing.rows && drawing.numbers;
    if (good) {
        make_rows(&drawing);
        print_title(stream, picture->info, count);
        for (int pass = 0; count > 0 && pass < 2; pass++) {
            drawing.stream = pass == 0 ? NULL : stream;
            draw_level(&drawing, 0, 0, drawing.row_count, 0, &no_title);
        }
    }
    free(drawing.order);
    free(drawing.rows);
    free(drawing.numbers);
    return good;
}
