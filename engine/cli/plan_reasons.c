/* See plan_reasons.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/cli/plan_reasons.h"

enum { ISA_LIMIT = 16 };

/* Shares below this are not worth a word. */
static const double least_share = 0.0005;

static struct text_line *add_reason(struct plan_reasons *reasons, const char *name, const char *label)
{
    int index = reasons->count++;
    reasons->of[index].name = name;
    reasons->of[index].label = label;
    return &reasons->of[index].sentence;
}

static void tell_kernel(struct text_line *line, const struct plan_view *view)
{
    attend_isa isas[ISA_LIMIT];
    size_t count = attend_isa_available(isas, ISA_LIMIT);
    const char *name = attend_isa_name(view->isa);
    if (view->isa_asked && view->isa != isas[0])
        text_add(line, "%s: asked for with --isa; the best here is %s, of", name, attend_isa_name(isas[0]));
    else
        text_add(line, "%s: %sthe best that processor, system and build offer, of", name,
                 view->isa_asked ? "asked for with --isa, and " : "");
    for (size_t i = 0; i < count && i < ISA_LIMIT; i++)
        text_add(line, " %s", attend_isa_name(isas[i]));
    if (count > 1 && isas[0] == ATTEND_ISA_AVX2 && isas[1] == ATTEND_ISA_AVX512)
        text_add(line, "; this processor has one unit for the multiply-adds of avx512, and lowers its clock for them");
}

static void tell_place(struct text_line *line, const struct plan_view *view)
{
    const attend_explanation *plan = &view->plan;
    if (view->threads == 0) {
        text_add(line, "the engine has no team");
        return;
    }
    text_add(line, "the job is worth ");
    text_add_amount(line, plan->work);
    text_add(line, " multiply-adds, reading keys included; the threshold is ");
    text_add_amount(line, (double)plan->inline_limit);
    if (plan->inline_run)
        text_add(line, "; waking the team would cost more than it saves");
}

static void tell_units(struct text_line *line, const struct plan_view *view)
{
    const attend_explanation *plan = &view->plan;
    const attend_problem *problem = &view->data->problem;
    if (plan->units == 0) {
        text_add(line, "there is no row to compute");
        return;
    }
    text_add_count(line, problem->batch, "item");
    text_add(line, " with ");
    text_add_count(line, problem->kv_heads, "kv head");
    text_add(line, ", the rows of each cut evenly into units of at most %lld", (long long)plan->unit_rows);
    if (problem->heads > problem->kv_heads)
        text_add(line, " (%lld query heads share a kv head, so their rows count together)",
                 (long long)(problem->heads / problem->kv_heads));
    if (plan->unit_rows < plan->unit_rows_most)
        text_add(line, ", halved down from %lld to have more of them to share", (long long)plan->unit_rows_most);
    if (view->threads > 1 && !plan->inline_run)
        text_add(line, ", the last ones in four, so that no thread waits long for another");
    if (plan->pieces > 0)
        text_add(line, "; %lld units take a part of the keys of their rows, which are too few to give every thread work",
                 (long long)plan->pieces);
    if (plan->padding_units > 0)
        text_add(line, "; %lld units only clear the padding rows of a head", (long long)plan->padding_units);
}

/* Pairs inside the ranges of their items, before any rule. */
static double pairs_in_ranges(const struct problem_data *data)
{
    double pairs = 0;
    for (int64_t item = 0; item < data->problem.batch; item++)
        pairs += (double)problem_data_rows(data, item) * (double)problem_data_keys(data, item);
    return pairs * (double)data->problem.heads;
}

/* Which keys are hidden from a row, and from where the rules count. */
static void tell_rules(struct text_line *line, const struct problem_string *problem)
{
    const bool causal = problem->causal != PROBLEM_CAUSAL_NONE;
    const char *diagonal = problem->causal == PROBLEM_CAUSAL_TOP_LEFT ? "top-left" : "bottom-right";
    if (problem->has_window)
        text_add(line, "keys outside window=%lld,%lld%s around the diagonal", (long long)problem->window_left,
                 (long long)problem->window_right, causal ? " or after the row's own," : "");
    else
        text_add(line, "keys after the causal diagonal");
    if (problem->has_position)
        text_add(line, " (the first row at key %lld)", (long long)problem->position);
    else
        text_add(line, " (%s)", diagonal);
    if (problem->prefix > 0)
        text_add(line, ", but for the first %lld", (long long)problem->prefix);
}

static void tell_skipped(struct text_line *line, const struct plan_view *view)
{
    const attend_explanation *plan = &view->plan;
    double inside = pairs_in_ranges(view->data);
    double padding = (plan->padded_pairs - inside) / plan->padded_pairs;
    double hidden = (inside - plan->computed_pairs) / plan->padded_pairs;
    const char *separator = "";
    if (!(plan->padded_pairs > 0)) {
        text_add(line, "there is no pair of row and key");
        return;
    }
    if (padding > least_share) {
        text_add(line, "%.1f %% of the padded pairs: outside lengths=%lld..%lld", 100 * padding,
                 (long long)view->problem->shortest, (long long)view->problem->longest);
        separator = "; ";
    }
    if (hidden > least_share) {
        text_add(line, "%s%.1f %% of the padded pairs: ", separator, 100 * hidden);
        tell_rules(line, view->problem);
        separator = "; ";
    }
    if (!*separator && plan->visible_pairs < plan->computed_pairs)
        text_add(line, "nothing: what the %s hides lies within register tiles",
                 view->problem->has_window ? "window" : "causal rule");
    else if (!*separator)
        text_add(line, "nothing: every row sees every key");
    else if (plan->computed_pairs > 0 && 1 - plan->visible_pairs / plan->computed_pairs > least_share)
        text_add(line, "; %.1f %% of the computed pairs are hidden, in register tiles that the %s cuts",
                 100 * (1 - plan->visible_pairs / plan->computed_pairs), view->problem->has_window ? "window" : "diagonal");
}

/* Begins a part of a sentence. */
static void add_part(struct text_line *line, const char *part)
{
    text_add(line, "%s%s", line->length ? "; " : "", part);
}

/* What the options do to a run beside hiding keys by rule. */
static void tell_options(struct text_line *line, const struct problem_string *problem)
{
    if (problem->packed)
        add_part(line, "packed: an item's rows and keys are between its offsets, there is no padding");
    if (problem->visible.given)
        add_part(line, problem->bits ? "bits: read 64 keys at a time" : "visible: bytes, made into bits tile by tile");
    if (problem->visible.given || problem->bias.given)
        add_part(line, "what tensors hide is found in the run and skips nothing here");
    if (problem->softcap > 0)
        add_part(line, "softcap: a tanh per score");
    if (problem->bias.given)
        add_part(line, "bias: a number read per score");
    if (problem->alibi)
        add_part(line, "alibi: slope times distance, made per score without a tensor");
    if (problem->sinks)
        add_part(line, "sinks: once per row, at its end");
    if (problem->keysums)
        add_part(line, "keysums: a second pass over queries and keys");
}

void plan_reasons_tell(struct plan_reasons *reasons, const struct plan_view *view)
{
    *reasons = (struct plan_reasons){ .count = 0 };
    tell_kernel(add_reason(reasons, "kernel", "why the kernel"), view);
    text_add(add_reason(reasons, "kv_tile", "why the KV tile"),
             "%lld keys everywhere: sums follow the tiles, so results keep their bits on any machine",
             (long long)view->plan.kv_tile);
    tell_place(add_reason(reasons, "place", view->plan.inline_run ? "why inline" : "why the team"), view);
    tell_units(add_reason(reasons, "units", "why the units"), view);
    tell_skipped(add_reason(reasons, "skipped", "what is skipped"), view);
    struct text_line options = { .length = 0 };
    tell_options(&options, view->problem);
    if (options.length > 0)
        *add_reason(reasons, "options", "what options do") = options;
    if (view->plan.slow_path)
        text_add(add_reason(reasons, "slow", "what is slow"), "%s", view->plan.slow_path);
}
