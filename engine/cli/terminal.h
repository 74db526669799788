/* What the terminal behind a stream can show. Knows nothing of what is shown. */
#ifndef ATTEND_CLI_TERMINAL_H
#define ATTEND_CLI_TERMINAL_H

#include <stdbool.h>

/* Does the locale of the environment write UTF-8? Sets the program's character type on the first call. */
bool terminal_is_utf8(void);

/* Columns of the terminal at a descriptor; `otherwise` when it is none or does not tell. */
int terminal_columns(int descriptor, int otherwise);

/* May this process write to the terminal at a descriptor without being in the way of another one? */
bool terminal_is_foreground(int descriptor);

#endif
