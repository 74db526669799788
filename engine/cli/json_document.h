/* JSON that goes to standard output: numbers that are not known or not finite become null. */
#ifndef ATTEND_CLI_JSON_DOCUMENT_H
#define ATTEND_CLI_JSON_DOCUMENT_H

#include <jansson.h>

/* A number, or null when it is not finite. */
json_t *json_number(double value);

/* A count, or null when it is 0 and that means "not known". */
json_t *json_known(int64_t count);

/* Sets object[name] = value, taking over the value's reference. */
void json_put(json_t *object, const char *name, json_t *value);

/* The machine as "machine" shows it, in every document: processor model, compiler and version of attend. */
json_t *json_machine(void);

/* The processor's model name from /proc/cpuinfo, or "unknown". Valid until the program ends. */
const char *machine_model(void);

/* The compiler that built this program. */
const char *machine_compiler(void);

/* Prints a document, frees it and finishes standard output; returns the exit status. */
int json_finish(json_t *document);

#endif
