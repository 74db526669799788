/* The subcommands of attend. Each gets its own name as argv[0] and returns the exit status: 0 done, 1 could not, 2
 * wrong usage. */
#ifndef ATTEND_CLI_COMMANDS_H
#define ATTEND_CLI_COMMANDS_H

int command_run(int argc, char **argv);
int command_info(int argc, char **argv);
int command_bench(int argc, char **argv);
int command_show(int argc, char **argv);
int command_explain(int argc, char **argv);

#endif
