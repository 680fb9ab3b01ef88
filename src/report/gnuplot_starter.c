/* SPDX-License-Identifier: MIT */
/*
 * The process that starts gnuplot. It is made before anything is read, while
 * it may still start something, and is asked over a pair of sockets by the
 * process that reads and may not (sandbox/sandbox.c). That one may have been
 * taken over: a request names scripts and nothing else, is checked
 * (gnuplot_request.c), and runs tp_gnuplot_run in a process that may write in
 * the output directory only, has no network, and can execute no file but `env`
 * and `gnuplot`, so that a script that tries a shell gets none. Where gnuplot
 * is a script itself, what that starts cannot be limited, nor where the kernel
 * has no Landlock.
 *
 * That it is to stop is told by a flag in memory that both see: signals do not
 * reach beyond the sandbox. It ends when the socket is closed, or with the
 * process that made it. Alternative: all gnuplots started beforehand and fed
 * through pipes; they would have to be fed whole scripts, and one that hangs
 * could not be replaced. Cost: a fork of a small process, about half a
 * millisecond.
 */
#define _GNU_SOURCE /* SOCK_CLOEXEC */
#include "report/gnuplot_starter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include "base/file.h"
#include "report/gnuplot_request.h"

enum { TICK_MS = 100 /* how late a stop may be told */ };

struct tp_gnuplot_starter {
    pid_t pid;
    int socket;
    volatile sig_atomic_t *stop; /* seen by both                            */
};

/* What comes back; after a request a byte for each script follows. */
struct answer {
    enum tp_status status;
    char message[TP_ERROR_MESSAGE_MAX];
    char why[sizeof((struct tp_gnuplot_work *)0)->why];
};

static bool send_all(int socket, const void *bytes, size_t size)
{
    return tp_file_write_all(socket, bytes, size) == TP_OK;
}

static bool receive_all(int socket, void *bytes, size_t size)
{
    char *at = bytes;
    while (size > 0) {
        const ssize_t n = read(socket, at, size);
        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        at += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* --- the process that starts gnuplot -------------------------------------- */

static bool answer(int socket, enum tp_status status,
                   const struct tp_error *err, const char *why)
{
    struct answer words = {.status = status};
    snprintf(words.message, sizeof words.message, "%s", err->message);
    snprintf(words.why, sizeof words.why, "%s", why);
    return send_all(socket, &words, sizeof words);
}

/* Runs what a request asks for, and says what became of it. */
static bool fulfil(int socket, const struct tp_gnuplot_request *request,
                   const char *names, const char *output_dir,
                   const volatile sig_atomic_t *stop)
{
    struct tp_gnuplot_work work;
    struct tp_error err = {0};
    enum tp_status status =
        tp_gnuplot_take(request, names, output_dir, &work, &err);
    work.stop = stop;
    if (status == TP_OK)
        status = tp_gnuplot_run(&work, &err);
    bool sent = answer(socket, status, &err, work.why);
    for (uint32_t i = 0; i < request->count && sent; i++) {
        const char done = i < work.count && work.jobs[i].done;
        sent = send_all(socket, &done, 1);
    }
    free(work.jobs);
    return sent;
}

/* One request; false: there are no more. */
static bool serve(int socket, const char *output_dir,
                  const volatile sig_atomic_t *stop)
{
    struct tp_gnuplot_request request;
    if (!receive_all(socket, &request, sizeof request) ||
        !tp_gnuplot_may_read(&request))
        return false;
    char *names = calloc((size_t)request.bytes + 1, 1);
    const bool served = names && receive_all(socket, names, request.bytes) &&
                        fulfil(socket, &request, names, output_dir, stop);
    free(names);
    return served;
}

/* Nobody is to wait for the end of our output, or to see us when it is gone. */
static void withdraw(pid_t parent)
{
    const int nothing = open("/dev/null", O_RDWR);
    for (int fd = 0; fd <= STDERR_FILENO && nothing >= 0; fd++)
        dup2(nothing, fd);
    if (nothing > STDERR_FILENO)
        close(nothing);
    signal(SIGPIPE, SIG_IGN);
#if defined(__linux__)
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (getppid() != parent) /* before it was asked for */
        _exit(EXIT_FAILURE);
}

static void start_for(int socket, const char *output_dir, pid_t parent,
                      const volatile sig_atomic_t *stop)
{
    static const char *const programs[] = {"env", "gnuplot", NULL};
    const struct tp_sandbox_wish wish = {.role = TP_SANDBOX_STARTER,
                                         .folders = {output_dir},
                                         .programs = programs};
    struct tp_sandbox sandbox;
    struct tp_error err = {0};
    withdraw(parent);
    enum tp_status status = tp_sandbox_enter(&wish, &sandbox, &err);
    if (answer(socket, status, &err, "") && status == TP_OK)
        while (serve(socket, output_dir, stop))
            continue;
    _exit(EXIT_SUCCESS);
}

/* --- the process that asks ------------------------------------------------ */

static volatile sig_atomic_t *make_flag(void)
{
    void *flag = mmap(NULL, sizeof(sig_atomic_t), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return flag == MAP_FAILED ? NULL : flag;
}

enum tp_status tp_gnuplot_starter_open(const char *output_dir,
                                       struct tp_gnuplot_starter **starter,
                                       struct tp_error *err)
{
    int ends[2] = {-1, -1};
    const pid_t parent = getpid();
    struct tp_gnuplot_starter *made = calloc(1, sizeof *made);
    *starter = made;
    if (!made)
        return tp_fail_memory(err);
    made->socket = -1;
    made->stop = make_flag();
    if (!made->stop ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return tp_fail_errno(err, "cannot prepare to start gnuplot");
    made->pid = fork();
    if (made->pid == 0) {
        close(ends[0]);
        start_for(ends[1], output_dir, parent, made->stop);
    }
    const int error = errno;
    close(ends[1]);
    made->socket = ends[0];
    errno = error;
    return made->pid > 0
               ? TP_OK
               : tp_fail_errno(err, "cannot prepare to start gnuplot");
}

static enum tp_status gone(struct tp_error *err)
{
    return tp_fail(err, TP_E_IO, -1,
                   "the process that starts gnuplot has ended");
}

enum tp_status tp_gnuplot_starter_wait(struct tp_gnuplot_starter *starter,
                                       struct tp_error *err)
{
    struct answer first;
    if (!receive_all(starter->socket, &first, sizeof first))
        return gone(err);
    return first.status == TP_OK
               ? TP_OK
               : tp_fail(err, first.status, -1, "%s", first.message);
}

/* Waits for an answer, and tells when it is to stop. */
static void wait_for(const struct tp_gnuplot_starter *starter,
                     const volatile sig_atomic_t *stop)
{
    struct pollfd poll_of = {.fd = starter->socket, .events = POLLIN};
    while (poll(&poll_of, 1, TICK_MS) <= 0) {
        if (stop && *stop)
            *starter->stop = 1;
    }
}

static enum tp_status hear(const struct tp_gnuplot_starter *starter,
                           struct tp_gnuplot_work *work, struct tp_error *err)
{
    struct answer words;
    char done;
    if (!receive_all(starter->socket, &words, sizeof words))
        return gone(err);
    for (size_t i = 0; i < work->count; i++) {
        if (!receive_all(starter->socket, &done, 1))
            return gone(err);
        work->jobs[i].done = done;
    }
    memcpy(work->why, words.why, sizeof work->why);
    return words.status == TP_OK
               ? TP_OK
               : tp_fail(err, words.status, -1, "%s", words.message);
}

enum tp_status tp_gnuplot_starter_run(struct tp_gnuplot_starter *starter,
                                      struct tp_gnuplot_work *work,
                                      struct tp_error *err)
{
    struct tp_gnuplot_request request;
    struct tp_text names = {0};
    enum tp_status status = tp_gnuplot_ask(work, &request, &names, err);
    if (status == TP_OK &&
        (!send_all(starter->socket, &request, sizeof request) ||
         !send_all(starter->socket, tp_text_get(&names), names.length)))
        status = gone(err);
    tp_text_clear(&names);
    if (status == TP_OK) {
        wait_for(starter, work->stop);
        status = hear(starter, work, err);
    }
    return status;
}

void tp_gnuplot_starter_close(struct tp_gnuplot_starter *starter)
{
    if (!starter)
        return;
    if (starter->socket >= 0)
        close(starter->socket);
    while (starter->pid > 0 && waitpid(starter->pid, NULL, 0) < 0 &&
           errno == EINTR)
        continue;
    if (starter->stop)
        munmap((void *)starter->stop, sizeof(sig_atomic_t));
    free(starter);
}
