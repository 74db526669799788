/* The attend command: finds the subcommand and hands over. Results go to standard output or files, messages to standard
 * error. Knows no option of a subcommand. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/cli/commands.h"
#include "engine/cli/messages.h"

#include "attend/attend.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
    { "show", command_show, "every step of attention for a table of tokens" },
    { "run", command_run, "attention of tensors in .npy files" },
    { "info", command_info, "version, instruction sets, topology and limits" },
    { "bench", command_bench, "measure problems against the limits of the machine" },
    { "explain", command_explain, "how a problem would be computed, and why" },
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static int print_help(void)
{
    printf("Usage: attend COMMAND [OPTION]...\n"
           "Scaled dot-product attention, softmax(Q*K^T*scale)*V, on CPUs.\n\n"
           "Commands:\n");
    for (int i = 0; i < COMMAND_COUNT; i++)
        printf("  %-8s %s\n", commands[i].name, commands[i].summary);
    printf("\n'attend COMMAND --help' tells the options of a command; 'attend --version' the version.\n"
           "Exit status: 0 done, 1 could not, 2 wrong usage.\n\n"
           "Examples:\n"
           "  attend show table.csv\n"
           "  attend run --query query.npy --key key.npy --value value.npy --output context.npy\n");
    return message_finish_output();
}

static int run_command(int argc, char **argv)
{
    for (int i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(argv[0], commands[i].name) != 0)
            continue;
        message_set_command(argv[0]);
        return commands[i].run(argc, argv);
    }
    return message_usage("there is no command '%s'", argv[0]);
}

int main(int argc, char **argv)
{
    /* A closed pipe is then a failed write, which is reported like a full disk. */
    signal(SIGPIPE, SIG_IGN);
    if (argc < 2)
        return message_usage("a command is missing");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
        return print_help();
    if (strcmp(argv[1], "--version") == 0) {
        printf("attend %s\n", attend_version());
        return message_finish_output();
    }
    return run_command(argc - 1, argv + 1);
}
