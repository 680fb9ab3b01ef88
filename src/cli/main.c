/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory_limit.h"
#include "cli/cli.h"
#include "cli/option_help.h"
#include "config.h"
#include "mpi/world_open.h"
#include "sandbox/sandbox.h"

/* The first row is what runs when no command is named. */
const struct tp_command tp_commands[] = {
    {"tensors", "--tensor_dir DIR [DIR ...]",
     "analyse directories of dumped tensors", TP_FOR_TENSORS, tp_cmd_tensors},
    {"trace", "[--trace_dir] PATH [PATH ...]",
     "say what limits the training run of profiler traces", TP_FOR_TRACE,
     tp_cmd_trace},
    {"check", "PATH ...", "find risks in training scripts before they run",
     TP_FOR_CHECK, tp_cmd_check},
    {"dump", "PATH ...",
     "check dumps of msprobe, and say where they go wrong", TP_FOR_DUMP,
     tp_cmd_dump},
    {"compare", "A B", "say where two dumps, checkpoints or runs part",
     TP_FOR_COMPARE, tp_cmd_compare},
    {"replay", "DUMP ...",
     "compute the operators of a dump again, and perturb them", TP_FOR_REPLAY,
     tp_cmd_replay},
    {"merge", "STATE ...", "make one result of what several runs kept",
     TP_FOR_MERGE, tp_cmd_merge},
    {"inspect", "FILE ...", "report on each tensor of some files",
     TP_FOR_INSPECT, tp_cmd_inspect},
    {"list", "[TABLE ...]",
     "what this program knows: formats stats dtypes figures rules checks "
     "damage ops names commands devices",
     TP_FOR_LIST, tp_cmd_list},
    {NULL, NULL, NULL, 0, NULL},
};

static const struct tp_command *find_command(const char *name)
{
    for (const struct tp_command *c = tp_commands; c->name; c++) {
        if (!strcmp(c->name, name))
            return c;
    }
    return NULL;
}

/* What exit statuses mean; the second only where something can fail so. */
static void add_status(unsigned command, struct tp_text *text)
{
    bool fails = false;
    for (const struct tp_option *row = tp_option_table; row->name; row++)
        fails |= !strcmp(row->name, "fail_on") && (row->commands & command);
    tp_text_add(text,
                "\n'-' and '_' in option names are the same. Exit status: 0 "
                "done, %s2 usage, 3%ssome input was damaged or unsupported, 4 "
                "could not finish.\n",
                fails ? "1 a finding reached\n--fail_on, " : "",
                fails ? " " : "\n");
}

static int print_help(const struct tp_command *command, bool was_named)
{
    struct tp_text text = {0};
    tp_text_add(&text, "usage: tprof-analyze %s%s%s [option ...]\n",
                was_named ? command->name : "", was_named ? " " : "[tensors] ",
                command->synopsis);
    if (!was_named) {
        for (const struct tp_command *c = tp_commands + 1; c->name; c++)
            tp_text_add(&text, "       tprof-analyze %s %s\n", c->name,
                        c->synopsis);
        tp_text_add(&text, "\nSays of dumped tensors where a training run in "
                           "low precision went wrong:\nstatistics, overflow, "
                           "underflow, findings and figures.\n\nCommands:\n");
        for (const struct tp_command *c = tp_commands; c->name; c++)
            tp_text_add(&text, "  %-10s %s\n", c->name, c->help);
    }
    tp_text_add(&text, "\nOptions:\n");
    tp_options_help(command->bit, &text);
    add_status(command->bit, &text);
    return tp_print(&text) ? TP_EXIT_OK : TP_EXIT_FAILED;
}

static int print_version(void)
{
    struct tp_text text = {0};
    tp_text_add(&text, "%s\nsandbox: %s\n", PACKAGE_STRING,
                tp_sandbox_built());
    return tp_print(&text) ? TP_EXIT_OK : TP_EXIT_FAILED;
}

static int print_options(void)
{
    struct tp_text text = {0};
    for (const struct tp_option *row = tp_option_table; row->name; row++)
        tp_text_add(&text, "--%s\n", row->name);
    return tp_print(&text) ? TP_EXIT_OK : TP_EXIT_FAILED;
}

/* Whether directories are waited for, that need not be there yet. */
static bool waits(int argc, char **argv)
{
    bool yes = false;
    for (int i = 1; i < argc && !yes; i++)
        yes = strncmp(argv[i], "--wait", strlen("--wait")) == 0;
    return yes;
}

/* A first word that is no command and nothing on disk is most likely a
 * command mistyped, or of another version. */
static bool is_stray_word(int argc, char **argv)
{
    return argc > 1 && argv[1][0] != '-' && !strchr(argv[1], '/') &&
           !find_command(argv[1]) && access(argv[1], F_OK) != 0 &&
           !waits(argc, argv);
}

static int refuse_word(const char *word)
{
    struct tp_error err = {0};
    struct tp_text names = {0};
    for (const struct tp_command *c = tp_commands; c->name; c++)
        tp_text_add(&names, " %s", c->name);
    tp_fail(&err, TP_E_USAGE, -1,
            "%s is neither a command nor a file or directory; commands:%s",
            word, tp_text_get(&names));
    tp_print_error(&err);
    tp_text_clear(&names);
    return TP_EXIT_USAGE;
}

/* Whoever closed the standard files before starting us must not have a
 * result written into what takes their numbers. */
static void open_standard_files(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

/* libzip converts the time of every record, and for each the C library looks
 * whether /etc/localtime has changed, unless a zone is set: to what it is
 * without one. */
static void keep_time_zone(void)
{
    setenv("TZ", ":/etc/localtime", 0);
}

/* Only one process of a world speaks; the others say why they fail. */
static void be_quiet(void)
{
    const int fd = open("/dev/null", O_WRONLY);
    if (fd >= 0) {
        dup2(fd, STDOUT_FILENO);
        close(fd);
    }
}

static enum tp_status check_world(const struct tp_command *command,
                                  const struct tp_options *options,
                                  struct tp_error *err)
{
    const bool traces = command->bit == TP_FOR_TRACE && !options->compare;
    return !options->world || command->bit == TP_FOR_TENSORS || traces
               ? TP_OK
               : tp_fail(err, TP_E_USAGE, -1,
                         "%s%s is not for several processes: start it with "
                         "tprof-analyze, without mpirun",
                         command->name, options->compare ? " --compare" : "");
}

/* Without a limit that was asked for: enough of what there is to be left with
 * some, or none where nobody says what there is. */
static enum tp_status bound_memory(const struct tp_options *options,
                                   struct tp_error *err)
{
    uint64_t bytes = options->memory_limit;
    if (bytes == 0)
        bytes = tp_memory_available() / 4 * 3;
    return bytes ? tp_memory_limit(bytes, err) : TP_OK;
}

static int run_command(const struct tp_world *world, int argc, char **argv)
{
    const struct tp_command *command = argc > 1 ? find_command(argv[1]) : NULL;
    bool was_named = command != NULL;
    int first = was_named ? 2 : 1;
    command = was_named ? command : &tp_commands[0];
    struct tp_options options;
    struct tp_error err = {0};
    enum tp_status status = tp_options_parse(argc - first, argv + first,
                                             command->bit, &options, &err);
    options.world = world;
    int result;
    if (status == TP_OK && options.help)
        result = print_help(command, was_named);
    else if (status == TP_OK && options.version)
        result = print_version();
    else if (status == TP_OK && options.dump_options)
        result = print_options();
    else {
        if (status == TP_OK)
            status = check_world(command, &options, &err);
        if (status == TP_OK)
            status = bound_memory(&options, &err);
        if (status == TP_OK)
            result = command->run(&options, argc, argv);
    }
    if (status != TP_OK) {
        result = tp_exit_of(status);
        if (!tp_world_is_over(world)) {
            tp_print_error(&err);
            fprintf(stderr, "Try 'tprof-analyze --help'.\n");
        }
    }
    tp_options_clear(&options);
    return result;
}

int main(int argc, char **argv)
{
    struct tp_error err = {0};
    const struct tp_world *world;
    open_standard_files();
    keep_time_zone();
    if (is_stray_word(argc, argv))
        return refuse_word(argv[1]);
    enum tp_status status = tp_world_open(&tp_interrupted, &world, &err);
    int result = tp_exit_of(status);
    tp_catch_signals();
    if (world && world->rank > 0)
        be_quiet();
    if (status == TP_OK)
        result = run_command(world, argc, argv);
    else
        tp_print_error(&err);
    return tp_world_close(world, result);
}
