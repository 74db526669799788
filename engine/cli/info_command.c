/* attend info: what this build and this machine offer, and where a team with default options (or the given ones)
 * sits. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/cli/command_options.h"
#include "engine/cli/commands.h"
#include "engine/cli/json_document.h"
#include "engine/cli/machine_drawing.h"
#include "engine/cli/messages.h"
#include "engine/cli/terminal.h"
#include "engine/cli/text_line.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

static const char help_text[] =
    "Usage: attend info [OPTION]...\n"
    "Prints the version, instruction sets and limits found, and draws the machine: packages, nodes, shared caches,\n"
    "cores, the CPU of each thread, and CPUs that are not used and why. With --threads, --cpus and --bind it shows\n"
    "where such a team would sit.\n\n"
    "  --json             print a JSON document\n"
    "  --threads N        size of the team to describe; one thread per usable core unless told\n"
    ENGINE_OPTION_HELP
    "\nExample:\n"
    "  attend info --json\n";

enum { ISA_LIMIT = 16 };

struct facts {
    attend_engine_info info;
    attend_isa isas[ISA_LIMIT];
    size_t isa_count;
    attend_cpu *cpus;
    size_t cpu_count;
};

static const char *name_use(attend_cpu_use use)
{
    switch (use) {
    case ATTEND_CPU_MEMBER: return "member";
    case ATTEND_CPU_ELIGIBLE: return "eligible";
    case ATTEND_CPU_SIBLING: return "sibling";
    case ATTEND_CPU_AFFINITY: return "outside affinity";
    case ATTEND_CPU_DISALLOWED: return "disallowed";
    case ATTEND_CPU_UNLISTED: return "unlisted";
    case ATTEND_CPU_QUOTA: return "beyond quota";
    }
    return "unknown";
}

static int collect_facts(struct facts *facts, attend_engine *engine)
{
    *facts = (struct facts){ .info = ATTEND_ENGINE_INFO_INIT };
    if (attend_engine_describe(engine, &facts->info) != ATTEND_OK)
        return message_failure("%s", message_library_text(attend_last_error()));
    facts->isa_count = attend_isa_available(facts->isas, ISA_LIMIT);
    if (facts->isa_count > ISA_LIMIT)
        facts->isa_count = ISA_LIMIT;
    facts->cpu_count = attend_engine_cpus(engine, NULL, 0);
    facts->cpus = calloc(facts->cpu_count + 1, sizeof *facts->cpus);
    if (!facts->cpus)
        return message_failure("not enough memory for %zu CPUs", facts->cpu_count);
    attend_engine_cpus(engine, facts->cpus, facts->cpu_count);
    return STATUS_DONE;
}

/* The CPU that a member is bound to, or NULL. */
static const attend_cpu *find_member(const struct facts *facts, int32_t member)
{
    for (size_t i = 0; i < facts->cpu_count; i++)
        if (facts->cpus[i].member == member)
            return &facts->cpus[i];
    return NULL;
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

/* A logical number, or null for -1. */
static json_t *json_place(int32_t number)
{
    return number < 0 ? json_null() : json_integer(number);
}

static json_t *machine_of(const struct facts *facts)
{
    const attend_engine_info *info = &facts->info;
    json_t *machine = json_machine();
    json_put(machine, "packages", json_known(info->packages));
    json_put(machine, "nodes", json_known(info->nodes));
    json_put(machine, "cores", json_known(info->cores));
    json_put(machine, "cpus", json_known(info->cpus));
    json_put(machine, "l1d_bytes", json_known(info->l1d_bytes));
    json_put(machine, "l2_bytes", json_known(info->l2_bytes));
    json_put(machine, "l3_bytes", json_known(info->l3_bytes));
    return machine;
}

static json_t *engine_of(const struct facts *facts)
{
    const attend_engine_info *info = &facts->info;
    json_t *engine = json_object();
    json_put(engine, "isa", json_string(attend_isa_name(info->isa)));
    json_put(engine, "threads_requested", json_integer(info->threads_requested));
    json_put(engine, "threads", json_integer(info->threads));
    json_put(engine, "threads_bound", json_integer(info->threads_bound));
    json_put(engine, "slots", json_integer(info->slots));
    return engine;
}

static json_t *members_of(const struct facts *facts)
{
    json_t *members = json_array();
    for (int32_t m = 0; m < facts->info.threads; m++) {
        const attend_cpu *cpu = find_member(facts, m);
        json_t *member = json_object();
        json_put(member, "member", json_integer(m));
        json_put(member, "cpu", json_place(cpu ? cpu->cpu : -1));
        json_array_append_new(members, member);
    }
    return members;
}

static json_t *cpus_of(const struct facts *facts)
{
    json_t *cpus = json_array();
    for (size_t i = 0; i < facts->cpu_count; i++) {
        const attend_cpu *from = &facts->cpus[i];
        json_t *cpu = json_object();
        json_put(cpu, "cpu", json_integer(from->cpu));
        json_put(cpu, "core", json_place(from->core));
        json_put(cpu, "package", json_place(from->package));
        json_put(cpu, "node", json_place(from->node));
        json_put(cpu, "l3", json_place(from->l3));
        json_put(cpu, "member", json_place(from->member));
        json_put(cpu, "use", json_string(name_use(from->use)));
        json_array_append_new(cpus, cpu);
    }
    return cpus;
}

static json_t *limits_of(const struct facts *facts)
{
    json_t *limits = json_object();
    double quota = facts->info.cpu_quota;
    json_put(limits, "cpu_quota", quota > 0 ? json_number(quota) : json_null());
    json_put(limits, "cpus_in_mask", json_integer(facts->info.cpus_in_mask));
    return limits;
}

static int print_json(const struct facts *facts)
{
    json_t *document = json_object(), *isas = json_array();
    for (size_t i = 0; i < facts->isa_count; i++)
        json_array_append_new(isas, json_string(attend_isa_name(facts->isas[i])));
    json_put(document, "version", json_string(attend_version()));
    json_put(document, "isas", isas);
    json_put(document, "machine", machine_of(facts));
    json_put(document, "engine", engine_of(facts));
    json_put(document, "members", members_of(facts));
    json_put(document, "cpus", cpus_of(facts));
    json_put(document, "limits", limits_of(facts));
    return json_finish(document);
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static void print_limits(const attend_engine_info *info)
{
    printf("limits             affinity mask of ");
    printf(info->cpus_in_mask == 1 ? "1 CPU, " : "%d CPUs, ", info->cpus_in_mask);
    if (info->cpu_quota > 0)
        printf("quota of %.4g CPUs\n", info->cpu_quota);
    else
        printf("no CPU quota\n");
}

static void print_team(const attend_engine_info *info)
{
    struct text_line line = { .length = 0 };
    if (info->threads == 0)
        text_add(&line, "none: everything runs in the calling thread");
    else
        text_add_count(&line, info->threads, "thread");
    if (info->threads > 0 && info->threads < info->threads_requested)
        text_add(&line, " of %d asked for", info->threads_requested);
    if (info->threads > 0 && info->threads_bound == info->threads)
        text_add(&line, info->threads > 1 ? ", each bound to its CPU" : ", bound to its CPU");
    else if (info->threads_bound > 0)
        text_add(&line, ", %d of them bound to their CPUs", info->threads_bound);
    else if (info->threads > 0)
        text_add(&line, ", not bound: they may run on any CPU of the mask");
    printf("team               %s\n", line.text);
}

static int print_text(const struct facts *facts)
{
    const attend_engine_info *info = &facts->info;
    const struct machine_picture picture = { facts->cpus, facts->cpu_count, info, terminal_is_utf8() };
    printf("attend             %s, %s\n", attend_version(), machine_compiler());
    printf("instruction sets  ");
    for (size_t i = 0; i < facts->isa_count; i++)
        printf(" %s%s", attend_isa_name(facts->isas[i]), facts->isas[i] == info->isa ? " (used)" : "");
    printf("\n");
    print_limits(info);
    print_team(info);
    printf("\n%s\n", machine_model());
    if (!machine_draw(stdout, &picture))
        return message_failure("not enough memory to draw %zu CPUs", facts->cpu_count);
    return message_finish_output();
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

struct info_options {
    struct engine_settings engine;
    bool json, help;
};

static int read_option(void *target, int option, int place)
{
    struct info_options *options = target;
    (void)place;
    if (option != OPTION_JSON)
        return engine_settings_read(&options->engine, option, optarg);
    options->json = true;
    return STATUS_DONE;
}

static int read_options(struct info_options *options, int argc, char **argv)
{
    static const struct option table[] = {
        { "json", no_argument, NULL, OPTION_JSON },
        { "help", no_argument, NULL, OPTION_HELP },
        ENGINE_OPTION_ENTRIES,
        { NULL, 0, NULL, 0 },
    };
    int status = options_walk(argc, argv, table, read_option, options, &options->help);
    if (status == STATUS_DONE && !options->help && optind < argc)
        status = message_usage("'%s' is not an option", argv[optind]);
    return status;
}

static int print_info(const struct info_options *options)
{
    attend_engine *engine = NULL;
    int status = engine_settings_create(&options->engine, &engine);
    if (status != STATUS_DONE)
        return status;
    struct facts facts;
    status = collect_facts(&facts, engine);
    if (status == STATUS_DONE)
        status = options->json ? print_json(&facts) : print_text(&facts);
    free(facts.cpus);
    attend_engine_destroy(engine);
    return status;
}

int command_info(int argc, char **argv)
{
    struct info_options options = { .json = false };
    int status = read_options(&options, argc, argv);
    if (status == STATUS_DONE && options.help) {
        status = options_print_help(help_text);
    } else if (status == STATUS_DONE) {
        status = print_info(&options);
    }
    engine_settings_release(&options.engine);
    return status;
}
