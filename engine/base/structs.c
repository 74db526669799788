/* See structs.h. */
#include "engine/base/structs.h"

#include "engine/base/status.h"

#include <string.h>

/* Larger sizes are uninitialised memory rather than a future version. */
enum { ATTEND__STRUCT_LIMIT = 1 << 16 };

static attend_status read_size(size_t *size, size_t least, const void *caller, const char *name)
{
    if (!caller)
        return attend__fail(ATTEND_ERR_ARGUMENT, "%s is NULL; it must point to an initialised struct", name);
    memcpy(size, caller, sizeof *size);
    if (*size > ATTEND__STRUCT_LIMIT)
        return attend__fail(ATTEND_ERR_ARGUMENT,
                            "%s.struct_size is %zu; it must be at most %d: initialise the struct with its INIT macro", name,
                            *size, (int)ATTEND__STRUCT_LIMIT);
    if (*size < least)
        return attend__fail(ATTEND_ERR_ARGUMENT,
                            "%s.struct_size is %zu; it must be at least %zu: initialise the struct with its INIT macro",
                            name, *size, least);
    return ATTEND_OK;
}

attend_status attend__struct_check(const void *caller, size_t least, const char *name)
{
    size_t size;
    return read_size(&size, least, caller, name);
}

attend_status attend__struct_read(void *target, size_t known, size_t least, const void *source, const char *name)
{
    size_t size = 0;
    attend_status status = read_size(&size, least, source, name);
    if (status)
        return status;
    const unsigned char *bytes = source;
    for (size_t i = known; i < size; i++)
        if (bytes[i])
            return attend__fail(ATTEND_ERR_UNSUPPORTED,
                                "%s has a field at byte %zu that attend %s does not know; it must be zero", name, i,
                                attend_version());
    memset(target, 0, known);
    memcpy(target, source, size < known ? size : known);
    memcpy(target, &known, sizeof known);
    return ATTEND_OK;
}

attend_status attend__struct_write(void *target, size_t least, const void *source, size_t known, const char *name)
{
    size_t size = 0;
    attend_status status = read_size(&size, least, target, name);
    if (status)
        return status;
    memset((char *)target + sizeof size, 0, size - sizeof size);
    memcpy((char *)target + sizeof size, (const char *)source + sizeof size, (size < known ? size : known) - sizeof size);
    return ATTEND_OK;
}
