/* .npy files, versions 1 to 3: reads them with every size checked against what the file really has, and writes them
 * as NumPy does. Knows nothing of attention. */
#ifndef BENCH_NPY_H
#define BENCH_NPY_H

#include "bench/npy_header.h"

#include <stdio.h>

struct npy_file {
    struct npy_header header;
    int descriptor; /* at the first byte of the data; -1: not open */
};

/* Opens a file, reads its header and compares the size of a regular file with what the header promises. False:
 * error[size] continues a sentence that begins with the file's name, for example "cannot be opened: No such file or
 * directory"; nothing is left open. */
bool npy_open(struct npy_file *file, const char *path, char *error, size_t size);

/* Reads the data into memory aligned to 64 bytes, to be freed by the caller, and closes the file, also on failure.
 * NULL: error[size] as above. Bytes after the promised data are ignored, as NumPy does. */
void *npy_load(struct npy_file *file, char *error, size_t size);

/* Closes a file that npy_open opened and npy_load did not. */
void npy_close(struct npy_file *file);

/* Writes a version 1 file of C order, its data aligned to 64 bytes. `descr` as in <f4; rank at most NPY_RANK_LIMIT.
 * False: a write failed, errno tells why. */
bool npy_write(FILE *stream, const char *descr, size_t item_bytes, int rank, const int64_t *shape, const void *data);

#endif
