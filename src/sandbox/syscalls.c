/* SPDX-License-Identifier: MIT */
/*
 * Which system calls are let through. A reader's list names what is allowed,
 * since what the kernel can do grows; all else does not exist (ENOSYS), so that
 * the C library falls back as on an older kernel. What only an attack asks for
 * ends the process: a reader that was taken over must not go on and write a
 * report. Not by SIGKILL, which says nothing: SIGSYS comes instead of the call,
 * its handler tells which it was, and whoever removes the handler is killed.
 *
 * Drivers of GPUs, MPI and gnuplot call what nobody can list: for them a list
 * of what is refused, with EPERM, and nothing ends. Arguments are looked at
 * where a number is all there is to see; paths are Landlock's (landlock.c).
 *
 * The lists become a program for the kernel's packet filter, one comparison for
 * each call, those of the reader's loops first; a kernel from 5.11 on runs it
 * only for calls whose arguments matter. libseccomp compiles such lists for
 * every processor, but where memory fails it (2.5.4) crashes, never ends, or
 * makes other rules and says nothing; this takes no memory.
 */
#define _GNU_SOURCE /* CLONE_..., O_... */
#include "sandbox/syscalls.h"

#include <stdio.h>

#include "config.h"

#if defined(TP_SECCOMP)
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#else
#define MACHINE AUDIT_ARCH_AARCH64
#endif

/* Newer than the headers of systems that are in use; the same everywhere. */
#define SYS_OF_5_1_pidfd_send_signal 424
#define SYS_OF_5_1_io_uring_setup 425
#define SYS_OF_5_9_close_range 436
#define SYS_OF_5_6_pidfd_getfd 438
#define SYS_OF_5_8_faccessat2 439
#define SYS_OF_5_16_futex_waitv 449

/* The exit status of a run that could not finish. */
enum { EXIT_REFUSED = 4 };

struct call {
    int number;
    const char *name;
};

#define CALL(name)        \
    {                     \
        SYS_##name, #name \
    }

/* What no reader has a reason to ask for. */
static const struct call alarming[] = {
    CALL(execve),
    CALL(execveat),
    CALL(ptrace),
    CALL(process_vm_readv),
    CALL(process_vm_writev),
    CALL(kcmp),
    CALL(tkill),
    CALL(rt_sigqueueinfo),
    CALL(rt_tgsigqueueinfo),
    {SYS_OF_5_6_pidfd_getfd, "pidfd_getfd"},
    {SYS_OF_5_1_pidfd_send_signal, "pidfd_send_signal"},
    {SYS_OF_5_1_io_uring_setup, "io_uring_setup"},
    CALL(mount),
    CALL(umount2),
    CALL(pivot_root),
    CALL(chroot),
    CALL(setns),
    CALL(unshare),
    CALL(open_by_handle_at),
    CALL(bpf),
    CALL(perf_event_open),
    CALL(userfaultfd),
    CALL(init_module),
    CALL(finit_module),
    CALL(delete_module),
    CALL(kexec_load),
    CALL(reboot),
    CALL(swapon),
    CALL(swapoff),
    CALL(acct),
    CALL(quotactl),
    CALL(add_key),
    CALL(request_key),
    CALL(keyctl),
    CALL(settimeofday),
    CALL(clock_settime),
    CALL(sethostname),
    CALL(setdomainname),
    CALL(fchmod),
    CALL(fchmodat),
    CALL(fchown),
    CALL(fchownat),
    CALL(setxattr),
    CALL(lsetxattr),
    CALL(fsetxattr),
    CALL(mknodat),
    CALL(truncate),
#if defined(__x86_64__)
    CALL(chmod),
    CALL(chown),
    CALL(lchown),
    CALL(mknod),
#endif
};

/* Nor for these; gnuplot gives up rights that it may have. */
static const struct call identity[] = {
    CALL(setuid),    CALL(setgid),    CALL(setreuid), CALL(setregid),
    CALL(setresuid), CALL(setresgid), CALL(setgroups)};

static const struct call network[] = {
    CALL(socket),  CALL(connect), CALL(bind),    CALL(listen),  CALL(accept),
    CALL(accept4), CALL(sendto),  CALL(sendmsg), CALL(sendmmsg)};

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* All that ends a reader. */
static const struct {
    const struct call *calls;
    size_t count;
} lists[] = {{alarming, COUNT(alarming)},
             {identity, COUNT(identity)},
             {network, COUNT(network)}};

/* What readers do, and what C libraries do for them. */
static const int usual[] = {
    /* most often */
    SYS_read,
    SYS_pread64,
    SYS_write,
    SYS_mmap,
    SYS_munmap,
    SYS_madvise,
    SYS_futex,
    SYS_close,
    SYS_fstat,
    SYS_newfstatat,
    SYS_lseek,
    SYS_brk,
    SYS_mprotect,
    SYS_mremap,
    SYS_clock_gettime,
    SYS_sched_yield,
    /* files */
    SYS_OF_5_9_close_range,
    SYS_OF_5_8_faccessat2,
    SYS_copy_file_range,
    SYS_dup,
    SYS_dup3,
    SYS_faccessat,
    SYS_fadvise64,
    SYS_fallocate,
    SYS_fcntl,
    SYS_fdatasync,
    SYS_flock,
    SYS_fstatfs,
    SYS_fsync,
    SYS_ftruncate,
    SYS_getcwd,
    SYS_getdents64,
    SYS_linkat,
    SYS_mkdirat,
    SYS_pipe2,
    SYS_preadv,
    SYS_pwrite64,
    SYS_pwritev,
    SYS_readahead,
    SYS_readlinkat,
    SYS_readv,
    SYS_renameat,
    SYS_renameat2,
    SYS_sendfile,
    SYS_statfs,
    SYS_statx,
    SYS_sync_file_range,
    SYS_umask,
    SYS_unlinkat,
    SYS_writev,
    /* waiting, memory */
    SYS_ppoll,
    SYS_pselect6,
    SYS_get_mempolicy,
    SYS_mbind,
    SYS_membarrier,
    SYS_mincore,
    SYS_mlock,
    SYS_msync,
    SYS_munlock,
    /* threads, children of our own, and their end */
    SYS_OF_5_16_futex_waitv,
    SYS_exit,
    SYS_exit_group,
    SYS_get_robust_list,
    SYS_getcpu,
    SYS_prctl,
    SYS_restart_syscall,
    SYS_rseq,
    SYS_sched_getaffinity,
    SYS_sched_getparam,
    SYS_sched_getscheduler,
    SYS_sched_get_priority_max,
    SYS_sched_get_priority_min,
    SYS_set_robust_list,
    SYS_set_tid_address,
    SYS_wait4,
    SYS_waitid,
    /* signals */
    SYS_rt_sigaction,
    SYS_rt_sigpending,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_rt_sigsuspend,
    SYS_rt_sigtimedwait,
    SYS_sigaltstack,
    /* the time, and who and where we are */
    SYS_clock_getres,
    SYS_clock_nanosleep,
    SYS_getegid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getitimer,
    SYS_getpid,
    SYS_getppid,
    SYS_getpriority,
    SYS_getrandom,
    SYS_getrlimit,
    SYS_getrusage,
    SYS_getsid,
    SYS_gettid,
    SYS_gettimeofday,
    SYS_getuid,
    SYS_nanosleep,
    SYS_setitimer,
    SYS_setrlimit,
    SYS_sysinfo,
    SYS_times,
    SYS_uname,
#if defined(__x86_64__)
    SYS_access,
    SYS_alarm,
    SYS_arch_prctl,
    SYS_dup2,
    SYS_fork,
    SYS_getdents,
    SYS_getpgrp,
    SYS_link,
    SYS_lstat,
    SYS_mkdir,
    SYS_pause,
    SYS_pipe,
    SYS_poll,
    SYS_readlink,
    SYS_rename,
    SYS_rmdir,
    SYS_select,
    SYS_stat,
    SYS_time,
    SYS_unlink,
    SYS_vfork,
#endif
};

/* --- what a call that is refused does to a reader ------------------------- */

static void say(const char *words)
{
    const size_t length = strlen(words);
    if (write(STDERR_FILENO, words, length) < 0)
        _exit(EXIT_REFUSED);
}

static const char *name_of(int number)
{
    for (size_t k = 0; k < COUNT(lists); k++) {
        for (size_t i = 0; i < lists[k].count; i++) {
            if (lists[k].calls[i].number == number)
                return lists[k].calls[i].name;
        }
    }
    return "something else";
}

/* Only calls that are safe in a handler. */
static void on_refused(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)context;
    say("tprof-analyze: stopped by its sandbox: it was about to call ");
    say(name_of(info->si_syscall));
    say("(), which reading needs not; an input may have taken it over. No "
        "result was written. If a library is to blame: --no_sandbox\n");
    _exit(EXIT_REFUSED);
}

static bool catch_refused(void)
{
    struct sigaction action = {.sa_sigaction = on_refused,
                               .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    return sigaction(SIGSYS, &action, NULL) == 0;
}

/* --- the program -----------------------------------------------------------*/

/* At each rule the accumulator holds the call's number. */

enum {
    RULES_MOST = 1024,
    ANSWER_ALLOW = SECCOMP_RET_ALLOW,
    ANSWER_EPERM = SECCOMP_RET_ERRNO | EPERM,
    ANSWER_ENOSYS = SECCOMP_RET_ERRNO | ENOSYS,
    ANSWER_TRAP = SECCOMP_RET_TRAP,
    X32 = 0x40000000 /* numbers of the same processor's other calls         */
};

struct program {
    struct sock_filter rules[RULES_MOST];
    unsigned short count;
};

static void add(struct program *p, unsigned code, uint32_t value, unsigned yes,
                unsigned no)
{
    assert(p->count < RULES_MOST);
    p->rules[p->count++] =
        (struct sock_filter){(uint16_t)code, (uint8_t)yes, (uint8_t)no, value};
}

static void load_word(struct program *p, size_t offset)
{
    add(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void answer(struct program *p, uint32_t words)
{
    add(p, BPF_RET | BPF_K, words, 0, 0);
}

static void answer_call(struct program *p, int number, uint32_t words)
{
    add(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1);
    answer(p, words);
}

/* A call whose answer hangs on an argument. */
struct look {
    int number;
    unsigned argument;
    uint32_t mask; /* what of its lower half is compared                    */
    uint32_t found, other; /* the answer where it is one of `values`, else  */
    uint32_t values[6];
    unsigned count;
};

static void answer_look(struct program *p, const struct look *look)
{
    const unsigned n = look->count;
    add(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)look->number, 0, n + 4);
    load_word(p, offsetof(struct seccomp_data, args) + 8 * look->argument);
    add(p, BPF_ALU | BPF_AND | BPF_K, look->mask, 0, 0);
    for (unsigned i = 0; i < n; i++)
        add(p, BPF_JMP | BPF_JEQ | BPF_K, look->values[i], n - i, 0);
    answer(p, look->other);
    answer(p, look->found);
}

/* Calls by the numbers of another machine end the process. */
static void begin(struct program *p)
{
    load_word(p, offsetof(struct seccomp_data, arch));
    add(p, BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0);
    answer(p, SECCOMP_RET_KILL_PROCESS);
    load_word(p, offsetof(struct seccomp_data, nr));
    add(p, BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1);
    answer(p, SECCOMP_RET_KILL_PROCESS);
}

/* --- the rules ------------------------------------------------------------ */

/* Namespaces of one's own. */
enum {
    SPACES = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
             CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET
};

/* Opening to read must not empty a file, which Landlock before its version 3
 * does not see. */
#define OPENING(name, argument)                                                \
    {                                                                          \
        SYS_##name, argument, O_TRUNC | O_ACCMODE, ANSWER_EPERM, ANSWER_ALLOW, \
            {O_TRUNC | O_RDONLY, O_TRUNC | O_ACCMODE}, 2                       \
    }

/* clone3() has its flags in memory, where no filter sees them; without it
 * clone() is used. Limits are for this process only. */
static const struct look looks[] = {
    OPENING(openat, 2),
#if defined(__x86_64__)
    OPENING(open, 1),
#endif
    {SYS_ioctl,
     1,
     UINT32_MAX,
     ANSWER_ALLOW,
     ANSWER_EPERM,
     {TCGETS, TIOCGWINSZ, FIONREAD, FIOCLEX, FIONBIO},
     5},
    {SYS_clone, 0, SPACES, ANSWER_ALLOW, ANSWER_EPERM, {0}, 1},
    {SYS_prlimit64, 0, UINT32_MAX, ANSWER_ALLOW, ANSWER_EPERM, {0}, 1},
    {SYS_sched_setaffinity, 0, UINT32_MAX, ANSWER_ALLOW, ANSWER_EPERM, {0}, 1}};

/* Signals are for this process only; of others it may be asked whether they
 * live. */
static void rules_of_signals(struct program *p)
{
    const struct look to_us = {.number = SYS_tgkill,
                               .mask = UINT32_MAX,
                               .found = ANSWER_ALLOW,
                               .other = ANSWER_EPERM,
                               .values = {(uint32_t)getpid()},
                               .count = 1};
    const struct look none = {.number = SYS_kill,
                              .argument = 1,
                              .mask = UINT32_MAX,
                              .found = ANSWER_ALLOW,
                              .other = ANSWER_EPERM,
                              .values = {0},
                              .count = 1};
    answer_look(p, &to_us);
    answer_look(p, &none);
}

static void rules_of_reader(struct program *p)
{
    for (size_t i = 0; i < COUNT(usual); i++)
        answer_call(p, usual[i], ANSWER_ALLOW);
    for (size_t i = 0; i < COUNT(looks); i++)
        answer_look(p, &looks[i]);
    rules_of_signals(p);
    for (size_t k = 0; k < COUNT(lists); k++) {
        for (size_t i = 0; i < lists[k].count; i++)
            answer_call(p, lists[k].calls[i].number, ANSWER_TRAP);
    }
    answer(p, ANSWER_ENOSYS);
}

/* Whether others than readers may call it, too. */
static bool is_needed(int number, enum tp_sandbox_role role)
{
    if (number == SYS_execve)
        return role == TP_SANDBOX_STARTER;
    return role == TP_SANDBOX_WORLD &&
           (number == SYS_process_vm_readv || number == SYS_process_vm_writev);
}

/* Programs are started by the starter alone, which Landlock limits. */
static void rules_of_others(struct program *p, enum tp_sandbox_role role)
{
    /* the terminal would take our words for what the user types */
    static const struct look typing = {
        SYS_ioctl,
        1,
        UINT32_MAX,
        ANSWER_EPERM,
        ANSWER_ALLOW,
        {TIOCSTI, TIOCSETD, 0x541c /* TIOCLINUX */},
        3};
    static const struct look near = {SYS_socket,
                                     0,
                                     UINT32_MAX,
                                     ANSWER_ALLOW,
                                     ANSWER_EPERM,
                                     {AF_UNIX, AF_NETLINK},
                                     2};
    answer_look(p, &typing);
    for (size_t i = 0; i < COUNT(alarming); i++) {
        if (!is_needed(alarming[i].number, role))
            answer_call(p, alarming[i].number, ANSWER_EPERM);
    }
    if (role == TP_SANDBOX_DEVICE) {
        rules_of_signals(p);
        answer_look(p, &near);
    }
    for (size_t i = 0; i < COUNT(network) && role == TP_SANDBOX_STARTER; i++)
        answer_call(p, network[i].number, ANSWER_EPERM);
    answer(p, ANSWER_ALLOW);
}

/* For all threads. */
static enum tp_status load(const struct program *p,
                           struct tp_sandbox_means *means, struct tp_error *err)
{
    const struct sock_fprog program = {p->count,
                                       (struct sock_filter *)p->rules};
    const long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                SECCOMP_FILTER_FLAG_TSYNC, &program);
    means->active = result == 0;
    if (result == 0)
        return TP_OK;
    if (result < 0 && (errno == ENOMEM || errno == EAGAIN))
        return tp_fail_errno(err, "cannot set up the sandbox: seccomp");
    snprintf(means->why_not, sizeof means->why_not, "the kernel refuses it: %s",
             result > 0 ? "a thread has other rules" : strerror(errno));
    return TP_OK;
}

enum tp_status tp_syscalls_enter(const struct tp_sandbox_wish *wish,
                                 struct tp_sandbox *sandbox,
                                 struct tp_error *err)
{
    struct program program = {.count = 0};
    begin(&program);
    if (wish->role == TP_SANDBOX_READER)
        rules_of_reader(&program);
    else
        rules_of_others(&program, wish->role);
    if (wish->role == TP_SANDBOX_READER && !catch_refused())
        return tp_fail_errno(err, "cannot set up the sandbox: sigaction");
    return load(&program, &sandbox->seccomp, err);
}

#else

enum tp_status tp_syscalls_enter(const struct tp_sandbox_wish *wish,
                                 struct tp_sandbox *sandbox,
                                 struct tp_error *err)
{
    (void)wish;
    (void)err;
    snprintf(sandbox->seccomp.why_not, sizeof sandbox->seccomp.why_not,
             "built without");
    return TP_OK;
}

#endif
