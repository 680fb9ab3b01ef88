/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* flock */
#include "base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char suffix[] = ".lock";

/* Whether the path still is the file that was opened: who had the lock before
 * removes it. */
static bool is_same(const char *path, int fd)
{
    struct stat there, ours;
    return fstat(fd, &ours) == 0 && stat(path, &there) == 0 &&
           there.st_ino == ours.st_ino && there.st_dev == ours.st_dev;
}

/* Locks an open file. A child that wrote for a run that was killed (apart.h)
 * has the lock, too, for the moment that it takes to end. */
static bool lock_soon(int fd)
{
    enum { TRIES = 100 };
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    int tries = 0, failed;
    while ((failed = flock(fd, LOCK_EX | LOCK_NB)) != 0 &&
           errno == EWOULDBLOCK && ++tries < TRIES)
        nanosleep(&pause, NULL);
    return failed == 0 || errno != EWOULDBLOCK;
}

/* As tp_lock_take; an open file that is no longer there is opened anew. */
static enum tp_status open_locked(struct tp_lock *lock, struct tp_error *err)
{
    for (;;) {
        lock->fd = open(lock->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (lock->fd < 0)
            return tp_fail_errno(err, "cannot make its lock");
        if (!lock_soon(lock->fd)) {
            close(lock->fd);
            return tp_fail(err, TP_E_IO, -1,
                           "another run uses it, and holds its lock");
        }
        if (is_same(lock->path, lock->fd))
            return TP_OK;
        close(lock->fd);
    }
}

enum tp_status tp_lock_take(const char *path, struct tp_lock *lock,
                            struct tp_error *err)
{
    const size_t length = strlen(path);
    lock->path = malloc(length + sizeof suffix);
    if (!lock->path)
        return tp_fail_memory(err);
    memcpy(lock->path, path, length);
    memcpy(lock->path + length, suffix, sizeof suffix);
    enum tp_status status = open_locked(lock, err);
    if (status != TP_OK) {
        free(lock->path);
        lock->path = NULL;
    }
    return status;
}

void tp_lock_give(struct tp_lock *lock)
{
    if (!lock->path)
        return;
    unlink(lock->path);
    close(lock->fd);
    free(lock->path);
    lock->path = NULL;
}
