/* SPDX-License-Identifier: MIT */
/*
 * Running gnuplot on many scripts. Each process gets a share of the jobs as -e
 * commands, without a shell, and prints a line after each script, read through
 * a pipe with poll. When a process ends early, or ends no figure for too long
 * and is killed, the first script of its share that did not end is the one at
 * fault; what is left of the share goes to a new process in the next of at most
 * four rounds. One process for each figure would isolate failures without this
 * bookkeeping, but pays the start of gnuplot every time; one for all uses one
 * core, and a script that hangs holds up all others. O(jobs) commands, at most
 * 64 processes at once.
 */
#include "report/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include "base/text.h"

/* What gnuplot prints after each script; the job's number follows. */
#define DONE_WORD "tprof-drawn "

enum {
    PROCESSES_MAX = 64, /* each draws about 25 figures a second           */
    ROUNDS_MAX = 4,     /* new processes for what a failed script held up */
    PATIENCE_S = 120,   /* a figure takes less than a second              */
    TICK_MS = 100,      /* how late a stop may be seen                    */
    WAIT_MS = 5,        /* between the end of the output and the exit     */
    EXIT_NO_PROGRAM = 127
};

/* One gnuplot process: jobs `number`, `number + stride`, ... */
struct process {
    pid_t pid;       /* 0: not running                               */
    int output;      /* its stdout and stderr; -1: closed            */
    int status;      /* as waitpid gives it                          */
    bool stuck;      /* killed because no figure ended for too long  */
    double progress; /* when a figure ended last, or it was started  */
    bool complained; /* `words` are a complaint, not just its first  */
    char words[200]; /* what it said                                 */
    size_t length;
    char line[512]; /* the line that has not ended yet              */
};

struct team {
    struct tp_gnuplot_work *work;
    bool *failed; /* [count]: scripts that are not tried again */
    unsigned size;
    struct process processes[PROCESSES_MAX];
    bool noted;   /* work->why holds a failure         */
    bool refused; /* a process did not become gnuplot  */
    bool ended;   /* a user's signal ended a gnuplot   */
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static bool is_stopped(const struct team *team)
{
    return team->work->stop && *team->work->stop;
}

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

/* An SVG begins with the colour that the one before it in the process ended
 * with: so that it has the same bytes whatever was drawn before, that one is
 * always this. */
#define SAME_BEGINNING                                   \
    "if (strstrt(GPVAL_TERMINALS, ' svg ')) {"           \
    " set terminal svg; set out '/dev/null';"            \
    " plot 0 linecolor rgb 'black'; set out }"

/* One -e per job, and one to forget it: `reset session` has to be alone. */
static void add_job(struct command *command, const struct tp_gnuplot_job *job,
                    size_t number)
{
    const char *ending = strrchr(job->output, '.');
    struct tp_text line = {0};
    tp_text_add(&line, "cd '%s'; ", job->category);
    if (ending && strcmp(ending, ".tmp") != 0) /* a name aside says nothing */
        tp_text_add(&line, "format = '%s'; ", ending + 1);
    tp_text_add(&line,
                "output = '%s'; load '%s.gp'; cd '..'; "
                "print '" DONE_WORD "%zu'",
                job->output, job->id, number);
    command->text.failed |= line.failed;
    add_word(command, "-e");
    add_word(command, SAME_BEGINNING);
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
    for (size_t i = number; i < team->work->count; i += team->size) {
        if (team->work->jobs[i].done || team->failed[i])
            continue;
        add_job(command, &team->work->jobs[i], i);
        any = true;
    }
    return any && split_words(command);
}

static void clear_command(struct command *command)
{
    tp_text_clear(&command->text);
    free(command->words);
}

/* In the child: nobody is to draw on for a parent that is gone, however it
 * went. Linux tells when the thread that forked ends, which here waits for its
 * children; elsewhere the line after the next figure meets a closed pipe. */
static void end_with(pid_t parent)
{
    signal(SIGPIPE, SIG_DFL);
#if defined(__linux__)
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (getppid() != parent) /* before it was asked for */
        _exit(EXIT_NO_PROGRAM);
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
    *process = (struct process){.output = -1, .progress = now()};
    if (!make_command(team, number, &command) || pipe(ends) < 0) {
        clear_command(&command);
        return false;
    }
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    const pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        end_with(parent);
        become_gnuplot(team->work->output_dir, command.words, ends[1]);
    }
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

/* Keeps a line that tells why, or the first one until there is such a line;
 * it may come from anything that is called gnuplot. */
static void keep_words(struct process *process, const char *line)
{
    /* other lines of gnuplot are echoes of the commands */
    bool complaint = strstr(line, " line ") || strstr(line, "warning:");
    struct tp_text text = {0};
    if (process->complained || (process->words[0] && !complaint) ||
        strspn(line, " \t\r^") == strlen(line))
        return;
    process->complained = complaint;
    tp_text_printable(&text, line);
    snprintf(process->words, sizeof process->words, "%s", tp_text_get(&text));
    tp_text_clear(&text);
}

/* Takes what a line says: a script that ended, or trouble. */
static void hear(struct team *team, struct process *process)
{
    size_t word = strlen(DONE_WORD);
    process->line[process->length] = '\0';
    process->length = 0;
    if (strncmp(process->line, DONE_WORD, word) != 0) {
        keep_words(process, process->line);
        return;
    }
    size_t index = strtoull(process->line + word, NULL, 10);
    if (index < team->work->count)
        team->work->jobs[index].done = true;
    process->progress = now();
}

/* Reads what is there; at the end closes the pipe. */
static void listen_to(struct team *team, struct process *process)
{
    char bytes[4096];
    ssize_t n = read(process->output, bytes, sizeof bytes);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    for (ssize_t i = 0; i < n; i++) {
        bool full = process->length + 1 == sizeof process->line;
        if (bytes[i] == '\n' || full)
            hear(team, process);
        if (bytes[i] != '\n')
            process->line[process->length++] = bytes[i];
    }
    if (n > 0)
        return;
    if (process->length > 0)
        hear(team, process);
    close(process->output);
    process->output = -1;
}

/* Waits for a process, or, without `block`, looks whether it has ended. */
static void reap(struct process *process, bool block)
{
    pid_t pid;
    do
        pid = waitpid(process->pid, &process->status, block ? 0 : WNOHANG);
    while (pid < 0 && errno == EINTR);
    if (pid != 0)
        process->pid = 0;
}

/* Its children, if it is a script with some, may hold the pipe open. */
static void end_process(struct process *process)
{
    kill(process->pid, SIGKILL);
    reap(process, true);
    if (process->output >= 0)
        close(process->output);
    process->output = -1;
}

/* Waits until one of the processes says something, for a moment at most. */
static void listen_to_all(struct team *team)
{
    struct pollfd polls[PROCESSES_MAX];
    int timeout = TICK_MS;
    for (unsigned p = 0; p < team->size; p++) {
        const struct process *process = &team->processes[p];
        polls[p] = (struct pollfd){.fd = process->pid ? process->output : -1,
                                   .events = POLLIN};
        if (process->pid && process->output < 0)
            timeout = WAIT_MS;
    }
    if (poll(polls, team->size, timeout) <= 0)
        return;
    for (unsigned p = 0; p < team->size; p++) {
        if (polls[p].revents)
            listen_to(team, &team->processes[p]);
    }
}

/* Keeps the first reason why a figure is missing. */
static void note_failure(struct team *team, const struct process *process)
{
    char *why = team->work->why;
    size_t size = sizeof team->work->why;
    if (team->noted)
        return;
    team->noted = true;
    if (process->stuck)
        snprintf(why, size, "gnuplot took more than %u s for a figure",
                 team->work->patience_s);
    else if (WIFSIGNALED(process->status))
        snprintf(why, size, "gnuplot was ended by signal %d",
                 WTERMSIG(process->status));
    else
        snprintf(why, size, "gnuplot ended with status %d",
                 WEXITSTATUS(process->status));
    size_t length = strlen(why);
    if (process->words[0])
        snprintf(why + length, size - length, " (its first words: %s)",
                 process->words);
}

/* The first script of a failed share that did not end is the one at fault. */
static void blame(struct team *team, unsigned number)
{
    const struct process *process = &team->processes[number];
    const struct tp_gnuplot_work *work = team->work;
    size_t i = number;
    while (i < work->count && (work->jobs[i].done || team->failed[i]))
        i += team->size;
    if (i < work->count) {
        team->failed[i] = true;
        note_failure(team, process);
    } else if (process->complained && !work->why[0]) {
        snprintf(team->work->why, sizeof work->why, "gnuplot: %s",
                 process->words);
    }
}

/* Draws conclusions from a process that has ended. */
static void settle(struct team *team, unsigned number)
{
    const struct process *process = &team->processes[number];
    int status = process->status;
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NO_PROGRAM)
        team->refused = true;
    /* Ctrl-C goes to both of us: no other try, whoever is first to see it */
    if (WIFSIGNALED(status) &&
        (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM ||
         WTERMSIG(status) == SIGHUP))
        team->ended = true;
    blame(team, number);
}

/* Looks after the processes that run; false when none does. */
static bool attend(struct team *team)
{
    bool any = false;
    listen_to_all(team);
    for (unsigned p = 0; p < team->size; p++) {
        struct process *process = &team->processes[p];
        if (!process->pid)
            continue;
        double limit = process->progress + team->work->patience_s;
        process->stuck = now() > limit;
        if (process->stuck || is_stopped(team))
            end_process(process);
        else if (process->output < 0)
            reap(process, false);
        if (process->pid)
            any = true;
        else if (!is_stopped(team))
            settle(team, p);
    }
    return any;
}

/* There is no gnuplot. One process may also find no folder or no memory, but
 * where a script has ended there is one. */
static bool is_missing(const struct team *team)
{
    bool any = false;
    for (size_t i = 0; i < team->work->count; i++)
        any |= team->work->jobs[i].done;
    return team->refused && !any;
}

/* One process per share that has something left; false when none has. */
static bool run_round(struct team *team)
{
    bool any = false;
    for (unsigned p = 0; p < team->size; p++)
        any |= start(team, p);
    while (attend(team))
        continue;
    return any && !is_missing(team) && !team->ended && !is_stopped(team);
}

enum tp_status tp_gnuplot_run(struct tp_gnuplot_work *work,
                              struct tp_error *err)
{
    size_t count = work->count;
    unsigned wanted = work->processes < 1 ? 1 : work->processes;
    work->why[0] = '\0';
    if (work->patience_s == 0)
        work->patience_s = PATIENCE_S;
    if (wanted > PROCESSES_MAX)
        wanted = PROCESSES_MAX;
    if (count == 0)
        return TP_OK;
    struct team *team = calloc(1, sizeof *team);
    bool *failed = calloc(count, sizeof *failed);
    enum tp_status status = TP_OK;
    if (team && failed) {
        team->work = work;
        team->failed = failed;
        team->size = wanted > count ? (unsigned)count : wanted;
        for (int round = 0; round < ROUNDS_MAX && run_round(team); round++)
            continue;
        if (is_stopped(team))
            status = tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted");
        else if (is_missing(team))
            status =
                tp_fail(err, TP_E_NOT_FOUND, -1, "gnuplot is not installed");
    } else {
        status = tp_fail_memory(err);
    }
    free(failed);
    free(team);
    return status;
}
