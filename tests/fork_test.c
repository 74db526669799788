/* What a forked child may do with the library: an engine of the parent answers FORKED and can be destroyed, the child makes its own,
 * the default engine renews itself; and nothing hangs, whatever other threads of the parent did at the time. Each child is given
 * ten seconds. */
#include "tests/help_suite.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHILD_FINE = 7, PATIENCE_SECONDS = 10 };

static void pause_for(long microseconds)
{
    const struct timespec time = { .tv_sec = microseconds / 1000000, .tv_nsec = microseconds % 1000000 * 1000 };
    nanosleep(&time, NULL);
}

/* Like fork; a child that hangs is ended by its alarm. */
static pid_t fork_patiently(void)
{
    pid_t child = fork();
    if (child == 0)
        alarm(PATIENCE_SECONDS);
    return child;
}

/* The child's verdict is its exit status. */
static void expect_fine_child(pid_t child, const char *what)
{
    int status = 0;
    cr_assert(waitpid(child, &status, 0) == child);
    cr_assert(!WIFSIGNALED(status) || WTERMSIG(status) != SIGALRM, "%s: the child hangs", what);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == CHILD_FINE, "%s: the child ended with status %x", what,
              (unsigned)status);
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
    pid_t child = fork_patiently();
    if (child == 0) {
        attend_engine_info info = ATTEND_ENGINE_INFO_INIT;
        bool fine = attend_engine_describe(engine, &info) == ATTEND_ERR_FORKED && !forward_works(engine);
        attend_engine *own = make_engine(ATTEND_ISA_AUTO, 2, IN_TEAM);
        fine = fine && own && forward_works(own);
        attend_engine_destroy(own);
        attend_engine_destroy(engine);
        _exit(fine ? CHILD_FINE : 1);
    }
    expect_fine_child(child, "engines");
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
    pid_t child = fork_patiently();
    if (child == 0) {
        bool fine = forward_works(NULL) && attend_run(plan, &sample.args) == ATTEND_ERR_FORKED;
        attend_plan_destroy(plan);
        _exit(fine && forward_works(NULL) ? CHILD_FINE : 1);
    }
    expect_fine_child(child, "a plan of the default engine");
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
        pid_t child = fork_patiently();
        if (child == 0) {
            if (destroy)
                attend_engine_destroy(engine);
            _exit(forward_works(NULL) ? CHILD_FINE : 1);
        }
        expect_fine_child(child, "amid callers");
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

/* The first use of the default engine loads the topology and starts threads: milliseconds in which a fork may fall. Each delay
 * needs a process that has not used the library yet. */
Test(fork, amid_the_first_use, .timeout = 160)
{
    static const long delays[] = { 100, 300, 600, 800, 1000, 1500, 2000, 3000, 5000 };
    for (size_t i = 0; i < sizeof delays / sizeof *delays; i++) {
        pid_t fresh = fork();
        if (fresh == 0) {
            pthread_t thread;
            if (pthread_create(&thread, NULL, describe_default, NULL))
                _exit(2);
            pause_for(delays[i]);
            pid_t child = fork_patiently();
            if (child == 0)
                _exit(forward_works(NULL) ? CHILD_FINE : 1);
            int status = 0;
            waitpid(child, &status, 0);
            pthread_join(thread, NULL);
            if (WIFSIGNALED(status))
                raise(WTERMSIG(status)); /* the same end as the child's */
            _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 3);
        }
        expect_fine_child(fresh, "amid the first use");
    }
}
