/* Problem strings: one grammar that names a problem in tests, benchmarks, fuzzers and bug reports, for example
 *
 *     b32.h12.q128.k128.d64:causal:lengths=16..128:seed=7
 *
 * Sizes come first: b batch, h heads, g kv heads (h unless told), q rows, k keys, d width of queries and keys (at least
 * 1: the scale is 1/sqrt(d)), v width of values (d unless told), in any order. Options follow, each after a colon:
 *
 *     f32 | bf16 | f16             float32 unless told
 *     exact | fast                 arithmetic of the half types
 *     causal | causal-top-left     causal with the diagonal at the bottom right | top left
 *     window=L,R                   -1: unbounded
 *     lengths=A..B                 item i of b has round(A + (B - A)·i/(b - 1)) keys, and as many rows where q = k
 *     left                         padding on the left
 *     packed, softcap=X, page=N
 *     memory=huge | small          pages of the operating system, huge unless told
 *     seed=N                       1 unless told
 *
 * The parser knows the whole grammar; problem_string_unsupported tells what this release cannot run. Touches no
 * tensors. */
#ifndef BENCH_PROBLEM_STRING_H
#define BENCH_PROBLEM_STRING_H

#include "attend/attend.h"

#include <stdbool.h>

enum problem_arithmetic { PROBLEM_ARITHMETIC_DEFAULT, PROBLEM_ARITHMETIC_EXACT, PROBLEM_ARITHMETIC_FAST };

enum problem_causal { PROBLEM_CAUSAL_NONE, PROBLEM_CAUSAL_BOTTOM_RIGHT, PROBLEM_CAUSAL_TOP_LEFT };

struct problem_string {
    int64_t batch, heads, kv_heads, rows, keys, d_k, d_v;
    attend_dtype dtype;
    enum problem_arithmetic arithmetic;
    enum problem_causal causal;
    bool has_window;
    int64_t window_left, window_right; /* -1: unbounded */
    bool has_lengths;
    int64_t shortest, longest; /* keys of the first and the last item */
    bool left, packed;
    double softcap; /* 0: none */
    int64_t page;   /* keys of a page; 0: contiguous keys */
    bool small_pages;
    uint64_t seed;
};

/* Longest problem string, terminator included. */
enum { PROBLEM_STRING_BYTES = 512 };

/* Reads `text`. False: error[size] names the part and the rule, in one line. */
bool problem_string_parse(struct problem_string *problem, const char *text, char *error, size_t size);

/* Writes the canonical string, defaults left out, cut to fit buffer[size]; returns its whole length. */
size_t problem_string_print(const struct problem_string *problem, char *buffer, size_t size);

/* The first option that this release cannot run, as spelled in the grammar, or NULL. */
const char *problem_string_unsupported(const struct problem_string *problem);

/* Keys of an item: all, or what lengths= says. */
int64_t problem_string_length(const struct problem_string *problem, int64_t item);

#endif
