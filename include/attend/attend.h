/* attend: scaled dot-product attention on CPUs.
 *
 *     context = softmax(scale · Q·Kᵀ over the visible keys) · V
 *
 * (Vaswani et al., "Attention Is All You Need", 2017, equation 1), for whole batches of padded sequences. The results are
 * the same bits whatever the number of threads, the rest of the batch, the padding, the layout or the instruction set.
 *
 * Words used below
 *   item       one sequence of the batch
 *   row        one query vector of one head of one item
 *   visible    a key that a row may attend to; 1 or true always means visible
 *   LSE        natural logarithm of the sum of exponentials of a row's visible scores
 *   diagonal   a row's own place among the keys
 *   window     the keys around a row's diagonal that it may see (Beltagy et al., "Longformer", 2020)
 *   partial    (M, L, A) of a row over some of its keys: largest score, sum of exponentials relative to it, and the sum of values
 *              weighted by them, not yet divided (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018)
 *
 * Rules that hold for every function
 *   - Sizes, offsets and strides are 64 bit; strides count elements, not bytes.
 *   - The caller owns every tensor and array it passes. The library keeps no pointer to them after the call returns.
 *   - Functions that can fail return an attend_status; attend_last_error() then tells which argument had which value and
 *     which rule it broke. An error that is found before anything runs leaves every output untouched.
 *   - Structs begin with their own size (attend_cpu and attend_progress do not and never change); initialise them with the INIT macro of their type. A struct from an older header
 *     is filled with defaults; one from a newer header is accepted while the fields unknown here are zero.
 *   - The library never prints, exits, aborts, installs signal handlers or changes the caller's CPU mask,
 *     environment or floating-point state.
 */
#ifndef ATTEND_ATTEND_H
#define ATTEND_ATTEND_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
/* What the INIT macros below expand to in C++, which has no designated initialisers before C++20. */
template <typename Struct> inline Struct attend_struct_init()
{
    Struct made = Struct();
    made.struct_size = sizeof(Struct);
    return made;
}

extern "C" {
#endif

#define ATTEND_VERSION_MAJOR 0
#define ATTEND_VERSION_MINOR 1
#define ATTEND_VERSION_PATCH 0

#if defined(__GNUC__)
#define ATTEND_API __attribute__((visibility("default")))
#else
#define ATTEND_API
#endif

/* ---- status ------------------------------------------------------------------------------------------------------ */

/* Values are stable: new ones are added, none is renumbered. */
typedef enum attend_status {
    ATTEND_OK = 0,
    ATTEND_ERR_ARGUMENT = 1,    /* an argument breaks a rule stated here */
    ATTEND_ERR_UNSUPPORTED = 2, /* legal, but this version, build or processor cannot do it */
    ATTEND_ERR_MEMORY = 3,      /* an allocation failed */
    ATTEND_ERR_SYSTEM = 4,      /* the operating system refused a thread or a binding */
    ATTEND_ERR_CAPACITY = 5,    /* a run asks for more than its plan was made for, an append for more than the cache holds */
    ATTEND_ERR_FORKED = 6,      /* the engine belongs to the process that forked this one */
    ATTEND_ERR_CANCELLED = 7,   /* args.cancel was set: outputs hold anything */
    ATTEND_ERR_TIMEOUT = 8      /* args.deadline passed: outputs hold anything */
} attend_status;

/* A short English name of a status, for example "argument". Never NULL. Any thread. */
ATTEND_API const char *attend_status_name(attend_status status);

/* What the calling thread's last failed call said: the argument, its value and the rule. Empty before the first failure.
 * The text lies in thread storage and is overwritten by the thread's next failure. Any thread. */
ATTEND_API const char *attend_last_error(void);

/* Copies that text, cut to fit and always terminated, into buffer[size]. Returns the length of the whole text. */
ATTEND_API size_t attend_copy_last_error(char *buffer, size_t size);

/* "MAJOR.MINOR.PATCH" of the library that is loaded (the macros above tell the header's). */
ATTEND_API const char *attend_version(void);

/* ---- instruction sets --------------------------------------------------------------------------------------------- */

/* Values are stable: new ones are added, none is renumbered. */
typedef enum attend_isa {
    ATTEND_ISA_AUTO = 0,     /* the best that processor and operating system offer */
    ATTEND_ISA_PORTABLE = 1, /* any processor */
    ATTEND_ISA_AVX2 = 2,     /* x86-64 with AVX2, FMA and F16C */
    ATTEND_ISA_AVX512 = 3,   /* x86-64 with AVX-512 F, BW, DQ, VL */
    ATTEND_ISA_NEON = 4      /* AArch64 with Advanced SIMD, which all of them have */
} attend_isa;

/* "portable", "avx2", "avx512", "neon"; "auto" for ATTEND_ISA_AUTO; NULL for a value that is none of them. */
ATTEND_API const char *attend_isa_name(attend_isa isa);

/* Writes the sets that can run here, best first, into isas[capacity] (NULL with capacity 0 is legal); returns
 * how many there are. The widest is not the best everywhere: Skylake servers with a single unit for 512-bit multiply-adds are faster
 * with AVX2. Any thread. */
ATTEND_API size_t attend_isa_available(attend_isa *isas, size_t capacity);

/* ---- tensors ------------------------------------------------------------------------------------------------------ */

typedef enum attend_dtype {
    ATTEND_F32 = 0,  /* IEEE binary32 */
    ATTEND_BF16 = 1, /* bfloat16: the upper half of a binary32 */
    ATTEND_F16 = 2,  /* IEEE binary16 */
    ATTEND_BOOL = 3, /* one byte, 0 hidden, anything else visible */
    ATTEND_BIT = 4   /* one bit, 1 visible: element i of a row is bit i mod 8, the lowest first, of byte i / 8. Feature stride 1;
                        the other strides count bits as well and must be multiples of 8 */
} attend_dtype;

/* A view of a tensor with four axes: (batch, head, row, feature). Its extents come from the problem.
 * stride[a] is the distance in elements between neighbours on axis a. Outer strides may be anything, 0 (broadcast) and
 * negative included; an output needs distinct elements, so no stride 0 on an axis longer than 1. Feature stride 1 is the
 * fast one, others are legal. Alignment to the element suffices. data may be NULL when the tensor has no element. */
typedef struct attend_tensor {
    size_t struct_size;
    void *data; /* never written through for inputs */
    attend_dtype dtype;
    int32_t reserved; /* 0 */
    int64_t stride[4];
} attend_tensor;

#define ATTEND_TENSOR_INIT { sizeof(attend_tensor), NULL, ATTEND_F32, 0, { 0, 0, 0, 0 } }

/* Views of dense memory; dtype is ATTEND_F32 until set otherwise. BHSD is [batch][heads][rows][width], BSHD is [batch][rows][heads][width].
 * `batch` is not needed: strides tell all. For LSE use width 1. */
static inline attend_tensor attend_view_bhsd(void *data, int64_t heads, int64_t rows, int64_t width)
{
    attend_tensor view = ATTEND_TENSOR_INIT;
    view.data = data;
    view.stride[0] = heads * rows * width;
    view.stride[1] = rows * width;
    view.stride[2] = width;
    view.stride[3] = 1;
    return view;
}

static inline attend_tensor attend_view_bshd(void *data, int64_t heads, int64_t rows, int64_t width)
{
    attend_tensor view = ATTEND_TENSOR_INIT;
    view.data = data;
    view.stride[0] = rows * heads * width;
    view.stride[1] = width;
    view.stride[2] = heads * width;
    view.stride[3] = 1;
    return view;
}

/* ---- engine: threads, placement, scratch -------------------------------------------------------------------------- */

typedef struct attend_engine attend_engine;

typedef enum attend_bind {
    ATTEND_BIND_AUTO = 0,  /* bind when CPUs are listed, when the process's mask is a strict subset of the machine, or when
                              the team takes every core of the mask */
    ATTEND_BIND_CORES = 1, /* bind every member */
    ATTEND_BIND_OFF = 2    /* bind none */
} attend_bind;

typedef enum attend_placement {
    ATTEND_PLACEMENT_COMPACT = 0, /* fill one NUMA node and one shared cache first */
    ATTEND_PLACEMENT_SPREAD = 1   /* go round the nodes and shared caches */
} attend_placement;

typedef enum attend_log_level {
    ATTEND_LOG_WARNING = 1, /* something asked for was not done, the work goes on */
    ATTEND_LOG_INFO = 2     /* decisions worth a line in a host's log */
} attend_log_level;

/* Called from the thread that notices, possibly a team member; must not call the engine. `message` has no newline and is
 * valid during the call only. */
typedef void (*attend_log_fn)(void *user, attend_log_level level, const char *message);

/* Memory of the engine and its plans. allocate returns `bytes` bytes (> 0) aligned to `alignment` (a power of two, at most
 * 4096) or NULL; release gets the same pointer and size back. Both may be called from any thread. */
typedef void *(*attend_allocate_fn)(void *user, size_t bytes, size_t alignment);
typedef void (*attend_release_fn)(void *user, void *memory, size_t bytes);

typedef struct attend_engine_options {
    size_t struct_size;
    int32_t threads;          /* team size; 0: one per usable core, capped by the cgroup CPU quota. An explicit number is
                                 honoured: more than there are CPUs runs unbound, with a warning. At most 4096 */
    attend_bind bind;
    attend_placement placement;
    int32_t strict_bind;      /* 1: a member that cannot be bound is an error of create; 0: a warning */
    const int32_t *cpus;      /* cpus[cpu_count]: operating system numbers of the CPUs to use, in order; NULL: the calling
                                 thread's mask, one per core. Copied */
    size_t cpu_count;
    attend_isa isa;           /* one that is not available is refused */
    int32_t slots;            /* jobs that may hold scratch at once; more callers wait. 0: 8. At most 1024 */
    int64_t inline_work;      /* jobs below this much work run in the caller: their multiply-adds, and 6 times d_k + d_v of them for each
                                 key that a kv head reads, about what memory takes; 0: the default; -1: never */
    int64_t spin_microseconds; /* how long an idle member, or a waiting caller, polls before it sleeps. 0: it sleeps at once.
                                 At most 1000000 */
    attend_allocate_fn allocate; /* both or neither */
    attend_release_fn release;
    void *allocator_user;
    attend_log_fn log;        /* NULL: no log */
    void *log_user;
} attend_engine_options;

#ifdef __cplusplus
#define ATTEND_ENGINE_OPTIONS_INIT attend_struct_init<attend_engine_options>()
#else
#define ATTEND_ENGINE_OPTIONS_INIT { .struct_size = sizeof(attend_engine_options) }
#endif

/* Creates an engine and its team of threads. `options` NULL means all defaults. On success *engine is the caller's, to be
 * destroyed; on failure it is NULL and nothing is left behind. All threads start here, none later. Any thread.
 * Errors: ARGUMENT, UNSUPPORTED (instruction set), MEMORY, SYSTEM (threads; binding with strict_bind). */
ATTEND_API attend_status attend_engine_create(attend_engine **engine, const attend_engine_options *options);

/* Ends the team and frees the engine; NULL is ignored. No call on the engine or its plans may be under way or follow; its
 * plans must have been destroyed before. In a forked child it frees the memory and leaves the parent's team alone. */
ATTEND_API void attend_engine_destroy(attend_engine *engine);

typedef struct attend_engine_info {
    size_t struct_size;
    int32_t threads_requested; /* options.threads, or the default that was found */
    int32_t threads;           /* members that OpenMP granted; 0: everything runs in the caller */
    int32_t threads_bound;     /* members that sit on their CPU, read back after binding */
    attend_isa isa;
    int32_t slots;
    int32_t packages, nodes, cores, cpus; /* of the machine; 0: not known */
    int32_t cpus_in_mask;      /* CPUs that the process may use (affinity and what the topology allows) */
    double cpu_quota;          /* CPUs granted by the tightest cgroup quota; 0: no quota */
    int64_t l1d_bytes, l2_bytes, l3_bytes; /* of one core, one core, one L3; 0: not known or not credible */
    int64_t jobs, inline_jobs; /* since create */
} attend_engine_info;

#ifdef __cplusplus
#define ATTEND_ENGINE_INFO_INIT attend_struct_init<attend_engine_info>()
#else
#define ATTEND_ENGINE_INFO_INIT { .struct_size = sizeof(attend_engine_info) }
#endif

/* Fills *info up to info->struct_size. engine NULL: the process's default engine. Any thread. */
ATTEND_API attend_status attend_engine_describe(attend_engine *engine, attend_engine_info *info);

typedef enum attend_cpu_use {
    ATTEND_CPU_MEMBER = 0,   /* a member is bound to it */
    ATTEND_CPU_ELIGIBLE = 1, /* could have been used: unbound team, or more CPUs than members */
    ATTEND_CPU_SIBLING = 2,  /* its core already has a CPU that is used */
    ATTEND_CPU_AFFINITY = 3, /* outside the process's affinity mask */
    ATTEND_CPU_DISALLOWED = 4, /* excluded by the operating system or cpuset */
    ATTEND_CPU_UNLISTED = 5, /* not in options.cpus */
    ATTEND_CPU_QUOTA = 6     /* beyond what the cgroup CPU quota pays for */
} attend_cpu_use;

typedef struct attend_cpu {
    int32_t cpu;    /* operating system number */
    int32_t core, package, node, l3; /* logical numbers; -1: not known */
    int32_t member; /* team member bound to it, or -1 */
    attend_cpu_use use;
} attend_cpu;

/* Writes the machine's CPUs in the order of their numbers into cpus[capacity] (NULL with capacity 0 is legal); returns how many
 * there are, 0 on failure. Any thread. */
ATTEND_API size_t attend_engine_cpus(attend_engine *engine, attend_cpu *cpus, size_t capacity);

/* ---- problem, plan, run ------------------------------------------------------------------------------------------- */

/* Where a row's own key lies. i counts from the item's first real row, j from its first real key. */
typedef enum attend_diagonal {
    ATTEND_DIAGONAL_BOTTOM_RIGHT = 0, /* the last row is at the last key: i + keys - rows, both the item's own */
    ATTEND_DIAGONAL_TOP_LEFT = 1,     /* row i is at key i */
    ATTEND_DIAGONAL_POSITION = 2      /* row i is at key positions[item] + i */
} attend_diagonal;

#define ATTEND_EXPLICIT_SCALE 1u      /* use problem.scale, 0 included; otherwise 1/sqrt(d_k) */
#define ATTEND_KEEP_PADDING_ROWS 2u   /* leave output, LSE, weights and scores of padding query rows untouched */
#define ATTEND_WINDOW 4u              /* only keys from window_left before to window_right after the diagonal are visible */
#define ATTEND_PACKED_QUERIES 8u      /* rows of all items follow each other without padding: args.query_offsets */
#define ATTEND_PACKED_KEYS 16u        /* likewise keys: args.key_offsets */
#define ATTEND_KEY_SUMS 32u           /* runs may ask for args.key_sums: 8 bytes more of workspace for each row of each head */
#define ATTEND_FAST_ONLY 64u          /* refuse what would be slow (UNSUPPORTED): the portable kernel where it was not asked for, features
                                         that are no neighbours, scores and weights */
#define ATTEND_SHARED_PREFIXES 256u   /* with ATTEND_PAGED_KEYS: where items next to each other have tables that begin with the same pages, the
                                         whole KV tiles in them are read and computed once for all of these items. Results keep their bits */
#define ATTEND_PAGED_KEYS 128u        /* keys and values lie in pages that block tables name: problem.page_keys, args.block_tables */

/* What a plan is made for: capacities, widths and options.
 * heads must be a multiple of kv_heads; query head h uses kv head h / (heads / kv_heads). Any size may be 0.
 *
 * With ATTEND_WINDOW a row at diagonal p sees keys p - window_left <= j <= p + window_right: its own key is inside, 255 and 0 make a
 * window of 256 keys. A side of -1 is unbounded, so that -1 and 0 are the causal rule. With the causal rule as well, no key
 * after the diagonal is visible whatever window_right is.
 *
 * With ATTEND_PACKED_QUERIES query, output, LSE and partials hold the rows of all items one after the other: their batch extent
 * is 1 and `rows` is the number of rows in total; so for keys and values with ATTEND_PACKED_KEYS. The two are independent.
 *
 * With ATTEND_PAGED_KEYS the cache is `pages` pages of page_keys keys each (Kwon et al., "Efficient Memory Management for Large Language
 * Model Serving with PagedAttention", 2023). Key j of an item, `keys` at most, is key j mod page_keys of the page that entry j / page_keys
 * of the item's block table names. Any page size is legal; results have the bits that contiguous keys would give. */
typedef struct attend_problem {
    size_t struct_size;
    int64_t batch, heads, kv_heads;
    int64_t rows, keys; /* query rows and keys of an item, padding included; packed: of all items */
    int64_t d_k, d_v;   /* width of queries and keys; width of values and output */
    attend_dtype query_dtype, kv_dtype, output_dtype; /* ATTEND_F32, ATTEND_BF16 or ATTEND_F16 in any mix; kv_dtype is that of keys and
                                                         values. All is computed in float32 from what the inputs hold exactly; the output
                                                         is rounded once, to nearest even: beyond 65519 binary16 becomes infinite. Other
                                                         tensors are float32 throughout */
    uint32_t flags;
    float scale;        /* finite; used with ATTEND_EXPLICIT_SCALE */
    int32_t causal;     /* 1: only keys up to the row's diagonal are visible */
    attend_diagonal diagonal;
    int32_t reserved;   /* 0 */
    int64_t window_left, window_right; /* at least 0, or -1: unbounded; with ATTEND_WINDOW, and 0 without. The struct of
                                          older headers ends before them: it has no window */
    float softcap;      /* at least 2^-126: a score s becomes softcap·tanh(s / softcap) (Gemma 2, 2024); 0: it stays */
    int32_t reserved_2; /* 0 */
    int64_t page_keys;  /* keys of a page, at least 1; with ATTEND_PAGED_KEYS, and 0 without */
} attend_problem;

#ifdef __cplusplus
#define ATTEND_PROBLEM_INIT attend_struct_init<attend_problem>()
#else
#define ATTEND_PROBLEM_INIT { .struct_size = sizeof(attend_problem) }
#endif

#define ATTEND_PLANNED (-1) /* as many as the plan was made for */

/* How far a run has come, for a host to look at from another thread. Both fields are written atomically, relaxed, and only
 * grow during a run; read them likewise (in C: __atomic_load_n). The library writes it during the call only. */
typedef struct attend_progress {
    int64_t done;  /* multiply-adds of what is finished, padding not counted; 0 when the run begins */
    int64_t total; /* of the whole run; `done` ends there. Set before any work is done */
} attend_progress;

/* What changes from run to run. Shapes, with the run's batch, rows and keys:
 *     query    (batch, heads, rows, d_k)       key    (batch, kv_heads, keys, d_k)     query_dtype, kv_dtype
 *     output   (batch, heads, rows, d_v)       value  (batch, kv_heads, keys, d_v)     output_dtype, kv_dtype
 *     lse      (batch, heads, rows, 1)         float32
 *     visible  (batch, heads, rows, keys)      ATTEND_BOOL or ATTEND_BIT, broadcast by stride 0, indexed by absolute row and key;
 *                                              with visible_tail (batch, heads, rows, visible_tail)
 *     bias     (batch, heads, rows, keys)      float32, broadcast by stride 0, likewise; -inf hides, any other number is added
 *     scores   (batch, heads, rows, keys)      float32: what softmax is taken of, for visible keys, -inf elsewhere
 *     weights  (batch, heads, rows, keys)      float32: softmax of the scores, 0 elsewhere
 *     key_sums (batch, heads, 1, keys)         float32: sum of the weights of each key over the rows of a head, 0 for padding keys
 *     maximum, total (batch, heads, rows, 1)   float32: M and L of the partials, whose A is `output`
 * Where queries are packed the batch extent of query, output, lse, maximum, total, visible, bias, scores and weights is 1 and their
 * row axis runs over the rows of all items; where keys are packed that of key, value and key_sums is 1, and the key axis of all runs
 * over the keys of all items.
 * Where keys are paged:
 *     key (pages, kv_heads, page_keys, d_k), value (pages, kv_heads, page_keys, d_v): two tensors, or two views of pages that hold both
 * scores and weights are for diagnosis and teaching: they cost a second pass and are not fast. key_sums cost a second pass over
 * queries and keys; the rows of a head are added in order, so that their bits depend on nothing else either.
 *
 * Arrays have `batch` entries, or as many as stated. Key j of an item is inside when key_starts <= j < key_starts + key_lengths;
 * likewise for query rows. NULL starts mean 0, NULL lengths mean all from the start on. Where packed, item i is rows (keys)
 * offsets[i] <= r < offsets[i + 1] instead: offsets[0] is 0, none is smaller than the one before, and starts and lengths are NULL. With `rows`
 * (`keys`) given, offsets[batch] must be equal to it; with ATTEND_PLANNED at most what was planned, and what lies beyond it
 * is neither read nor written.
 *
 * Score of row i and key j, in this order: s = scale·(q·k); s = softcap·tanh(s / softcap); s += bias; s -= slope·|distance| with
 * the distance from the row's diagonal to the key (Press, Smith and Lewis, "Train Short, Test Long", 2022).
 * Key j is visible to row i when its range, the visibility tensor, the bias, the causal rule and the window all allow it; the causal
 * rule and the window allow the item's first prefix_lengths keys to all rows. Memory of keys
 * outside the range is never read; keys that are hidden otherwise change no bit of any result, whatever they hold.
 * A row without visible keys, and a padding row, gets output 0, LSE -inf, weights 0, scores -inf, M -inf and L 0.
 * A row that sees a NaN or a score of +inf becomes NaN (0x7fc00000, in halves 0x7fc0 and 0x7e00); a visible value that is NaN or infinite, and a sum of values
 * beyond float32, makes its column of the row NaN. A visible score of -inf has weight 0, and a KV tile in which a row has no other
 * is left out of the row, values and all.
 *
 * A sink is one more score in the softmax of a row, without a key and a value (Xiao et al., "Efficient Streaming Language Models with
 * Attention Sinks", 2023): it takes its share of output, weights and key sums, and no part in scores, LSE and partials.
 *
 * With `maximum` and `total` the run writes partials, for attend_merge or for a later run that goes on from them: `output` is A, and
 * scores, weights and key_sums, which need the whole, must be NULL, and output_dtype is ATTEND_F32. With
 * `resume` it goes on from the partials that the three tensors hold (M of -inf: an empty one), as if their keys came before its own:
 * the bits are those of one run over all the keys if the earlier ones are whole KV tiles of 512. */
typedef struct attend_args {
    size_t struct_size;
    int64_t batch, rows, keys; /* at most the plan's; ATTEND_PLANNED */
    const attend_tensor *query, *key, *value;
    const attend_tensor *output;  /* must not overlap any input or other output */
    const attend_tensor *lse;     /* NULL: not wanted; so for the next three */
    const attend_tensor *weights;
    const attend_tensor *scores;
    const attend_tensor *visible;
    const int64_t *key_starts, *key_lengths;
    const int64_t *query_starts, *query_lengths;
    const int64_t *positions;     /* with ATTEND_DIAGONAL_POSITION, and only then; each within ±2^60 */
    void *workspace;              /* NULL, or attend_plan_workspace_bytes bytes for this call alone, aligned to 64 */
    size_t workspace_bytes;
    attend_progress *progress;    /* NULL: not wanted */
    /* The struct of older headers ends here. */
    const attend_tensor *bias;    /* NULL: none */
    const float *alibi_slopes;    /* [heads], finite; NULL: none. attend_alibi_slopes has the usual ones */
    const float *sinks;           /* [heads], -inf (none) or finite; NULL: none. Refused with partials: attend_merge takes them */
    const int64_t *query_offsets; /* [batch + 1]; with ATTEND_PACKED_QUERIES, and only then */
    const int64_t *key_offsets;   /* [batch + 1]; with ATTEND_PACKED_KEYS, and only then */
    const int64_t *prefix_lengths; /* each at least 0; NULL: all 0 */
    int64_t visible_tail;         /* 0: `visible` has a column for every key; T > 0: for the last T keys of each item (its last
                                     column is the item's last key); the keys before count as visible. Trees of drafted tokens */
    const attend_tensor *key_sums; /* NULL: not wanted; needs the flag ATTEND_KEY_SUMS */
    const attend_tensor *maximum, *total; /* both or neither */
    int32_t resume;               /* 0 or 1 */
    int32_t reserved;             /* 0 */
    const int32_t *cancel;        /* NULL, or a number that another thread or a signal handler may set to other than 0, atomically (in C:
                                     __atomic_store_n): the run then ends soon with CANCELLED */
    int64_t deadline;             /* nanoseconds of CLOCK_MONOTONIC after which the run ends soon with TIMEOUT; 0: none. Both are looked at
                                     after every few rows of a KV tile */
    const struct attend_step *step; /* NULL, or what attend_step_create made of the same plan: then batch, rows and keys, the arrays of
                                     ranges, offsets, positions and prefixes, block_tables, table_stride and pages, visible and
                                     visible_tail are its, and unset here */
    const int32_t *block_tables; /* with ATTEND_PAGED_KEYS, and only then: item b's from table_stride·b on. Only entries of pages that hold
                                    keys of the item are read; each must be at least 0 and below `pages`, and may be any page, also one of other
                                    items. Pages are read nowhere but at these keys */
    int64_t table_stride;        /* entries from one item's table to the next; 0: one table for all items */
    int64_t pages;               /* of the key and value tensors */
} attend_args;

#ifdef __cplusplus
static inline attend_args attend_args_init()
{
    attend_args made = attend_struct_init<attend_args>();
    made.batch = made.rows = made.keys = ATTEND_PLANNED;
    return made;
}
#define ATTEND_ARGS_INIT attend_args_init()
#else
#define ATTEND_ARGS_INIT \
    { .struct_size = sizeof(attend_args), .batch = ATTEND_PLANNED, .rows = ATTEND_PLANNED, .keys = ATTEND_PLANNED }
#endif

typedef struct attend_plan attend_plan;

/* Makes a plan for up to the problem's batch, rows and keys. *plan is the caller's, to be destroyed before the engine; on
 * failure it is NULL. Allocates, and may wait for running jobs when the engine's scratch must grow. Any thread.
 * engine NULL: the process's default engine, made with default options on first use. */
ATTEND_API attend_status attend_plan_create(attend_plan **plan, attend_engine *engine, const attend_problem *problem);

/* Frees a plan; NULL is ignored. No run of it may be under way. */
ATTEND_API void attend_plan_destroy(attend_plan *plan);

/* Bytes that one run needs beyond the team's own scratch; 0 for NULL. */
ATTEND_API size_t attend_plan_workspace_bytes(const attend_plan *plan);

/* Runs a plan and returns when the results are written. Allocates nothing. Any number of threads may run one plan, or plans
 * of one engine, at once; a call waits for a free slot of scratch (or uses args->workspace). */
ATTEND_API attend_status attend_run(const attend_plan *plan, const attend_args *args);

/* What all layers of one step of a model have in common: batch, rows and keys of a run, its ranges, offsets, positions and prefixes, its
 * block tables, and its visibility tensor. */
typedef struct attend_step attend_step;

/* Reads these from args once, cuts the work into units, and keeps visibility as bits, for any number of runs with args.step set; other
 * fields of args are not looked at. *step is the caller's, to be destroyed before the plan; nothing that args points to is needed any
 * more. Allocates. Any thread; a step may be used by several runs at once. */
ATTEND_API attend_status attend_step_create(attend_step **step, const attend_plan *plan, const attend_args *args);

/* Frees a step; NULL is ignored. No run with it may be under way. */
ATTEND_API void attend_step_destroy(attend_step *step);

/* Plan and run in one call, for one-shot use. */
ATTEND_API attend_status attend_forward(attend_engine *engine, const attend_problem *problem, const attend_args *args);

/* What a run of the plan would do. Pairs are (row, key) over all heads. */
typedef struct attend_explanation {
    size_t struct_size;
    const char *kernel;      /* name of the kernel, valid as long as the library is loaded */
    int64_t kv_tile;         /* keys per tile, a constant of the reduction contract */
    int64_t register_rows, register_keys; /* the score tile that stays in registers */
    int64_t unit_rows;       /* rows of a full unit */
    int64_t units;
    int64_t inline_run;      /* 1: the job is small enough to run in the caller */
    double padded_pairs;     /* batch·heads·rows·keys; of what is packed, an item's own rows or keys */
    double visible_pairs;    /* pairs whose key is visible; the visibility tensor and the bias are counted where given */
    double computed_pairs;   /* pairs whose score is computed, before the visibility tensor and the bias are looked at: in each KV tile
                                register_rows rows go from the 16 keys with the first one that one of them sees to the last such
                                key. The keys that fill up the last 16 are not counted */
    int64_t tiles_full, tiles_partial, tiles_skipped; /* (unit, KV tile) pairs by what their rows see of the range */
    int64_t workspace_bytes; /* per run */
    int64_t scratch_bytes;   /* per team member */
    double multiply_adds;    /* d_k + d_v for each pair that ranges, causal rule, window and prefix leave visible */
    int64_t inline_limit;    /* jobs below so much `work` run in the caller, and all do without a team; -1: never */
    int64_t unit_rows_most;  /* unit_rows is this, or less to have several units for every member */
    int64_t padding_units;   /* of the units, those that clear the padding rows of a head */
    /* The struct of older headers ends here. */
    const char *slow_path;   /* what ATTEND_FAST_ONLY would refuse about the run, in a few words, valid as long as the library is
                                loaded; NULL: nothing. Such runs are explained with the flag as well */
    double work;             /* multiply_adds, and what it takes to read keys and values, as options.inline_work counts it */
    int64_t shared_tiles;    /* KV tiles, times the items beyond the first, that a cascade computes once: ATTEND_SHARED_PREFIXES */
    int64_t pieces;          /* of the units, those that take a part of their rows' keys, so that all members have work */
} attend_explanation;

#ifdef __cplusplus
#define ATTEND_EXPLANATION_INIT attend_struct_init<attend_explanation>()
#else
#define ATTEND_EXPLANATION_INIT { .struct_size = sizeof(attend_explanation) }
#endif

/* Fills *explanation for a run with these args, whose tensors may be NULL (visible and bias are read where given). Any thread; works
 * in a slot of scratch, and so may wait for one like a run. */
ATTEND_API attend_status attend_plan_explain(const attend_plan *plan, const attend_args *args,
                                             attend_explanation *explanation);

/* ---- partial results ----------------------------------------------------------------------------------------------- */

/* What one part of the keys gave to every row: (output, lse) of a run without sinks, or its partials (output, maximum, total), whose
 * output is A. A part whose lse or maximum is -inf for a row says nothing about it, whatever else it holds there. */
typedef struct attend_part {
    size_t struct_size;
    const attend_tensor *output;          /* (batch, heads, rows, d_v) */
    const attend_tensor *lse;             /* (batch, heads, rows, 1): for (output, lse), and only then */
    const attend_tensor *maximum, *total; /* (batch, heads, rows, 1): for partials, and only then */
} attend_part;

#define ATTEND_PART_INIT { sizeof(attend_part), NULL, NULL, NULL, NULL }

/* Results lie as the parts do, float32 throughout. They may be those of the first part (in place: the same address and strides); otherwise
 * they overlap nothing. */
typedef struct attend_merge_args {
    size_t struct_size;
    int64_t batch, heads, rows, d_v;
    const attend_part *parts; /* parts[part_count], in the order of their keys, all of one kind */
    size_t part_count;        /* may be 0: rows without keys */
    const attend_tensor *output;
    const attend_tensor *lse; /* NULL: not wanted */
    const attend_tensor *maximum, *total; /* both: the result is a partial again; neither: it is finished */
    const float *sinks;       /* [heads], for a finished result; NULL: none */
} attend_merge_args;

#ifdef __cplusplus
#define ATTEND_MERGE_ARGS_INIT attend_struct_init<attend_merge_args>()
#else
#define ATTEND_MERGE_ARGS_INIT { .struct_size = sizeof(attend_merge_args) }
#endif

/* Folds parts of the keys into the results of all of them, in the order given: with M' = max(M, m), L = l·e^(m-M') + L·e^(M-M') and A
 * likewise ("FlashAttention", Dao et al., 2022, section 3.1; an (output, lse) counts as M = lse, L = 1, A = output). A part that comes first
 * may span any number of KV tiles and each later one a single tile of 512 keys: the bits are then those of one run over all the keys.
 * Other cuts are right to rounding; (output, lse) lose about |lse|·2^-24. Any thread; runs in the caller, allocates nothing. engine
 * NULL: the process's default engine. */
ATTEND_API attend_status attend_merge(attend_engine *engine, const attend_merge_args *args);

/* The usual ALiBi slopes, slopes[heads]: 2^(-8·(i+1)/n) for a power of two n = heads; otherwise those of the largest power of two
 * below, and then every other one of its double. */
ATTEND_API attend_status attend_alibi_slopes(int64_t heads, float *slopes);

/* ---- caches of keys and values -------------------------------------------------------------------------------------- */

/* New keys and values of a step of generation, and the caches that they go into, all four of one dtype: ATTEND_F32, ATTEND_BF16 or
 * ATTEND_F16. Shapes, with page_keys 0:
 *     new_key  (batch, kv_heads, rows, d_k)     key   (batch, kv_heads, keys, d_k)
 *     new_value (batch, kv_heads, rows, d_v)    value (batch, kv_heads, keys, d_v)
 * With page_keys > 0 the caches are in pages, as with ATTEND_PAGED_KEYS:
 *     key (pages, kv_heads, page_keys, d_k), value (pages, kv_heads, page_keys, d_v)
 * With new_offsets the new keys of all items follow each other without padding: the batch extent of new_key and new_value is 1, and item
 * i's are rows new_offsets[i] <= r < new_offsets[i + 1]; new_offsets[0] is 0, none is smaller than the one before, and the last is `rows`.
 * Caches have distinct elements (no stride 0 on an axis longer than 1) and share no memory with any other argument. Any size may be 0. */
typedef struct attend_append_args {
    size_t struct_size;
    int64_t batch, kv_heads, d_k, d_v;
    int64_t rows; /* new keys of an item at most; with new_offsets those of all items */
    int64_t keys; /* what an item's cache holds at most */
    const attend_tensor *new_key, *new_value;
    const attend_tensor *key, *value; /* written */
    const int64_t *lengths;     /* [batch] keys that each item's cache holds already, at least 0; NULL: all 0 */
    const int64_t *new_lengths; /* [batch] new keys of each item, 0 to rows, the first ones of its rows; NULL: `rows` each */
    const int64_t *new_offsets; /* [batch + 1], new_lengths is then NULL; NULL: not packed */
    int64_t page_keys;          /* keys of a page; 0: contiguous, and the next three are unset */
    const int32_t *block_tables; /* item b's from table_stride·b on: entry j / page_keys is the page of its key j. Only entries of pages
                                    that get new keys are read; each must be at least 0 and below `pages` */
    int64_t table_stride;       /* entries from one item's table to the next; 0: one table for all items */
    int64_t pages;              /* of the key and value tensors, at most 2^31 - 1 */
} attend_append_args;

#ifdef __cplusplus
#define ATTEND_APPEND_ARGS_INIT attend_struct_init<attend_append_args>()
#else
#define ATTEND_APPEND_ARGS_INIT { .struct_size = sizeof(attend_append_args) }
#endif

/* Copies new key r of item i, and its value, to place lengths[i] + r of the item's cache, bit for bit; writes nothing else. A run whose
 * key_lengths are the sums of both sees them. Items are taken in their order, so that a place which two new keys are sent to (by block
 * tables that share a page) holds the later one. Any thread; calls that write the same place, and runs that read it, need the caller's
 * order. Runs in the caller, allocates nothing. engine NULL: the process's default engine.
 * Errors, all found before anything is written: ARGUMENT, CAPACITY (an item's keys and new keys are more than
 * `keys`), FORKED. */
ATTEND_API attend_status attend_append(attend_engine *engine, const attend_append_args *args);

/* Of memory for a cache. */
typedef struct attend_cache_info {
    size_t struct_size;
    size_t page_bytes; /* of the pages that it gets as they are touched: the huge page size where the system grants such pages, which it
                          may still not have when the time comes; the base page size otherwise; 0: not known. What does not fill a huge
                          page at the end lies in base pages */
    int32_t node;      /* that it is bound to, or -1 */
    int32_t reserved;  /* 0 */
} attend_cache_info;

#ifdef __cplusplus
#define ATTEND_CACHE_INFO_INIT attend_struct_init<attend_cache_info>()
#else
#define ATTEND_CACHE_INFO_INIT { .struct_size = sizeof(attend_cache_info) }
#endif

typedef struct attend_cache_options {
    size_t struct_size;
    int32_t small_pages; /* 0: huge pages where the system grants them; 1: pages of the base size */
    int32_t node;        /* the operating system's number of the NUMA node whose memory to use, as long as it has any; -1: that of the
                            thread that touches a page first */
    attend_cache_info *info; /* NULL: not wanted; filled, up to its struct_size, on success */
} attend_cache_options;

#ifdef __cplusplus
static inline attend_cache_options attend_cache_options_init()
{
    attend_cache_options made = attend_struct_init<attend_cache_options>();
    made.node = -1;
    return made;
}
#define ATTEND_CACHE_OPTIONS_INIT attend_cache_options_init()
#else
#define ATTEND_CACHE_OPTIONS_INIT { .struct_size = sizeof(attend_cache_options), .node = -1 }
#endif

/* Memory for a cache, or for any tensor: `bytes` bytes of zeros, aligned to the size of a huge page (2 MiB where the system does not tell
 * it), none of them touched. *memory is the caller's, to be released with the same number of bytes; NULL on failure and for 0 bytes.
 * `options` NULL means all defaults. Comes from the operating system and not from an engine's allocator; with a node the topology is
 * looked at in each call, which takes some milliseconds. Any thread.
 * Errors: ARGUMENT (a node that there is not), MEMORY, SYSTEM (the binding), UNSUPPORTED (a node in a build without hwloc). */
ATTEND_API attend_status attend_cache_allocate(const attend_cache_options *options, size_t bytes, void **memory);

/* Gives the memory back; NULL is ignored. No run that reads it may be under way. Any thread. */
ATTEND_API void attend_cache_release(void *memory, size_t bytes);

/* ---- measuring the machine ---------------------------------------------------------------------------------------- */

typedef enum attend_measure {
    ATTEND_MEASURE_MULTIPLY_ADD = 1, /* float32 multiply-adds in registers; the rate counts 2 operations each */
    ATTEND_MEASURE_READ = 2          /* reading `memory` once with vector loads; the rate counts bytes */
} attend_measure;

/* Measures a limit of the machine on the engine's own team and instruction set: *rate per second over about 10 ms of
 * multiply-adds, or over one pass through memory[bytes], of which members take 4 MiB at a time. Takes its turn in the job queue; a
 * first try of a fraction of a millisecond, which finds how many multiply-adds to do, runs in the caller. */
ATTEND_API attend_status attend_engine_measure(attend_engine *engine, attend_measure what, const void *memory,
                                               size_t bytes, double *rate);

#ifdef __cplusplus
}
#endif

#endif
