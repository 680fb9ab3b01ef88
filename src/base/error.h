/* SPDX-License-Identifier: MIT */
#ifndef TP_BASE_ERROR_H
#define TP_BASE_ERROR_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How every fallible call of this program reports.
 *
 * A fallible call returns a tp_status and takes a `struct tp_error *` as its
 * last parameter. On TP_OK the error object is untouched. On anything else
 * it holds the code, the place in the input and a sentence worded by the
 * function that saw the problem; callers on the way up may add one
 * "while ..." frame each. Nothing below src/cli prints.
 *
 * An error object is plain memory, owned by the caller, valid when zeroed,
 * and never needs to be released. It may not be shared between threads.
 */

enum tp_status {
    TP_OK = 0,
    TP_E_USAGE,       /* the caller of the program asked for nonsense      */
    TP_E_IO,          /* the operating system refused; errno is worded     */
    TP_E_DAMAGED,     /* the input breaks the rules of its own format      */
    TP_E_CHANGED,     /* the input became another while it was read        */
    TP_E_UNSUPPORTED, /* the input is well formed, but not for this tool   */
    TP_E_LIMIT,       /* a cap of base/limits.h was reached                */
    TP_E_MEMORY,      /* an allocation failed                              */
    TP_E_NOT_FOUND,   /* nothing there: no such file, row or tensor        */
    TP_E_INTERRUPTED  /* the user asked to stop, or the terminal is gone   */
};

enum {
    TP_ERROR_FILE_MAX = 512,   /* longer paths keep their tail             */
    TP_ERROR_MESSAGE_MAX = 640 /* message and frames; longer ones are cut  */
};

/* One failure: what, where, and in the course of what. */
struct tp_error {
    enum tp_status code;
    bool of_second;               /* it is of the second of two inputs */
    int64_t offset;               /* byte in `file`; -1: none         */
    char file[TP_ERROR_FILE_MAX]; /* empty: not about a file          */
    char message[TP_ERROR_MESSAGE_MAX];
};

#if defined(__GNUC__)
#define TP_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define TP_PRINTF(fmt, args)
#endif

/*
 * Sets *err (its file is kept) and returns `code`, so that a function can end
 * with `return tp_fail(...)`. `offset` is the byte in the file the message is
 * about, or -1. Control characters that came with the input are written as
 * \xNN. `err` may be NULL: then only the code is returned.
 */
enum tp_status tp_fail(struct tp_error *err, enum tp_status code,
                       int64_t offset, const char *format, ...) TP_PRINTF(4, 5);

/*
 * As tp_fail with code TP_E_IO and no offset; appends ": " and the text of
 * errno, which must still be the one of the failed call.
 */
enum tp_status tp_fail_errno(struct tp_error *err, const char *format, ...)
    TP_PRINTF(2, 3);

/* Sets *err to "out of memory", with the limit if there is one (see
 * base/memory_limit.h), and returns TP_E_MEMORY. */
enum tp_status tp_fail_memory(struct tp_error *err);

/*
 * Adds one frame to a set error: "<message>, while <frame>". Does nothing to
 * a NULL or unset error.
 */
void tp_while(struct tp_error *err, const char *format, ...) TP_PRINTF(2, 3);

/* Marks a failure as one of the second of two inputs that are read in step;
 * does nothing where `status`, which it returns, is TP_OK, or to NULL. */
enum tp_status tp_of_second(enum tp_status status, struct tp_error *err);

/* Names the file the error is about, unless one is named already. */
void tp_error_in_file(struct tp_error *err, const char *path);

/*
 * The short word for a status in tables ("damaged", "unsupported", ...).
 * Never NULL; valid for the life of the program.
 */
const char *tp_status_name(enum tp_status status);

#endif
