/* SPDX-License-Identifier: MIT */
#ifndef TP_COMPARE_CONTENT_OPEN_H
#define TP_COMPARE_CONTENT_OPEN_H

#include "compare/content_list.h"

/* Files that one thread has open while tensors of them are asked for, the ones
 * that were used last. */

enum { TP_CONTENT_OPEN = 8 }; /* at a time                                  */

/* All-zero bytes: none is open. */
struct tp_content_files {
    struct tp_content_open {
        struct tp_found *found; /* NULL: none                              */
        uint64_t used;          /* when, to close the oldest               */
        struct tp_tensor_file file;
    } files[TP_CONTENT_OPEN];
    uint64_t clock;
    struct tp_error why; /* one that was closed had changed; TP_OK: none   */
};

/*
 * Copies what its file says of a tensor, valid until as many others were
 * opened. Why that cannot be is a problem of the file, which the error names:
 * as of tp_tensor_file_open_found.
 */
enum tp_status tp_content_fetch(struct tp_content_files *files,
                                const struct tp_content_tensor *its,
                                struct tp_tensor *tensor, struct tp_error *err);

/*
 * Ends a reading of a tensor that was fetched, or of a view of it, with
 * `status`, not TP_OK: why is a problem of its file, which the error names.
 */
enum tp_status tp_content_unread(struct tp_content_files *files,
                                 const struct tp_tensor *tensor,
                                 enum tp_status status, struct tp_error *err);

/* Whether all files that were open since this was asked last are as they were:
 * TP_E_CHANGED. Why not is a problem of the file, which the error names. */
enum tp_status tp_content_files_unchanged(struct tp_content_files *files,
                                          struct tp_error *err);

/* Closes them. */
void tp_content_files_close(struct tp_content_files *files);

#endif
