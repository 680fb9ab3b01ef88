/* SPDX-License-Identifier: MIT */
#ifndef TP_SANDBOX_SYSCALLS_H
#define TP_SANDBOX_SYSCALLS_H

#include "base/error.h"
#include "sandbox/rights.h"

/* Filters the system calls of all threads and children by the role of the
 * wish; prctl(PR_SET_NO_NEW_PRIVS) must be done. Fails as tp_sandbox_enter
 * (sandbox.h). */
enum tp_status tp_syscalls_enter(const struct tp_sandbox_wish *wish,
                                 struct tp_sandbox *sandbox,
                                 struct tp_error *err);

#endif
