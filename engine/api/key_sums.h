/* The second pass of a run that wants key sums, when M and L of every row are known: one piece of work per kv head and KV tile, which adds
 * the weights of all rows in their order. So no sum is shared by threads, and its bits depend on nothing but the rows. */
#ifndef ATTEND__KEY_SUMS_H
#define ATTEND__KEY_SUMS_H

#include "engine/api/unit.h"

/* Pieces of the pass: 0 without key sums. */
int64_t attend__key_sums_count(const struct attend__unit_work *work);

/* Runs a piece with a member's scratch (plan->scratch_bytes). */
void attend__key_sums_run(const struct attend__unit_work *work, int64_t piece, void *scratch);

#endif
