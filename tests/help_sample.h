/* A spec brought to life: tensors between guard pages, arguments, a run, and its verdict. */
#ifndef ATTEND_TESTS_HELP_SAMPLE_H
#define ATTEND_TESTS_HELP_SAMPLE_H

#include "tests/help_spec.h"
#include "tests/oracle.h"

struct sample {
    struct spec spec;
    attend_problem problem;
    attend_args args;
    struct box query, key, value, visible, bias;
    struct box output, lse, weights, scores, key_sums, maximum, total;
    struct guarded arrays;  /* starts, lengths, positions, prefixes and offsets */
    struct guarded numbers; /* slopes and sinks */
    struct guarded tables;  /* block tables, to the last entry that names a page with keys */
    int64_t table_stride, pages;
};

/* args points into *sample, which must stay where it is. Padding keys and rows hold poison. The spec's text is what a
 * crash from here on prints. Entries of block tables that name no page with keys of their item are no page's number. */
void sample_make(struct sample *sample, const struct spec *spec);
void sample_free(struct sample *sample);

/* An element of sample->key or sample->value by its key, wherever that lies; NULL for a key in none of the item's pages. */
void *sample_key_at(const struct sample *sample, const struct box *box, int64_t item, int64_t head, int64_t key, int64_t feature);

/* Outputs hold poison again. */
void sample_reset(struct sample *sample);

/* Puts NaN, infinities or 1e38 into keys and values that no row of their item sees, and makes pages that hold nothing
 * but padding inaccessible. */
void sample_poison_hidden(struct sample *sample);

/* Puts NaN and infinities into a few queries, keys and values that rows do see. */
void sample_poison_some(struct sample *sample);

/* Plans and runs in one call, during which flags, bias, arrays, block tables and numbers are read-only. */
attend_status sample_forward(struct sample *sample, attend_engine *engine);

/* An engine of that many threads, unbound, or NULL. inline_work as in attend_engine_options. */
attend_engine *make_engine(attend_isa isa, int32_t threads, int64_t inline_work);

bool has_isa(attend_isa isa);

/* The verdicts return NULL, or a text in static storage that names what differs and the seed that reruns it. */

/* All results against the oracle, within its bounds; padding rows zero, or untouched where that was asked for, like what lies beyond
 * the last packed item; nothing written between the elements. */
const char *sample_judge(const struct sample *sample);

/* All results of `count` rows but key sums, byte for byte, as far as both samples have them. Rows count from the item's first real one. */
struct rows {
    const struct sample *sample;
    int64_t item, head, row;
};
const char *compare_rows(struct rows one, struct rows other, int64_t count);

/* Those of all real rows, and key sums of all real keys, of two samples with the same items, heads and rows. */
const char *compare_samples(const struct sample *one, const struct sample *other);

#endif
