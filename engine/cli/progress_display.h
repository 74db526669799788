/* Shows the progress of a run on the terminal at standard error, from a thread of its own that blocks all signals: they
 * go to the thread that runs. Nothing appears for runs that are over soon. Knows no tensors. */
#ifndef ATTEND_CLI_PROGRESS_DISPLAY_H
#define ATTEND_CLI_PROGRESS_DISPLAY_H

#include "attend/attend.h"

/* Begins to show `progress`, which a run is about to update. Only one at a time. Without a terminal, and when no thread
 * is to be had, nothing is shown. */
void progress_display_begin(const attend_progress *progress);

/* Ends the display and wipes its line; harmless when nothing was begun. */
void progress_display_end(void);

/* Wipes the line from a signal handler that is about to end the program. */
void progress_display_wipe(void);

#endif
