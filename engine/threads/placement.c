/* See placement.h. The CPUs that may be used are put in one order, and a team of n takes the first n: every core once
 * before any core twice, fast kinds before slow ones, then compact or spread; a list is its own order. */
#include "engine/threads/placement.h"

#include "engine/base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What candidates are sorted by, most significant first. Columns 0 and 1 are the same in every sort. */
enum { KEYS = 6 };

struct candidate {
    int index;   /* into machine->cpus */
    int sibling; /* candidates of the same core before it; 0 throughout where CPUs are listed */
    int key[KEYS];
};

struct work {
    const struct attend__placement_request *request;
    const struct attend__cpu *cpus;
    struct candidate *order;
    int count;  /* candidates */
    int cores;  /* candidates that are no sibling: they come first */
    int top;    /* those of the fastest kind: they come first of all */
    int uncapped, wanted; /* team size before and after the quota */
};

/* ---- candidates ---- */

static void add_candidate(struct work *work, int index, int sibling)
{
    work->order[work->count++] = (struct candidate){ .index = index, .sibling = sibling };
}

static int compare_cpu_number(const void *a, const void *b)
{
    int number = *(const int *)a;
    const struct attend__cpu *cpu = b;
    return (number > cpu->os) - (number < cpu->os);
}

static attend_status add_listed(struct work *work, size_t position)
{
    const struct attend__placement_request *request = work->request;
    int number = request->cpus[position];
    const struct attend__cpu *cpu =
        bsearch(&number, work->cpus, (size_t)request->machine->cpu_count, sizeof *cpu, compare_cpu_number);
    if (!cpu)
        return attend__fail(ATTEND_ERR_ARGUMENT, "options.cpus[%zu] is %d; the machine has no such CPU", position,
                            number);
    int index = (int)(cpu - work->cpus);
    for (int i = 0; i < work->count; i++)
        if (work->order[i].index == index)
            return attend__fail(ATTEND_ERR_ARGUMENT,
                                "options.cpus[%zu] is %d, and so is options.cpus[%d]; a CPU may be listed once",
                                position, number, i);
    if (!cpu->allowed)
        return attend__fail(ATTEND_ERR_ARGUMENT,
                            "options.cpus[%zu] is %d; the operating system does not allow this process that CPU",
                            position, number);
    if (!request->in_mask[index])
        return attend__fail(ATTEND_ERR_ARGUMENT,
                            "options.cpus[%zu] is %d; it must be in the affinity mask of the calling thread", position,
                            number);
    add_candidate(work, index, 0);
    return ATTEND_OK;
}

static attend_status list_candidates(struct work *work)
{
    for (size_t i = 0; i < work->request->cpu_count; i++) {
        attend_status status = add_listed(work, i);
        if (status)
            return status;
    }
    work->cores = work->top = work->count;
    return ATTEND_OK;
}

static int compare_candidates(const void *a, const void *b)
{
    const struct candidate *left = a, *right = b;
    for (int i = 0; i < KEYS; i++)
        if (left->key[i] != right->key[i])
            return left->key[i] < right->key[i] ? -1 : 1;
    return 0;
}

static void sort_candidates(struct work *work)
{
    qsort(work->order, (size_t)work->count, sizeof *work->order, compare_candidates);
}

static void set_keys(struct work *work, struct candidate *candidate, int a, int b, int c, int d)
{
    int kind = work->cpus[candidate->index].kind;
    int key[KEYS] = { candidate->sibling, -kind, a, b, c, d };
    memcpy(candidate->key, key, sizeof key);
}

/* Numbers the candidates of each core by the numbers of their CPUs. */
static void find_siblings(struct work *work)
{
    for (int i = 0; i < work->count; i++) {
        struct candidate *candidate = &work->order[i];
        int key[KEYS] = { work->cpus[candidate->index].core, candidate->index };
        memcpy(candidate->key, key, sizeof key);
    }
    sort_candidates(work);
    for (int i = 1; i < work->count; i++)
        if (work->order[i].key[0] == work->order[i - 1].key[0])
            work->order[i].sibling = work->order[i - 1].sibling + 1;
}

static void sort_compact(struct work *work)
{
    for (int i = 0; i < work->count; i++) {
        const struct attend__cpu *cpu = &work->cpus[work->order[i].index];
        set_keys(work, &work->order[i], cpu->package, cpu->node, cpu->l3, cpu->os);
    }
    sort_candidates(work);
}

/* How many neighbours just before candidate i have its first `columns` keys. */
static int count_before(const struct work *work, int i, int columns)
{
    const struct candidate *candidate = &work->order[i];
    int before = 0;
    while (before < i && memcmp(candidate[-before - 1].key, candidate->key, (size_t)columns * sizeof(int)) == 0)
        before++;
    return before;
}

/* Deals the members of neighbouring groups out in turn, innermost level first: over the caches of each node, the nodes
 * of each package, the packages. Before a pass the candidates of one group lie together in the order they shall be
 * dealt; the columns behind the sibling number and the kind name the group. */
static void sort_spread(struct work *work)
{
    sort_compact(work);
    for (int columns = KEYS - 1; columns > 2; columns--) {
        /* Keys are rewritten from the end, so that the ones before i are still those of the last pass. */
        for (int i = work->count - 1; i >= 0; i--) {
            struct candidate *candidate = &work->order[i];
            const struct attend__cpu *cpu = &work->cpus[candidate->index];
            int turn = count_before(work, i, columns);
            if (columns == 5)
                set_keys(work, candidate, cpu->package, cpu->node, turn, cpu->l3);
            else if (columns == 4)
                set_keys(work, candidate, cpu->package, turn, cpu->node, 0);
            else
                set_keys(work, candidate, turn, cpu->package, 0, 0);
        }
        sort_candidates(work);
    }
}

static void find_candidates(struct work *work)
{
    const struct attend__placement_request *request = work->request;
    for (int i = 0; i < request->machine->cpu_count; i++)
        if (work->cpus[i].allowed && request->in_mask[i])
            add_candidate(work, i, 0);
    find_siblings(work);
    if (request->placement == ATTEND_PLACEMENT_SPREAD)
        sort_spread(work);
    else
        sort_compact(work);
    while (work->cores < work->count && work->order[work->cores].sibling == 0)
        work->cores++;
    while (work->top < work->cores && work->order[work->top].key[1] == work->order[0].key[1])
        work->top++;
}

/* ---- decisions ---- */

/* Caps hold for the default only: who asks for a number gets it. */
static void choose_threads(struct work *work)
{
    const struct attend__placement_request *request = work->request;
    work->uncapped = request->threads > 0 ? request->threads : work->top > 0 ? work->top : 1;
    work->wanted = work->uncapped;
    if (request->threads == 0 && request->quota > 0 && request->quota < work->uncapped)
        work->wanted = request->quota < 1 ? 1 : (int)request->quota;
}

static bool is_restricted(const struct work *work)
{
    const struct attend__placement_request *request = work->request;
    for (int i = 0; i < request->machine->cpu_count; i++)
        if (!request->in_mask[i] || !work->cpus[i].allowed)
            return true;
    return false;
}

static bool choose_binding(const struct work *work)
{
    if (work->request->bind == ATTEND_BIND_OFF || work->wanted > work->count)
        return false;
    return work->request->bind == ATTEND_BIND_CORES || work->request->cpus || work->wanted >= work->cores ||
           is_restricted(work);
}

static attend_cpu_use exclude_cpu(const struct work *work, int index)
{
    if (!work->cpus[index].allowed)
        return ATTEND_CPU_DISALLOWED;
    return work->request->in_mask[index] ? ATTEND_CPU_UNLISTED : ATTEND_CPU_AFFINITY;
}

/* Whether the core of a sibling is used: by the member bound to its first CPU, or, where nobody is bound, because every
 * core counts once. */
static bool is_core_used(const struct work *work, int i, int members)
{
    int core = work->cpus[work->order[i].index].core;
    for (int j = 0; j < members; j++)
        if (work->cpus[work->order[j].index].core == core)
            return true;
    return false;
}

static attend_cpu_use judge_candidate(const struct work *work, int i, bool bind)
{
    if (i < work->wanted)
        return bind ? ATTEND_CPU_MEMBER : ATTEND_CPU_ELIGIBLE;
    if (work->order[i].sibling > 0 && is_core_used(work, i, bind ? work->wanted : work->cores))
        return ATTEND_CPU_SIBLING;
    return work->wanted < work->uncapped ? ATTEND_CPU_QUOTA : ATTEND_CPU_ELIGIBLE;
}

static void fill_placement(struct attend__placement *placement, const struct work *work)
{
    placement->threads = work->wanted;
    placement->bind = choose_binding(work);
    for (int i = 0; i < work->request->machine->cpu_count; i++)
        placement->use[i] = exclude_cpu(work, i);
    for (int i = 0; i < work->count; i++) {
        placement->use[work->order[i].index] = judge_candidate(work, i, placement->bind);
        placement->cpus[i] = work->cpus[work->order[i].index].os;
    }
    if (!placement->bind)
        placement->cpus = NULL;
    if (work->count == 0)
        snprintf(placement->warning, sizeof placement->warning,
                 "the affinity mask has no CPU that the topology allows: the team of %d runs unbound", work->wanted);
    else if (work->wanted > work->count)
        snprintf(placement->warning, sizeof placement->warning,
                 "options.threads is %d, more than the usable CPUs (%d): the team runs unbound", work->wanted,
                 work->count);
}

/* ---- the interface ---- */

static attend_status check_list(const struct attend__placement_request *request)
{
    if (request->cpus && request->cpu_count == 0)
        return attend__fail(ATTEND_ERR_ARGUMENT, "options.cpu_count is 0; a list of CPUs must name at least one");
    if (!request->cpus && request->cpu_count > 0)
        return attend__fail(ATTEND_ERR_ARGUMENT, "options.cpus is NULL; options.cpu_count is %zu and must be 0 then",
                            request->cpu_count);
    return ATTEND_OK;
}

attend_status attend__placement_make(struct attend__placement *placement,
                                     const struct attend__placement_request *request,
                                     const struct attend__allocator *allocator)
{
    *placement = (struct attend__placement){ .threads = 0 };
    attend_status status = check_list(request);
    if (status)
        return status;
    size_t count = (size_t)request->machine->cpu_count;
    placement->bytes = count * (sizeof(struct candidate) + sizeof *placement->cpus + sizeof *placement->use);
    placement->memory = attend__allocate(allocator, placement->bytes);
    if (!placement->memory)
        return attend__fail(ATTEND_ERR_MEMORY, "no memory for the placement on %zu CPUs (%zu bytes)", count,
                            placement->bytes);
    struct candidate *order = placement->memory;
    placement->cpus = (int *)(order + count);
    placement->use = (attend_cpu_use *)(placement->cpus + count);
    struct work work = { .request = request, .cpus = request->machine->cpus, .order = order };
    if (request->cpus)
        status = list_candidates(&work);
    else
        find_candidates(&work);
    if (status) {
        attend__placement_free(placement, allocator);
        return status;
    }
    choose_threads(&work);
    fill_placement(placement, &work);
    return ATTEND_OK;
}

void attend__placement_free(struct attend__placement *placement, const struct attend__allocator *allocator)
{
    attend__release(allocator, placement->memory, placement->bytes);
    *placement = (struct attend__placement){ .threads = 0 };
}
