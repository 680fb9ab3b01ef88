/* SPDX-License-Identifier: MIT */
/*
 * Files that are whole or not there: written beside their name and renamed,
 * which is atomic for whoever reads the name. A process that ends early leaves
 * the hidden file only.
 *
 * Alternative: writing in place, which readers see half done and an error
 * leaves half done. Nothing is synced: a loss of power is not guarded against.
 *
 * Cost: a rename a file.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *tp_file_aside(const char *path)
{
    const char *slash = strrchr(path, '/');
    int dir = slash ? (int)(slash - path + 1) : 0;
    size_t room = strlen(path) + 40;
    char *aside = malloc(room);
    if (aside)
        snprintf(aside, room, "%.*s.%s.%ld.tmp", dir, path, path + dir,
                 (long)getpid());
    return aside;
}

/* A full disk may only show when the bytes are pushed out. */
static int push_to_disk(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    struct stat info;
    int result = fstat(fd, &info);
    close(fd);
    return result;
}

enum tp_status tp_file_commit(const char *aside, const char *path,
                              struct tp_error *err)
{
    if (push_to_disk(aside) == 0 && rename(aside, path) == 0)
        return TP_OK;
    enum tp_status status = tp_fail_errno(err, "cannot write %s", path);
    unlink(aside);
    return status;
}

static enum tp_status write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t put = write(fd, data, size);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return TP_E_IO;
        data += put;
        size -= (size_t)put;
    }
    return TP_OK;
}

enum tp_status tp_file_write(const char *path, const void *data, size_t size,
                             struct tp_error *err)
{
    char *aside = tp_file_aside(path);
    if (!aside)
        return tp_fail_memory(err);
    enum tp_status status = TP_E_IO;
    int fd = open(aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd >= 0) {
        status = write_all(fd, data, size);
        if (close(fd) != 0)
            status = TP_E_IO;
    }
    if (status != TP_OK) {
        status = tp_fail_errno(err, "cannot write %s", path);
        unlink(aside);
    } else {
        status = tp_file_commit(aside, path, err);
    }
    free(aside);
    return status;
}

enum tp_status tp_file_make_directories(const char *path, struct tp_error *err)
{
    char *copy = strdup(path);
    if (!copy)
        return tp_fail_memory(err);
    enum tp_status status = TP_OK;
    for (char *s = copy + (*copy == '/'); status == TP_OK; s++) {
        if (*s != '/' && *s != '\0')
            continue;
        char end = *s;
        *s = '\0';
        struct stat info;
        if (*copy && mkdir(copy, 0777) != 0 &&
            (errno != EEXIST || stat(copy, &info) != 0 ||
             !S_ISDIR(info.st_mode)))
            status = tp_fail_errno(err, "cannot make directory %s", copy);
        *s = end;
        if (end == '\0')
            break;
    }
    free(copy);
    return status;
}

char *tp_file_join(const char *dir, const char *name)
{
    size_t length = strlen(dir);
    size_t room = length + strlen(name) + 2;
    char *path = malloc(room);
    if (path)
        snprintf(path, room, "%s%s%s", dir,
                 length && dir[length - 1] == '/' ? "" : "/", name);
    return path;
}
