/* See command_problem.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/cli/command_problem.h"

#include "engine/cli/messages.h"

enum { ERROR_BYTES = 512 };

int command_problem_read(struct problem_string *problem, const char *text)
{
    char error[ERROR_BYTES];
    if (*text == '\0')
        return message_usage("the problem is empty; give one such as b8.h12.q512.k512.d64");
    if (!problem_string_parse(problem, text, error, sizeof error))
        return message_usage("problem %s: %s", text, error);
    const char *unsupported = problem_string_unsupported(problem);
    if (unsupported)
        return message_failure("problem %s: not supported yet by attend %s: %s", text, attend_version(), unsupported);
    return STATUS_DONE;
}
