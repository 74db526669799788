/* Threads of the library take no signals of the process: those are for the host's threads. */
#ifndef ATTEND__SIGNALS_H
#define ATTEND__SIGNALS_H

#include <signal.h>

/* Blocks them in the calling thread, whose mask new threads inherit, and puts its mask aside. Signals that a thread raises by its own
 * fault stay open: blocked, they would end the process without asking the host's handler, say for a page of a mapped
 * file. */
void attend__signals_block(sigset_t *before);
void attend__signals_restore(const sigset_t *before);

#endif
