/* CPU quota of control groups, versions 1 and 2, the process's own group and its ancestors. */
#ifndef ATTEND__QUOTA_H
#define ATTEND__QUOTA_H

/* The tightest quota in CPUs, 0 where there is none. `root` is prepended to every path read ("" for the real ones):
 * tests pass recorded trees of /proc/self/cgroup, /proc/self/mountinfo and the mounted hierarchies. */
double attend__quota_read(const char *root);

#endif
