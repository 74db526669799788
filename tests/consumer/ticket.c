/* The support ticket "refund for damaged parcel", five tokens of which the last is padding, as input files of
 * `attend run`; and a printer for what comes back. Knows .npy files only, not attend.
 *
 *     ticket FOLDER            writes ticket_query.npy, ticket_key.npy, ticket_value.npy and ticket_lengths.npy
 *     ticket --print FILE      prints a float32 .npy file by rows, with the tokens where there are five */
#include "bench/npy.h"

#include <stdlib.h>
#include <string.h>

enum { TOKENS = 5, REAL_TOKENS = 4, D_K = 3, D_V = 2 };

static const char *const tokens[TOKENS] = { "refund", "for", "damaged", "parcel", "<pad>" };

/* Columns: request, urgency, object. */
static const float query[TOKENS][D_K] = {
    { 1.0f, 0.2f, 0.0f }, { 0.0f, 0.0f, 0.0f }, { 0.7f, 1.0f, 0.2f }, { 0.3f, 0.2f, 1.0f }, { 0.0f, 0.0f, 0.0f }
};
static const float key[TOKENS][D_K] = {
    { 1.0f, 0.1f, 0.0f }, { 0.0f, 0.0f, 0.0f }, { 0.8f, 1.0f, 0.1f }, { 0.2f, 0.2f, 1.0f }, { 0.0f, 0.0f, 0.0f }
};
/* Columns: refund, priority. */
static const float value[TOKENS][D_V] = {
    { 1.0f, 0.2f }, { 0.0f, 0.0f }, { 0.7f, 1.0f }, { 0.2f, 0.4f }, { 0.0f, 0.0f }
};
static const int64_t key_length = REAL_TOKENS;

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "ticket: %s %s\n", what, why);
    return 1;
}

static int write_file(const char *folder, const char *name, const char *descr, size_t item_bytes, int rank,
                      const int64_t *shape, const void *data)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *stream = fopen(path, "wb");
    int good = stream && npy_write(stream, descr, item_bytes, rank, shape, data);
    if (stream)
        good = fclose(stream) == 0 && good;
    return good ? 0 : fail(path, "cannot be written");
}

static int write_ticket(const char *folder)
{
    static const int64_t shape_k[2] = { TOKENS, D_K }, shape_v[2] = { TOKENS, D_V }, one[1] = { 1 };
    return write_file(folder, "ticket_query.npy", "<f4", sizeof(float), 2, shape_k, query) ||
           write_file(folder, "ticket_key.npy", "<f4", sizeof(float), 2, shape_k, key) ||
           write_file(folder, "ticket_value.npy", "<f4", sizeof(float), 2, shape_v, value) ||
           write_file(folder, "ticket_lengths.npy", "<i8", sizeof(int64_t), 1, one, &key_length);
}

static void print_rows(const struct npy_header *header, const float *data)
{
    int64_t width = header->rank ? header->shape[header->rank - 1] : 1;
    int64_t rows = width ? (int64_t)header->elements / width : 0;
    for (int64_t row = 0; row < rows; row++) {
        if (rows == TOKENS)
            printf("%-8s", tokens[row]);
        for (int64_t d = 0; d < width; d++)
            printf(" %6.3f", data[row * width + d]);
        printf("\n");
    }
}

static int print_file(const char *path)
{
    struct npy_file file;
    char error[256];
    if (!npy_open(&file, path, error, sizeof error))
        return fail(path, error);
    if (strcmp(file.header.descr, "<f4") != 0 || file.header.fortran_order) {
        npy_close(&file);
        return fail(path, "is not float32 in C order");
    }
    float *data = npy_load(&file, error, sizeof error);
    if (!data)
        return fail(path, error);
    print_rows(&file.header, data);
    free(data);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--print") == 0)
        return print_file(argv[2]);
    if (argc == 2)
        return write_ticket(argv[1]);
    fprintf(stderr, "Usage: ticket FOLDER | ticket --print FILE\n");
    return 2;
}
