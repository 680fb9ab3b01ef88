/* SPDX-License-Identifier: MIT */
#include "report/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"

/* What gnuplot prints after each script; the job's number follows. */
#define DONE_WORD "tprof-drawn "

enum {
    PROCESSES_MAX = 64, /* each draws about 25 figures a second           */
    ROUNDS_MAX = 4,     /* new processes for what a failed script held up */
    EXIT_NO_PROGRAM = 127
};

/* One gnuplot process: jobs `number`, `number + stride`, ... */
struct process {
    pid_t pid;  /* 0: not running        */
    int output; /* its stdout and stderr */
    int status; /* as waitpid gives it   */
};

struct team {
    const char *output_dir;
    struct tp_gnuplot_job *jobs;
    bool *failed; /* [count]: scripts that are not tried again */
    size_t count;
    unsigned size;
    struct process processes[PROCESSES_MAX];
    char *warning;
    size_t warning_size;
    bool missing; /* there is no gnuplot */
};

/* The command line of one process; its words point into `text`. */
struct command {
    struct tp_text text; /* the words, each ended by NUL */
    char **words;        /* for execvp, ended by NULL    */
    size_t count;
};

static void add_word(struct command *command, const char *word)
{
    tp_text_bytes(&command->text, word, strlen(word) + 1);
    command->count++;
}

/* One -e per job, and one to forget it: `reset session` has to be alone. */
static void add_job(struct command *command, const struct tp_gnuplot_job *job,
                    size_t number)
{
    struct tp_text line = {0};
    tp_text_add(&line, "cd '%s'; output = '%s'; load '%s.gp'; cd '..'; "
                       "print '" DONE_WORD "%zu'",
                job->category, job->output, job->id, number);
    command->text.failed |= line.failed;
    add_word(command, "-e");
    add_word(command, tp_text_get(&line));
    add_word(command, "-e");
    add_word(command, "reset session");
    tp_text_clear(&line);
}

/* Points at the words; false when out of memory. */
static bool split_words(struct command *command)
{
    command->words = calloc(command->count + 1, sizeof *command->words);
    if (!command->words || command->text.failed)
        return false;
    char *at = command->text.data;
    for (size_t i = 0; i < command->count; i++) {
        command->words[i] = at;
        at += strlen(at) + 1;
    }
    return true;
}

/* The command for what is left of a share; false: nothing is, or no memory. */
static bool make_command(const struct team *team, unsigned number,
                         struct command *command)
{
    bool any = false;
    *command = (struct command){0};
    /* in a locale without UTF-8 it warns that it cannot write a degree sign */
    add_word(command, "env");
    add_word(command, "LC_ALL=C.UTF-8");
    add_word(command, "gnuplot");
    add_word(command, "-d");
    for (size_t i = number; i < team->count; i += team->size) {
        if (team->jobs[i].done || team->failed[i])
            continue;
        add_job(command, &team->jobs[i], i);
        any = true;
    }
    return any && split_words(command);
}

static void clear_command(struct command *command)
{
    tp_text_clear(&command->text);
    free(command->words);
}

/* In the child: only calls that are safe after fork in a threaded program. */
static void become_gnuplot(const char *output_dir, char *const *words,
                           int output)
{
    int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0 && chdir(output_dir) == 0 && dup2(nothing, 0) >= 0 &&
        dup2(output, 1) >= 0 && dup2(output, 2) >= 0)
        execvp(words[0], words);
    _exit(EXIT_NO_PROGRAM);
}

static bool start(struct team *team, unsigned number)
{
    int ends[2];
    struct command command;
    struct process *process = &team->processes[number];
    if (!make_command(team, number, &command) || pipe(ends) < 0) {
        clear_command(&command);
        return false;
    }
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    pid_t pid = fork();
    if (pid == 0)
        become_gnuplot(team->output_dir, command.words, ends[1]);
    clear_command(&command);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return false;
    }
    process->pid = pid;
    process->output = ends[0];
    return true;
}

/* Takes what a line says: a script that ended, or trouble. */
static void hear(struct team *team, const char *line)
{
    size_t word = strlen(DONE_WORD);
    if (strncmp(line, DONE_WORD, word) == 0) {
        size_t index = strtoull(line + word, NULL, 10);
        if (index < team->count)
            team->jobs[index].done = true;
    } else if (!team->warning[0] &&
               (strstr(line, " line ") || strstr(line, "warning:"))) {
        /* other lines are echoes of the commands */
        snprintf(team->warning, team->warning_size, "gnuplot: %s", line);
    }
}

/* Reads a process to its end and waits for it. */
static void finish(struct team *team, struct process *process)
{
    FILE *stream = fdopen(process->output, "r");
    char line[512];
    while (stream && fgets(line, sizeof line, stream)) {
        line[strcspn(line, "\n")] = '\0';
        hear(team, line);
    }
    if (stream)
        fclose(stream);
    else
        close(process->output);
    while (waitpid(process->pid, &process->status, 0) < 0 && errno == EINTR)
        continue;
    process->pid = 0;
    if (WIFEXITED(process->status) &&
        WEXITSTATUS(process->status) == EXIT_NO_PROGRAM)
        team->missing = true;
}

/* The first script of a failed share that did not end is the one at fault. */
static void blame(struct team *team, unsigned number)
{
    size_t i = number;
    while (i < team->count && (team->jobs[i].done || team->failed[i]))
        i += team->size;
    if (i >= team->count)
        return;
    team->failed[i] = true;
    if (!team->warning[0])
        snprintf(team->warning, team->warning_size, "gnuplot failed on %s/%s",
                 team->jobs[i].category, team->jobs[i].id);
}

/* One process per share that has something left; false when none has. */
static bool run_round(struct team *team)
{
    bool started[PROCESSES_MAX] = {false}, any = false;
    for (unsigned p = 0; p < team->size; p++) {
        started[p] = start(team, p);
        any |= started[p];
    }
    for (unsigned p = 0; p < team->size; p++) {
        if (!started[p])
            continue;
        finish(team, &team->processes[p]);
        blame(team, p);
        /* interrupted, or killed: the user does not want another try */
        if (WIFSIGNALED(team->processes[p].status))
            any = false;
    }
    return any && !team->missing;
}

enum tp_status tp_gnuplot_run(struct tp_gnuplot_work *work,
                              struct tp_error *err)
{
    size_t count = work->count;
    unsigned wanted = work->processes < 1 ? 1 : work->processes;
    work->warning[0] = '\0';
    if (wanted > PROCESSES_MAX)
        wanted = PROCESSES_MAX;
    if (count == 0)
        return TP_OK;
    struct team team = {
        .output_dir = work->output_dir,
        .jobs = work->jobs,
        .failed = calloc(count, sizeof *team.failed),
        .count = count,
        .size = wanted > count ? (unsigned)count : wanted,
        .warning = work->warning,
        .warning_size = sizeof work->warning,
    };
    if (!team.failed)
        return tp_fail_memory(err);
    for (int round = 0; round < ROUNDS_MAX && run_round(&team); round++)
        continue;
    free(team.failed);
    if (team.missing)
        return tp_fail(err, TP_E_NOT_FOUND, -1, "gnuplot is not installed");
    return TP_OK;
}
