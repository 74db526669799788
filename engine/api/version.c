/* The version of the library that is loaded. */
#include "attend/attend.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

const char *attend_version(void)
{
    return TEXT(ATTEND_VERSION_MAJOR) "." TEXT(ATTEND_VERSION_MINOR) "." TEXT(ATTEND_VERSION_PATCH);
}
