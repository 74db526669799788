/* See help_tensor.h. */
#include "tests/help_tensor.h"

#include <stdlib.h>
#include <string.h>

const char *layout_name(enum layout layout)
{
    static const char *const names[LAYOUT_COUNT] = { "bhsd", "bshd", "reversed", "gaps", "spread", "odd" };
    return names[layout];
}

/* Dense strides in the order given, outermost axis first, over extents that may be padded. */
static void set_dense_strides(int64_t stride[4], const int order[4], const int64_t extent[4], int64_t innermost)
{
    int64_t step = innermost;
    for (int place = 3; place >= 0; place--) {
        stride[order[place]] = step;
        step *= extent[order[place]];
    }
}

static void set_strides(int64_t stride[4], enum layout layout, const int64_t extent[4])
{
    static const int bhsd[4] = { 0, 1, 2, 3 }, bshd[4] = { 0, 2, 1, 3 };
    int64_t roomy[4] = { extent[0], extent[1], extent[2] + 1, extent[3] + 5 };
    int64_t longer[4] = { extent[0], extent[1], extent[2], extent[3] + 1 };
    switch (layout) {
    case LAYOUT_BSHD: set_dense_strides(stride, bshd, extent, 1); return;
    case LAYOUT_GAPS: set_dense_strides(stride, bhsd, roomy, 1); return;
    case LAYOUT_SPREAD: set_dense_strides(stride, bhsd, roomy, 3); return;
    case LAYOUT_ODD: set_dense_strides(stride, bhsd, longer, 1); return;
    case LAYOUT_BHSD:
    case LAYOUT_REVERSED:
    case LAYOUT_COUNT: break;
    }
    set_dense_strides(stride, bhsd, extent, 1);
    for (int axis = 0; axis < 3 && layout == LAYOUT_REVERSED; axis++)
        stride[axis] = -stride[axis];
}

static size_t dtype_bytes(attend_dtype dtype)
{
    return dtype == ATTEND_F32 ? 4 : dtype == ATTEND_BOOL ? 1 : 2;
}

static void set_view(struct box *box, attend_dtype dtype, const int64_t extent[4])
{
    attend_tensor view = ATTEND_TENSOR_INIT;
    view.dtype = dtype;
    box->view = view;
    box->element = dtype_bytes(dtype);
    memcpy(box->extent, extent, sizeof box->extent);
}

void box_make(struct box *box, enum layout layout, unsigned shared, attend_dtype dtype, const int64_t extent[4],
              enum guard_side side)
{
    int64_t stored[4], first = 0, last = 0;
    bool empty = false;
    set_view(box, dtype, extent);
    for (int axis = 0; axis < 4; axis++) {
        stored[axis] = shared >> axis & 1 ? 1 : extent[axis];
        empty |= extent[axis] == 0;
    }
    set_strides(box->view.stride, layout, stored);
    for (int axis = 0; axis < 4; axis++) {
        if (shared >> axis & 1)
            box->view.stride[axis] = 0;
        int64_t reach = box->view.stride[axis] * (extent[axis] - 1);
        first += reach < 0 ? reach : 0;
        last += reach > 0 ? reach : 0;
    }
    size_t elements = empty ? 0 : (size_t)(last - first + 1);
    size_t skew = layout == LAYOUT_ODD ? box->element : 0;
    guarded_make(&box->memory, elements * box->element, side, skew);
    box->view.data = box->memory.data - (empty ? 0 : first * (int64_t)box->element);
}

static void place_packed(struct box *box, unsigned char *data, int64_t item_stride, int64_t row_stride)
{
    box->view.data = data;
    box->view.stride[0] = item_stride;
    box->view.stride[1] = box->extent[3];
    box->view.stride[2] = row_stride;
    box->view.stride[3] = 1;
}

void box_make_packed(struct box *query, struct box *key, struct box *value, const int64_t query_extent[4],
                     const int64_t key_extent[4], const int64_t value_extent[4], enum guard_side side)
{
    set_view(query, ATTEND_F32, query_extent);
    set_view(key, ATTEND_F32, key_extent);
    set_view(value, ATTEND_F32, value_extent);
    int64_t key_offset = query_extent[1] * query_extent[3];
    int64_t value_offset = key_offset + key_extent[1] * key_extent[3];
    int64_t row_stride = value_offset + value_extent[1] * value_extent[3];
    int64_t item_stride = row_stride * query_extent[2];
    guarded_make(&query->memory, (size_t)(query_extent[0] * item_stride) * sizeof(float), side, 0);
    key->memory = value->memory = (struct guarded){ 0 };
    unsigned char *data = query->memory.data;
    place_packed(query, data, item_stride, row_stride);
    place_packed(key, data + key_offset * (int64_t)sizeof(float), item_stride, row_stride);
    place_packed(value, data + value_offset * (int64_t)sizeof(float), item_stride, row_stride);
}

/* The tensor inside pages that are `page` elements apart. */
static void place_in_pages(struct box *box, unsigned char *data, int64_t page)
{
    const int64_t *extent = box->extent, stride[4] = { page, extent[2] * extent[3], extent[3], 1 };
    box->view.data = data;
    memcpy(box->view.stride, stride, sizeof stride);
}

void box_make_pool(struct box *key, struct box *value, const int64_t key_extent[4], const int64_t value_extent[4], enum guard_side side)
{
    set_view(key, ATTEND_F32, key_extent);
    set_view(value, ATTEND_F32, value_extent);
    const int64_t keys = key_extent[1] * key_extent[2] * key_extent[3];
    const int64_t page = keys + value_extent[1] * value_extent[2] * value_extent[3];
    guarded_make(&key->memory, (size_t)(key_extent[0] * page) * sizeof(float), side, 0);
    value->memory = (struct guarded){ 0 };
    place_in_pages(key, key->memory.data, page);
    place_in_pages(value, key->memory.data + keys * (int64_t)sizeof(float), page);
}

void box_free(struct box *box)
{
    guarded_free(&box->memory);
    *box = (struct box){ 0 };
}

void *box_at(const struct box *box, int64_t item, int64_t head, int64_t row, int64_t feature)
{
    const int64_t *stride = box->view.stride;
    int64_t offset = item * stride[0] + head * stride[1] + row * stride[2] + feature * stride[3];
    return (unsigned char *)box->view.data + offset * (int64_t)box->element;
}

void box_mark(const struct box *box, bool *used)
{
    for (int64_t item = 0; item < box->extent[0]; item++)
        for (int64_t head = 0; head < box->extent[1]; head++)
            for (int64_t row = 0; row < box->extent[2]; row++)
                for (int64_t feature = 0; feature < box->extent[3]; feature++) {
                    unsigned char *element = box_at(box, item, head, row, feature);
                    memset(used + (element - box->memory.data), true, box->element);
                }
}

bool box_is_clean(const struct box *box)
{
    bool *used = calloc(box->memory.bytes + 1, sizeof *used);
    if (!used)
        abort();
    box_mark(box, used);
    size_t stain = guarded_find_stain(&box->memory, used);
    free(used);
    return stain == SIZE_MAX;
}
