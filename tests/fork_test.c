/* What a forked child may do with the library: an engine of the parent answers FORKED and can be destroyed, the child makes its own,
 * the default engine renews itself; and nothing hangs, whatever other threads of the parent did at the time. Each child is given
 * ten seconds and then killed: it may hang with every signal blocked that a program can block. */
#include "tests/help_suite.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHILD_FINE = 7, CHILD_HANGS = 9, PATIENCE_SECONDS = 10 };

static void pause_for(long microseconds)
{
    const struct timespec time = { .tv_sec = microseconds / 1000000, .tv_nsec = microseconds % 1000000 * 1000 };
    nanosleep(&time, NULL);
}

/* The child's exit status; CHILD_HANGS when it had to be killed, and the signal's number above 255 when it died of one. */
static int end_of(pid_t child)
{
    enum { POLL_MICROSECONDS = 2000 };
    int status = 0;
    for (long waited = 0; waitpid(child, &status, WNOHANG) == 0; waited += POLL_MICROSECONDS) {
        if (waited >= PATIENCE_SECONDS * 1000000L) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            return CHILD_HANGS;
        }
        pause_for(POLL_MICROSECONDS);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

static void expect_fine_end(int end, const char *what)
{
    cr_assert(end != CHILD_HANGS, "%s: the child hangs", what);
    cr_assert(end == CHILD_FINE, "%s: the child ended with %s %d", what, end > 255 ? "signal" : "status", end & 255);
}

static bool forward_works(attend_engine *engine)
{
    struct spec spec = spec_plain(1, 2, 5, 9, 8, 8);
    struct sample sample;
    sample_make(&sample, &spec);
    bool works = sample_forward(&sample, engine) == ATTEND_OK && !sample_judge(&sample);
    sample_free(&sample);
    return works;
}

Test(fork, parents_engine_and_own, .timeout = 60)
{
    attend_engine *engine = need_engine(ATTEND_ISA_AUTO, 2, IN_TEAM);
    cr_assert(forward_works(engine));
    pid_t child = fork();
    if (child == 0) {
        attend_engine_info info = ATTEND_ENGINE_INFO_INIT;
        bool fine = attend_engine_describe(engine, &info) == ATTEND_ERR_FORKED && !forward_works(engine);
        attend_engine *own = make_engine(ATTEND_ISA_AUTO, 2, IN_TEAM);
        fine = fine && own && forward_works(own);
        attend_engine_destroy(own);
        attend_engine_destroy(engine);
        _exit(fine ? CHILD_FINE : 1);
    }
    expect_fine_end(end_of(child), "engines");
    cr_assert(forward_works(engine), "the parent works on");
    attend_engine_destroy(engine);
}

/* A plan of the default engine outlives the parent's default engine in the child. */
Test(fork, plan_of_the_default_engine, .timeout = 60)
{
    struct spec spec = spec_plain(1, 2, 5, 9, 8, 8);
    struct sample sample;
    attend_plan *plan;
    sample_make(&sample, &spec);
    expect_ok(attend_plan_create(&plan, NULL, &sample.problem));
    expect_ok(attend_run(plan, &sample.args));
    pid_t child = fork();
    if (child == 0) {
        bool fine = forward_works(NULL) && attend_run(plan, &sample.args) == ATTEND_ERR_FORKED;
        attend_plan_destroy(plan);
        _exit(fine && forward_works(NULL) ? CHILD_FINE : 1);
    }
    expect_fine_end(end_of(child), "a plan of the default engine");
    expect_ok(attend_run(plan, &sample.args));
    attend_plan_destroy(plan);
    sample_free(&sample);
}

struct caller {
    attend_engine *engine;
    attend_problem problem;
    attend_args args;
    atomic_bool *stop;
};

/* Runs until it is told to stop, on memory that all callers write alike. */
static void *keep_calling(void *argument)
{
    struct caller *caller = argument;
    while (!*caller->stop)
        if (attend_forward(caller->engine, &caller->problem, &caller->args) != ATTEND_OK)
            return argument;
    return NULL;
}

/* More callers than slots: some always wait for one. */
static void fork_amid_callers(attend_engine *engine, bool destroy)
{
    enum { CALLERS = 4 };
    struct spec spec = spec_plain(1, 4, 96, 512, 64, 64);
    struct sample samples[CALLERS];
    struct caller callers[CALLERS];
    pthread_t threads[CALLERS];
    atomic_bool stop = false;
    for (int i = 0; i < CALLERS; i++) {
        sample_make(&samples[i], &spec);
        callers[i] = (struct caller){ engine, samples[i].problem, samples[i].args, &stop };
        cr_assert(pthread_create(&threads[i], NULL, keep_calling, &callers[i]) == 0);
    }
    for (int round = 0; round < 8; round++) {
        pause_for(3000 + 1700 * round);
        pid_t child = fork();
        if (child == 0) {
            if (destroy)
                attend_engine_destroy(engine);
            _exit(forward_works(NULL) ? CHILD_FINE : 1);
        }
        expect_fine_end(end_of(child), "amid callers");
    }
    stop = true;
    for (int i = 0; i < CALLERS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        cr_expect_null(failed, "the parent's callers go on");
        sample_free(&samples[i]);
    }
}

Test(fork, amid_callers_waiting_for_a_slot, .timeout = 110)
{
    attend_engine_options options = ATTEND_ENGINE_OPTIONS_INIT;
    attend_engine *engine;
    options.threads = 2;
    options.slots = 1;
    options.inline_work = IN_TEAM;
    expect_ok(attend_engine_create(&engine, &options));
    fork_amid_callers(engine, true);
    attend_engine_destroy(engine);
}

Test(fork, amid_callers_of_the_default_engine, .timeout = 110)
{
    fork_amid_callers(NULL, false);
}

static void *describe_default(void *unused)
{
    attend_engine_info info = ATTEND_ENGINE_INFO_INIT;
    (void)unused;
    return attend_engine_describe(NULL, &info) == ATTEND_OK ? NULL : &describe_default;
}

/* LLVM's OpenMP runtime has it, GCC's has not. */
extern int kmp_get_blocktime(void) __attribute__((weak));

/* A process that forks `delay` after it began to use the library; the grandchild's end is its own. */
static _Noreturn void fork_amid_first_use(long delay)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, describe_default, NULL))
        _exit(2);
    pause_for(delay);
    pid_t child = fork();
    if (child == 0)
        _exit(forward_works(NULL) ? CHILD_FINE : 1);
    int end = end_of(child);
    if (end == CHILD_HANGS)
        _exit(CHILD_HANGS); /* without joining: nothing may hold this process up */
    pthread_join(thread, NULL);
    _exit(end);
}

/* The first use of the default engine loads the topology and starts threads: milliseconds in which a fork may fall. Each delay
 * needs a process that has not used the library yet. */
Test(fork, amid_the_first_use, .timeout = 160)
{
    if (kmp_get_blocktime)
        cr_skip_test("LLVM's OpenMP runtime copies its own initialisation lock into a child forked meanwhile");
    static const long delays[] = { 100, 300, 600, 800, 1000, 1500, 2000, 3000, 5000 };
    for (size_t i = 0; i < sizeof delays / sizeof *delays; i++) {
        pid_t fresh = fork();
        if (fresh == 0)
            fork_amid_first_use(delays[i]);
        int status = 0; /* waits for its own child at most PATIENCE_SECONDS */
        cr_assert(waitpid(fresh, &status, 0) == fresh);
        expect_fine_end(WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status), "amid the first use");
    }
}
