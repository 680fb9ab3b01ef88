/* SPDX-License-Identifier: MIT */
#include "base/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/prctl.h>
#endif

/* In the child: what became of it goes to the parent, who believes nothing
 * else. The signal comes when the thread ends that made the child, which waits
 * for it here. */
static _Noreturn void do_and_exit(enum tp_status (*work)(void *context,
                                                         struct tp_error *err),
                                  void *context, pid_t parent, int to)
{
    struct tp_error why = {0};
#if defined(__linux__)
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody would remove its files */
#endif
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
    if (work(context, &why) == TP_OK)
        why.code = TP_OK;
    _exit(write(to, &why, sizeof why) == sizeof why ? EXIT_SUCCESS
                                                    : EXIT_FAILURE);
}

/* What became of the child: what it said, else how it ended. */
static enum tp_status hear(pid_t child, int from, const char *who,
                           struct tp_error *err)
{
    struct tp_error why = {0};
    size_t had = 0;
    ssize_t n;
    int ended = 0;
    while (had < sizeof why &&
           ((n = read(from, (char *)&why + had, sizeof why - had)) > 0 ||
            (n < 0 && errno == EINTR)))
        had += n > 0 ? (size_t)n : 0;
    while (waitpid(child, &ended, 0) < 0 && errno == EINTR)
        continue; /* elsewhere it may have been waited for: then 0 */
    if (had == sizeof why) {
        if (why.code != TP_OK && err)
            *err = why;
        return why.code;
    }
    return tp_fail(err, TP_E_MEMORY, -1,
                   "%s gave up (%s %d), most likely out of memory", who,
                   WIFSIGNALED(ended) ? "signal" : "status",
                   WIFSIGNALED(ended) ? WTERMSIG(ended) : WEXITSTATUS(ended));
}

/* The allocators of sanitizers may be held by another thread when the child is
 * made, which then waits for ever; the C library's are not. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FORKS false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define FORKS false
#endif
#endif
#ifndef FORKS
#define FORKS true
#endif

enum tp_status tp_apart(enum tp_status (*work)(void *context,
                                               struct tp_error *err),
                        void *context, const char *who, struct tp_error *err)
{
    int ends[2];
    if (!FORKS || pipe(ends) != 0)
        return work(context, err);
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    const pid_t parent = getpid(), child = fork();
    if (child == 0)
        do_and_exit(work, context, parent, ends[1]);
    close(ends[1]);
    enum tp_status status =
        child < 0 ? work(context, err) : hear(child, ends[0], who, err);
    close(ends[0]);
    return status;
}
