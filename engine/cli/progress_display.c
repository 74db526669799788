/* See progress_display.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/cli/progress_display.h"

#include "engine/cli/progress_bar.h"
#include "engine/cli/terminal.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_MILLISECONDS = 500, NEXT_MILLISECONDS = 100, USUAL_COLUMNS = 80, BLANKS = PROGRESS_COLUMNS_LIMIT };

static struct {
    const attend_progress *progress; /* NULL: not begun */
    pthread_t thread;
    pthread_mutex_t lock; /* guards `over` */
    pthread_cond_t ended;
    bool over, utf8;
    struct timespec start;
    volatile sig_atomic_t columns; /* that the line takes on the terminal */
} display = { .lock = PTHREAD_MUTEX_INITIALIZER };

static double seconds_since(const struct timespec *start)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) + 1e-9 * (double)(now.tv_nsec - start->tv_nsec);
}

static void add_milliseconds(struct timespec *time, long milliseconds)
{
    time->tv_nsec += milliseconds * 1000000;
    time->tv_sec += time->tv_nsec / 1000000000;
    time->tv_nsec %= 1000000000;
}

/* One write, so that lines of other writers stay whole. What the terminal does not take is lost. */
static void put(const char *text, size_t length)
{
    ssize_t written = write(STDERR_FILENO, text, length);
    (void)written;
}

/* Blanks instead of an escape sequence: every terminal understands them. */
void progress_display_wipe(void)
{
    char line[BLANKS + 2];
    int columns = display.columns;
    if (columns <= 0)
        return;
    display.columns = 0;
    line[0] = '\r';
    for (int i = 0; i < columns; i++)
        line[1 + i] = ' ';
    line[1 + columns] = '\r';
    put(line, (size_t)columns + 2);
}

static void draw(void)
{
    char line[1 + PROGRESS_BYTES + BLANKS];
    const struct progress_state state = {
        .done = (double)__atomic_load_n(&display.progress->done, __ATOMIC_RELAXED),
        .total = (double)__atomic_load_n(&display.progress->total, __ATOMIC_RELAXED),
        .seconds = seconds_since(&display.start),
    };
    if (!terminal_is_foreground(STDERR_FILENO))
        return;
    /* The last column stays free: some terminals wrap as soon as it is written. */
    int width = terminal_columns(STDERR_FILENO, USUAL_COLUMNS) - 1;
    int columns = progress_bar_print(line + 1, &state, width, display.utf8);
    if (columns == 0)
        return;
    line[0] = '\r';
    size_t length = strlen(line);
    for (int i = columns; i < display.columns && i < width; i++)
        line[length++] = ' ';
    display.columns = columns;
    put(line, length);
}

static void *show(void *unused)
{
    struct timespec next = display.start;
    add_milliseconds(&next, FIRST_MILLISECONDS);
    pthread_mutex_lock(&display.lock);
    while (!display.over) {
        if (pthread_cond_timedwait(&display.ended, &display.lock, &next) == 0)
            continue;
        draw();
        clock_gettime(CLOCK_MONOTONIC, &next);
        add_milliseconds(&next, NEXT_MILLISECONDS);
    }
    pthread_mutex_unlock(&display.lock);
    return unused;
}

static bool start_thread(void)
{
    sigset_t all, before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return false;
    bool started = pthread_create(&display.thread, NULL, show, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

static bool make_condition(void)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0)
        return false;
    bool good = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                pthread_cond_init(&display.ended, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    return good;
}

void progress_display_begin(const attend_progress *progress)
{
    if (!isatty(STDERR_FILENO) || !make_condition())
        return;
    display.over = false;
    display.utf8 = terminal_is_utf8();
    display.progress = progress;
    clock_gettime(CLOCK_MONOTONIC, &display.start);
    if (start_thread())
        return;
    pthread_cond_destroy(&display.ended);
    display.progress = NULL;
}

void progress_display_end(void)
{
    if (!display.progress)
        return;
    pthread_mutex_lock(&display.lock);
    display.over = true;
    pthread_cond_signal(&display.ended);
    pthread_mutex_unlock(&display.lock);
    pthread_join(display.thread, NULL);
    pthread_cond_destroy(&display.ended);
    progress_display_wipe();
    display.progress = NULL;
}
