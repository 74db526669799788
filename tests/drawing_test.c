/* What the command draws from plain data: machines as trees, lists of numbers, and the line of progress. */
#include "engine/cli/machine_drawing.h"
#include "engine/cli/number_ranges.h"
#include "engine/cli/progress_bar.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { CPUS_MOST = 256, LINE_COLUMNS = 80, LINES_MOST = 32 };

struct scene {
    attend_cpu cpus[CPUS_MOST];
    attend_engine_info info;
    struct machine_picture picture;
};

/* Packages of `l3s` shared caches of `cores` cores. CPUs are numbered as Linux does: first every core's first one, then
 * every core's second; the first ones have members, the others are siblings. */
static void make_scene(struct scene *scene, int packages, int l3s, int cores, int siblings)
{
    int all = packages * l3s * cores;
    cr_assert_leq(all * siblings, CPUS_MOST);
    memset(scene, 0, sizeof *scene);
    for (int i = 0; i < all * siblings; i++) {
        int core = i % all, package = core / (l3s * cores);
        bool member = i < all;
        scene->cpus[i] = (attend_cpu){ .cpu = i, .core = core, .package = package, .node = package, .l3 = core / cores,
                                       .member = member ? i : -1,
                                       .use = member ? ATTEND_CPU_MEMBER : ATTEND_CPU_SIBLING };
    }
    scene->info = (attend_engine_info)ATTEND_ENGINE_INFO_INIT;
    scene->info.threads = scene->info.threads_bound = all;
    scene->info.packages = scene->info.nodes = packages;
    scene->info.cores = all;
    scene->info.cpus = all * siblings;
    scene->picture = (struct machine_picture){ scene->cpus, (size_t)(all * siblings), &scene->info, false };
}

static void use(struct scene *scene, int first, int last, attend_cpu_use how)
{
    for (int i = first; i <= last; i++) {
        scene->cpus[i].use = how;
        scene->cpus[i].member = -1;
    }
}

/* To be freed. */
static char *draw(const struct scene *scene)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    cr_assert_not_null(stream);
    cr_assert(machine_draw(stream, &scene->picture));
    fclose(stream);
    return text;
}

static void expect_drawing(const struct scene *scene, const char *expected)
{
    char *text = draw(scene);
    cr_expect_str_eq(text, expected, "drawn:\n%sexpected:\n%s", text, expected);
    free(text);
}

/* For machines whose drawing is too long to spell out. */
static void expect_readable(const struct scene *scene)
{
    char *text = draw(scene);
    int lines = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), lines++)
        cr_expect(strlen(line) <= LINE_COLUMNS, "%zu columns: %s", strlen(line), line);
    cr_expect(lines <= LINES_MOST, "%d lines", lines);
    free(text);
}

Test(drawing, small_machine_core_by_core)
{
    struct scene scene;
    make_scene(&scene, 1, 1, 2, 1);
    scene.info.l1d_bytes = 48 << 10;
    scene.info.l2_bytes = 2 << 20;
    scene.info.l3_bytes = 30 << 20;
    expect_drawing(&scene, "1 package, 1 node, 2 cores, 2 CPUs; each core L1d 48 KiB, L2 2 MiB\n"
                           "`- package 0, node 0, L3 0 (30 MiB)\n"
                           "   |- core 0   CPU 0   thread 0\n"
                           "   `- core 1   CPU 1   thread 1\n");
    scene.picture.utf8 = true;
    use(&scene, 0, 0, ATTEND_CPU_UNLISTED);
    expect_drawing(&scene, "1 package, 1 node, 2 cores, 2 CPUs; each core L1d 48 KiB, L2 2 MiB\n"
                           "└─ package 0, node 0, L3 0 (30 MiB)\n"
                           "   ├─ core 0   CPU 0   excluded: not in --cpus\n"
                           "   └─ core 1   CPU 1   thread 1\n");
}

Test(drawing, two_sockets_with_siblings_fold)
{
    struct scene scene;
    make_scene(&scene, 2, 1, 8, 2);
    expect_drawing(&scene, "2 packages, 2 nodes, 16 cores, 32 CPUs\n"
                           "|- package 0, node 0, L3 #0\n"
                           "|  `- cores 0-7    CPUs 0-7     threads 0-7\n"
                           "|                  CPUs 16-23   siblings of CPUs in use\n"
                           "`- package 1, node 1, L3 #1\n"
                           "   `- cores 8-15   CPUs 8-15    threads 8-15\n"
                           "                   CPUs 24-31   siblings of CPUs in use\n");
}

Test(drawing, equal_caches_share_a_line)
{
    struct scene scene;
    make_scene(&scene, 2, 4, 8, 2);
    scene.info.l3_bytes = 32 << 20;
    use(&scene, 60, 63, ATTEND_CPU_QUOTA);
    use(&scene, 124, 127, ATTEND_CPU_QUOTA);
    scene.info.cpu_quota = 60;
    expect_drawing(&scene, "2 packages, 2 nodes, 64 cores, 128 CPUs\n"
                           "|- package 0, node 0, L3 0-3 (32 MiB and 8 cores each)\n"
                           "|  `- cores 0-31       CPUs 0-31      threads 0-31\n"
                           "|                      CPUs 64-95     siblings of CPUs in use\n"
                           "`- package 1, node 1\n"
                           "   |- L3 4-6 (32 MiB and 8 cores each)\n"
                           "   |  `- cores 32-55   CPUs 32-55     threads 32-55\n"
                           "   |                   CPUs 96-119    siblings of CPUs in use\n"
                           "   `- L3 7 (32 MiB)\n"
                           "      |- cores 56-59   CPUs 56-59     threads 56-59\n"
                           "      |                CPUs 120-123   siblings of CPUs in use\n"
                           "      `- cores 60-63   CPUs 60-63     excluded: beyond the quota of 60 CPUs\n"
                           "                       CPUs 124-127   excluded: beyond the quota of 60 CPUs\n");
}

Test(drawing, gaps_and_strides_in_the_numbers)
{
    struct scene scene;
    make_scene(&scene, 1, 1, 10, 1);
    for (int i = 0; i < 10; i++)
        scene.cpus[i].cpu = 4 * i + 2 * (i > 8);
    use(&scene, 1, 1, ATTEND_CPU_AFFINITY);
    use(&scene, 3, 3, ATTEND_CPU_AFFINITY);
    use(&scene, 5, 5, ATTEND_CPU_DISALLOWED);
    expect_drawing(&scene, "1 package, 1 node, 10 cores, 10 CPUs\n"
                           "`- package 0, node 0, L3 #0\n"
                           "   |- cores 0-6:2,7-9   CPUs 0-24:8,28,32,38   threads 0-6:2,7-9\n"
                           "   |- cores 1,3         CPUs 4,12              excluded: affinity mask\n"
                           "   `- core 5            CPU 20                 excluded: disallowed by the system\n");
}

Test(drawing, nothing_known_but_numbers)
{
    struct scene scene;
    make_scene(&scene, 1, 1, 3, 1);
    for (int i = 0; i < 3; i++)
        scene.cpus[i].core = scene.cpus[i].package = scene.cpus[i].node = scene.cpus[i].l3 = -1;
    scene.info.packages = scene.info.nodes = scene.info.cores = 0;
    scene.info.threads_bound = 0;
    use(&scene, 0, 2, ATTEND_CPU_ELIGIBLE);
    expect_drawing(&scene, "3 CPUs\n"
                           "|- CPU 0   eligible; threads are not bound\n"
                           "|- CPU 1   eligible; threads are not bound\n"
                           "`- CPU 2   eligible; threads are not bound\n");
}

Test(drawing, some_caches_unknown)
{
    struct scene scene;
    make_scene(&scene, 1, 2, 1, 1);
    scene.cpus[1].l3 = -1;
    scene.info.threads_bound = 1;
    use(&scene, 1, 1, ATTEND_CPU_ELIGIBLE);
    expect_drawing(&scene, "1 package, 1 node, 2 cores, 2 CPUs\n"
                           "`- package 0, node 0\n"
                           "   |- L3 not known\n"
                           "   |  `- core 1   CPU 1   eligible, but unused\n"
                           "   `- L3 #0\n"
                           "      `- core 0   CPU 0   thread 0\n");
}

Test(drawing, no_cpu_at_all)
{
    struct scene scene;
    make_scene(&scene, 1, 1, 1, 1);
    scene.picture.count = 0;
    expect_drawing(&scene, "1 package, 1 node, 1 core, 0 CPUs\n");
}

Test(drawing, large_machines_stay_readable)
{
    struct scene scene;
    make_scene(&scene, 2, 1, 64, 2);
    expect_readable(&scene);
    make_scene(&scene, 2, 8, 8, 2);
    scene.info.l3_bytes = 32 << 20;
    expect_readable(&scene);
    for (int i = 0; i < 256; i += 3) /* an odd mask: every cache has its own pattern */
        use(&scene, i, i, ATTEND_CPU_AFFINITY);
    char *text = draw(&scene);
    int lines = 0;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    /* Title, packages, and for each cache its name and three kinds of core with two CPUs. */
    cr_expect(lines == 1 + 2 + 16 * (1 + 3 * 2), "%d lines", lines);
    free(text);
}

static void expect_ranges(const int32_t *numbers, size_t count, const char *expected)
{
    char buffer[64];
    cr_expect_eq(number_ranges_print(numbers, count, buffer, sizeof buffer), strlen(expected));
    cr_expect_str_eq(buffer, expected);
}

Test(drawing, lists_of_numbers)
{
    static const int32_t mixed[] = { 0, 1, 2, 3, 8, 10, 12, 14, 5, 4 }, pair[] = { 3, 9 };
    char small[6];
    expect_ranges(mixed, 0, "");
    expect_ranges(mixed, 1, "0");
    expect_ranges(mixed, 2, "0-1");
    expect_ranges(mixed, 10, "0-3,8-14:2,5,4");
    expect_ranges(pair, 2, "3,9");
    cr_expect_eq(number_ranges_print(mixed, 10, small, sizeof small), 14);
    cr_expect_str_eq(small, "0-3,8");
}

/* ---- progress ---------------------------------------------------------------------------------------------------- */

static void expect_bar(double done, double seconds, int columns, bool utf8, const char *expected)
{
    char line[PROGRESS_BYTES];
    const struct progress_state state = { done, 8e11, seconds };
    int taken = progress_bar_print(line, &state, columns, utf8), characters = 0;
    for (const char *c = line; *c; c++)
        characters += ((unsigned char)*c & 0xc0) != 0x80;
    cr_expect_str_eq(line, expected, "%s", line);
    cr_expect_eq(taken, characters, "tells %d columns, takes %d", taken, characters);
}

Test(drawing, progress_fills_the_columns)
{
    expect_bar(2e11, 2, 79, false, " 25 % [########.........................]  200 GFLOP/s  0:02 elapsed  0:06 left");
    expect_bar(2e11, 2, 39, false, " 25 % [#......]  200 GFLOP/s  0:06 left");
    expect_bar(2e11, 2, 39, true, " 25 %  █▊        200 GFLOP/s  0:06 left");
    expect_bar(2.5e11, 2, 30, true, " 31 %  ███▍          0:04 left");
    expect_bar(2e11, 2, 20, false, " 25 % [###.........]");
    expect_bar(2e11, 2, 13, false, " 25 %");
    expect_bar(2e11, 2, 4, false, "");
    expect_bar(0, 0.5, 39, false, "  0 % [.......]  0.0 GFLOP/s  -:-- left");
    expect_bar(8e11, 4000, 60, false, "100 % [###########]  0.4 GFLOP/s  1:06:40 elapsed  0:00 left");
    expect_bar(9e11, 1, 20, false, "100 % [############]");
    expect_bar(1e8, 3600, 60, false, "  0 % [...........]  0.0 GFLOP/s  1:00:00 elapsed  -:-- left");
}

Test(drawing, progress_never_exceeds_its_columns)
{
    for (int columns = -1; columns < 400; columns++)
        for (int utf8 = 0; utf8 < 2; utf8++)
            for (double share = 0; share <= 1; share += 0.01) {
                char line[PROGRESS_BYTES];
                const struct progress_state state = { share * 1e13, 1e13, 60 + 1e4 * share };
                int taken = progress_bar_print(line, &state, columns, utf8);
                cr_assert(taken <= (columns < 0 ? 0 : columns) && strlen(line) < PROGRESS_BYTES);
            }
}

Test(drawing, progress_without_work_is_silent)
{
    char line[PROGRESS_BYTES];
    const struct progress_state state = { 0, 0, 3 };
    cr_expect_eq(progress_bar_print(line, &state, 80, true), 0);
    cr_expect_str_eq(line, "");
}
