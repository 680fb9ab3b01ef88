/* SPDX-License-Identifier: MIT */
/*
 * Landlock: which files a process may change or start. Raw system calls, since
 * the C library has none, with the kernel's numbers written here: headers of
 * one kernel do not know what the next one can limit, and the kernel says at
 * run time what it knows. Needed is version 2 (5.19): version 1 cannot let
 * files move between the folders of the output directory. Later ones add
 * truncating (3), TCP (4), device files (5), signals and local sockets (6).
 *
 * Reading is not limited: inputs are found by walking, through links to
 * anywhere (the caches of model hubs are made of such), and shards name others.
 * A namespace of mounts could do all this and hide what need not be read, but
 * takes rights that a user of a cluster does not have. Cost: a system call for
 * each rule, and about a microsecond for each file that is opened.
 */
#define _GNU_SOURCE /* O_PATH, syscall */
#include "sandbox/landlock.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if defined(__linux__)
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/program.h"

enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446 };

enum { ASK_VERSION = 1, PATH_BENEATH = 1, LEAST_VERSION = 2 };

/* What is handled, that is refused without a rule. */
enum {
    EXECUTE = 1 << 0,
    WRITE_FILE = 1 << 1,
    REMOVE_DIR = 1 << 4,
    REMOVE_FILE = 1 << 5,
    MAKE_CHAR = 1 << 6,
    MAKE_DIR = 1 << 7,
    MAKE_REG = 1 << 8,
    MAKE_SOCK = 1 << 9,
    MAKE_FIFO = 1 << 10,
    MAKE_BLOCK = 1 << 11,
    MAKE_SYM = 1 << 12,
    REFER = 1 << 13,
    TRUNCATE = 1 << 14,
    IOCTL_DEV = 1 << 15,
    /* links, pipes and sockets are never made */
    OF_FILES = EXECUTE | WRITE_FILE | TRUNCATE | IOCTL_DEV,
    OF_FOLDERS = WRITE_FILE | TRUNCATE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR |
                 MAKE_REG | REFER,
    ALL = OF_FOLDERS | OF_FILES | MAKE_CHAR | MAKE_SOCK | MAKE_FIFO |
          MAKE_BLOCK | MAKE_SYM
};

enum {
    NET_BIND_TCP = 1,
    NET_CONNECT_TCP = 2,
    SCOPE_SOCKETS = 1,
    SCOPE_SIGNALS = 2
};

struct ruleset {
    uint64_t files, net, scoped; /* later versions have more of them        */
};

struct path_rule {
    uint64_t rights;
    int32_t parent;
} __attribute__((packed));

static bool is_resource(int error)
{
    return error == ENOMEM || error == EMFILE || error == ENFILE ||
           error == EAGAIN || error == EINTR;
}

/* Notes why there is none, unless something just ran out. */
static enum tp_status refuse(struct tp_sandbox_means *means, const char *call,
                             struct tp_error *err)
{
    if (is_resource(errno))
        return tp_fail_errno(err, "cannot set up the sandbox: %s", call);
    snprintf(means->why_not, sizeof means->why_not, "%s: %s", call,
             strerror(errno));
    return TP_OK;
}

enum tp_status tp_landlock_version(int *version, struct tp_sandbox_means *means,
                                   struct tp_error *err)
{
    const long has = syscall(CREATE_RULESET, NULL, 0, ASK_VERSION);
    *version = has >= LEAST_VERSION ? (int)has : 0;
    if (has >= LEAST_VERSION)
        return TP_OK;
    if (has < 0 && errno != ENOSYS && errno != EOPNOTSUPP)
        return refuse(means, "landlock_create_ruleset", err);
    snprintf(means->why_not, sizeof means->why_not, "%s",
             has < 0 ? "the kernel has none" : "the kernel's is too old");
    return TP_OK;
}

/* What a version handles; its part of the struct ends at *size. */
static struct ruleset handled_by(enum tp_sandbox_role role, int version,
                                 size_t *size)
{
    struct ruleset set = {.files = ALL};
    if (version < 3)
        set.files &= ~(uint64_t)TRUNCATE;
    if (version < 5)
        set.files &= ~(uint64_t)IOCTL_DEV;
    if (version >= 4)
        set.net = NET_BIND_TCP | NET_CONNECT_TCP;
    /* a reader's signals are for seccomp: a limit here would keep the one that
     * the kernel sends to its starter when it is gone */
    if (version >= 6)
        set.scoped = role == TP_SANDBOX_STARTER ? SCOPE_SOCKETS | SCOPE_SIGNALS
                                                : SCOPE_SOCKETS;
    *size = version >= 6   ? sizeof set
            : version >= 4 ? offsetof(struct ruleset, scoped)
                           : offsetof(struct ruleset, net);
    return set;
}

/* A ruleset that is being made. */
struct making {
    int fd;
    uint64_t handled;
};

/* Allows something below a path, or of a file; of one that is not there
 * nothing. */
static enum tp_status allow(const struct making *making, const char *path,
                            uint64_t rights, struct tp_error *err)
{
    struct stat info;
    const int fd = path ? open(path, O_PATH | O_CLOEXEC) : -1;
    if (fd < 0 && path && is_resource(errno))
        return tp_fail_errno(err, "cannot set up the sandbox: %s", path);
    if (fd < 0)
        return TP_OK;
    if (fstat(fd, &info) == 0 && !S_ISDIR(info.st_mode))
        rights &= OF_FILES;
    const struct path_rule rule = {rights & making->handled, fd};
    enum tp_status status = TP_OK;
    if (rule.rights &&
        syscall(ADD_RULE, making->fd, PATH_BENEATH, &rule, 0) != 0)
        status = tp_fail_errno(err,
                               "cannot set up the sandbox: "
                               "landlock_add_rule %s",
                               path);
    close(fd);
    return status;
}

/* A program, and what the kernel starts it with. */
static enum tp_status allow_program(const struct making *making,
                                    const char *name, struct tp_error *err)
{
    char path[TP_PROGRAM_PATH_MAX], other[TP_PROGRAM_PATH_MAX];
    if (!tp_program_find(name, path))
        return TP_OK;
    tp_program_interpreter(path, other);
    enum tp_status status = allow(making, path, EXECUTE, err);
    if (status == TP_OK && other[0])
        status = allow(making, other, EXECUTE, err);
    return status;
}

static enum tp_status add_rules(const struct making *making,
                                const struct tp_sandbox_wish *wish,
                                struct tp_error *err)
{
    enum tp_status status =
        allow(making, "/dev/null", WRITE_FILE | IOCTL_DEV, err);
    for (int i = 0; i < TP_SANDBOX_FOLDERS && status == TP_OK; i++)
        status = allow(making, wish->folders[i], OF_FOLDERS, err);
    for (int i = 0; i < TP_SANDBOX_FOLDERS && status == TP_OK; i++)
        status = allow(making, wish->emptied[i], REMOVE_DIR, err);
    if (status == TP_OK && wish->role == TP_SANDBOX_DEVICE)
        status = allow(making, "/dev", OF_FOLDERS | IOCTL_DEV, err);
    /* a driver that cannot name its threads fails ("OS call failed") */
    if (status == TP_OK && wish->role == TP_SANDBOX_DEVICE)
        status = allow(making, "/proc/self/task", WRITE_FILE | TRUNCATE, err);
    const char *const *name = wish->programs;
    for (; status == TP_OK && name && *name; name++)
        status = allow_program(making, *name, err);
    return status;
}

enum tp_status tp_landlock_enter(const struct tp_sandbox_wish *wish,
                                 struct tp_sandbox *sandbox,
                                 struct tp_error *err)
{
    struct tp_sandbox_means *means = &sandbox->landlock;
    if (wish->role == TP_SANDBOX_WORLD) {
        snprintf(means->why_not, sizeof means->why_not,
                 "it parts processes that work together");
        return TP_OK;
    }
    int version;
    size_t size;
    enum tp_status status = tp_landlock_version(&version, means, err);
    if (version == 0)
        return status;
    const struct ruleset set = handled_by(wish->role, version, &size);
    const struct making making = {(int)syscall(CREATE_RULESET, &set, size, 0),
                                  set.files};
    if (making.fd < 0)
        return refuse(means, "landlock_create_ruleset", err);
    status = add_rules(&making, wish, err);
    if (status == TP_OK && syscall(RESTRICT_SELF, making.fd, 0) != 0)
        status = refuse(means, "landlock_restrict_self", err);
    else if (status == TP_OK)
        means->active = true;
    close(making.fd);
    sandbox->landlock_version = means->active ? version : 0;
    return status;
}

#else

enum tp_status tp_landlock_version(int *version, struct tp_sandbox_means *means,
                                   struct tp_error *err)
{
    (void)err;
    *version = 0;
    snprintf(means->why_not, sizeof means->why_not, "only Linux has it");
    return TP_OK;
}

enum tp_status tp_landlock_enter(const struct tp_sandbox_wish *wish,
                                 struct tp_sandbox *sandbox,
                                 struct tp_error *err)
{
    int version;
    (void)wish;
    return tp_landlock_version(&version, &sandbox->landlock, err);
}

#endif
