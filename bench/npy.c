/* See npy.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "bench/npy.h"

#include "bench/failure.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "data is read as it lies in the file, little-endian");

/* Longest header that is read: NumPy's own fit into a few hundred bytes. */
enum { HEADER_LIMIT = 1 << 16 };

/* Magic and version, before the length of the header. */
enum { PREFIX_BYTES = 8 };

static const char magic[] = "\x93NUMPY";

/* Reads up to `bytes` bytes; fewer only at the end of the file. -1: errno tells why. */
static ssize_t read_fully(int descriptor, void *target, size_t bytes)
{
    size_t done = 0;
    while (done < bytes) {
        ssize_t got = read(descriptor, (char *)target + done, bytes - done);
        if (got == 0)
            break;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

/* ---- header ------------------------------------------------------------------------------------------------------ */

/* Reads magic, version and the length of the dictionary that follows. */
static bool read_prefix(int descriptor, size_t *header_bytes, char *error, size_t size)
{
    unsigned char bytes[PREFIX_BYTES + 4] = { 0 };
    ssize_t got = read_fully(descriptor, bytes, PREFIX_BYTES);
    if (got < 0)
        return failure_describe(error, size, "cannot be read: %s", strerror(errno));
    if (got < PREFIX_BYTES || memcmp(bytes, magic, 6) != 0)
        return failure_describe(error, size, "is not a .npy file: it does not begin with \\x93NUMPY");
    if (bytes[6] < 1 || bytes[6] > 3)
        return failure_describe(error, size, "has .npy version %d.%d; versions 1 to 3 are read", bytes[6], bytes[7]);
    ssize_t length_bytes = bytes[6] == 1 ? 2 : 4;
    if (read_fully(descriptor, bytes + PREFIX_BYTES, (size_t)length_bytes) < length_bytes)
        return failure_describe(error, size, "is truncated: it ends within its header");
    *header_bytes = (size_t)bytes[8] | (size_t)bytes[9] << 8 | (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (*header_bytes > HEADER_LIMIT)
        return failure_describe(error, size, "promises a header of %zu bytes; at most %d are read", *header_bytes,
                                HEADER_LIMIT);
    return true;
}

static bool read_header(struct npy_file *file, char *error, size_t size)
{
    size_t bytes = 0;
    if (!read_prefix(file->descriptor, &bytes, error, size))
        return false;
    char *text = malloc(bytes + 1);
    if (!text)
        return failure_describe(error, size, "cannot be read: %s", strerror(errno));
    ssize_t got = read_fully(file->descriptor, text, bytes);
    bool good = got == (ssize_t)bytes;
    if (!good)
        failure_describe(error, size, "is truncated: it ends within its header");
    good = good && npy_header_parse(&file->header, text, bytes, error, size);
    free(text);
    return good;
}

static bool fail_truncated(const struct npy_file *file, size_t has, char *error, size_t size)
{
    return failure_describe(error, size, "is truncated: the header promises %zu bytes of data, the file has %zu",
                file->header.data_bytes, has);
}

/* A regular file tells its size before memory is taken for a promise it does not keep. */
static bool check_size(struct npy_file *file, char *error, size_t size)
{
    struct stat status;
    off_t at = lseek(file->descriptor, 0, SEEK_CUR);
    if (at < 0 || fstat(file->descriptor, &status) != 0 || !S_ISREG(status.st_mode))
        return true;
    size_t has = status.st_size > at ? (size_t)(status.st_size - at) : 0;
    return has >= file->header.data_bytes || fail_truncated(file, has, error, size);
}

bool npy_open(struct npy_file *file, const char *path, char *error, size_t size)
{
    struct stat status;
    memset(file, 0, sizeof *file);
    file->descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (file->descriptor < 0)
        return failure_describe(error, size, "cannot be opened: %s", strerror(errno));
    if (fstat(file->descriptor, &status) == 0 && S_ISDIR(status.st_mode))
        failure_describe(error, size, "cannot be read: %s", strerror(EISDIR));
    else if (read_header(file, error, size) && check_size(file, error, size))
        return true;
    npy_close(file);
    return false;
}

void npy_close(struct npy_file *file)
{
    if (file->descriptor >= 0)
        close(file->descriptor);
    file->descriptor = -1;
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

static void *read_data(struct npy_file *file, char *error, size_t size)
{
    size_t bytes = file->header.data_bytes;
    void *data = NULL;
    if (posix_memalign(&data, 64, bytes ? bytes : 1) != 0) {
        failure_describe(error, size, "needs %zu bytes of memory, more than there is", bytes);
        return NULL;
    }
    ssize_t got = read_fully(file->descriptor, data, bytes);
    if (got == (ssize_t)bytes)
        return data;
    if (got < 0)
        failure_describe(error, size, "cannot be read: %s", strerror(errno));
    else
        fail_truncated(file, (size_t)got, error, size);
    free(data);
    return NULL;
}

void *npy_load(struct npy_file *file, char *error, size_t size)
{
    void *data = read_data(file, error, size);
    npy_close(file);
    return data;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

bool npy_write(FILE *stream, const char *descr, size_t item_bytes, int rank, const int64_t *shape, const void *data)
{
    struct npy_header header = { .rank = rank };
    char shape_text[NPY_RANK_LIMIT * 22 + 4]; /* 20 digits, comma and blank an axis */
    char text[sizeof shape_text + 128];
    size_t elements = 1;
    for (int axis = 0; axis < rank; axis++) {
        header.shape[axis] = shape[axis];
        elements *= (size_t)shape[axis];
    }
    npy_header_print_shape(&header, shape_text, sizeof shape_text);
    snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape_text);
    /* Blanks and a newline fill the header so that the data begins at a multiple of 64. */
    size_t used = PREFIX_BYTES + 2 + strlen(text) + 1;
    size_t total = (used + 63) / 64 * 64, length = total - PREFIX_BYTES - 2;
    unsigned char prefix[PREFIX_BYTES + 2] = { 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, length & 0xff, length >> 8 };
    bool good = fwrite(prefix, sizeof prefix, 1, stream) == 1;
    good = good && fprintf(stream, "%-*s\n", (int)length - 1, text) == (int)length;
    return good && fwrite(data, item_bytes, elements, stream) == elements;
}
