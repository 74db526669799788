/* See json_document.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/cli/json_document.h"

#include "engine/cli/messages.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Digits of printed numbers: more than any measurement has. */
enum { DIGITS = 9 };

json_t *json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *json_known(int64_t count)
{
    return count ? json_integer(count) : json_null();
}

void json_put(json_t *object, const char *name, json_t *value)
{
    json_object_set_new(object, name, value);
}

/* The value of a "name   : value" line, or NULL. Cuts the newline off. */
static char *match_line(char *line, const char *name)
{
    char *colon = strchr(line, ':');
    if (strncmp(line, name, strlen(name)) != 0 || !colon)
        return NULL;
    line[strcspn(line, "\n")] = '\0';
    return colon + 1 + strspn(colon + 1, " ");
}

const char *machine_model(void)
{
    static char model[128];
    if (model[0])
        return model;
    snprintf(model, sizeof model, "unknown");
    FILE *stream = fopen("/proc/cpuinfo", "r");
    if (!stream)
        return model;
    char line[512];
    while (fgets(line, sizeof line, stream)) {
        const char *value = match_line(line, "model name");
        if (!value)
            continue;
        snprintf(model, sizeof model, "%.*s", (int)sizeof model - 1, value);
        break;
    }
    fclose(stream);
    return model;
}

const char *machine_compiler(void)
{
#if defined(__clang__)
    return __VERSION__; /* names itself */
#else
    return "GCC " __VERSION__;
#endif
}

json_t *json_machine(void)
{
    json_t *machine = json_object();
    json_put(machine, "cpu", json_string(machine_model()));
    json_put(machine, "compiler", json_string(machine_compiler()));
    json_put(machine, "attend", json_string(attend_version()));
    return machine;
}

int json_finish(json_t *document)
{
    int failed = json_dumpf(document, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(DIGITS));
    json_decref(document);
    /* A failed write shows in the stream; what else fails is memory. */
    if (failed && !ferror(stdout))
        return message_failure("not enough memory for the document");
    putchar('\n');
    return message_finish_output();
}
