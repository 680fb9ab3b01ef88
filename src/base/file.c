/* SPDX-License-Identifier: MIT */
/*
 * Files that are whole or not there: written beside their name and renamed,
 * which is atomic for whoever reads the name. A process that is killed leaves
 * the hidden file only, .NAME.MACHINE.PID.tmp, and a later run in the same
 * folder removes it: when MACHINE is this one and no process PID is there. A
 * number that was given to another process meanwhile, a restart, or a folder
 * shared with other machines keeps a file longer than needed, never shorter.
 *
 * Alternative: writing in place, which readers see half done and an error
 * leaves half done. Nothing is synced: a loss of power is not guarded against.
 * Locks would tell who lives on all machines, but not every file system has
 * them, and files of other programs (gnuplot) had to be locked, too.
 *
 * Cost: a rename a file, and one look into each folder at the start.
 */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Adds some bytes of a file to words[*length]; false: there are none. */
static bool add_content(const char *path, char *words, size_t *length)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    const ssize_t n = read(fd, words + *length, 255);
    close(fd);
    *length += n > 0 ? (size_t)n : 0;
    return n > 0;
}

/*
 * Process numbers mean something within one machine, and there within one
 * container: the host's name, what Linux drew when it started, and its name for
 * the container, hashed (FNV). The name alone tells no machine ("localhost"),
 * and outside of containers the one of the container is the same everywhere.
 * *known: no other machine has this hash, but by chance.
 */
static uint32_t machine(bool *known)
{
    char words[1024] = "";
    if (gethostname(words, 255) != 0)
        words[0] = '\0';
    words[255] = '\0';
    size_t length = strlen(words);
    *known = add_content("/proc/sys/kernel/random/boot_id", words, &length) ||
             add_content("/etc/machine-id", words, &length);
    const ssize_t more = readlink("/proc/self/ns/pid", words + length, 255);
    length += more > 0 ? (size_t)more : 0;
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)words[i]) * 16777619u;
    return hash;
}

char *tp_file_aside(const char *path)
{
    const char *name = tp_file_base_name(path);
    bool known;
    size_t room = strlen(path) + 48;
    char *aside = malloc(room);
    if (aside)
        snprintf(aside, room, "%.*s.%s.%08" PRIx32 ".%ld.tmp",
                 (int)(name - path), path, name, machine(&known),
                 (long)getpid());
    return aside;
}

bool tp_file_is_abandoned(const char *name)
{
    enum { MACHINE = 9, END = 4 }; /* a dot and eight digits; ".tmp" */
    const size_t length = strlen(name);
    if (length <= END || name[0] != '.')
        return false;
    const char *end = name + length - END, *digits = end;
    while (digits > name && digits[-1] >= '0' && digits[-1] <= '9')
        digits--;
    char tail[48];
    bool known;
    const long pid = end - digits > 9 ? 0 : strtol(digits, NULL, 10);
    snprintf(tail, sizeof tail, ".%08" PRIx32 ".%ld.tmp", machine(&known), pid);
    return known && pid > 0 && digits - name > MACHINE + 2 &&
           strcmp(digits - 1 - MACHINE, tail) == 0 &&
           kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

static void remove_inside(const char *path)
{
    DIR *stream = opendir(path);
    if (!stream)
        return;
    for (const struct dirent *entry; (entry = readdir(stream));) {
        const char *name = entry->d_name;
        if (!strcmp(name, ".") || !strcmp(name, "..") ||
            unlinkat(dirfd(stream), name, 0) == 0)
            continue;
        char *inner = tp_file_join(path, name);
        if (inner)
            tp_file_remove_tree(inner);
        free(inner);
    }
    closedir(stream);
}

void tp_file_remove_tree(const char *path)
{
    enum { TRIES = 3 }; /* what failed for a moment only may not again */
    for (int i = 0; i < TRIES && unlink(path) != 0 && errno != ENOENT; i++) {
        remove_inside(path);
        if (rmdir(path) == 0)
            return;
    }
}

/* Those whose names begin so. */
static void remove_abandoned(const char *folder, const char *begin)
{
    DIR *stream = opendir(folder);
    if (!stream)
        return;
    for (const struct dirent *entry; (entry = readdir(stream));) {
        if (strncmp(entry->d_name, begin, strlen(begin)) == 0 &&
            tp_file_is_abandoned(entry->d_name)) {
            char *path = tp_file_join(folder, entry->d_name);
            if (path)
                tp_file_remove_tree(path);
            free(path);
        }
    }
    closedir(stream);
}

void tp_file_remove_abandoned(const char *folder)
{
    remove_abandoned(folder, ".");
}

void tp_file_remove_abandoned_of(const char *path)
{
    const char *name = tp_file_base_name(path);
    const size_t length = (size_t)(name - path), room = strlen(name) + 3;
    char *folder = length ? strndup(path, length) : strdup(".");
    char *begin = malloc(room);
    if (begin)
        snprintf(begin, room, ".%s.", name);
    if (folder && begin)
        remove_abandoned(folder, begin);
    free(folder);
    free(begin);
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

enum tp_status tp_file_write_all(int fd, const void *bytes, size_t size)
{
    const char *data = bytes;
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

enum tp_status tp_file_look(const char *path, bool *there, struct tp_error *err)
{
    *there = access(path, F_OK) == 0;
    return *there || errno == ENOENT || errno == ENOTDIR ||
                   errno == ENAMETOOLONG
               ? TP_OK
               : tp_fail_errno(err, "cannot look for %s", path);
}

int tp_file_open(const char *path)
{
    struct stat info;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)))
        return fd;
    close(fd);
    errno = EINVAL;
    return -1;
}

int tp_file_refusal(const char *path)
{
    enum { MORE = 1 << 16 }; /* beyond the free rest of a block */
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    char *zeros = calloc(1, MORE);
    int reason = 0;
    if (fd < 0 || (zeros && tp_file_write_all(fd, zeros, MORE) != TP_OK))
        reason = errno;
    if (fd >= 0 && close(fd) != 0 && reason == 0)
        reason = errno;
    free(zeros);
    return reason;
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
        status = tp_file_write_all(fd, data, size);
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

const char *tp_file_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
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
