/* The steps of attention for a table of vectors, computed by the library. Knows nothing of how they are shown. */
#ifndef ATTEND_CLI_SHOW_STEPS_H
#define ATTEND_CLI_SHOW_STEPS_H

#include "engine/cli/vector_table.h"

#include "attend/attend.h"

/* What the user may choose. */
struct show_rules {
    bool explicit_scale;
    float scale;
    bool pad_visible; /* <pad> keys are keys like others */
    bool causal;
    attend_diagonal diagonal;
    attend_isa isa;
};

/* Matrices have a row per query and a column per key. */
struct show_steps {
    size_t tokens, d_v;
    double scale;   /* that was used */
    float *raw;     /* [tokens][tokens] q·k */
    float *scaled;  /* [tokens][tokens] times the scale */
    float *masked;  /* [tokens][tokens] -inf where the key is hidden */
    float *weights; /* [tokens][tokens] */
    float *context; /* [tokens][d_v] */
    size_t largest; /* index of the largest weight above 0, the first of equals; tokens * tokens when there is none */
    bool pad_hidden, row_empty; /* some key is hidden as padding; some row sees no key */
    void *memory;
};

/* Returns a status, after a message when it is a failure. Release the steps in either case. */
int show_steps_compute(struct show_steps *steps, const struct vector_table *table, const struct show_rules *rules);

void show_steps_release(struct show_steps *steps);

#endif
