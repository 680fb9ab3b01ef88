/* SPDX-License-Identifier: MIT */
#ifndef TP_SANDBOX_LANDLOCK_H
#define TP_SANDBOX_LANDLOCK_H

#include "base/error.h"
#include "sandbox/rights.h"

/* The version of Landlock that the kernel has, or 0, and then why not in
 * *means. Fails as tp_sandbox_enter (sandbox.h). */
enum tp_status tp_landlock_version(int *version, struct tp_sandbox_means *means,
                                   struct tp_error *err);

/* Limits files of this thread and what it starts to those of the wish;
 * prctl(PR_SET_NO_NEW_PRIVS) must be done. Fails as tp_sandbox_enter
 * (sandbox.h). */
enum tp_status tp_landlock_enter(const struct tp_sandbox_wish *wish,
                                 struct tp_sandbox *sandbox,
                                 struct tp_error *err);

#endif
