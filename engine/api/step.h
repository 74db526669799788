/* What the runs of one step of a model share, kept from one to the next. */
#ifndef ATTEND__STEP_H
#define ATTEND__STEP_H

#include "engine/api/unit.h"

/* Fills args from args->step, which is not NULL, for a run of `plan`; fails where the step is another plan's, or args say something that
 * the step decides. */
attend_status attend__step_apply(attend_args *args, const struct attend__plan *plan);

/* The step's cut in place of one made anew; what else the schedule holds stays. */
void attend__step_schedule(const attend_step *step, struct attend__schedule *schedule);

#endif
