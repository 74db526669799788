/* Files of results that appear whole or not at all: each is written under a temporary name in its own folder and
 * renamed when all are complete. Temporary files are removed on failure and when SIGINT, SIGTERM or SIGHUP ends the
 * program. What is no regular file (a pipe, a device) is written directly. */
#ifndef ATTEND_CLI_OUTPUT_FILES_H
#define ATTEND_CLI_OUTPUT_FILES_H

#include <stdbool.h>
#include <stdio.h>

/* As many files as one command writes at once. */
enum { OUTPUT_FILES_LIMIT = 4 };

/* Is the file of the output `argument` another one than that of `other`? False after a message: the same path, or the
 * same regular file through links. */
bool output_files_differ(const char *argument, const char *path, const char *other, const char *other_path);

/* Opens the file `path` that the option `argument` names. Returns its number, or -1 after a message. */
int output_files_open(const char *argument, const char *path);

FILE *output_files_stream(int file);

/* Tells that a write to the file's stream failed, for the reason in errno; returns false. */
bool output_files_report(int file);

/* Completes and renames all open files. False, after a message, when one could not be written: the temporary files are
 * removed. */
bool output_files_commit(void);

/* Calls a function first when one of those signals ends the program; it must be fit for a signal handler. */
void output_files_before_death(void (*function)(void));

/* Removes the temporary files; the outputs are as they were. Harmless when none is open. */
void output_files_discard(void);

#endif
