/* See bench_report.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/cli/bench_report.h"

#include "bench/half.h"
#include "engine/cli/json_document.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The word in brackets of /sys/kernel/mm/transparent_hugepage/enabled: with "never", huge pages are not to be had. */
static const char *huge_page_setting(void)
{
    static char setting[32];
    char line[128] = "";
    FILE *stream = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
    if (stream) {
        if (!fgets(line, sizeof line, stream))
            line[0] = '\0';
        fclose(stream);
    }
    const char *open = strchr(line, '[');
    size_t length = open ? strcspn(open + 1, "]") : 0;
    snprintf(setting, sizeof setting, "%.*s", (int)length, open ? open + 1 : "");
    return setting[0] ? setting : "unknown";
}

json_t *bench_machine_json(const attend_engine_info *info)
{
    json_t *machine = json_machine();
    json_put(machine, "cores", json_known(info->cores));
    json_put(machine, "cpus", json_known(info->cpus));
    json_put(machine, "cpus_in_mask", json_integer(info->cpus_in_mask));
    json_put(machine, "cpu_quota", info->cpu_quota > 0 ? json_number(info->cpu_quota) : json_null());
    json_put(machine, "transparent_huge_pages", json_string(huge_page_setting()));
    return machine;
}

json_t *bench_entry_json(const struct bench_entry *entry)
{
    const struct measurement *m = &entry->measurement;
    json_t *result = json_object();
    json_put(result, "problem", json_string(entry->text));
    json_put(result, "dtype", json_string(half_dtype_name(entry->problem->dtype)));
    json_put(result, "arithmetic", json_string("exact"));
    json_put(result, "isa", json_string(attend_isa_name(entry->isa)));
    json_put(result, "threads", json_integer(entry->threads));
    json_put(result, "memory", json_string(entry->problem->small_pages ? "small" : "huge"));
    json_put(result, "median_s", json_number(m->seconds.median));
    json_put(result, "min_s", json_number(m->seconds.min));
    json_put(result, "max_s", json_number(m->seconds.max));
    json_put(result, "visible_flops", json_number(m->visible_flops));
    json_put(result, "flop_rate", json_number(m->flop_rate));
    json_put(result, "peak_flop_rate", json_number(m->peak_flop_rate));
    json_put(result, "peak_fraction", json_number(m->peak_fraction));
    json_put(result, "kv_bytes", json_number(m->kv_bytes));
    json_put(result, "byte_rate", json_number(m->byte_rate));
    json_put(result, "read_byte_rate", json_number(m->read_byte_rate));
    json_put(result, "read_fraction", json_number(m->read_fraction));
    if (entry->cold)
        json_put(result, "cold", json_true());
    return result;
}

void bench_print_heading(const attend_engine_info *info)
{
    printf("%s, %d %s, %s; %s; attend %s; transparent huge pages: %s\n", machine_model(),
           info->cores ? info->cores : info->cpus, info->cores ? "cores" : "CPUs", attend_isa_name(info->isa),
           machine_compiler(), attend_version(), huge_page_setting());
    printf("Times of one run. Peak and read are the machine's own limits, measured in turns with the runs.\n");
}

void bench_print_problem(const struct bench_entry *entry)
{
    printf("\n%s%s\n", entry->text, entry->cold ? " (cold)" : "");
    printf("%7s %9s %9s %7s %4s %7s %7s %6s %7s %7s\n", "threads", "median ms", "min ms", "spread", "runs", "GFLOP/s",
           "of peak", "GB/s", "of read", "scaling");
}

/* A space and a right-aligned percentage of 7 columns. */
static void print_percent(double fraction)
{
    if (isfinite(fraction))
        printf(" %5.1f %%", 100 * fraction);
    else
        printf(" %7s", "-");
}

void bench_print_entry(const struct bench_entry *entry)
{
    const struct measurement *m = &entry->measurement;
    printf("%7d %9.3f %9.3f", entry->threads, 1e3 * m->seconds.median, 1e3 * m->seconds.min);
    print_percent(statistics_spread(&m->seconds));
    printf(" %4lld %7.1f", (long long)m->rounds, 1e-9 * m->flop_rate);
    print_percent(m->peak_fraction);
    printf(" %6.2f", 1e-9 * m->byte_rate);
    print_percent(m->read_fraction);
    print_percent(entry->scaling);
    printf("\n");
    fflush(stdout);
}
