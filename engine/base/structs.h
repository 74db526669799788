/* Reading and writing public structs of another size than this build's: an older caller's missing fields become zero, a newer
 * caller's fields must be zero where this build does not know them. */
#ifndef ATTEND__STRUCTS_H
#define ATTEND__STRUCTS_H

#include "attend/attend.h"

/* Copies the caller's struct `source`, which begins with its size, into target[known], whose size becomes `known`; `name` is for the
 * message.
 * A size below `least`, the struct's first published size, is refused. */
attend_status attend__struct_read(void *target, size_t known, size_t least, const void *source, const char *name);

/* Is that a struct of the caller's with a credible size? `name` is for the message. */
attend_status attend__struct_check(const void *caller, size_t least, const char *name);

/* Copies source[known] into the caller's struct, as far as that reaches; its size field stays and bytes unknown here become
 * zero. */
attend_status attend__struct_write(void *target, size_t least, const void *source, size_t known, const char *name);

#endif
