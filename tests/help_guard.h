/* Memory with a trap on either side: an inaccessible page directly after the last byte, or directly before the first.
 * What is not written by a test holds NaN, quiet and signalling by turns. */
#ifndef ATTEND_TESTS_HELP_GUARD_H
#define ATTEND_TESTS_HELP_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum guard_side { GUARD_AFTER, GUARD_BEFORE };

struct guarded {
    unsigned char *data;
    size_t bytes;
    unsigned char *map; /* the whole mapping, traps included */
    size_t map_bytes;
};

/* Ends the process when there is no memory. `skew` moves the data that many bytes away from the trap. */
void guarded_make(struct guarded *memory, size_t bytes, enum guard_side side, size_t skew);
void guarded_free(struct guarded *memory);

/* Memory made from now on has that many accessible bytes more behind its data. For emulators, whose masked loads touch what is masked
 * out. */
void guarded_set_slack(size_t bytes);

/* Fills all accessible memory, the room outside the data included. */
void guarded_poison(struct guarded *memory);

/* Makes every page that `used` (one flag per byte of the data) does not touch inaccessible; returns how many there
 * were. */
size_t guarded_trap_unused(struct guarded *memory, const bool *used);

/* Writing to it from now on is a crash; or legal again. */
void guarded_freeze(struct guarded *memory);
void guarded_thaw(struct guarded *memory);

/* Of the data's bytes. */
uint64_t guarded_hash(const struct guarded *memory);

/* The 4 bytes that guarded_poison writes at that offset from the mapping's first accessible byte, divided by 4. */
uint32_t poison_word(size_t index);

/* First offset, a multiple of 4, of the accessible memory where a word is not poison although `used` does not mark it;
 * SIZE_MAX when there is none. `used` covers the data. */
size_t guarded_find_stain(const struct guarded *memory, const bool *used);

#endif
