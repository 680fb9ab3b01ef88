/* SPDX-License-Identifier: MIT */
#ifndef TP_FORMATS_READER_H
#define TP_FORMATS_READER_H

#include "base/bytes.h"
#include "base/memory.h"
#include "data/label.h"
#include "data/tensor.h"

/*
 * Files with tensors. A format is one row of the reader table: it bids for a
 * file by its first bytes, and the highest bidder opens it. Reading is inert:
 * nothing a file contains is ever called, imported or executed.
 */

/* One thing that was in a file and is not among its tensors. */
struct tp_skip {
    const char *path;       /* place in the payload, "" for the whole file */
    enum tp_status code;    /* TP_E_UNSUPPORTED, TP_E_DAMAGED, ...         */
    const char *reason;     /* one sentence                                */
    int64_t offset;         /* byte in the file, -1 if none                */
    struct tp_skip *next;   /* in payload order                            */
};

/* An open file: its tensors in payload order, its labels, what was skipped. */
struct tp_tensor_file {
    struct tp_bytes bytes;
    struct tp_arena arena;       /* owns everything below                  */
    const struct tp_format *format;
    struct tp_tensor *tensors;   /* [tensor_count]                         */
    size_t tensor_count;
    struct tp_label label;       /* from metadata and file name            */
    const char *label_conflict;  /* one sentence: where metadata and name
                                    disagree; "" if they do not            */
    struct tp_skip *skips;
    void *state;                 /* the format's own                       */
};

/* A file format. Rows of the table in reader.c. */
struct tp_format {
    const char *name;     /* "torch_zip", ...                              */
    const char *help;     /* one line for `list formats`                   */
    /* How sure the format is that `head` (the file's first `length` bytes,
     * at most TP_FORMAT_HEAD, all of a shorter file) is its own, as bits of
     * evidence; 0: not at all. */
    int (*bid)(const unsigned char *head, size_t length);
    /* Fills in tensors, skips and the payload's label. Whatever is allocated
     * lives in file->arena, or in file->state and is released by close. */
    enum tp_status (*open)(struct tp_tensor_file *file, struct tp_error *err);
    void (*close)(struct tp_tensor_file *file); /* NULL: nothing to do     */
};

enum { TP_FORMAT_HEAD = 64 };

/* The rows, ended by NULL. */
extern const struct tp_format *const tp_formats[];

/* The format that bids highest for these first bytes; NULL: none bids. */
const struct tp_format *tp_format_by_content(const unsigned char *head,
                                             size_t length);

/*
 * In words, what a file is for which no format bids, as far as its first
 * bytes tell.
 */
const char *tp_format_foreign(const unsigned char *head, size_t length);

/*
 * Opens a file of any known format. `name` is the path as the user gave it:
 * its last component is parsed for labels. Fails with TP_E_UNSUPPORTED when
 * no format bids, TP_E_IO when it cannot be read, TP_E_DAMAGED when nothing
 * of it can be used; single tensors that cannot be used are in file->skips.
 * `file` is zeroed or was closed before (its arena is reused). Close it with
 * tp_tensor_file_close, also after a failure.
 */
enum tp_status tp_tensor_file_open(const char *name,
                                   struct tp_tensor_file *file,
                                   struct tp_error *err);

/* As above, on bytes in memory that outlive the file (tests, fuzzing). */
enum tp_status tp_tensor_file_open_memory(const char *name, const void *data,
                                          size_t size,
                                          struct tp_tensor_file *file,
                                          struct tp_error *err);

/*
 * Closes the file; its tensors, labels and skips are gone. The arena keeps
 * one block for the next open; tp_arena_clear(&file->arena) releases it.
 */
void tp_tensor_file_close(struct tp_tensor_file *file);

#endif
