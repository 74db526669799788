/* Problem strings: one grammar that names a problem in tests, benchmarks, fuzzers and bug reports, for example
 *
 *     b32.h12.q128.k128.d64:causal:lengths=16..128:seed=7
 *
 * Sizes come first: b batch, h heads, g kv heads (h unless told), q rows, k keys, d width of queries and keys (at least
 * 1: the scale is 1/sqrt(d)), v width of values (d unless told), in any order. Options follow, each after a colon:
 *
 *     f32 | bf16 | f16             queries, keys, values and output; float32 unless told
 *     kv=bf16 | kv=f16             keys and values alone
 *     exact | fast                 arithmetic of the half types
 *     causal | causal-top-left     causal with the diagonal at the bottom right | top left
 *     window=L,R                   -1: unbounded
 *     lengths=A..B                 item i of b has round(A + (B - A)·i/(b - 1)) keys, and as many rows where q = k
 *     left                         padding on the left
 *     packed                       rows and keys of all items one after the other, without padding; with page= rows alone
 *     position=N                   every item's first row at key N
 *     prefix=N                     every item's first N keys are visible to all rows, whatever causal and window say
 *     scale=X | softcap=X          1/sqrt(d), and none, unless told
 *     bias | bias=AXES             normal numbers, about 1 in 16 is -inf, never for key 0
 *     visible | bits (=AXES)       a tensor of bytes | bits that hides about 1 in 8 keys, never key 0; the same keys
 *     full                         bias 0, nothing hidden: the cost of the option
 *     alibi, sinks, keysums        the usual slopes; a sink a head; the sum of weights of every key
 *     page=N                       keys and values in pages of N keys, in no order: [page][kv head][token][d]
 *     shared=N                     with page=: the first N keys of all items are in the same pages, and computed once for all
 *     memory=huge | small          pages of the operating system, huge unless told
 *     seed=N                       1 unless told
 *
 * AXES are letters of b, h and q in this order: the axes that bias or visibility have of their own. Over the others they
 * are broadcast; without any there is one row of keys for everything.
 *
 * The parser knows the whole grammar; problem_string_unsupported tells what this release cannot run. Touches no
 * tensors. */
#ifndef BENCH_PROBLEM_STRING_H
#define BENCH_PROBLEM_STRING_H

#include "attend/attend.h"

#include <stdbool.h>

enum problem_arithmetic { PROBLEM_ARITHMETIC_DEFAULT, PROBLEM_ARITHMETIC_EXACT, PROBLEM_ARITHMETIC_FAST };

enum problem_causal { PROBLEM_CAUSAL_NONE, PROBLEM_CAUSAL_BOTTOM_RIGHT, PROBLEM_CAUSAL_TOP_LEFT };

/* A tensor over (batch, heads, rows, keys) that is broadcast over what is not its own. */
struct problem_axes {
    bool given, own[3]; /* of batch, heads, rows */
};

struct problem_string {
    int64_t batch, heads, kv_heads, rows, keys, d_k, d_v;
    attend_dtype dtype; /* of queries and output */
    bool has_kv_dtype;
    attend_dtype kv_dtype; /* another, or as dtype */
    enum problem_arithmetic arithmetic;
    enum problem_causal causal;
    bool has_window;
    int64_t window_left, window_right; /* -1: unbounded */
    bool has_lengths;
    int64_t shortest, longest; /* keys of the first and the last item */
    bool left, packed;
    bool has_position;
    int64_t position, prefix;
    bool has_scale;
    float scale, softcap; /* softcap 0: none */
    struct problem_axes bias, visible;
    bool bits, full; /* visible in bits; bias 0 and all visible */
    bool alibi, sinks, keysums;
    int64_t page;   /* keys of a page; 0: contiguous keys */
    int64_t shared; /* keys in pages of all items */
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

/* Rows of an item: as many as keys where q = k, otherwise all. */
int64_t problem_string_rows(const struct problem_string *problem, int64_t item);

#endif
