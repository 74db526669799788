/* See log.h. */
#include "engine/base/log.h"

#include "engine/base/status.h"

#include <stdarg.h>
#include <stdio.h>

void attend__log(const struct attend__log *log, attend_log_level level, const char *format, ...)
{
    if (!log->write)
        return;
    char message[ATTEND__MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    log->write(log->user, level, message);
}
