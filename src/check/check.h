/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_CHECK_H
#define TP_CHECK_CHECK_H

#include <signal.h>

#include "base/pool.h"
#include "check/check_file.h"

/* Training scripts to findings. Nothing in a script is ever run. */

/* The files that were read, in the order of their paths, and what could not
 * be searched. All-zero bytes are none. */
struct tp_check {
    struct tp_check_file *files;
    size_t file_count;
    char **problems; /* sentences                                         */
    size_t problem_count;
};

struct tp_check_request {
    const char *const *roots; /* files and directories                    */
    size_t root_count;
    const char *select, *ignore; /* lists of rules; NULL: all, none       */
    struct tp_pool *pool;
    const volatile sig_atomic_t *stop;
};

/*
 * Reads the scripts: files that are named, and in directories all whose name
 * tp_check_is_script knows, as far as they are what it says. Fails
 * with TP_E_NOT_FOUND (a root is not there, or there is no script), TP_E_USAGE
 * (an unknown rule), TP_E_MEMORY or TP_E_INTERRUPTED. Release with
 * tp_check_clear, also after a failure.
 */
enum tp_status tp_check_read(const struct tp_check_request *request,
                             struct tp_check *check, struct tp_error *err);

/* Releases everything. */
void tp_check_clear(struct tp_check *check);

/* The worst severity there is; 0 without findings. */
int tp_check_worst(const struct tp_check *check);

#endif
