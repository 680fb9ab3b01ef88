/* SPDX-License-Identifier: MIT */
/*
 * The sandbox: what code that took over a reader can still do. Inputs come from
 * anywhere, and one error in a parser, ours or a library's, is enough; so
 * before the first byte of an input is read the process gives away, for good,
 * what reading does not take.
 *
 * Promised of a reader, where the kernel has both means: no network; no other
 * program (gnuplot is started by a process of its own,
 * report/gnuplot_starter.c, which is limited, too); nothing is made, changed or
 * removed outside the output directory and the folders of files named by
 * options, but for empty folders beside a folder that the run had to make; no
 * rights, owners or attributes of files change; no look into, and no signal to,
 * other processes; no typing into the terminal. Means: Landlock for files
 * (landlock.c), seccomp for system calls (syscalls.c).
 *
 * Not promised: what took over a reader can read what its user can, put it into
 * the results and on the terminal, make the results lie, plant scripts in
 * report.html and in .gp files for whoever opens them, and files of any name
 * below the output directory; have gnuplot run any script, and code as its
 * plug-in (which start nothing and write in the output directory, unless
 * gnuplot is itself a script, but may call more of the kernel); use up memory,
 * disk and processors, also by children that outlive the run; and use
 * descriptors that whoever started the program left open. With --device cuda:
 * also sockets of this machine and device files. In tprof-analyze-mpi: also the
 * network, and writing anywhere.
 *
 * Alternative: a process for each reader, with pipes and nothing else, as
 * browsers have; each row would cross a boundary. Cost: a run of 20 ms
 * takes 0.98 to 1.03 of its time without.
 */
#include "sandbox/sandbox.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include "config.h"
#include "sandbox/landlock.h"
#include "sandbox/syscalls.h"

bool tp_sandbox_is_built(void)
{
#if defined(__linux__) && !defined(TP_SANITIZED)
    return true;
#else
    return false;
#endif
}

const char *tp_sandbox_built(void)
{
#if defined(TP_SANITIZED)
    return "none, for the sanitizers";
#elif !defined(__linux__)
    return "none: only Linux has what it takes";
#elif defined(TP_SECCOMP)
    return "Landlock, seccomp";
#else
    return "Landlock, without seccomp";
#endif
}

/* Neither means is to be had without it. */
static enum tp_status promise_no_rights(struct tp_sandbox *sandbox,
                                        bool *promised, struct tp_error *err)
{
    *promised = false;
#if defined(__linux__)
    *promised = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
    if (!*promised && (errno == ENOMEM || errno == EAGAIN))
        return tp_fail_errno(err, "cannot set up the sandbox: prctl");
#else
    (void)err;
#endif
    if (!*promised) {
        snprintf(sandbox->landlock.why_not, sizeof sandbox->landlock.why_not,
                 "prctl: %s", strerror(errno));
        sandbox->seccomp = sandbox->landlock;
    }
    return TP_OK;
}

enum tp_status tp_sandbox_enter(const struct tp_sandbox_wish *wish,
                                struct tp_sandbox *sandbox,
                                struct tp_error *err)
{
    bool promised;
    *sandbox = (struct tp_sandbox){.landlock_version = 0};
    enum tp_status status = promise_no_rights(sandbox, &promised, err);
    if (status == TP_OK && promised)
        status = tp_landlock_enter(wish, sandbox, err);
    if (status == TP_OK && promised)
        status = tp_syscalls_enter(wish, sandbox, err);
    return status;
}

void tp_sandbox_words(const struct tp_sandbox *sandbox, struct tp_text *text)
{
    const struct {
        const char *name;
        const struct tp_sandbox_means *means;
    } both[] = {{"Landlock", &sandbox->landlock},
                {"seccomp", &sandbox->seccomp}};
    for (int i = 0; i < 2; i++) {
        const struct tp_sandbox_means *means = both[i].means;
        tp_text_add(text, "%s%s%s", i ? ", " : "", means->active ? "" : "no ",
                    both[i].name);
        if (!means->active)
            tp_text_add(text, " (%s)", means->why_not);
    }
}
