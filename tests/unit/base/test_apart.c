/* SPDX-License-Identifier: MIT */
#include "base/apart.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum what { GOES_WELL, FAILS, EXITS, CRASHES };

struct work {
    enum what what;
    pid_t parent;
    int seen; /* set by the work, which is to stay in the child */
};

static enum tp_status work(void *context, struct tp_error *err)
{
    struct work *its = context;
    its->seen = 1;
    switch (its->what) {
    case FAILS:
        return tp_fail(err, TP_E_IO, 17, "no room for %d", 3);
    case EXITS:
        if (getpid() != its->parent)
            _exit(255);
        return TP_OK;
    case CRASHES:
        if (getpid() != its->parent) {
            signal(SIGABRT, SIG_DFL);
            abort();
        }
        return TP_OK;
    default:
        return TP_OK;
    }
}

static enum tp_status run(enum what what, struct work *its,
                          struct tp_error *err)
{
    *its = (struct work){what, getpid(), 0};
    *err = (struct tp_error){.code = TP_OK};
    return tp_apart(work, its, "the library", err);
}

/* Whether there are children here: not under a sanitizer. */
static bool has_children(void)
{
    struct work its;
    struct tp_error err;
    cr_assert_eq(run(GOES_WELL, &its, &err), TP_OK);
    return !its.seen;
}

Test(apart, what_work_returns_is_returned)
{
    struct work its;
    struct tp_error err;
    cr_expect_eq(run(GOES_WELL, &its, &err), TP_OK);
    cr_expect_eq(err.code, TP_OK);
    cr_expect_eq(run(FAILS, &its, &err), TP_E_IO);
    cr_expect_eq(err.code, TP_E_IO);
    cr_expect_eq(err.offset, 17);
    cr_expect_str_eq(err.message, "no room for 3");
    cr_expect_eq(run(GOES_WELL, &its, &err), TP_OK); /* once more */
}

Test(apart, who_ends_the_child_is_named)
{
    struct work its;
    struct tp_error err;
    if (!has_children())
        return;
    cr_expect_eq(run(EXITS, &its, &err), TP_E_MEMORY);
    cr_expect_str_eq(err.message, "the library gave up (status 255), most "
                                  "likely out of memory");
    cr_expect_eq(run(CRASHES, &its, &err), TP_E_MEMORY);
    cr_expect(strstr(err.message, "the library gave up (signal 6)"), "%s",
              err.message);
    cr_expect_eq(its.seen, 0);
}

/* A process that has no children to wait for, as its parent left it. */
Test(apart, children_that_nobody_waits_for)
{
    struct work its;
    struct tp_error err;
    signal(SIGCHLD, SIG_IGN);
    cr_expect_eq(run(GOES_WELL, &its, &err), TP_OK);
    cr_expect_eq(run(FAILS, &its, &err), TP_E_IO);
    if (has_children())
        cr_expect_eq(run(CRASHES, &its, &err), TP_E_MEMORY);
}
