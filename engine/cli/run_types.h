/* Types of the numbers that attend run reads and writes: which one a file holds, which one the computation gets, and the way from one
 * to the other. Knows files by their headers; opens none. */
#ifndef ATTEND_CLI_RUN_TYPES_H
#define ATTEND_CLI_RUN_TYPES_H

#include "bench/npy_header.h"
#include "engine/cli/run_options.h"

/* Does a file with this header hold numbers of a tensor? uint16 does where --bf16 says so. */
bool run_types_known(const struct npy_header *header, const struct run_options *options);

/* The type that a query, key or value of this file has in the computation: --dtype, or that of the file, float32 for float64. */
attend_dtype run_types_wanted(const struct npy_header *header, const struct run_options *options);

/* The numbers of a file in that type, to be freed by the caller, who keeps `source`; NULL: no memory. Each is rounded once. *rounds is
 * set to whether the file's type holds more than the wanted one. */
void *run_types_convert(const struct npy_header *header, const void *source, attend_dtype wanted, bool *rounds);

/* Needs the file's numbers no conversion? */
bool run_types_fit(const struct npy_header *header, attend_dtype wanted);

/* "float32", and for files "<f4". */
const char *run_types_name(attend_dtype dtype);
const char *run_types_descr(attend_dtype dtype);

/* Of a file's own type. */
const char *run_types_file_name(const struct npy_header *header);

#endif
