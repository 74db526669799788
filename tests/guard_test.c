/* Nothing outside the tensors is touched, and nothing invisible is ever read into a result. Every tensor ends, or
 * begins, at an inaccessible page; pages that hold nothing but padding keys are inaccessible, too; queries and flags
 * are read-only; hidden keys and values hold NaN, infinities and huge numbers. Visible ones must show in their own
 * row, or column, and nowhere else. */
#include "tests/help_counter.h"
#include "tests/help_suite.h"

static void set_read_only(struct sample *sample, bool read_only)
{
    struct box *boxes[] = { &sample->query, &sample->visible };
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++) {
        if (!boxes[i]->memory.map)
            continue;
        if (read_only)
            guarded_freeze(&boxes[i]->memory);
        else
            guarded_thaw(&boxes[i]->memory);
    }
}

static void run_poisoned(attend_engine *engine, const struct spec *spec, void (*poison)(struct sample *),
                         const char *what)
{
    struct sample sample;
    sample_make(&sample, spec);
    poison(&sample);
    set_read_only(&sample, true);
    attend_status status = sample_forward(&sample, engine);
    cr_assert(status == ATTEND_OK, "%s in %s", attend_last_error(), spec_text(spec));
    set_read_only(&sample, false);
    expect_verdict(sample_judge(&sample), what);
    sample_free(&sample);
}

static void check_random(attend_isa isa, void (*poison)(struct sample *), uint64_t usual_seed, const char *what)
{
    double work = isa == ATTEND_ISA_PORTABLE ? 3e5 : 1.5e6;
    attend_engine *engines[] = { need_engine(isa, 1, 0), need_engine(isa, 2, IN_TEAM) };
    uint64_t seed = test_seed(usual_seed);
    int64_t count = test_count(200);
    for (int64_t i = 0; i < count; i++) {
        struct spec spec;
        spec_random(&spec, seed + (uint64_t)i, work);
        run_poisoned(engines[i % 2], &spec, poison, what);
    }
    attend_engine_destroy(engines[0]);
    attend_engine_destroy(engines[1]);
}

/* Names spare pages, one after the other, in all entries that hold no key of the item: legal, and not to be followed. */
static void name_spare_pages(struct sample *sample)
{
    const size_t entries = sample->tables.bytes / sizeof(int32_t);
    int32_t *table = (int32_t *)sample->tables.data, spare[2];
    size_t found = 0;
    for (int32_t page = 0; page < sample->pages && found < 2; page++) {
        bool named = false;
        for (size_t n = 0; n < entries; n++)
            named |= table[n] == page;
        spare[found] = page;
        found += !named;
    }
    cr_assert(found == 2, "there are too few spare pages");
    for (size_t n = 0; n < entries; n++)
        if (table[n] < 0 || table[n] >= sample->pages)
            table[n] = spare[n % 2];
}

/* Spare pages fill pages of the operating system, which become inaccessible; so do pools where nothing but tails lies. */
static void trap_spare_pages(struct sample *sample)
{
    name_spare_pages(sample);
    sample_poison_hidden(sample);
}

static void check_hidden_poison(attend_isa isa)
{
    check_random(isa, sample_poison_hidden, 0x6a4d0000, "poison behind the mask");
}

static void check_visible_poison(attend_isa isa)
{
    check_random(isa, sample_poison_some, 0x6a4e0000, "poison in sight");
}

ISA_TESTS(guard, hidden_poison, check_hidden_poison)
ISA_TESTS(guard, visible_poison, check_visible_poison)

/* Every way of hiding, with lengths around vectors and tiles; most of the memory is padding. */
static void check_ways_of_hiding(attend_isa isa)
{
    static const int64_t lengths[] = { 0, 1, 2, 15, 16, 17, 63, 65, 127, 129, 511, 512, 513, 1025 };
    static const int64_t widths[][2] = { { 1, 1 }, { 3, 5 }, { 16, 16 }, { 33, 64 }, { 64, 7 } };
    attend_engine *engine = need_engine(isa, 2, 0);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
            struct spec spec = spec_plain(i * 16 + w, 2, 1 + (int64_t)(i + w) % 9, 2600, widths[w][0], widths[w][1]);
            spec.kv_heads = 1;
            spec.side = w % 2 ? GUARD_BEFORE : GUARD_AFTER;
            spec_set_batch(&spec, 2);
            spec_set_keys(&spec, 0, 0, lengths[i]);
            spec_set_keys(&spec, 1, spec.keys - lengths[i], lengths[i]);
            run_poisoned(engine, &spec, sample_poison_hidden, "padding keys");
            spec.causal = true;
            spec.diagonal = ATTEND_DIAGONAL_TOP_LEFT;
            run_poisoned(engine, &spec, sample_poison_hidden, "keys behind the causal edge");
            spec.visibility = VISIBLE_BY_KEY;
            spec.visible_percent = 50;
            spec.causal = false;
            run_poisoned(engine, &spec, sample_poison_hidden, "keys hidden by the tensor");
        }
    attend_engine_destroy(engine);
}

ISA_TESTS(guard, ways_of_hiding, check_ways_of_hiding)

/* Two kv heads of 16 keys with 64 features: 8192 bytes a page, and a multiple of that with more keys. The first item ends before
 * the second, which begins later, so that both have entries without keys. */
static void check_spare_pages(attend_isa isa)
{
    static const int64_t rows[] = { 1, 5, 40 }, pages[] = { 16, 64, 512 };
    attend_engine *engines[] = { need_engine(isa, 1, 0), need_engine(isa, 2, IN_TEAM) };
    for (size_t number = 0; number < 36; number++) {
        const int64_t page_keys = pages[number / 3 % 3], off = (int64_t)number % 5 - 2;
        struct spec spec = spec_plain(number, 8, rows[number % 3], 3 * page_keys, 64, 64);
        spec.kv_heads = 2;
        spec.side = number % 2 ? GUARD_BEFORE : GUARD_AFTER;
        spec.causal = number % 4 == 3;
        (number % 2 ? spec_set_one_pool : spec_set_pages)(&spec, page_keys, 2);
        spec_set_batch(&spec, 2);
        spec_set_keys(&spec, 0, 0, page_keys + off);
        spec_set_keys(&spec, 1, 2 * page_keys - off, page_keys / 2 + off);
        run_poisoned(engines[number % 2], &spec, trap_spare_pages, "spare pages");
    }
    attend_engine_destroy(engines[0]);
    attend_engine_destroy(engines[1]);
}

ISA_TESTS(guard, spare_pages, check_spare_pages)
