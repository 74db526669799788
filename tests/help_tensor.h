/* Tensors for tests: a view with the memory under it, in any layout that callers use. */
#ifndef ATTEND_TESTS_HELP_TENSOR_H
#define ATTEND_TESTS_HELP_TENSOR_H

#include "attend/attend.h"
#include "tests/help_guard.h"

enum layout {
    LAYOUT_BHSD,     /* [batch][head][row][feature] */
    LAYOUT_BSHD,     /* [batch][row][head][feature] */
    LAYOUT_REVERSED, /* as BHSD with the three outer axes running backwards */
    LAYOUT_GAPS,     /* as BHSD with room between rows and heads */
    LAYOUT_SPREAD,   /* as GAPS with feature stride 3 */
    LAYOUT_ODD,      /* as BHSD with rows one element longer, from an address that is aligned to the element only */
    LAYOUT_COUNT
};

/* Axes along which all elements are the same one (stride 0). */
enum { SHARED_ITEMS = 1, SHARED_HEADS = 2, SHARED_ROWS = 4, SHARED_FEATURES = 8 };

struct box {
    attend_tensor view;
    int64_t extent[4];
    size_t element; /* bytes */
    struct guarded memory; /* empty when the box lies in another's memory */
};

const char *layout_name(enum layout layout);

/* The elements are poison until written. */
void box_make(struct box *box, enum layout layout, unsigned shared, attend_dtype dtype, const int64_t extent[4],
              enum guard_side side);

/* Query, key and value side by side in every row of one buffer, [batch][row][query heads, key heads, value
 * heads][feature]; the rows of all three must be equal. The first box owns the memory. */
void box_make_packed(struct box *query, struct box *key, struct box *value, const int64_t query_extent[4],
                     const int64_t key_extent[4], const int64_t value_extent[4], enum guard_side side);

/* Keys and values in the same pages, [page][keys, values][head][token][feature]. The first box owns the memory. */
void box_make_pool(struct box *key, struct box *value, const int64_t key_extent[4], const int64_t value_extent[4], enum guard_side side);

void box_free(struct box *box);

void *box_at(const struct box *box, int64_t item, int64_t head, int64_t row, int64_t feature);

/* Marks the bytes of every element in used[box->memory.bytes]. */
void box_mark(const struct box *box, bool *used);

/* True when nothing but elements was written since the box was made. */
bool box_is_clean(const struct box *box);

#endif
