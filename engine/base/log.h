/* One line to the host's log callback, or nowhere. */
#ifndef ATTEND__LOG_H
#define ATTEND__LOG_H

#include "attend/attend.h"

struct attend__log {
    attend_log_fn write; /* NULL: no log */
    void *user;
};

void attend__log(const struct attend__log *log, attend_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

#endif
