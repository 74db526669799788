/* CPU quotas read from recorded trees of /proc and the control groups' file systems. */
#include "engine/threads/quota.h"

#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOUNT_OTHER "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/root rw\n"
#define MOUNT_UNIFIED "30 22 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
#define MOUNT_CPU "31 22 0:28 / /sys/fs/cgroup/cpu,cpuacct rw shared:10 - cgroup cgroup rw,cpu,cpuacct\n"
#define MOUNT_CPUSET "32 22 0:29 / /sys/fs/cgroup/cpuset rw shared:11 - cgroup cgroup rw,cpuset\n"

static char root[64];

static void make_root(void)
{
    strcpy(root, "/tmp/attend-quota-XXXXXX");
    cr_assert_not_null(mkdtemp(root));
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

static void remove_root(void)
{
    nftw(root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* Writes root/path and the directories above it. */
static void put_bytes(const char *path, const char *text, size_t bytes)
{
    char whole[4096];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *slash = strchr(whole + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(whole, 0777);
        *slash = '/';
    }
    FILE *file = fopen(whole, "w");
    cr_assert_not_null(file, "%s", whole);
    fwrite(text, 1, bytes, file);
    fclose(file);
}

static void put(const char *path, const char *text)
{
    put_bytes(path, text, strlen(text));
}

static void put_version1(const char *group, const char *quota, const char *period)
{
    char path[512];
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", group);
    put(path, quota);
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", group);
    put(path, period);
}

static void expect_quota(double quota, const char *what)
{
    double read = attend__quota_read(root);
    cr_expect_float_eq(read, quota, 1e-12, "%s: %g CPUs, not %g", what, read, quota);
}

TestSuite(quota, .init = make_root, .fini = remove_root);

Test(quota, version_2)
{
    put("/proc/self/mountinfo", MOUNT_OTHER MOUNT_UNIFIED);
    put("/proc/self/cgroup", "0::/app\n");
    expect_quota(0, "no group");
    put("/sys/fs/cgroup/app/cpu.max", "max 100000\n");
    expect_quota(0, "max");
    put("/sys/fs/cgroup/app/cpu.max", "250000 100000\n");
    expect_quota(2.5, "own group");
    put("/sys/fs/cgroup/app/cpu.max", "1000 100000");
    expect_quota(0.01, "no newline");
}

Test(quota, version_2_ancestors)
{
    put("/proc/self/mountinfo", MOUNT_UNIFIED);
    put("/proc/self/cgroup", "0::/pods/pod7/app\n");
    put("/sys/fs/cgroup/pods/pod7/app/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/pods/pod7/cpu.max", "400000 100000\n");
    expect_quota(4, "parent");
    put("/sys/fs/cgroup/pods/cpu.max", "150000 50000\n");
    expect_quota(3, "grandparent is tighter");
    put("/sys/fs/cgroup/cpu.max", "200000 100000\n");
    expect_quota(2, "the mount point's own group is tighter");
    put("/sys/fs/cgroup/pods/pod7/app/cpu.max", "100000 100000\n");
    expect_quota(1, "own group is tightest");
    put("/sys/fs/cpu.max", "1 100000\n");
    put("/sys/fs/cgroup/pods/pod8/cpu.max", "1 100000\n");
    expect_quota(1, "neither above the mount point nor beside the path");
}

Test(quota, version_1)
{
    put("/proc/self/mountinfo", MOUNT_OTHER MOUNT_CPUSET MOUNT_CPU);
    put("/proc/self/cgroup", "4:cpuacct,cpu:/docker/abc\n3:cpuset:/other\n1:name=systemd:/x\n");
    put_version1("/sys/fs/cgroup/cpuset/other", "1000\n", "100000\n");
    expect_quota(0, "no file in the group");
    put_version1("/sys/fs/cgroup/cpu,cpuacct/docker/abc", "-1\n", "100000\n");
    expect_quota(0, "-1");
    put_version1("/sys/fs/cgroup/cpu,cpuacct/docker/abc", "50000\n", "20000\n");
    expect_quota(2.5, "own group");
    put_version1("/sys/fs/cgroup/cpu,cpuacct/docker", "150000\n", "100000\n");
    expect_quota(1.5, "parent is tighter");
}

Test(quota, hybrid_takes_the_tighter)
{
    put("/proc/self/mountinfo", MOUNT_CPU "33 22 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
    put("/proc/self/cgroup", "3:cpu,cpuacct:/a\n0::/b\n");
    put_version1("/sys/fs/cgroup/cpu,cpuacct/a", "300000\n", "100000\n");
    expect_quota(3, "version 1 alone");
    put("/sys/fs/cgroup/unified/b/cpu.max", "200000 100000\n");
    expect_quota(2, "version 2 is tighter");
    put("/sys/fs/cgroup/unified/b/cpu.max", "900000 100000\n");
    expect_quota(3, "version 1 is tighter");
}

Test(quota, container_mounts)
{
    put("/proc/self/mountinfo", "31 22 0:28 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n");
    put("/proc/self/cgroup", "3:cpu:/docker/abc/sub\n");
    put_version1("/sys/fs/cgroup/cpu/sub", "200000\n", "100000\n");
    put_version1("/sys/fs/cgroup/cpu", "700000\n", "100000\n");
    expect_quota(2, "the mount's root is cut from the path");
    put("/proc/self/cgroup", "3:cpu:/docker/abcdef\n");
    expect_quota(7, "a name that only begins alike: the container's own group is at the usual mount point");
    put("/proc/self/mountinfo", "31 22 0:28 /docker/other /mnt/cpu ro - cgroup cgroup rw,cpu\n");
    put_version1("/mnt/cpu", "100000\n", "100000\n");
    expect_quota(0, "somebody else's group, mounted elsewhere");
    put("/proc/self/mountinfo", MOUNT_UNIFIED);
    put("/proc/self/cgroup", "0::/../neighbour\n");
    put("/sys/fs/neighbour/cpu.max", "100000 100000\n");
    expect_quota(0, "a group outside the namespace");
}

Test(quota, escaped_mount_points)
{
    put("/proc/self/mountinfo", "30 22 0:27 / /my\\040groups rw - cgroup2 cgroup2 rw\n");
    put("/proc/self/cgroup", "0::/\n");
    put("/my groups/cpu.max", "300000 100000\n");
    expect_quota(3, "blank in the mount point");
}

Test(quota, malformed_content_is_no_quota)
{
    static const char *const values[] = {
        "", "\n", "max", "200000", "200000 ", "200000 0", "200000 -5", "-200000 100000", "0 100000", "two 100000",
        "200000 100000 7", "200000x 100000", "200000 100000x", "99999999999999999999999 100000", "0x10 100000",
        "2e5 100000",
    };
    put("/proc/self/mountinfo", MOUNT_UNIFIED MOUNT_CPU);
    put("/proc/self/cgroup", "0::/a\n2:cpu:/a\n");
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        put("/sys/fs/cgroup/a/cpu.max", values[i]);
        put_version1("/sys/fs/cgroup/cpu,cpuacct/a", values[i], "100000\n");
        if (strcmp(values[i], "200000") == 0) /* right for version 1 */
            expect_quota(2, values[i]);
        else
            expect_quota(0, values[i]);
    }
    put("/sys/fs/cgroup/a/cpu.max", "max 100000\n");
    put_version1("/sys/fs/cgroup/cpu,cpuacct/a", "200000\n", "0\n");
    expect_quota(0, "period 0");
    put_bytes("/sys/fs/cgroup/a/cpu.max", "\0\0\0\n200000 100000\n", 18);
    expect_quota(0, "zero bytes");
}

Test(quota, malformed_tables_are_no_quota)
{
    static const char *const groups[] = { "", "0", "0::", "0::a", ":::", "0:/a\n", "\n\n\n", "0::a\n0" };
    static const char *const mounts[] = {
        "", "x", " - ", "1 2 3 / /sys/fs/cgroup", "1 2 3 / /sys/fs/cgroup rw - cgroup2",
        "1 2 3 / /sys/fs/cgroup rw cgroup2 c rw", "- cgroup2 c rw", "1 - cgroup2 c rw\n",
    };
    put("/sys/fs/cgroup/a/cpu.max", "200000 100000\n");
    put("/sys/fs/cgroup/cpu.max", "200000 100000\n");
    put("/proc/self/mountinfo", MOUNT_UNIFIED);
    expect_quota(0, "no list of groups");
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        put("/proc/self/cgroup", groups[i]);
        expect_quota(0, groups[i]);
    }
    put("/proc/self/cgroup", "0::/a\n");
    expect_quota(2, "as it should be");
    for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++) {
        put("/proc/self/mountinfo", mounts[i]);
        expect_quota(0, mounts[i]);
    }
}

Test(quota, long_lines_are_passed_over)
{
    enum { LONG = 100000 };
    char *text = malloc(LONG + 1024);
    int length = sprintf(text, "40 22 0:40 / /merged rw - overlay overlay lowerdir=");
    memset(text + length, 'x', LONG);
    strcpy(text + length + LONG, " 22 0:27 / /sys/fs/cgroup/end rw - cgroup2 c rw\n" MOUNT_UNIFIED);
    put("/sys/fs/cgroup/end/a/cpu.max", "100000 100000\n");
    put("/proc/self/mountinfo", text);
    put("/proc/self/cgroup", "0::/a\n");
    put("/sys/fs/cgroup/a/cpu.max", "200000 100000\n");
    expect_quota(2, "the mount behind a long line is found, and its end is no line");
    memset(text, '/', LONG);
    memcpy(text, "0::/", 4);
    strcpy(text + LONG, "\n");
    put("/proc/self/cgroup", text);
    expect_quota(0, "a path longer than a line");
    strcpy(text + 3000, "\n");
    put("/proc/self/cgroup", text);
    expect_quota(0, "a path longer than paths are");
    free(text);
}

Test(quota, real_files_give_a_credible_answer)
{
    double quota = attend__quota_read("");
    cr_expect(quota >= 0 && quota < 1e6, "%g", quota);
}
