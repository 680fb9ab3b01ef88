/* SPDX-License-Identifier: MIT */
/*
 * A file that changes while it is read, preloaded into a program: at read
 * number CHANGE_AT of a file whose path ends in CHANGE_FILE it becomes what
 * CHANGE_HOW says:
 *
 *     shorter, longer   by half, by 100 bytes
 *     written           other bytes, as many
 *     replaced          another file has its name
 *     vanished          removed
 *     EIO, ESTALE       this read and all that follow fail
 *
 * and, unless it is NULL, CHANGE_DONE names a file that is made when it has
 * happened. Children of the program do the same, programs that it starts do
 * not.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_int reads;

static int is_ours(int fd, char path[4096])
{
    char link[64];
    const char *end = getenv("CHANGE_FILE");
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(link, path, 4095);
    if (!end || length < (ssize_t)strlen(end))
        return 0;
    path[length] = '\0';
    return strcmp(path + length - strlen(end), end) == 0;
}

static int append(const char *path, off_t at, int how)
{
    static const char bytes[100] = "changed";
    const int fd = open(path, O_WRONLY | how, 0666);
    const int failed =
        fd < 0 || pwrite(fd, bytes, sizeof bytes, at) != sizeof bytes;
    return close(fd) | failed;
}

static int change(const char *path, const char *how)
{
    struct stat info;
    char other[4200];
    snprintf(other, sizeof other, "%s.other", path);
    if (stat(path, &info) != 0)
        return 1;
    if (!strcmp(how, "shorter"))
        return truncate(path, info.st_size / 2);
    if (!strcmp(how, "longer"))
        return append(path, info.st_size, 0);
    if (!strcmp(how, "written"))
        return append(path, info.st_size / 2, 0);
    if (!strcmp(how, "replaced"))
        return append(other, 0, O_CREAT) | rename(other, path);
    return strcmp(how, "vanished") == 0 ? unlink(path) : 1;
}

static void tell(const char *done)
{
    if (done)
        close(open(done, O_WRONLY | O_CREAT, 0666));
}

/* The error number that the read fails with; 0: it does not. */
static int on_read(int fd)
{
    char path[4096];
    const char *how = getenv("CHANGE_HOW"), *at = getenv("CHANGE_AT");
    if (!how || !is_ours(fd, path))
        return 0;
    const int n = atomic_fetch_add(&reads, 1) + 1, from = at ? atoi(at) : 1;
    const int error = !strcmp(how, "EIO")      ? EIO
                      : !strcmp(how, "ESTALE") ? ESTALE
                                               : 0;
    if (n == from && (error || change(path, how) == 0))
        tell(getenv("CHANGE_DONE"));
    return n >= from ? error : 0;
}

#define BEHIND(NAME, PARAMETERS, ARGUMENTS)            \
    ssize_t NAME PARAMETERS                            \
    {                                                  \
        static ssize_t(*next) PARAMETERS;              \
        if (!next)                                     \
            *(void **)&next = dlsym(RTLD_NEXT, #NAME); \
        const int error = on_read(fd);                 \
        errno = error ? error : errno;                 \
        return error ? -1 : next ARGUMENTS;            \
    }

BEHIND(read, (int fd, void *to, size_t n), (fd, to, n))
BEHIND(pread, (int fd, void *to, size_t n, off_t at), (fd, to, n, at))
BEHIND(pread64, (int fd, void *to, size_t n, off_t at), (fd, to, n, at))
