/* Why a plan is as it is, in sentences made of what the public header tells. Prints nothing. */
#ifndef ATTEND_CLI_PLAN_REASONS_H
#define ATTEND_CLI_PLAN_REASONS_H

#include "bench/problem_data.h"
#include "engine/cli/text_line.h"

struct plan_view {
    const char *text; /* the problem as given on the command line */
    const struct problem_string *problem;
    const struct problem_data *data; /* its ranges */
    attend_explanation plan;
    attend_isa isa;
    bool isa_asked;  /* not the library's own choice */
    int32_t threads; /* of the team; 0: none */
};

enum { PLAN_REASONS_LIMIT = 7 };

struct plan_reasons {
    int count;
    struct {
        const char *name;  /* for JSON */
        const char *label; /* for people */
        struct text_line sentence;
    } of[PLAN_REASONS_LIMIT];
};

void plan_reasons_tell(struct plan_reasons *reasons, const struct plan_view *view);

#endif
