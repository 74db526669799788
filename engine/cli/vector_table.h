/* Tokens with their query, key and value vectors, from a CSV file whose columns are token, q_*, k_* and v_*, in any
 * order. Knows how vectors are written down, not what is computed with them. */
#ifndef ATTEND_CLI_VECTOR_TABLE_H
#define ATTEND_CLI_VECTOR_TABLE_H

#include <stdbool.h>
#include <stddef.h>

enum { TABLE_TOKENS_LIMIT = 1000 };

struct vector_table {
    size_t tokens;              /* 1 or more */
    size_t d_k, d_v;            /* columns q_* or k_*, and v_*; 1 or more */
    char **token;               /* [tokens] */
    char **value_name;          /* [d_v], with v_ */
    float *query, *key, *value; /* [tokens][d_k], [tokens][d_k], [tokens][d_v]; finite */
};

/* Reads the file, standard input for "-". Columns q_NAME and k_NAME meet by name where all names agree, else in the
 * order of the columns. Returns a status, after a message with file, line and column when it is a failure. Release the
 * table in either case. */
int vector_table_read(struct vector_table *table, const char *path);

/* Whether the token is spelled <pad>. */
bool vector_table_is_padding(const struct vector_table *table, size_t token);

void vector_table_release(struct vector_table *table);

#endif
