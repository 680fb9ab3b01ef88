/* SPDX-License-Identifier: MIT */
/*
 * What code could try that took over a reader, preloaded into the program: when
 * it opens an input whose name has "hostile" in it, this does what ATTACK says,
 * in the middle of reading. CANARY is a folder that it must not change. It
 * prints "reached", and then "done" or why not; or the process is ended.
 *
 * A hook in the program itself would be one more thing to take over; preloaded,
 * the program is the one that users have.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

extern char **environ;
static char canary[4096], other[4096];

static int go_network(void)
{
    return socket(AF_INET, SOCK_STREAM, 0);
}

static int go_local(void)
{
    return socket(AF_UNIX, SOCK_STREAM, 0);
}

static int go_exec(void)
{
    char *words[] = {"true", NULL};
    return execve("/bin/true", words, environ);
}

static int go_shell(void)
{
    char *words[] = {"sh", "-c", "true", NULL};
    int status;
    const pid_t child = fork();
    if (child == 0) {
        execve("/bin/sh", words, environ);
        _exit(1);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0)
        return -1;
    errno = EPERM;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

static int go_create(void)
{
    return open(other, O_WRONLY | O_CREAT, 0666);
}

static int go_write(void)
{
    return open(canary, O_WRONLY);
}

static int go_empty(void)
{
    return open(canary, O_RDONLY | O_TRUNC);
}

static int go_truncate(void)
{
    return truncate(canary, 0);
}

static int go_unlink(void)
{
    return unlink(canary);
}

static int go_rename(void)
{
    return rename(canary, other);
}

static int go_mkdir(void)
{
    return mkdir(other, 0777);
}

static int go_symlink(void)
{
    return symlink("/", other);
}

static int go_chmod(void)
{
    return chmod(canary, 0777);
}

/* A file that may be opened to read is not one whose rights may change. */
static int go_fchmod(void)
{
    return fchmod(open(canary, O_RDONLY), 0777);
}

static int go_fchmodat(void)
{
    return fchmodat(AT_FDCWD, canary, 0777, 0);
}

static int go_chown(void)
{
    return chown(canary, getuid(), getgid());
}

static int go_lchown(void)
{
    return lchown(canary, getuid(), getgid());
}

static int go_fchown(void)
{
    return fchown(open(canary, O_RDONLY), getuid(), getgid());
}

static int go_fchownat(void)
{
    return fchownat(AT_FDCWD, canary, getuid(), getgid(), 0);
}

static int go_xattr(void)
{
    return setxattr(canary, "user.x", "y", 1, 0);
}

static int go_utime(void)
{
    return utimensat(AT_FDCWD, canary, NULL, 0);
}

static int go_ptrace(void)
{
    return (int)ptrace(PTRACE_ATTACH, getppid(), NULL, NULL);
}

static int go_memory(void)
{
    char byte;
    struct iovec here = {&byte, 1}, there = {&byte, 1};
    return (int)process_vm_readv(getppid(), &here, 1, &there, 1, 0);
}

static int go_proc(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)getppid());
    return open(path, O_RDONLY);
}

static int go_signal(void)
{
    return kill(getppid(), SIGCONT);
}

/* A thread of another process; 0 asks whether it is there. */
static int go_thread_signal(void)
{
    return (int)syscall(SYS_tgkill, getppid(), getppid(), SIGCONT);
}

static int go_limit(void)
{
    struct rlimit limit;
    return prlimit(getppid(), RLIMIT_CORE, NULL, &limit);
}

static int go_processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(getppid(), sizeof set, &set) != 0
               ? -1
               : sched_setaffinity(getppid(), sizeof set, &set);
}

/* One that every file system answers, and no reader asks. */
static int go_size(void)
{
    loff_t size;
    return ioctl(open(canary, O_RDONLY), FIOQSIZE, &size);
}

static int go_type(void)
{
    return ioctl(STDIN_FILENO, TIOCSTI, "x");
}

static int go_ring(void)
{
    struct io_uring_params how = {0};
    return (int)syscall(SYS_io_uring_setup, 4, &how);
}

static int go_namespace(void)
{
    return unshare(CLONE_NEWUSER);
}

static int go_clone(void)
{
    return (int)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
}

#if defined(__x86_64__)
/* socket() of x32, whose numbers have a bit more. */
static int go_x32(void)
{
    return (int)syscall(0x40000000 | SYS_socket, AF_INET, SOCK_STREAM, 0);
}
#endif

#if defined(__x86_64__)
/* mkdir() by its number of 32 bits, which is that of getpid() of 64, where it
 * may be made by its own: in the output directory. What it points at has to lie
 * low. */
static int go_bits32(void)
{
    long result = 39;
    char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    if (low == MAP_FAILED)
        return -1;
    snprintf(low, 4096, "%s/bits32", getenv("OUTPUT"));
    __asm__ volatile("int $0x80"
                     : "+a"(result)
                     : "b"((long)low), "c"(0777L)
                     : "memory", "r8", "r9", "r10", "r11");
    errno = result < 0 ? (int)-result : 0;
    return result < 0 ? -1 : 0;
}
#endif

/* Asks whoever is at the other end of a socket of ours to run a script that
 * was put into a folder of the output directory: RUN_IN. */
static int go_ask(const char *folder, const char *id)
{
    const struct {
        uint32_t bytes, count, processes, patience;
    } head = {(uint32_t)(strlen(folder) + strlen(id) + 8), 1, 1, 20};
    static char zeros[1 << 16];
    char names[8192] = "";
    size_t at = 0;
    const char *const words[] = {folder, "cat", id, "o"};
    for (int i = 0; i < 4; i++) {
        memcpy(names + at, words[i], strlen(words[i]) + 1);
        at += strlen(words[i]) + 1;
    }
    for (int fd = 3; fd < 64; fd++) {
        struct stat info;
        if (fstat(fd, &info) != 0 || !S_ISSOCK(info.st_mode))
            continue;
        if (write(fd, &head, sizeof head) < 0 || write(fd, names, at) < 0)
            return -1;
        /* an answer says that gnuplot came to its end */
        const ssize_t n = read(fd, zeros, sizeof zeros);
        int status;
        memcpy(&status, zeros, sizeof status);
        errno = EPERM;
        dprintf(2, "answer: %d %.200s %.300s\n", n > 0 ? status : -1,
                zeros + sizeof status, zeros + sizeof status + 640);
        return n > 0 && status == 0 ? 0 : -1;
    }
    errno = ENOENT;
    return -1;
}

static int go_plot_elsewhere(void)
{
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", canary);
    *strrchr(folder, '/') = '\0';
    return go_ask(folder, "i");
}

static int go_plot_program(void)
{
    return go_ask(getenv("RUN_IN"), "<touch x");
}

/* The script tries a shell in every way it has: see tests/sandbox.sh. */
static int go_plot_script(void)
{
    return go_ask(getenv("RUN_IN"), "script");
}

/* Below the output directory there are to be files and folders only. */
static const char *inside_path(void)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/made", getenv("OUTPUT"));
    unlink(path);
    return path;
}

static int go_inside_symlink(void)
{
    return symlink("/", inside_path());
}

static int go_inside_fifo(void)
{
    return mkfifo(inside_path(), 0666);
}

static int go_inside_socket(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    snprintf(name.sun_path, sizeof name.sun_path, "%s/made", getenv("OUTPUT"));
    inside_path();
    return bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&name,
                sizeof name);
}

/* What is allowed, so that "refused" means something. */
static int go_inside(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/inside", getenv("OUTPUT"));
    const int fd = open(path, O_WRONLY | O_CREAT, 0666);
    unlink(path);
    return fd;
}

static const struct {
    const char *name;
    int (*go)(void);
} attacks[] = {{"network", go_network},
               {"local", go_local},
               {"exec", go_exec},
               {"shell", go_shell},
               {"create", go_create},
               {"write", go_write},
               {"empty", go_empty},
               {"truncate", go_truncate},
               {"unlink", go_unlink},
               {"rename", go_rename},
               {"mkdir", go_mkdir},
               {"symlink", go_symlink},
               {"chmod", go_chmod},
               {"fchmod", go_fchmod},
               {"fchmodat", go_fchmodat},
               {"chown", go_chown},
               {"lchown", go_lchown},
               {"fchown", go_fchown},
               {"fchownat", go_fchownat},
               {"xattr", go_xattr},
               {"utime", go_utime},
               {"ptrace", go_ptrace},
               {"memory", go_memory},
               {"proc", go_proc},
               {"signal", go_signal},
               {"thread_signal", go_thread_signal},
               {"limit", go_limit},
               {"processors", go_processors},
               {"size", go_size},
               {"type", go_type},
               {"ring", go_ring},
               {"namespace", go_namespace},
               {"clone", go_clone},
#if defined(__x86_64__)
               {"x32", go_x32},
               {"bits32", go_bits32},
#endif
               {"plot_elsewhere", go_plot_elsewhere},
               {"plot_program", go_plot_program},
               {"plot_script", go_plot_script},
               {"inside_symlink", go_inside_symlink},
               {"inside_fifo", go_inside_fifo},
               {"inside_socket", go_inside_socket},
               {"inside", go_inside}};

static void attack(const char *name)
{
    snprintf(canary, sizeof canary, "%s/canary", getenv("CANARY"));
    snprintf(other, sizeof other, "%s/other", getenv("CANARY"));
    for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++) {
        if (strcmp(attacks[i].name, name) != 0)
            continue;
        dprintf(2, "%s reached\n", name);
        errno = 0;
        if (attacks[i].go() >= 0)
            dprintf(2, "%s done\n", name);
        else
            dprintf(2, "%s refused: %s\n", name, strerror(errno));
    }
}

static void look_at(const char *path)
{
    static atomic_int once;
    const char *name = getenv("ATTACK");
    if (name && strstr(path, "hostile") && !atomic_exchange(&once, 1))
        attack(name);
}

#define OPEN(NAME)                                                            \
    int NAME(const char *path, int how, ...)                                  \
    {                                                                         \
        int (*next)(const char *, int, ...);                                  \
        va_list rest;                                                         \
        va_start(rest, how);                                                  \
        mode_t mode = how & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
        va_end(rest);                                                         \
        *(void **)&next = dlsym(RTLD_NEXT, #NAME);                            \
        look_at(path);                                                        \
        return next(path, how, mode);                                         \
    }

OPEN(open)
OPEN(open64)
