/* SPDX-License-Identifier: MIT */
/*
 * Failing calls, preloaded into a program: of the kind of FAULT_KIND ("memory",
 * "files" or "start") call number FAULT_AT fails, and with FAULT_ON all that
 * follow. FAULT_COUNT names a file that takes, at the end, how many calls there
 * were; FAULT_PLACES one that takes the number of the first of those that come
 * from the same functions; FAULT_TRACE one that takes where the program
 * crashed, or, with FAULT_SHOW, where the call failed. Calls count from main
 * on: what libraries do before it (the CUDA runtime, linked statically, does
 * not look at what its constructors get) can be told by nobody. Children count
 * with it, but programs that they start are left alone.
 *
 * Alternative: the linker's --wrap, which sees no call of a library. This one
 * sees those too, but none that the C library makes itself (the reads of
 * fread).
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum kind { MEMORY = 1, FILES, START };

typedef int (*main_like)(int argc, char **argv, char **environment);

static enum kind armed, to_arm; /* the latter from main on */
static long at;
static int onwards, show;
static atomic_long *calls; /* shared with children, until they execute */
static int count_file = -1, trace_file = -1; /* opened before a sandbox is  */
static int places_file = -1;
static pid_t self;

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static void trace(void)
{
    void *frames[40];
    if (trace_file >= 0)
        backtrace_symbols_fd(frames, backtrace(frames, 40), trace_file);
}

static int open_named(const char *variable, int how)
{
    const char *path = getenv(variable);
    return path ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC | how, 0666) : -1;
}

#ifndef SANITIZED
static void on_crash(int number)
{
    armed = 0;
    trace();
    signal(number, SIG_DFL);
    raise(number);
}
#endif

/* Notes call n if none before it came from the same functions, as far as the
 * innermost tell; those that find their places taken are left out. */
static void note_place(long n)
{
    enum { DEPTH = 14, PLACES = 1 << 17, TRIES = 64 };
    static uint64_t seen[PLACES];
    void *frames[DEPTH];
    const enum kind kind = armed;
    uint64_t hash = 14695981039346656037u; /* FNV-1a, by words */
    armed = 0;
    const int depth = backtrace(frames, DEPTH);
    for (int i = 0; i < depth; i++)
        hash = (hash ^ (uintptr_t)frames[i]) * 1099511628211u;
    size_t slot = (size_t)(hash >> 40) % PLACES;
    for (int i = 0; i < TRIES && seen[slot] && seen[slot] != hash; i++)
        slot = (slot + 1) % PLACES;
    if (!seen[slot]) {
        seen[slot] = hash;
        dprintf(places_file, "%ld\n", n);
    }
    armed = kind;
}

static int fails(enum kind kind, int error)
{
    if (kind != armed)
        return 0;
    long n = atomic_fetch_add(calls, 1) + 1;
    if (places_file >= 0)
        note_place(n);
    if (at == 0 || n < at || (n > at && !onwards))
        return 0;
    if (show && n == at) {
        armed = 0;
        trace();
        armed = kind;
    }
    errno = error;
    return 1;
}

__attribute__((constructor)) static void begin(void)
{
    const char *kind = getenv("FAULT_KIND"), *number = getenv("FAULT_AT");
#ifndef SANITIZED /* which sees crashes itself */
    void *frames[4];
    backtrace(frames, 4); /* loads what it needs */
#endif
    at = number ? atol(number) : 0;
    onwards = getenv("FAULT_ON") != NULL;
    show = getenv("FAULT_SHOW") != NULL;
    count_file = open_named("FAULT_COUNT", O_TRUNC);
    trace_file = open_named("FAULT_TRACE", O_APPEND);
    places_file = open_named("FAULT_PLACES", O_TRUNC);
#ifndef SANITIZED
    if (trace_file >= 0) {
        signal(SIGSEGV, on_crash);
        signal(SIGBUS, on_crash);
        signal(SIGABRT, on_crash);
        signal(SIGFPE, on_crash);
    }
#endif
    unsetenv("LD_PRELOAD");
    self = getpid();
    calls = mmap(NULL, sizeof *calls, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (kind && calls != MAP_FAILED)
        to_arm = !strcmp(kind, "memory")  ? MEMORY
                 : !strcmp(kind, "files") ? FILES
                                          : START;
}

static main_like program;

static int armed_main(int argc, char **argv, char **environment)
{
    armed = to_arm;
    return program(argc, argv, environment);
}

/* What the C library's own start is called with (glibc, csu/libc-start.c). */
int __libc_start_main(main_like main, int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*at_exit)(void), void *stack)
{
    int (*next)(main_like, int, char **, void (*)(void), void (*)(void),
                void (*)(void), void *);
    *(void **)&next = dlsym(RTLD_NEXT, "__libc_start_main");
    program = main;
    return next(armed_main, argc, argv, init, fini, at_exit, stack);
}

__attribute__((destructor)) static void end(void)
{
    armed = 0;
    if (count_file >= 0 && getpid() == self)
        dprintf(count_file, "%ld\n", (long)atomic_load(calls));
}

/* The function behind one of ours. */
static void *next_of(const char *name)
{
    enum kind kind = armed;
    armed = 0; /* dlsym may take memory */
    void *next = dlsym(RTLD_NEXT, name);
    armed = kind;
    return next;
}

#define BEHIND(KIND, ERROR, FAILED, RESULT, NAME, PARAMETERS, ARGUMENTS) \
    RESULT NAME PARAMETERS                                               \
    {                                                                    \
        static RESULT(*next) PARAMETERS;                                 \
        if (!next)                                                       \
            *(void **)&next = next_of(#NAME);                            \
        if (fails(KIND, ERROR))                                          \
            return FAILED;                                               \
        return next ARGUMENTS;                                           \
    }

#ifdef SANITIZED /* the allocator is the sanitizer's, which looks for leaks */

BEHIND(MEMORY, ENOMEM, NULL, void *, malloc, (size_t size), (size))
BEHIND(MEMORY, ENOMEM, NULL, void *, calloc, (size_t n, size_t size), (n, size))
BEHIND(MEMORY, ENOMEM, NULL, void *, realloc, (void *old, size_t size),
       (old, size))
BEHIND(MEMORY, ENOMEM, NULL, void *, aligned_alloc, (size_t a, size_t size),
       (a, size))
BEHIND(MEMORY, ENOMEM, ENOMEM, int, posix_memalign,
       (void **memory, size_t a, size_t size), (memory, a, size))

#else

void *malloc(size_t size)
{
    return fails(MEMORY, ENOMEM) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails(MEMORY, ENOMEM) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return fails(MEMORY, ENOMEM) ? NULL : __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails(MEMORY, ENOMEM) ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    void *made = aligned_alloc(alignment, size);
    if (!made)
        return ENOMEM;
    *memory = made;
    return 0;
}

#endif

BEHIND(FILES, EIO, -1, ssize_t, read, (int fd, void *to, size_t n), (fd, to, n))
BEHIND(FILES, EIO, -1, ssize_t, pread, (int fd, void *to, size_t n, off_t o),
       (fd, to, n, o))
BEHIND(FILES, EIO, -1, ssize_t, pread64, (int fd, void *to, size_t n, off_t o),
       (fd, to, n, o))
BEHIND(FILES, ENOSPC, -1, ssize_t, write, (int fd, const void *b, size_t n),
       (fd, b, n))
BEHIND(FILES, ENOSPC, -1, ssize_t, pwrite,
       (int fd, const void *b, size_t n, off_t o), (fd, b, n, o))
BEHIND(FILES, ENOSPC, -1, ssize_t, pwrite64,
       (int fd, const void *b, size_t n, off_t o), (fd, b, n, o))
BEHIND(FILES, EIO, -1, int, rename, (const char *a, const char *b), (a, b))
BEHIND(FILES, EIO, -1, int, link, (const char *a, const char *b), (a, b))
BEHIND(FILES, ENOMEM, MAP_FAILED, void *, mmap,
       (void *to, size_t n, int p, int f, int fd, off_t o),
       (to, n, p, f, fd, o))
BEHIND(FILES, EIO, -1, int, fsync, (int fd), (fd))
BEHIND(FILES, ENOSPC, -1, int, ftruncate, (int fd, off_t n), (fd, n))
BEHIND(FILES, ENOSPC, -1, int, ftruncate64, (int fd, off_t n), (fd, n))
BEHIND(FILES, ENOSPC, -1, int, mkdir, (const char *path, mode_t mode),
       (path, mode))
BEHIND(FILES, EMFILE, NULL, DIR *, opendir, (const char *path), (path))
BEHIND(FILES, EIO, NULL, struct dirent *, readdir, (DIR * folder), (folder))
BEHIND(FILES, EIO, -1, int, stat, (const char *path, struct stat *info),
       (path, info))
BEHIND(FILES, EIO, -1, int, lstat, (const char *path, struct stat *info),
       (path, info))
BEHIND(FILES, EIO, -1, int, fstat, (int fd, struct stat *info), (fd, info))
BEHIND(FILES, EIO, -1, int, access, (const char *path, int how), (path, how))
BEHIND(FILES, EMFILE, NULL, FILE *, fopen, (const char *path, const char *how),
       (path, how))
BEHIND(START, EAGAIN, EAGAIN, int, pthread_create,
       (pthread_t * thread, const pthread_attr_t *how, void *(*run)(void *),
        void *context),
       (thread, how, run, context))
BEHIND(START, EAGAIN, -1, pid_t, fork, (void), ())
BEHIND(START, EMFILE, -1, int, pipe, (int ends[2]), (ends))
BEHIND(START, EMFILE, -1, int, socketpair,
       (int family, int kind, int protocol, int ends[2]),
       (family, kind, protocol, ends))
BEHIND(START, ENOMEM, -1, int, prctl,
       (int what, unsigned long a, unsigned long b, unsigned long c,
        unsigned long d),
       (what, a, b, c, d))

/* Those that the C library has no function for. */
long syscall(long number, ...)
{
    static long (*next)(long, ...);
    long words[6];
    va_list rest;
    va_start(rest, number);
    for (int i = 0; i < 6; i++)
        words[i] = va_arg(rest, long);
    va_end(rest);
    if (!next)
        *(void **)&next = next_of("syscall");
    return fails(START, ENOMEM)
               ? -1
               : next(number, words[0], words[1], words[2], words[3], words[4],
                      words[5]);
}

/* Of a close that fails the file is closed all the same. */
int close(int fd)
{
    static int (*next)(int);
    if (!next)
        *(void **)&next = next_of("close");
    int failed = fails(FILES, EIO), result = next(fd);
    if (failed)
        errno = EIO;
    return failed ? -1 : result;
}

#define OPEN(NAME)                                                            \
    int NAME(const char *path, int how, ...)                                  \
    {                                                                         \
        static int (*next)(const char *, int, ...);                           \
        va_list rest;                                                         \
        va_start(rest, how);                                                  \
        mode_t mode = how & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
        va_end(rest);                                                         \
        if (!next)                                                            \
            *(void **)&next = next_of(#NAME);                                 \
        return fails(FILES, EMFILE) ? -1 : next(path, how, mode);             \
    }

OPEN(open)
OPEN(open64)
