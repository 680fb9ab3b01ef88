/* SPDX-License-Identifier: MIT */
#ifndef TP_BASE_BYTES_H
#define TP_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * The bytes of one input: a regular file, or memory. Reading is positional
 * and by copy, so that several threads may read one input at once and a file
 * that shrinks under us is an error message, not a signal (which is why
 * nothing is mapped).
 */
struct tp_bytes {
    int fd;                      /* -1: memory                           */
    uint64_t size;               /* bytes, as of opening                 */
    int64_t modified;            /* ns since the epoch, as of opening    */
    const unsigned char *memory; /* the whole input, or NULL             */
    unsigned char *owned;        /* released by tp_bytes_close, or NULL  */
};

/*
 * Opens a regular file. Files up to 128 KiB are read into memory at once.
 * Fails with TP_E_IO (cannot open or read, not a regular file), and those as
 * tp_bytes_unchanged does.
 * Close with tp_bytes_close.
 */
enum tp_status tp_bytes_open(const char *path, struct tp_bytes *bytes,
                             struct tp_error *err);

/*
 * Whether the file is as it was when it was opened, to be asked once it has
 * been read: what was read of a file that changed meanwhile may be of two
 * files. TP_E_CHANGED: it was written to, removed or replaced; TP_E_IO. Memory
 * stays what it is, and what tp_bytes_open read at once was asked there.
 */
enum tp_status tp_bytes_unchanged(const struct tp_bytes *bytes,
                                  struct tp_error *err);

/* Takes over an open file, also after a failure: TP_E_IO, as above. */
enum tp_status tp_bytes_take(int fd, struct tp_bytes *bytes,
                             struct tp_error *err);

/* Borrows `size` bytes of memory as an input; closing releases nothing. */
void tp_bytes_view(const void *memory, size_t size, struct tp_bytes *bytes);

/*
 * Reads a regular file of at most `limit` bytes whole: *text is new memory,
 * released with free(), NULL after a failure. Fails as tp_bytes_open and
 * tp_bytes_read do, with TP_E_MEMORY, and with TP_E_LIMIT: the message begins
 * with `what`, "a config.json". The error names the file.
 */
enum tp_status tp_bytes_load(const char *path, const char *what, size_t limit,
                             char **text, size_t *length, struct tp_error *err);

/* Releases what tp_bytes_open took. Accepts a zeroed or closed object. */
void tp_bytes_close(struct tp_bytes *bytes);

/*
 * Copies exactly `length` bytes from byte `offset` into `buffer`. Fails with
 * TP_E_DAMAGED when the input ends before that (the message names the
 * offset), TP_E_CHANGED when it did not when it was opened, TP_E_IO when the
 * system cannot read. Any number of threads.
 */
enum tp_status tp_bytes_read(const struct tp_bytes *bytes, uint64_t offset,
                             void *buffer, size_t length, struct tp_error *err);

#endif
