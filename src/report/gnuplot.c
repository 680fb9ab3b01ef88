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

/* The commands for what is left of a share; false: nothing is. */
static bool add_commands(const struct team *team, unsigned number,
                         struct tp_text *out)
{
    bool any = false;
    tp_text_add(out, "set print '-';");
    for (size_t i = number; i < team->count; i += team->size) {
        const struct tp_gnuplot_job *job = &team->jobs[i];
        if (job->done || team->failed[i])
            continue;
        any = true;
        tp_text_add(out,
                    "cd '%s';output='%s';load '%s.gp';cd '..';"
                    "reset session;set print '-';print '" DONE_WORD "%zu';",
                    job->category, job->output, job->id, i);
    }
    return any;
}

/* In the child: only calls that are safe after fork in a threaded program. */
static void become_gnuplot(const char *output_dir, const char *commands,
                           int output)
{
    int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0 && chdir(output_dir) == 0 && dup2(nothing, 0) >= 0 &&
        dup2(output, 1) >= 0 && dup2(output, 2) >= 0)
        execlp("gnuplot", "gnuplot", "-d", "-e", commands, (char *)NULL);
    _exit(EXIT_NO_PROGRAM);
}

static bool start(struct team *team, unsigned number)
{
    int ends[2];
    struct tp_text commands = {0};
    struct process *process = &team->processes[number];
    bool any = add_commands(team, number, &commands);
    if (!any || commands.failed || pipe(ends) < 0) {
        tp_text_clear(&commands);
        return false;
    }
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    pid_t pid = fork();
    if (pid == 0)
        become_gnuplot(team->output_dir, tp_text_get(&commands), ends[1]);
    tp_text_clear(&commands);
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
    } else if (line[strspn(line, " \t^")] && !team->warning[0]) {
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

enum tp_status tp_gnuplot_run(const char *output_dir,
                              struct tp_gnuplot_job *jobs, size_t count,
                              unsigned processes, char *warning, size_t size,
                              struct tp_error *err)
{
    unsigned wanted = processes < 1 ? 1 : processes;
    warning[0] = '\0';
    if (wanted > PROCESSES_MAX)
        wanted = PROCESSES_MAX;
    if (count == 0)
        return TP_OK;
    struct team team = {
        .output_dir = output_dir,
        .jobs = jobs,
        .failed = calloc(count, sizeof *team.failed),
        .count = count,
        .size = wanted > count ? (unsigned)count : wanted,
        .warning = warning,
        .warning_size = size,
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
