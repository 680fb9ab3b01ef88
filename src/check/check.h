/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_CHECK_H
#define TP_CHECK_CHECK_H

#include <signal.h>

#include "base/pool.h"
#include "check/check_find.h"

/* Training scripts to findings. Nothing in a script is ever run. */

/* The files that were read, and what was found. All-zero bytes are none. */
struct tp_check {
    struct tp_check_list list;
    enum tp_check_lang lang; /* that is asked for                         */
};

struct tp_check_request {
    const char *const *roots; /* files and directories                    */
    size_t root_count;
    struct tp_check_settings settings; /* before those of projects        */
    struct tp_pool *pool;
    const volatile sig_atomic_t *stop;
};

/*
 * Reads the scripts that tp_check_find finds, as far as they are what their
 * names say. Fails with TP_E_NOT_FOUND (a root is not there, or there is no
 * script), TP_E_USAGE (an unknown rule), TP_E_MEMORY or TP_E_INTERRUPTED.
 * Release with tp_check_clear, also after a failure.
 */
enum tp_status tp_check_read(const struct tp_check_request *request,
                             struct tp_check *check, struct tp_error *err);

/* Releases everything. */
void tp_check_clear(struct tp_check *check);

/* Whether a finding is as severe as its settings want it for a failure. */
bool tp_check_fails(const struct tp_check *check);

#endif
