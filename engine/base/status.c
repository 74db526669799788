/* See status.h. */
#include "engine/base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char last_message[ATTEND__MESSAGE_BYTES];

attend_status attend__fail(attend_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_message, sizeof last_message, format, arguments);
    va_end(arguments);
    return status;
}

const char *attend_last_error(void)
{
    return last_message;
}

size_t attend_copy_last_error(char *buffer, size_t size)
{
    size_t length = strlen(last_message);
    if (buffer && size > 0) {
        size_t copied = length < size ? length : size - 1;
        memcpy(buffer, last_message, copied);
        buffer[copied] = '\0';
    }
    return length;
}

const char *attend_status_name(attend_status status)
{
    switch (status) {
    case ATTEND_OK: return "ok";
    case ATTEND_ERR_ARGUMENT: return "argument";
    case ATTEND_ERR_UNSUPPORTED: return "unsupported";
    case ATTEND_ERR_MEMORY: return "memory";
    case ATTEND_ERR_SYSTEM: return "system";
    case ATTEND_ERR_CAPACITY: return "capacity";
    case ATTEND_ERR_FORKED: return "forked";
    case ATTEND_ERR_CANCELLED: return "cancelled";
    case ATTEND_ERR_TIMEOUT: return "timeout";
    }
    return "unknown";
}
