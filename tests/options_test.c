/* Every rule that the header states about the options of an engine: breaking it is refused with the right status and a message that names
 * the option, and leaves no engine behind. */
#include "tests/help_suite.h"

static void expect_options_refused(const attend_engine_options *options, attend_status status, const char *word)
{
    attend_engine *engine = (attend_engine *)1;
    expect_refusal(attend_engine_create(&engine, options), status, word, "create");
    cr_expect_null(engine, "a failed create left a handle");
}

#define BROKEN_OPTION(name, status, word, ...)                                   \
    Test(options, name, .timeout = 60)                                           \
    {                                                                            \
        attend_engine_options options = ATTEND_ENGINE_OPTIONS_INIT;              \
        __VA_ARGS__;                                                             \
        expect_options_refused(&options, ATTEND_ERR_##status, word);             \
    }

static void *allocate_nothing(void *user, size_t bytes, size_t alignment)
{
    (void)user, (void)bytes, (void)alignment;
    return NULL;
}

static const int32_t no_such_cpu[] = { 1 << 20 }, same_cpu_twice[] = { 0, 0 };

BROKEN_OPTION(size_zero, ARGUMENT, "options", options.struct_size = 0)
BROKEN_OPTION(threads_negative, ARGUMENT, "threads", options.threads = -1)
BROKEN_OPTION(threads_too_many, ARGUMENT, "threads", options.threads = 4097)
BROKEN_OPTION(bind_unknown, ARGUMENT, "bind", options.bind = (attend_bind)9)
BROKEN_OPTION(placement_unknown, ARGUMENT, "placement", options.placement = (attend_placement)9)
BROKEN_OPTION(strict_bind_unknown, ARGUMENT, "strict_bind", options.strict_bind = 2)
BROKEN_OPTION(isa_unknown, ARGUMENT, "isa", options.isa = (attend_isa)99)
BROKEN_OPTION(slots_negative, ARGUMENT, "slots", options.slots = -1)
BROKEN_OPTION(slots_too_many, ARGUMENT, "slots", options.slots = 1025)
BROKEN_OPTION(inline_work_negative, ARGUMENT, "inline_work", options.inline_work = -2)
BROKEN_OPTION(spin_too_long, ARGUMENT, "spin_microseconds", options.spin_microseconds = 1000001)
BROKEN_OPTION(allocate_alone, ARGUMENT, "release", options.allocate = allocate_nothing)
BROKEN_OPTION(cpus_without_count, ARGUMENT, "cpu_count", options.cpus = same_cpu_twice)
BROKEN_OPTION(count_without_cpus, ARGUMENT, "cpus", options.cpu_count = 1)
BROKEN_OPTION(cpu_that_is_not, ARGUMENT, "cpus", options.cpus = no_such_cpu, options.cpu_count = 1)
BROKEN_OPTION(cpu_twice, ARGUMENT, "cpus", options.cpus = same_cpu_twice, options.cpu_count = 2)

Test(options, isa_missing, .timeout = 60)
{
    attend_engine_options options = ATTEND_ENGINE_OPTIONS_INIT;
    int missing = 0;
    for (int isa = ATTEND_ISA_PORTABLE; attend_isa_name((attend_isa)isa); isa++) {
        if (has_isa((attend_isa)isa))
            continue;
        options.isa = (attend_isa)isa;
        expect_options_refused(&options, ATTEND_ERR_UNSUPPORTED, "isa");
        missing++;
    }
    if (!missing)
        cr_skip_test("every instruction set is available here");
}
