/* The header of a .npy file: a Python dictionary with the keys descr, fortran_order and shape. Parses and prints text;
 * opens no file. */
#ifndef BENCH_NPY_HEADER_H
#define BENCH_NPY_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NPY_RANK_LIMIT = 32, NPY_DESCR_BYTES = 32 };

struct npy_header {
    char descr[NPY_DESCR_BYTES]; /* as spelled, for example <f4 */
    char kind;                   /* NumPy's letter: f, i, u, b, ... */
    bool big_endian;
    size_t item_bytes;
    bool fortran_order;
    int rank;
    int64_t shape[NPY_RANK_LIMIT];
    size_t elements, data_bytes;
};

/* Reads the dictionary text[length]. False: error[size] says what is wrong with it, as in "has a header without shape".
 * Sizes that overflow, types whose elements are Python objects or structures, and unknown keys are refused. */
bool npy_header_parse(struct npy_header *header, const char *text, size_t length, char *error, size_t size);

/* Writes "(2, 3)", cut to fit buffer[size]. */
void npy_header_print_shape(const struct npy_header *header, char *buffer, size_t size);

#endif
