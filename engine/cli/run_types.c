/* See run_types.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/cli/run_types.h"

#include "bench/half.h"

#include <math.h>
#include <stdlib.h>

static bool is_type(const struct npy_header *header, char kind, size_t item_bytes)
{
    return header->kind == kind && header->item_bytes == item_bytes && !header->big_endian;
}

static bool is_double(const struct npy_header *header)
{
    return is_type(header, 'f', 8);
}

bool run_types_known(const struct npy_header *header, const struct run_options *options)
{
    return is_type(header, 'f', 2) || is_type(header, 'f', 4) || is_double(header) || (options->bf16 && is_type(header, 'u', 2));
}

/* float32 stands for float64 as well. */
static attend_dtype type_of(const struct npy_header *header)
{
    return is_type(header, 'f', 2) ? ATTEND_F16 : is_type(header, 'u', 2) ? ATTEND_BF16 : ATTEND_F32;
}

attend_dtype run_types_wanted(const struct npy_header *header, const struct run_options *options)
{
    return options->has_dtype ? options->dtype : type_of(header);
}

bool run_types_fit(const struct npy_header *header, attend_dtype wanted)
{
    return !is_double(header) && type_of(header) == wanted;
}

/* The neighbour of x in float32, of the two around it the one whose last bit is 1: rounding that to a type with fewer bits is rounding
 * x (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008). */
static float round_to_odd(double x)
{
    const float nearest = (float)x;
    union {
        float number;
        uint32_t bits;
    } odd = { nearest };
    if (isnan(x) || (double)nearest == x || odd.bits & 1)
        return nearest;
    odd.number = nextafterf(nearest, (double)nearest < x ? INFINITY : -INFINITY);
    return odd.number;
}

static float number_at(const struct npy_header *header, const void *source, size_t i, attend_dtype wanted)
{
    if (!is_double(header))
        return half_read(source, (int64_t)i, type_of(header));
    const double x = ((const double *)source)[i];
    return wanted == ATTEND_F32 ? (float)x : round_to_odd(x);
}

void *run_types_convert(const struct npy_header *header, const void *source, attend_dtype wanted, bool *rounds)
{
    const size_t count = header->elements;
    void *target = NULL;
    *rounds = is_double(header) || wanted != ATTEND_F32;
    if (posix_memalign(&target, 64, count ? count * half_number_bytes(wanted) : 1) != 0)
        return NULL;
    for (size_t i = 0; i < count; i++)
        half_write(target, (int64_t)i, wanted, number_at(header, source, i, wanted));
    return target;
}

const char *run_types_name(attend_dtype dtype)
{
    return dtype == ATTEND_BF16 ? "bfloat16" : dtype == ATTEND_F16 ? "float16" : "float32";
}

const char *run_types_descr(attend_dtype dtype)
{
    return dtype == ATTEND_BF16 ? "<u2" : dtype == ATTEND_F16 ? "<f2" : "<f4";
}

const char *run_types_file_name(const struct npy_header *header)
{
    return is_double(header) ? "float64" : run_types_name(type_of(header));
}
