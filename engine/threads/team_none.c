/* The team of a build without OpenMP: there is none, and everything runs in the calling thread. See team.h. */
#include "engine/threads/team.h"

attend_status attend__team_start(struct attend__team **team, const struct attend__team_options *options)
{
    (void)options;
    *team = NULL;
    return ATTEND_OK;
}

int attend__team_size(const struct attend__team *team)
{
    (void)team;
    return 0;
}

int attend__team_bound(const struct attend__team *team)
{
    (void)team;
    return 0;
}

int attend__team_cpu(const struct attend__team *team, int member)
{
    (void)team;
    (void)member;
    return -1;
}

attend_status attend__team_reserve(struct attend__team *team, size_t bytes)
{
    (void)team;
    (void)bytes;
    return ATTEND_OK;
}

size_t attend__team_scratch_bytes(struct attend__team *team)
{
    (void)team;
    return 0;
}

/* Not reached, as there is no team; it still keeps the promise of its comment, in the calling thread and without
 * scratch. */
void attend__team_run(struct attend__team *team, struct attend__job *job)
{
    (void)team;
    for (int64_t unit = 0; unit < job->units; unit++)
        job->run(job->argument, unit, unit + 1 < job->units ? unit + 1 : -1, 0, NULL);
}

void attend__team_stop(struct attend__team *team)
{
    (void)team;
}

void attend__team_abandon(struct attend__team *team)
{
    (void)team;
}
