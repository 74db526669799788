/* Inputs that broke other implementations, with the values worked out by hand: rows without keys, poison behind the
 * mask, causal with unequal lengths, dead tiles before a very negative survivor, finite sentinels, grouped heads, NaN
 * that must stay in its row, sizes of zero. One table; each row of it is a problem for one engine of one thread and
 * one of two. */
#include "tests/help_suite.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST_ROWS = 12, MOST_KEYS = 66, MOST_BIASES = 12, MOST_ITEMS = 4 };

/* Width 1 and scale 1 unless said. Data is that of one batch item and in BHSD order. */
struct little {
    const char *name;
    int64_t rows, keys;
    int64_t heads, kv_heads; /* 0: 1 */
    int64_t d_v;             /* 0: 1 */
    float query[28], key[MOST_KEYS], value[MOST_KEYS * 2];
    const char *visible; /* a plane of rows·keys of 1 and 0; NULL: none. Given as bytes, as bits, and as a bias of 0 and -inf */
    bool with_bias;
    float bias[MOST_BIASES]; /* a plane of rows·keys */
    float softcap;
    int64_t prefix;
    int64_t items; /* 0: one; more: packed, by these offsets */
    int64_t query_offsets[MOST_ITEMS + 1], key_offsets[MOST_ITEMS + 1];
    bool with_length, with_rows; /* pass the next two */
    int64_t key_length, query_length;
    bool causal;
    attend_diagonal diagonal;
    uint32_t flags;
    int64_t window_left, window_right;
    float output[28], lse[28];
};

#define LN2 0.69314718f
#define LN3 1.0986123f
#define LENGTH(n) .with_length = true, .key_length = n
#define TOP_LEFT .causal = true, .diagonal = ATTEND_DIAGONAL_TOP_LEFT
#define WINDOW(left, right) .flags = ATTEND_WINDOW, .window_left = left, .window_right = right
#define BOTTOM_RIGHT .causal = true, .diagonal = ATTEND_DIAGONAL_BOTTOM_RIGHT
#define BIAS(...) .with_bias = true, .bias = { __VA_ARGS__ }
#define PACKED(count) .items = count, .flags = ATTEND_PACKED_QUERIES | ATTEND_PACKED_KEYS
#define KEPT NAN /* what the tests put there before the run is NaN */

/* A key in sight (1) and a poisoned one behind: output and LSE are those of the first. */
#define BEHIND(what, poison)                                                                                        \
    { what " behind the length", 1, 2, LENGTH(1), .query = { 1 }, .key = { 1, poison },                   \
      .value = { 5, poison }, .output = { 5 }, .lse = { 1 } },                                                        \
    { what " hidden by the tensor", 1, 2, .visible = "10", .query = { 1 }, .key = { 1, poison },                \
      .value = { 5, poison }, .output = { 5 }, .lse = { 1 } },                                                        \
    { what " before the window", 1, 2, WINDOW(0, -1), .query = { 1 }, .key = { poison, 1 },                      \
      .value = { poison, 5 }, .output = { 5 }, .lse = { 1 } },                                                        \
    { what " behind the window", 1, 2, WINDOW(-1, 0), .diagonal = ATTEND_DIAGONAL_TOP_LEFT, .query = { 1 },       \
      .key = { 1, poison }, .value = { 5, poison }, .output = { 5 }, .lse = { 1 } },                                  \
    { what " hidden by the bias", 1, 2, BIAS(0, -INFINITY), .query = { 1 }, .key = { 1, poison },                   \
      .value = { 5, poison }, .output = { 5 }, .lse = { 1 } },                                                        \
    { what " behind the causal edge", 1, 2, TOP_LEFT, .query = { 1 }, .key = { 1, poison },                      \
      .value = { 5, poison }, .output = { 5 }, .lse = { 1 } }

/* A very negative score next to a hidden zero. */
#define SURVIVOR(score)                                                                                             \
    { "survivor " #score " by tensor", 1, 2, .visible = "10", .query = { score }, .key = { 1, 0 },              \
      .value = { 1, 100 }, .output = { 1 }, .lse = { score } },                                                       \
    { "survivor " #score " by length", 1, 2, LENGTH(1), .query = { score }, .key = { 1, 0 },              \
      .value = { 1, 100 }, .output = { 1 }, .lse = { score } }

static const struct little littles[] = {
    { "the first row sees nothing", 2, 2, .visible = "0011", .query = { 1, 1 }, .key = { 1, 1 }, .value = { 10, 20 },
      .output = { 0, 15 }, .lse = { -INFINITY, 1 + LN2 } },
    { "the last row sees nothing", 2, 2, .visible = "1100", .query = { 1, 1 }, .key = { 1, 1 }, .value = { 10, 20 },
      .output = { 15, 0 }, .lse = { 1 + LN2, -INFINITY } },
    { "no row sees anything, by tensor", 2, 2, .visible = "0000", .query = { 1, 1 }, .key = { 1, 1 },
      .value = { 10, 20 }, .output = { 0, 0 }, .lse = { -INFINITY, -INFINITY } },
    { "no row sees anything, by length", 2, 2, LENGTH(0), .query = { 1, 1 }, .key = { 1, 1 },
      .value = { 10, 20 }, .output = { 0, 0 }, .lse = { -INFINITY, -INFINITY } },
    { "left padding by tensor and causal", 3, 3, BOTTOM_RIGHT, .visible = "001001001", .query = { 0 },
      .key = { 1, 1, 1 }, .value = { 1, 2, 3 }, .output = { 0, 0, 3 }, .lse = { -INFINITY, -INFINITY, 0 } },
    { "holes by tensor and causal", 7, 7, BOTTOM_RIGHT,
      .visible = "0110010011001001100100110010011001001100100110010", .query = { 0 }, .key = { 0 },
      .value = { 1, 2, 3, 4, 5, 6, 7 }, .output = { 0, 2, 2.5f, 2.5f, 2.5f, 11.0f / 3, 11.0f / 3 },
      .lse = { -INFINITY, 0, LN2, LN2, LN2, LN3, LN3 } },

    BEHIND("NaN", NAN), BEHIND("infinity", INFINITY), BEHIND("negative infinity", -INFINITY), BEHIND("1e38", 1e38f),
    { "a hidden key with the largest score", 1, 2, .visible = "10", .query = { 1 }, .key = { 1, 1000 },
      .value = { 5, 9 }, .output = { 5 }, .lse = { 1 } },

    { "top-left, 2 rows and 5 keys", 2, 5, TOP_LEFT, .value = { 1, 2, 3, 4, 5 }, .output = { 1, 1.5f },
      .lse = { 0, LN2 } },
    { "bottom-right, 2 rows and 5 keys", 2, 5, BOTTOM_RIGHT, .value = { 1, 2, 3, 4, 5 }, .output = { 2.5f, 3 },
      .lse = { 2 * LN2, 1.6094379f } },
    { "top-left, 5 rows and 2 keys", 5, 2, TOP_LEFT, .value = { 1, 2 }, .output = { 1, 1.5f, 1.5f, 1.5f, 1.5f },
      .lse = { 0, LN2, LN2, LN2, LN2 } },
    { "bottom-right, 5 rows and 2 keys", 5, 2, BOTTOM_RIGHT, .value = { 1, 2 }, .output = { 0, 0, 0, 1, 1.5f },
      .lse = { -INFINITY, -INFINITY, -INFINITY, 0, LN2 } },
    { "top-left, 1 row and 4 keys", 1, 4, TOP_LEFT, .value = { 1, 2, 3, 4 }, .output = { 1 }, .lse = { 0 } },
    { "bottom-right, 1 row and 4 keys", 1, 4, BOTTOM_RIGHT, .value = { 1, 2, 3, 4 }, .output = { 2.5f },
      .lse = { 2 * LN2 } },
    { "bottom-right of 3 valid keys", 2, 5, BOTTOM_RIGHT, LENGTH(3), .value = { 1, 2, 3, 4, 5 },
      .output = { 1.5f, 2 }, .lse = { LN2, LN3 } },
    { "bottom-right of 1 valid row", 2, 5, BOTTOM_RIGHT, LENGTH(3), .with_rows = true, .query_length = 1,
      .value = { 1, 2, 3, 4, 5 }, .output = { 2, 0 }, .lse = { LN3, -INFINITY } },

    { "a window of the row's own key", 3, 3, WINDOW(0, 0), .query = { 1, 2, 3 }, .key = { 4, 5, 6 }, .value = { 1, 2, 3 },
      .output = { 1, 2, 3 }, .lse = { 4, 10, 18 } },
    { "a window of two keys", 4, 4, WINDOW(1, 0), .value = { 1, 2, 3, 4 }, .output = { 1, 1.5f, 2.5f, 3.5f },
      .lse = { 0, LN2, LN2, LN2 } },
    { "a window on both sides", 4, 4, WINDOW(1, 1), .value = { 1, 2, 3, 7 }, .output = { 1.5f, 2, 4, 5 },
      .lse = { LN2, LN3, LN3, LN2 } },
    { "a window on both sides and causal", 4, 4, WINDOW(1, 1), .causal = true, .value = { 1, 2, 3, 4 },
      .output = { 1, 1.5f, 2.5f, 3.5f }, .lse = { 0, LN2, LN2, LN2 } },
    { "a window to the right", 3, 3, WINDOW(0, -1), .value = { 1, 2, 3 }, .output = { 2, 2.5f, 3 }, .lse = { LN3, LN2, 0 } },
    { "a window before the first key", 4, 2, WINDOW(0, 0), .value = { 1, 2 }, .output = { 0, 0, 1, 2 },
      .lse = { -INFINITY, -INFINITY, 0, 0 } },
    { "a window after the last key", 4, 2, WINDOW(1, 0), .diagonal = ATTEND_DIAGONAL_TOP_LEFT, .value = { 1, 2 },
      .output = { 1, 1.5f, 2, 0 }, .lse = { 0, LN2, 0, -INFINITY } },
    { "a window of 3 valid keys", 2, 5, WINDOW(1, 0), LENGTH(3), .value = { 1, 2, 3, 4, 5 }, .output = { 1.5f, 2.5f },
      .lse = { LN2, LN2 } },
    { "a window with holes by tensor", 3, 3, WINDOW(1, 1), .visible = "110001111", .value = { 1, 2, 3 },
      .output = { 1.5f, 3, 2.5f }, .lse = { LN2, 0, LN2 } },
    { "a window whose keys the tensor hides", 2, 3, WINDOW(0, 0), .visible = "101111", .value = { 1, 2, 3 }, .output = { 0, 3 },
      .lse = { -INFINITY, 0 } },

    SURVIVOR(-2e4f), SURVIVOR(-6e4f), SURVIVOR(-1e9f), SURVIVOR(-2e30f), SURVIVOR(-3e38f),
    SURVIVOR(-FLT_MAX),
    { "one score of zero beside one of -3e38", 1, 2, .query = { 1 }, .key = { 0, -3e38f }, .value = { 1, 100 },
      .output = { 1 }, .lse = { 0 } },
    { "two scores of -3e38", 1, 2, .query = { 1 }, .key = { -3e38f, -3e38f }, .value = { 10, 20 }, .output = { 15 },
      .lse = { -3e38f } },

    { "a bias of -FLT_MAX on both keys", 1, 2, BIAS(-FLT_MAX, -FLT_MAX), .query = { 1 }, .key = { 1, 1 }, .value = { 10, 20 },
      .output = { 15 }, .lse = { -FLT_MAX } },
    { "a bias of -FLT_MAX on one key", 1, 2, BIAS(0, -FLT_MAX), .query = { 1 }, .key = { 1, 1 }, .value = { 10, 20 },
      .output = { 10 }, .lse = { 1 } },
    { "a bias of -FLT_MAX under a score of -FLT_MAX weighs nothing", 1, 2, BIAS(-FLT_MAX, 0), .query = { 1 },
      .key = { -FLT_MAX, 1 }, .value = { 10, 20 }, .output = { 20 }, .lse = { 1 } },
    { "a bias shifts", 1, 2, BIAS(LN2, 0), .value = { 3, 9 }, .output = { 5 }, .lse = { LN3 } },
    { "a bias of NaN shows", 2, 2, BIAS(0, NAN, 0, 0), .value = { 1, 2 }, .output = { NAN, 1.5f }, .lse = { NAN, LN2 } },

    { "softcap before the mask", 1, 2, .softcap = 1, .visible = "10", .value = { 1, 1000 }, .output = { 1 }, .lse = { 0 } },
    { "softcap of 65 scores of zero", 1, 65, .softcap = 1, .value = { [0 ... 64] = 1 }, .output = { 1 }, .lse = { 4.174387f } },
    { "softcap of 5", 1, 2, .softcap = 5, .query = { 2 }, .key = { 3, -3 }, .value = { 1, 0 }, .output = { 0.9997596f },
      .lse = { 4.1685131f } },
    { "softcap of an infinite score is the cap", 1, 2, .softcap = 2, .query = { 1 }, .key = { INFINITY, INFINITY },
      .value = { 1, 2 }, .output = { 1.5f }, .lse = { 2 + LN2 } },
    { "softcap of a NaN shows", 1, 2, .softcap = 2, .query = { 1 }, .key = { NAN, 0 }, .value = { 1, 2 }, .output = { NAN },
      .lse = { NAN } },

    { "packed, an item without rows", 2, 8, PACKED(3), .query_offsets = { 0, 1, 1, 2 }, .key_offsets = { 0, 3, 3, 8 },
      .value = { 1, 2, 3, 10, 20, 30, 40, 50 }, .output = { 2, 30 }, .lse = { LN3, 1.6094379f } },
    { "packed, an item without keys", 2, 2, PACKED(2), .query_offsets = { 0, 1, 2 }, .key_offsets = { 0, 0, 2 },
      .value = { 4, 6 }, .output = { 0, 5 }, .lse = { -INFINITY, LN2 } },
    { "packed, empty items first", 1, 2, PACKED(4), .query_offsets = { 0, 0, 0, 0, 1 }, .key_offsets = { 0, 0, 0, 0, 2 },
      .value = { 4, 6 }, .output = { 5 }, .lse = { LN2 } },
    { "packed, all items empty", 2, 2, PACKED(3), .output = { KEPT, KEPT }, .lse = { KEPT, KEPT } },
    { "packed, rows beyond the last item", 3, 3, PACKED(2), .query_offsets = { 0, 1, 2 }, .key_offsets = { 0, 1, 3 },
      .value = { 4, 6, 8 }, .output = { 4, 7, KEPT }, .lse = { 0, LN2, KEPT } },
    { "packed, causal", 4, 4, PACKED(2), BOTTOM_RIGHT, .query_offsets = { 0, 2, 4 }, .key_offsets = { 0, 2, 4 },
      .value = { 1, 3, 5, 9 }, .output = { 1, 2, 5, 7 }, .lse = { 0, LN2, 0, LN2 } },

    { "a window of 2 counting itself", 5, 5, WINDOW(1, 0), .value = { 1, 2, 3, 4, 5 }, .output = { 1, 1.5f, 2.5f, 3.5f, 4.5f },
      .lse = { 0, LN2, LN2, LN2, LN2 } },
    { "a window of 1 on both sides", 5, 5, WINDOW(1, 1), .value = { 1, 2, 3, 4, 5 }, .output = { 1.5f, 2, 3, 4, 4.5f },
      .lse = { LN2, LN3, LN3, LN3, LN2 } },
    { "a window of 2 at the last of 5 keys", 1, 5, WINDOW(1, 0), .value = { 1, 2, 3, 4, 5 }, .output = { 4.5f }, .lse = { LN2 } },
    { "a prefix behind the window", 4, 4, WINDOW(0, 0), .prefix = 1, .value = { 1, 3, 5, 7 }, .output = { 1, 2, 3, 4 },
      .lse = { 0, LN2, LN2, LN2 } },
    { "a prefix after the causal edge", 3, 3, BOTTOM_RIGHT, .prefix = 2, .value = { 1, 3, 8 }, .output = { 2, 2, 4 },
      .lse = { LN2, LN2, LN3 } },
    { "a prefix of more keys than there are", 2, 2, BOTTOM_RIGHT, .prefix = 9, .value = { 1, 3 }, .output = { 2, 2 },
      .lse = { LN2, LN2 } },
    { "a prefix that the tensor hides", 2, 3, WINDOW(0, 0), .prefix = 1, .visible = "011011", .value = { 1, 3, 5 },
      .output = { 3, 5 }, .lse = { 0, 0 } },

    { "28 heads on 4", 1, 1, 28, 4, .value = { 10, 20, 30, 40 },
      .output = { 10, 10, 10, 10, 10, 10, 10, 20, 20, 20, 20, 20, 20, 20, 30, 30, 30, 30, 30, 30, 30, 40, 40, 40, 40, 40, 40, 40 },
      .lse = { 0 } },
    { "12 heads on 2", 1, 1, 12, 2, .value = { 10, 20 }, .output = { 10, 10, 10, 10, 10, 10, 20, 20, 20, 20, 20, 20 },
      .lse = { 0 } },
    { "4 heads on 2", 1, 1, 4, 2, .value = { 10, 20 }, .output = { 10, 10, 20, 20 }, .lse = { 0 } },
    { "6 heads on 1", 1, 1, 6, 1, .value = { 10 }, .output = { 10, 10, 10, 10, 10, 10 }, .lse = { 0 } },
    { "6 heads on 2", 1, 1, 6, 2, .value = { 10, 20 }, .output = { 10, 10, 10, 20, 20, 20 }, .lse = { 0 } },
    { "6 heads on 3", 1, 1, 6, 3, .value = { 10, 20, 30 }, .output = { 10, 10, 20, 20, 30, 30 }, .lse = { 0 } },

    { "a NaN query stays in its row", 2, 2, .query = { NAN, 0 }, .key = { 1, 1 }, .value = { 1, 2 },
      .output = { NAN, 1.5f }, .lse = { NAN, LN2 } },
    { "a NaN key shows in the row that sees it", 2, 2, .visible = "1110", .query = { 0, 0 }, .key = { 1, NAN },
      .value = { 1, 2 }, .output = { NAN, 1 }, .lse = { NAN, 0 } },
    { "a NaN value stays in its column", 1, 2, .d_v = 2, .query = { 0 }, .key = { 1, 1 }, .value = { 1, 2, NAN, 4 },
      .output = { NAN, 3 }, .lse = { LN2 } },
    { "an infinite value makes its column NaN", 1, 2, .d_v = 2, .query = { 0 }, .key = { 1, 1 },
      .value = { 1, 2, INFINITY, 4 }, .output = { NAN, 3 }, .lse = { LN2 } },
    { "a score of +infinity is no empty row", 1, 2, .query = { 1 }, .key = { INFINITY, 1 }, .value = { 1, 2 },
      .output = { NAN }, .lse = { NAN } },
    { "a visible score of -infinity weighs nothing", 1, 2, .query = { 1 }, .key = { -INFINITY, 1 }, .value = { 1, 2 },
      .output = { 2 }, .lse = { 1 } },
    { "nothing above -infinity is an empty row", 1, 2, .query = { 1 }, .key = { -INFINITY, -INFINITY },
      .value = { 1, 2 }, .output = { 0 }, .lse = { -INFINITY } },
    { "an empty row sees no NaN", 1, 1, .visible = "0", .query = { NAN }, .key = { NAN }, .value = { NAN },
      .output = { 0 }, .lse = { -INFINITY } },
    { "no keys at all", 2, 0, .query = { 1, 1 }, .output = { 0, 0 }, .lse = { -INFINITY, -INFINITY } },
};

/* Ways to give a plane of flags. */
enum form { AS_BYTES, AS_BITS, AS_BIAS, FORMS };

struct little_run {
    struct box query, key, value, visible, bias, output, lse;
    unsigned char bits[MOST_ROWS * 2];
    attend_tensor bit_view;
    attend_problem problem;
    attend_args args;
};

static void fill_box(struct box *box, const float *numbers)
{
    int64_t heads = box->extent[1], rows = box->extent[2], width = box->extent[3];
    for (int64_t i = 0; i < heads * rows * width; i++)
        *(float *)box_at(box, 0, i / (rows * width), i / width % rows, i % width) = numbers[i];
}

static void make_boxes(struct little_run *run, const struct little *little, int64_t heads, int64_t kv_heads,
                       int64_t d_v)
{
    int64_t query[4] = { 1, heads, little->rows, 1 }, key[4] = { 1, kv_heads, little->keys, 1 };
    int64_t value[4] = { 1, kv_heads, little->keys, d_v }, output[4] = { 1, heads, little->rows, d_v };
    int64_t plane[4] = { 1, heads, little->rows, little->keys };
    box_make(&run->query, LAYOUT_BHSD, 0, ATTEND_F32, query, GUARD_AFTER);
    box_make(&run->key, LAYOUT_BHSD, 0, ATTEND_F32, key, GUARD_AFTER);
    box_make(&run->value, LAYOUT_BHSD, 0, ATTEND_F32, value, GUARD_AFTER);
    box_make(&run->output, LAYOUT_BHSD, 0, ATTEND_F32, output, GUARD_AFTER);
    box_make(&run->lse, LAYOUT_BHSD, 0, ATTEND_F32, query, GUARD_AFTER);
    box_make(&run->visible, LAYOUT_BHSD, SHARED_HEADS, ATTEND_BOOL, plane, GUARD_AFTER);
    box_make(&run->bias, LAYOUT_BHSD, SHARED_HEADS, ATTEND_F32, plane, GUARD_AFTER);
    fill_box(&run->query, little->query);
    fill_box(&run->key, little->key);
    fill_box(&run->value, little->value);
    for (int64_t i = 0; i < little->rows * little->keys; i++) {
        const int64_t row = i / little->keys, column = i % little->keys;
        const bool seen = !little->visible || little->visible[i] == '1';
        *(char *)box_at(&run->visible, 0, 0, row, column) = seen;
        if (little->visible || little->with_bias)
            *(float *)box_at(&run->bias, 0, 0, row, column) = little->with_bias ? little->bias[i] : seen ? 0.0f : -INFINITY;
        if (little->visible && seen)
            run->bits[row] |= (unsigned char)(1u << column);
    }
    run->bit_view = (attend_tensor){ .struct_size = sizeof run->bit_view, .data = run->bits, .dtype = ATTEND_BIT,
                                     .stride = { 0, 0, 8, 1 } };
}

static void give_flags(struct little_run *run, const struct little *little, enum form form)
{
    const bool flags = little->visible != NULL;
    if (flags && form != AS_BIAS)
        run->args.visible = form == AS_BITS ? &run->bit_view : &run->visible.view;
    if (little->with_bias || (flags && form == AS_BIAS))
        run->args.bias = &run->bias.view;
}

static void make_little(struct little_run *run, const struct little *little, enum form form)
{
    memset(run, 0, sizeof *run);
    int64_t heads = little->heads ? little->heads : 1, kv_heads = little->kv_heads ? little->kv_heads : 1;
    int64_t d_v = little->d_v ? little->d_v : 1;
    cr_assert(!little->visible || (int64_t)strlen(little->visible) == little->rows * little->keys, "%s", little->name);
    make_boxes(run, little, heads, kv_heads, d_v);
    run->problem = (attend_problem){ .struct_size = sizeof run->problem, .batch = little->items ? little->items : 1, .heads = heads,
                                     .kv_heads = kv_heads, .rows = little->rows, .keys = little->keys, .d_k = 1,
                                     .d_v = d_v,
                                     .flags = ATTEND_EXPLICIT_SCALE | little->flags, .scale = 1.0f,
                                     .causal = little->causal, .diagonal = little->diagonal,
                                     .window_left = little->window_left, .window_right = little->window_right,
                                     .softcap = little->softcap };
    run->args = (attend_args)ATTEND_ARGS_INIT;
    run->args.query = &run->query.view;
    run->args.key = &run->key.view;
    run->args.value = &run->value.view;
    run->args.output = &run->output.view;
    run->args.lse = &run->lse.view;
    give_flags(run, little, form);
    run->args.prefix_lengths = little->prefix ? &little->prefix : NULL;
    run->args.query_offsets = little->items ? little->query_offsets : NULL;
    run->args.key_offsets = little->items ? little->key_offsets : NULL;
    run->args.key_lengths = little->with_length ? &little->key_length : NULL;
    run->args.query_lengths = little->with_rows ? &little->query_length : NULL;
}

static void free_little(struct little_run *run)
{
    struct box *boxes[] = { &run->query, &run->key, &run->value, &run->visible, &run->bias, &run->output, &run->lse };
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++)
        box_free(boxes[i]);
}

/* NaN equals NaN only; 0 and infinities are exact; the rest within 2e-6 of it. */
static void expect_numbers(const struct box *box, const float *right, const char *what, const char *name)
{
    int64_t rows = box->extent[2], width = box->extent[3];
    for (int64_t i = 0; i < box->extent[1] * rows * width; i++) {
        float found = *(float *)box_at(box, 0, i / (rows * width), i / width % rows, i % width);
        bool same = isnan(right[i]) ? isnan(found)
                    : isinf(right[i]) ? found == right[i]
                                      : fabsf(found - right[i]) <= 2e-6f * fabsf(right[i]);
        cr_expect(same, "%s: %s %lld is %.9g, should be %.9g", name, what, (long long)i, (double)found,
                  (double)right[i]);
    }
}

static void check_little(attend_engine *engine, const struct little *little, enum form form)
{
    struct little_run run;
    make_little(&run, little, form);
    attend_status status = attend_forward(engine, &run.problem, &run.args);
    cr_assert(status == ATTEND_OK, "%s: %s", little->name, attend_last_error());
    expect_numbers(&run.output, little->output, "output", little->name);
    expect_numbers(&run.lse, little->lse, "lse", little->name);
    free_little(&run);
}

static void check_littles(attend_isa isa)
{
    attend_engine *engines[] = { need_engine(isa, 1, 0), need_engine(isa, 1, IN_TEAM), need_engine(isa, 2, IN_TEAM) };
    for (size_t i = 0; i < sizeof littles / sizeof *littles; i++)
        for (size_t e = 0; e < sizeof engines / sizeof *engines; e++)
            for (int form = 0; form < (littles[i].visible && !littles[i].with_bias ? FORMS : 1); form++)
                check_little(engines[e], &littles[i], (enum form)form);
    for (size_t e = 0; e < sizeof engines / sizeof *engines; e++)
        attend_engine_destroy(engines[e]);
}

ISA_TESTS(cases, worked_out_by_hand, check_littles)
