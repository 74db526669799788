/* Statuses and their messages. A failure is described where it is found first, by attend__fail, and the status is handed up
 * unchanged; the text lies in thread storage until the thread's next failure. Knows no other module. */
#ifndef ATTEND__STATUS_H
#define ATTEND__STATUS_H

#include "attend/attend.h"

/* Longest message, terminator included. */
enum { ATTEND__MESSAGE_BYTES = 320 };

/* Records the printf-style message (argument, value, rule; no newline) for attend_last_error and returns `status`. */
attend_status attend__fail(attend_status status, const char *format, ...) __attribute__((format(printf, 2, 3), cold));

#endif
