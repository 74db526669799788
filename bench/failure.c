/* See failure.h. */
#include "bench/failure.h"

#include <stdarg.h>
#include <stdio.h>

bool failure_describe(char *error, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error, size, format, arguments);
    va_end(arguments);
    return false;
}
