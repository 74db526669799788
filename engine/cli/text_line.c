/* See text_line.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/cli/text_line.h"

#include <stdarg.h>
#include <stdio.h>

void text_add(struct text_line *line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    size_t room = sizeof line->text - line->length;
    int written = vsnprintf(line->text + line->length, room, format, arguments);
    va_end(arguments);
    if (written > 0)
        line->length += (size_t)written < room ? (size_t)written : room - 1;
}

void text_add_count(struct text_line *line, int64_t count, const char *noun)
{
    text_add(line, "%lld %s%s", (long long)count, noun, count == 1 ? "" : "s");
}

void text_add_amount(struct text_line *line, double amount)
{
    static const char *const units[] = { "", " k", " M", " G", " T", " P" };
    int unit = 0;
    /* From 999.95 on one decimal would show 1000.0. */
    for (; amount >= (unit ? 999.95 : 1000) && unit < 5; unit++)
        amount /= 1000;
    text_add(line, unit ? "%.1f%s" : "%.0f%s", amount, units[unit]);
}

void text_add_bytes(struct text_line *line, int64_t bytes)
{
    static const char *const units[] = { "KiB", "MiB", "GiB", "TiB" };
    if (bytes < 1024) {
        text_add_count(line, bytes, "byte");
        return;
    }
    int unit = 0;
    double amount = (double)bytes / 1024;
    for (; amount >= 1024 && unit < 3; unit++)
        amount /= 1024;
    text_add(line, "%.4g %s", amount, units[unit]);
}
