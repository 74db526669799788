/* A problem as tests describe it: sizes, ranges, options, layouts and a seed, without any memory. Numbers of queries,
 * keys, values and visibility are functions of the seed and of logical places (whose item, which head, which row or
 * key counted from the item's first), so that two specs with other padding, layout or company hold the
 * same sequences. */
#ifndef ATTEND_TESTS_HELP_SPEC_H
#define ATTEND_TESTS_HELP_SPEC_H

#include "attend/attend.h"
#include "tests/help_tensor.h"

enum { SPEC_ITEMS = 8 };

enum visibility {
    VISIBLE_ALL,    /* no tensor */
    VISIBLE_FULL,   /* a flag for every item, head, row and key */
    VISIBLE_BY_KEY, /* one flag for all rows and heads of an item */
    VISIBLE_BATCH,  /* one plane of (row, key) for the whole batch */
};

struct spec {
    uint64_t seed;
    int64_t batch, heads, kv_heads, rows, keys, d_k, d_v;
    bool with_key_starts, with_key_lengths, with_query_starts, with_query_lengths;
    int64_t key_starts[SPEC_ITEMS], key_lengths[SPEC_ITEMS]; /* hold the truth even where not passed */
    int64_t query_starts[SPEC_ITEMS], query_lengths[SPEC_ITEMS];
    int64_t positions[SPEC_ITEMS];
    int64_t label[SPEC_ITEMS];      /* whose numbers the item holds */
    int64_t first_row[SPEC_ITEMS];  /* logical number of the item's first row: a chunk of a longer query */
    int64_t kv_repeat;              /* kv heads in a row with the same numbers */
    bool causal;
    attend_diagonal diagonal;
    uint32_t flags;
    int64_t window_left, window_right; /* see spec_set_window */
    float scale;
    enum visibility visibility;
    int64_t visible_percent;
    float query_stretch, value_stretch, value_shift; /* multiply and add to the usual numbers */
    enum layout query_layout, kv_layout, output_layout, visible_layout;
    bool one_buffer;                /* query, key and value side by side */
    bool packed_queries, packed_keys; /* see spec_pack_queries, spec_pack_keys */
    int64_t page_keys, spare_pages; /* see spec_set_pages; 0: contiguous keys */
    bool one_pool;                  /* keys and values in the same pages: [page][keys, values][head][token][feature] */
    float softcap;                  /* 0: none */
    bool with_bias, with_alibi, with_sinks, with_prefix, with_bits, with_key_sums, with_partials;
    bool usual_slopes;              /* those of attend_alibi_slopes */
    unsigned bias_shared;           /* SHARED_... axes */
    enum layout bias_layout;
    int64_t prefix_lengths[SPEC_ITEMS];
    int64_t visible_tail;           /* columns of the visibility tensor; 0: one for every key */
    unsigned query_shared, kv_shared; /* SHARED_... axes */
    enum guard_side side;
    bool with_lse, with_weights, with_scores;
};

/* One item of the sizes given, everything visible, all dense, LSE wanted. */
struct spec spec_plain(uint64_t seed, int64_t heads, int64_t rows, int64_t keys, int64_t d_k, int64_t d_v);

/* Copies of the first item up to `batch`, each with numbers of its own. */
void spec_set_batch(struct spec *spec, int64_t batch);

/* Gives the item that range of keys, or rows, and passes it. */
void spec_set_keys(struct spec *spec, int64_t item, int64_t start, int64_t length);
void spec_set_rows(struct spec *spec, int64_t item, int64_t start, int64_t length);

void spec_set_window(struct spec *spec, int64_t left, int64_t right);

/* Puts the rows (keys) of all items one after the other, as many as their lengths say, and `beyond` unused ones after them. */
void spec_pack_queries(struct spec *spec, int64_t beyond);
void spec_pack_keys(struct spec *spec, int64_t beyond);

/* Lays keys out in pages of that many, beside `spare` pages that nobody has: axes of kv_layout then are page, head, token and feature.
 * Items with shared keys have one block table. */
void spec_set_pages(struct spec *spec, int64_t page_keys, int64_t spare);

/* The same with keys and values in one pool. */
void spec_set_one_pool(struct spec *spec, int64_t page_keys, int64_t spare);

/* Entries low ≤ n < high of an item's block table name pages that hold keys of it; both 0 for none. */
struct entries {
    int64_t low, high;
};
struct entries spec_entries(const struct spec *spec, int64_t item);

/* Multiply-adds over all padded pairs. */
double spec_work(const struct spec *spec);

/* Anything that is legal, of at most about `work` multiply-adds. */
void spec_random(struct spec *spec, uint64_t seed, double work);

/* One line, in static storage. */
const char *spec_text(const struct spec *spec);

/* The numbers at a logical place. */
float spec_query(const struct spec *spec, int64_t label, int64_t head, int64_t row, int64_t feature);
float spec_key(const struct spec *spec, int64_t label, int64_t head, int64_t key, int64_t feature);
float spec_value(const struct spec *spec, int64_t label, int64_t head, int64_t key, int64_t feature);
unsigned char spec_visible(const struct spec *spec, int64_t label, int64_t head, int64_t row, int64_t key);

/* The bias, of the same place for all that share an axis; about one in ten is -inf. Very negative ones stand together in a few rows: the
 * error bounds of a row grow with the largest bias that it sees. */
float spec_bias(const struct spec *spec, int64_t label, int64_t head, int64_t row, int64_t key);
float spec_slope(const struct spec *spec, int64_t head); /* where they are not the usual ones */
float spec_sink(const struct spec *spec, int64_t head);

#endif
