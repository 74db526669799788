/* What the command says on standard error: one line each, beginning with the command's name. Names of files and
 * values are printed as given, except that control characters become question marks, so that a message stays one
 * line. */
#ifndef ATTEND_CLI_MESSAGES_H
#define ATTEND_CLI_MESSAGES_H

#include "attend/attend.h"

#include <stdbool.h>

enum { STATUS_DONE = 0, STATUS_COULD_NOT = 1, STATUS_USAGE = 2 };

/* Messages then begin with "attend NAME: ". `name` must stay valid. */
void message_set_command(const char *name);

/* Silences notes and warnings; failures are always told. */
void message_set_quiet(bool quiet);

/* Tells why it could not be done; returns STATUS_COULD_NOT. */
int message_failure(const char *format, ...) __attribute__((format(printf, 1, 2), cold));

/* Tells what was used wrongly, with a hint to --help; returns STATUS_USAGE. */
int message_usage(const char *format, ...) __attribute__((format(printf, 1, 2), cold));

void message_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A text of the library, its last error for one, in the words of the command line: options.cpus becomes --cpus,
 * args.key_lengths --key-lengths, problem.batch batch. Valid until the next call. */
const char *message_library_text(const char *text);

/* An attend_log_fn: the library's warnings become notes. */
void message_from_library(void *user, attend_log_level level, const char *message);

/* Flushes standard output: STATUS_DONE, or a failure when any write to it failed. Call it last. */
int message_finish_output(void);

#endif
