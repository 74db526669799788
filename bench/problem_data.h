/* Tensors for a problem string: memory in the pages it asks for, filled from (seed, tensor, element) alone with integer
 * arithmetic and one multiplication, so that every compiler and machine makes the same bits. Layout is
 * [batch][head][row][width], or [head][row][width] with the rows of all items where they are packed; keys and values also
 * [page][head][token][width]; padding holds finite
 * numbers like everything else. Runs nothing. */
#ifndef BENCH_PROBLEM_DATA_H
#define BENCH_PROBLEM_DATA_H

#include "bench/page_memory.h"
#include "bench/problem_string.h"

/* Also the numbers of the generator; inputs, outputs, inputs that few problems have. */
enum { PROBLEM_QUERY, PROBLEM_KEY, PROBLEM_VALUE, PROBLEM_OUTPUT, PROBLEM_LSE, PROBLEM_KEY_SUMS, PROBLEM_BIAS,
       PROBLEM_VISIBLE, PROBLEM_TENSORS };

/* `problem` and `args` are ready for attend_plan_create and attend_run. args points into the struct: it must not be
 * copied or moved. */
struct problem_data {
    attend_problem problem;
    attend_args args;
    attend_tensor tensors[PROBLEM_TENSORS];
    int64_t copies; /* equal sets of tensors; args shows one of them */
    uint64_t seed;
    struct page_memory memory;
    size_t offset[PROBLEM_TENSORS]; /* bytes from the start of a set */
    size_t bytes[PROBLEM_TENSORS];
    size_t set_bytes;
    int32_t *tables;     /* the items' block tables, where keys lie in pages */
    int64_t pages;       /* of all items; 0: keys do not lie in pages */
    int64_t *arrays;     /* of items, for args to point into */
    float *head_numbers; /* likewise of heads */
};

/* Makes the data in as many copies as exceed `rotation_bytes` (0: one copy). Outputs start as NaN. False: error[size]
 * tells why, nothing is left behind. The problem must be one that this release supports. */
bool problem_data_make(struct problem_data *data, const struct problem_string *string, size_t rotation_bytes,
                       char *error, size_t size);

/* The problem and its arrays without tensors: their views are NULL and no memory is taken for them. For looking at a
 * plan; the rest as above. */
bool problem_data_outline(struct problem_data *data, const struct problem_string *string, char *error, size_t size);

void problem_data_release(struct problem_data *data);

/* Points the tensors at a copy, 0 <= copy < copies. */
void problem_data_select(struct problem_data *data, int64_t copy);

/* One input element: the sum of four 16-bit fields of a mixed counter, about normal with mean 0 and deviation 1,
 * never beyond ±3.47. A tensor of a half type has it rounded to nearest even. */
float problem_data_value(uint64_t seed, int tensor, uint64_t index);

/* An item's own keys and rows. */
int64_t problem_data_keys(const struct problem_data *data, int64_t item);
int64_t problem_data_rows(const struct problem_data *data, int64_t item);

/* Bytes of the keys and values that at least one row of their kv head's group sees, each counted once. */
double problem_data_kv_bytes(const struct problem_data *data);

#endif
