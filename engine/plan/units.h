/* Cutting a run into units, which one thread takes at a time: pure functions of the problem and the call's lengths. A unit
 * is some rows of one kv head of one item, counted over all rows of its group: row m of the group is row m / group of query head
 * m mod group, so that neighbours see nearly the same keys. Where few rows have many keys, so that threads would be left without work,
 * they are cut by keys as well, at KV tiles: the pieces leave partials in slots, which are folded in the order of keys when the last
 * piece is done. The cut decides who computes what and when, never a result. */
#ifndef ATTEND__UNITS_H
#define ATTEND__UNITS_H

#include "engine/problem/visible.h"

#include <stdint.h>

enum { ATTEND__CLEAR_UNIT = -1 }; /* as kv_head: the unit writes the item's padding rows of query head `first` */

struct attend__unit_ref {
    int64_t item, kv_head;
    int64_t first, rows; /* of the group */
    int64_t tile, tiles; /* a piece takes KV tiles tile … tile + tiles - 1 of the item; tiles 0: the unit takes all that its rows see */
    int64_t split;       /* of a piece */
    int64_t items;       /* more than 0: a cascade, which takes all rows of so many items from `item` on */
};

/* Rows whose keys are cut into pieces. The first piece folds its tiles into the first slot; the others have a slot for every tile. So do
 * all pieces of rows whose first tiles a cascade has. */
struct attend__split {
    int64_t item, kv_head, first, rows; /* as of a unit */
    int64_t tile, tiles;                /* of all pieces; 0 tiles: all are the cascade's */
    int64_t pieces, first_tiles;        /* tiles of the first piece */
    int64_t slot;                       /* offset of the first slot, in floats */
    int64_t items, feeds;               /* of a cascade: how many items, and the split of the first; those of the others follow it. Else 0 */
    int64_t cascade, cascade_row;       /* the split of the cascade that has the tiles before, and where the rows begin there; -1: none */
};

/* A run cut into units, longest first. items[] and units[] are the caller's memory. */
struct attend__schedule {
    struct attend__item *items;     /* [call.batch] */
    struct attend__unit_ref *units; /* [count] */
    int64_t count;
    struct attend__split *splits;   /* [split_count] */
    int64_t split_count;
    int64_t *waiting;               /* [split_count]: pieces that are not done yet. Written atomically while the run goes on */
    float *slots;
    int64_t unit_rows;              /* of a full unit */
    double work;                    /* multiply-adds of the visible pairs */
    double cost;                    /* the same, and what it takes to bring their keys and values */
    float *maximum, *total;         /* [call.batch][heads][call.rows] as the plan has room for: M and L of every row; NULL without
                                       problem.key_sums. The batch of packed queries is 1 */
};

/* How much of what a cut may take, whatever the run. */
struct attend__cut_room {
    int64_t units, splits;
    int64_t slot_floats;
};

/* Rows of a full unit on a machine whose cores have second-level caches of l2_bytes (0: not known). */
int64_t attend__unit_rows(const struct attend__problem *problem, int64_t l2_bytes);

/* What any run of the problem needs, for a team of `threads` and full units of unit_rows; false if that does not fit. */
bool attend__units_room(struct attend__cut_room *room, const struct attend__problem *problem, int threads, int64_t unit_rows);

/* Slots of a split. */
int64_t attend__split_slots(const struct attend__split *split);

/* Rows of the item. */
struct attend__item_rows {
    int64_t first, count;
};

/* The item's rows that `rows` rows of the group from `first` on belong to; rows > 0. */
struct attend__item_rows attend__unit_item_rows(const struct attend__problem *problem, int64_t first, int64_t rows);

/* Keys that some of `rows` rows of the group from `first` on see, from the shared prefix on; rows > 0. */
struct attend__range attend__unit_union(const struct attend__problem *problem, const struct attend__item *item, int64_t first,
                                        int64_t rows);

/* Visible pairs of `rows` rows of the group from `first` on, the heads of a row that the unit shares with another counted evenly. */
double attend__unit_pairs(const struct attend__problem *problem, const struct attend__item *item, int64_t first, int64_t rows);

/* Fills items, units, splits and waiting, which hold what attend__units_room says. */
void attend__units_cut(struct attend__schedule *schedule, const struct attend__problem *problem, const struct attend__call *call,
                       int threads, int64_t unit_rows, const struct attend__cut_room *room);

#endif
