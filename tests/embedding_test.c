/* What a host relies on besides numbers: its allocator sees every byte, runs allocate nothing, failures leave nothing
 * behind, the log arrives, the default engine works, and names and texts are what the header says. */
#include "tests/help_suite.h"

#include <fenv.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A host's allocator that counts, and fails at the call that it is told to. */
struct heap {
    atomic_llong calls, held, blocks;
    long long fail_at; /* 0: never */
    atomic_bool misused;
};

static void *heap_allocate(void *user, size_t bytes, size_t alignment)
{
    struct heap *heap = user;
    if (bytes == 0 || alignment == 0 || (alignment & (alignment - 1)) || alignment > 4096)
        heap->misused = true;
    if (atomic_fetch_add(&heap->calls, 1) + 1 == heap->fail_at)
        return NULL;
    void *memory = aligned_alloc(alignment < sizeof(void *) ? sizeof(void *) : alignment,
                                 (bytes + alignment - 1) / alignment * alignment);
    if (!memory)
        return NULL;
    memset(memory, 0xa5, bytes);
    atomic_fetch_add(&heap->held, (long long)bytes);
    atomic_fetch_add(&heap->blocks, 1);
    return memory;
}

static void heap_release(void *user, void *memory, size_t bytes)
{
    struct heap *heap = user;
    if (!memory || bytes == 0)
        heap->misused = true;
    atomic_fetch_sub(&heap->held, (long long)bytes);
    atomic_fetch_sub(&heap->blocks, 1);
    free(memory);
}

static attend_engine_options heap_options(struct heap *heap, int32_t threads)
{
    attend_engine_options options = ATTEND_ENGINE_OPTIONS_INIT;
    memset(heap, 0, sizeof *heap);
    options.threads = threads;
    options.bind = ATTEND_BIND_OFF;
    options.inline_work = IN_TEAM;
    options.allocate = heap_allocate;
    options.release = heap_release;
    options.allocator_user = heap;
    return options;
}

static void expect_all_returned(const struct heap *heap)
{
    cr_expect(heap->held == 0 && heap->blocks == 0, "%lld bytes in %lld blocks were not given back", heap->held,
              heap->blocks);
    cr_expect(!heap->misused, "a request or release of nothing, or an odd alignment");
}

static struct spec usual_spec(void)
{
    struct spec spec = spec_plain(1, 4, 40, 600, 32, 32);
    spec.kv_heads = 2;
    spec.visibility = VISIBLE_FULL;
    spec_set_batch(&spec, 2);
    spec_set_keys(&spec, 1, 7, 301);
    return spec;
}

/* Rows, lengths and so the cut change from run to run. */
static void expect_no_allocation(struct spec *spec)
{
    struct heap heap;
    struct sample sample;
    attend_engine_options options = heap_options(&heap, 2);
    attend_engine *engine;
    attend_plan *plan;
    sample_make(&sample, spec);
    expect_ok(attend_engine_create(&engine, &options));
    expect_ok(attend_plan_create(&plan, engine, &sample.problem));
    expect_ok(attend_run(plan, &sample.args));
    long long calls = heap.calls;
    size_t in_use = mallinfo2().uordblks;
    for (int i = 0; i < 20; i++) {
        expect_ok(attend_run(plan, &sample.args));
        sample.args.rows = 1 + i % spec->rows;
        spec->key_lengths[0] = spec->keys - 20 * i;
        sample.args.key_lengths = spec->key_lengths;
        sample.args.key_starts = NULL;
    }
    cr_expect(heap.calls == calls, "20 runs allocated %lld times", heap.calls - calls);
    cr_expect(mallinfo2().uordblks == in_use, "20 runs allocated behind the host's back");
    attend_plan_destroy(plan);
    attend_engine_destroy(engine);
    expect_all_returned(&heap);
    sample_free(&sample);
}

Test(embedding, runs_allocate_nothing, .timeout = 60)
{
    struct spec spec = usual_spec();
    spec.with_weights = spec.with_scores = true;
    expect_no_allocation(&spec);
}

/* Keys in pages and in pieces, and items that share their first pages. */
Test(embedding, generation_allocates_nothing, .timeout = 60)
{
    struct spec spec = spec_plain(2, 8, 2, 5000, 32, 32);
    spec.kv_heads = 2;
    spec_set_batch(&spec, 3);
    spec_set_keys(&spec, 1, 0, 4000);
    spec_set_pages(&spec, 16, 1);
    spec.kv_shared = SHARED_ITEMS;
    spec.flags |= ATTEND_SHARED_PREFIXES;
    expect_no_allocation(&spec);
}

Test(embedding, everything_is_given_back, .timeout = 60)
{
    struct heap heap;
    struct sample sample;
    struct spec spec = usual_spec();
    sample_make(&sample, &spec);
    for (int32_t threads = 1; threads <= 3; threads++) {
        attend_engine_options options = heap_options(&heap, threads);
        attend_engine *engine;
        attend_plan *small, *large;
        expect_ok(attend_engine_create(&engine, &options));
        cr_expect(heap.blocks > 0, "the host's allocator was not used");
        attend_problem larger = sample.problem;
        larger.rows *= 10;
        larger.keys *= 3;
        larger.batch *= 50;
        expect_ok(attend_plan_create(&small, engine, &sample.problem));
        expect_ok(attend_plan_create(&large, engine, &larger));
        expect_ok(attend_run(small, &sample.args));
        expect_verdict(sample_judge(&sample), "a small plan beside a large one");
        attend_plan_destroy(large);
        attend_plan_destroy(small);
        attend_engine_destroy(engine);
        expect_all_returned(&heap);
    }
    sample_free(&sample);
}

struct watch {
    attend_progress *progress;
    atomic_bool over, wrong;
};

/* Both numbers only grow, and done never passes total. */
static void *watch_progress(void *argument)
{
    struct watch *watch = argument;
    int64_t done = 0;
    while (!watch->over) {
        int64_t now = __atomic_load_n(&watch->progress->done, __ATOMIC_RELAXED);
        int64_t total = __atomic_load_n(&watch->progress->total, __ATOMIC_RELAXED);
        if (now < done || (total > 0 && now > total))
            watch->wrong = true;
        done = now;
    }
    return NULL;
}

static void expect_progress(attend_engine *engine, struct sample *sample)
{
    attend_progress progress = { 0, 0 };
    struct watch watch = { .progress = &progress };
    pthread_t thread;
    int64_t keys = 600 + 301; /* of both items */
    sample->args.progress = &progress;
    cr_assert(pthread_create(&thread, NULL, watch_progress, &watch) == 0);
    expect_ok(sample_forward(sample, engine));
    watch.over = true;
    pthread_join(thread, NULL);
    cr_expect(!watch.wrong, "progress went back or beyond its total");
    cr_expect(progress.total == keys * 4 * 40 * (32 + 32), "the total is %lld", (long long)progress.total);
    cr_expect(progress.done == progress.total, "ended at %lld of %lld", (long long)progress.done,
              (long long)progress.total);
}

Test(embedding, progress_ends_at_its_total, .timeout = 60)
{
    static const int64_t inline_works[] = { IN_TEAM, INT64_MAX };
    struct sample sample;
    struct spec spec = usual_spec();
    sample_make(&sample, &spec);
    for (size_t i = 0; i < 2; i++) {
        attend_engine *engine = need_engine(ATTEND_ISA_AUTO, 2, inline_works[i]);
        expect_progress(engine, &sample);
        attend_engine_destroy(engine);
    }
    sample_free(&sample);
}

/* The n-th allocation of create fails, for every n until none does. */
Test(embedding, create_survives_failed_allocations, .timeout = 120)
{
    for (int32_t threads = 1; threads <= 2; threads++) {
        attend_status status = ATTEND_ERR_MEMORY;
        long long fail_at = 0;
        while (status != ATTEND_OK) {
            struct heap heap;
            attend_engine_options options = heap_options(&heap, threads);
            attend_engine *engine = NULL;
            heap.fail_at = ++fail_at;
            status = attend_engine_create(&engine, &options);
            cr_assert(status == ATTEND_OK || status == ATTEND_ERR_MEMORY, "allocation %lld: %s", fail_at,
                      attend_status_name(status));
            cr_assert((status == ATTEND_OK) == (engine != NULL), "allocation %lld", fail_at);
            cr_assert(status == ATTEND_OK || attend_last_error()[0], "allocation %lld: no message", fail_at);
            attend_engine_destroy(engine);
            expect_all_returned(&heap);
            cr_assert(fail_at < 1000);
        }
        cr_expect(fail_at > 1, "create allocates nothing?");
    }
}

/* The same for plans; the engine must go on working after each failure. */
Test(embedding, plans_survive_failed_allocations, .timeout = 120)
{
    struct sample sample;
    struct spec spec = usual_spec();
    sample_make(&sample, &spec);
    attend_status status = ATTEND_ERR_MEMORY;
    for (long long fail_at = 1; status != ATTEND_OK; fail_at++) {
        struct heap heap;
        attend_engine_options options = heap_options(&heap, 2);
        attend_engine *engine;
        attend_plan *plan = NULL;
        expect_ok(attend_engine_create(&engine, &options));
        heap.fail_at = heap.calls + fail_at;
        status = attend_plan_create(&plan, engine, &sample.problem);
        cr_assert(status == ATTEND_OK || status == ATTEND_ERR_MEMORY, "allocation %lld: %s", fail_at,
                  attend_status_name(status));
        cr_assert((status == ATTEND_OK) == (plan != NULL), "allocation %lld", fail_at);
        heap.fail_at = 0;
        sample_reset(&sample);
        expect_ok(attend_forward(engine, &sample.problem, &sample.args));
        expect_verdict(sample_judge(&sample), "after a failed plan");
        attend_plan_destroy(plan);
        attend_engine_destroy(engine);
        expect_all_returned(&heap);
        cr_assert(fail_at < 1000);
    }
    sample_free(&sample);
}

Test(embedding, create_and_destroy_again_and_again, .timeout = 120)
{
    struct sample sample;
    struct spec spec = spec_plain(1, 1, 3, 20, 8, 8);
    sample_make(&sample, &spec);
    for (int i = 0; i < 50; i++) {
        attend_engine *engine = need_engine(ATTEND_ISA_AUTO, 1 + i % 3, IN_TEAM);
        expect_ok(sample_forward(&sample, engine));
        attend_engine_destroy(engine);
    }
    expect_verdict(sample_judge(&sample), "the last of 50 engines");
    sample_free(&sample);
}

struct log {
    int warnings;
    char message[512];
};

static void note_log(void *user, attend_log_level level, const char *message)
{
    struct log *log = user;
    log->warnings += level == ATTEND_LOG_WARNING;
    strncpy(log->message, message, sizeof log->message - 1);
}

Test(embedding, too_many_threads_are_logged, .timeout = 60)
{
    struct log log = { 0 };
    attend_engine_options options = ATTEND_ENGINE_OPTIONS_INIT;
    attend_engine *engine;
    options.threads = 300;
    options.log = note_log;
    options.log_user = &log;
    expect_ok(attend_engine_create(&engine, &options));
    attend_engine_info info = ATTEND_ENGINE_INFO_INIT;
    expect_ok(attend_engine_describe(engine, &info));
    cr_expect(info.threads_requested == 300, "an explicit count is honoured, not %d", (int)info.threads_requested);
    if (info.cpus_in_mask > 0 && info.cpus_in_mask < 300) {
        cr_expect(log.warnings > 0, "300 threads on %d CPUs without a warning", (int)info.cpus_in_mask);
        cr_expect(strlen(log.message) > 10 && !strchr(log.message, '\n'), "the message: %s", log.message);
        cr_expect(info.threads_bound == 0);
    }
    attend_engine_destroy(engine);
}

Test(embedding, default_engine, .timeout = 60)
{
    struct sample sample;
    struct spec spec = usual_spec();
    attend_plan *plan;
    attend_engine_info info = ATTEND_ENGINE_INFO_INIT;
    sample_make(&sample, &spec);
    expect_ok(attend_forward(NULL, &sample.problem, &sample.args));
    expect_verdict(sample_judge(&sample), "the default engine, one-shot");
    sample_reset(&sample);
    expect_ok(attend_plan_create(&plan, NULL, &sample.problem));
    expect_ok(attend_run(plan, &sample.args));
    expect_verdict(sample_judge(&sample), "the default engine, planned");
    attend_plan_destroy(plan);
    expect_ok(attend_engine_describe(NULL, &info));
    cr_expect(info.jobs == 2, "%lld jobs", (long long)info.jobs);
    cr_expect(has_isa(info.isa));
    cr_expect(attend_engine_cpus(NULL, NULL, 0) == (size_t)info.cpus);
    sample_free(&sample);
}

Test(embedding, describe_fills_older_and_newer_structs, .timeout = 60)
{
    attend_engine *engine = need_engine(ATTEND_ISA_AUTO, 2, 0);
    struct {
        attend_engine_info info;
        char tail[32];
    } newer;
    memset(&newer, 0x5a, sizeof newer);
    newer.info.struct_size = sizeof newer.info + 16;
    expect_ok(attend_engine_describe(engine, &newer.info));
    cr_expect(newer.info.threads_requested == 2);
    for (size_t i = 0; i < sizeof newer.tail; i++)
        cr_expect(newer.tail[i] == (i < 16 ? 0 : 0x5a), "byte %zu after the known struct is %d", i, newer.tail[i]);
    newer.info.struct_size = 0;
    cr_expect(attend_engine_describe(engine, &newer.info) == ATTEND_ERR_ARGUMENT);
    attend_engine_destroy(engine);
}

static void check_explained(bool windowed)
{
    attend_engine *engine = need_engine(ATTEND_ISA_AUTO, 2, 0);
    struct sample sample;
    struct spec spec = usual_spec();
    attend_plan *plan;
    attend_explanation explanation = ATTEND_EXPLANATION_INIT;
    double visible = 0.0;
    spec.causal = true;
    if (windowed)
        spec_set_window(&spec, 130, 0);
    sample_make(&sample, &spec);
    for (int64_t item = 0; item < 2; item++)
        for (int64_t head = 0; head < 4; head++)
            for (int64_t row = 0; row < spec.rows; row++) {
                struct oracle_row truth = { 0 };
                oracle_attend_row(&sample.problem, &sample.args, item, head, row, &truth);
                visible += (double)truth.visible;
            }
    expect_ok(attend_plan_create(&plan, engine, &sample.problem));
    expect_ok(attend_plan_explain(plan, &sample.args, &explanation));
    cr_expect(explanation.visible_pairs == visible, "%g visible pairs, should be %g", explanation.visible_pairs,
              visible);
    cr_expect(explanation.padded_pairs == 2.0 * 4 * 40 * 600, "%g padded pairs", explanation.padded_pairs);
    cr_expect(explanation.computed_pairs >= visible && explanation.computed_pairs <= explanation.padded_pairs);
    cr_expect(explanation.units > 0 && explanation.kernel && explanation.kv_tile == 512);
    cr_expect((size_t)explanation.workspace_bytes == attend_plan_workspace_bytes(plan));
    attend_args without_tensors = sample.args;
    without_tensors.query = without_tensors.key = without_tensors.value = without_tensors.output = NULL;
    without_tensors.lse = without_tensors.visible = NULL;
    expect_ok(attend_plan_explain(plan, &without_tensors, &explanation));
    cr_expect(explanation.visible_pairs >= visible);
    double width = (double)(sample.problem.d_k + sample.problem.d_v);
    cr_expect(explanation.multiply_adds == explanation.visible_pairs * width);
    cr_expect(explanation.inline_limit > 0 && explanation.work >= explanation.multiply_adds);
    cr_expect((explanation.work < (double)explanation.inline_limit) == (explanation.inline_run == 1));
    cr_expect(explanation.unit_rows <= explanation.unit_rows_most && explanation.padding_units < explanation.units);
    attend_plan_destroy(plan);
    attend_engine_destroy(engine);
    sample_free(&sample);
}

Test(embedding, explain_counts_what_is_visible, .timeout = 60)
{
    check_explained(false);
    check_explained(true);
}

Test(embedding, names, .timeout = 60)
{
    static const char *const statuses[] = { "ok", "argument", "unsupported", "memory", "system", "capacity", "forked",
                                            "cancelled", "timeout" };
    char version[64];
    snprintf(version, sizeof version, "%d.%d.%d", ATTEND_VERSION_MAJOR, ATTEND_VERSION_MINOR, ATTEND_VERSION_PATCH);
    cr_expect_str_eq(attend_version(), version);
    for (int status = 0; status < 9; status++)
        cr_expect_str_eq(attend_status_name((attend_status)status), statuses[status]);
    cr_expect_not_null(attend_status_name((attend_status)1234));
    cr_expect_str_eq(attend_isa_name(ATTEND_ISA_AUTO), "auto");
    cr_expect_str_eq(attend_isa_name(ATTEND_ISA_PORTABLE), "portable");
    cr_expect_str_eq(attend_isa_name(ATTEND_ISA_AVX2), "avx2");
    cr_expect_str_eq(attend_isa_name(ATTEND_ISA_AVX512), "avx512");
    cr_expect_str_eq(attend_isa_name(ATTEND_ISA_NEON), "neon");
    cr_expect_null(attend_isa_name((attend_isa)99));
    cr_expect_null(attend_isa_name((attend_isa)-1));
}

/* Press, Smith and Lewis, section 3, and their program for other numbers of heads; whatever the host rounds like. */
Test(embedding, alibi_slopes, .timeout = 60)
{
    static const float root = 0.70710678118654752f; /* 2^-0.5 */
    static const float one[] = { 0x1p-8f }, two[] = { 0x1p-4f, 0x1p-8f }, three[] = { 0x1p-4f, 0x1p-8f, 0x1p-2f };
    static const float eight[] = { 0x1p-1f, 0x1p-2f, 0x1p-3f, 0x1p-4f, 0x1p-5f, 0x1p-6f, 0x1p-7f, 0x1p-8f };
    const float twelve[] = { 0x1p-1f, 0x1p-2f, 0x1p-3f, 0x1p-4f, 0x1p-5f,     0x1p-6f,
                             0x1p-7f, 0x1p-8f, root,    root / 2, root / 4, root / 8 };
    const struct {
        int64_t heads;
        const float *slopes;
    } cases[] = { { 1, one }, { 2, two }, { 3, three }, { 8, eight }, { 12, twelve } };
    const int rounding = fegetround();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float slopes[13] = { [12] = 7 };
        slopes[cases[i].heads] = 7;
        fesetround(i % 2 ? FE_UPWARD : FE_TOWARDZERO);
        const attend_status status = attend_alibi_slopes(cases[i].heads, slopes);
        fesetround(rounding);
        cr_expect(status == ATTEND_OK);
        for (int64_t h = 0; h < cases[i].heads; h++)
            cr_expect(slopes[h] == cases[i].slopes[h], "head %d of %d: %a", (int)h, (int)cases[i].heads, (double)slopes[h]);
        cr_expect(slopes[cases[i].heads] == 7);
    }
    cr_expect(attend_alibi_slopes(0, NULL) == ATTEND_OK);
    cr_expect(attend_alibi_slopes(2, NULL) == ATTEND_ERR_ARGUMENT && strstr(attend_last_error(), "slopes"));
    cr_expect(attend_alibi_slopes(-1, NULL) == ATTEND_ERR_ARGUMENT && strstr(attend_last_error(), "heads"));
}

Test(embedding, instruction_sets_are_best_first, .timeout = 60)
{
    attend_isa isas[8] = { 0 };
    size_t count = attend_isa_available(isas, 8);
    cr_assert(count >= 1 && count <= 8);
    cr_expect(isas[count - 1] == ATTEND_ISA_PORTABLE, "the portable set runs anywhere and is the last resort");
    for (size_t i = 1; i < count; i++)
        cr_expect(isas[i] != isas[i - 1] && isas[i - 1] != ATTEND_ISA_PORTABLE);
    cr_expect(attend_isa_available(NULL, 0) == count);
    attend_isa first[2] = { ATTEND_ISA_AUTO, (attend_isa)77 };
    cr_expect(attend_isa_available(first, 1) == count && first[0] == isas[0] && first[1] == (attend_isa)77);
    attend_engine *engine = need_engine(ATTEND_ISA_AUTO, 1, 0);
    attend_engine_info info = ATTEND_ENGINE_INFO_INIT;
    expect_ok(attend_engine_describe(engine, &info));
    cr_expect(info.isa == isas[0]);
    attend_engine_destroy(engine);
}

static void *fail_elsewhere(void *unused)
{
    (void)unused;
    const char *before = attend_last_error();
    bool clean = before[0] == '\0';
    attend_engine_options options = ATTEND_ENGINE_OPTIONS_INIT;
    attend_engine *engine;
    options.slots = -7;
    attend_engine_create(&engine, &options);
    return clean && strstr(attend_last_error(), "slots") ? NULL : (void *)1;
}

Test(embedding, last_error_belongs_to_the_thread, .timeout = 60)
{
    attend_engine_options options = ATTEND_ENGINE_OPTIONS_INIT;
    attend_engine *engine;
    char whole[512], cut[8] = "1234567", none = 'x';
    cr_expect_str_eq(attend_last_error(), "");
    options.threads = -3;
    cr_expect(attend_engine_create(&engine, &options) == ATTEND_ERR_ARGUMENT);
    pthread_t thread;
    void *wrong;
    cr_assert(pthread_create(&thread, NULL, fail_elsewhere, NULL) == 0 && pthread_join(thread, &wrong) == 0);
    cr_expect_null(wrong, "another thread's text is not its own");
    cr_expect(strstr(attend_last_error(), "threads") && strstr(attend_last_error(), "-3"), "%s", attend_last_error());
    size_t length = attend_copy_last_error(whole, sizeof whole);
    cr_expect(length == strlen(whole) && strcmp(whole, attend_last_error()) == 0);
    cr_expect(attend_copy_last_error(cut, sizeof cut) == length && strlen(cut) == 7 && strncmp(cut, whole, 7) == 0);
    cr_expect(attend_copy_last_error(&none, 0) == length && none == 'x');
    cr_expect(attend_copy_last_error(NULL, 0) == length);
}
