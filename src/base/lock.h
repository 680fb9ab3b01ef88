/* SPDX-License-Identifier: MIT */
#ifndef TP_BASE_LOCK_H
#define TP_BASE_LOCK_H

#include "base/error.h"

/* A lock of a file, which its processes take before they change it: another
 * file beside it, PATH.lock, which is locked as long as the process lives. All
 * zero bytes: none is held. */
struct tp_lock {
    char *path; /* of the other file; NULL: none is held                   */
    int fd;
};

/*
 * Takes the lock; TP_E_IO: another process has it and keeps it for a second, or
 * it cannot be made, TP_E_MEMORY. File systems without locks give it to
 * everybody. It ends with the process, too, and leaves the other file then,
 * which hinders nobody.
 */
enum tp_status tp_lock_take(const char *path, struct tp_lock *lock,
                            struct tp_error *err);

/* Gives it back, and removes the other file. */
void tp_lock_give(struct tp_lock *lock);

#endif
