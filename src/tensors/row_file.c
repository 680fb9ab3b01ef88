/* SPDX-License-Identifier: MIT */
#include "tensors/row_file.h"

#include <string.h>

#include "base/file.h"
#include "formats/reader.h"
#include "tensors/row.h"

/* Whether the file is the one that was read: in this run, or in an earlier one
 * that knew it by size and time, maybe on another machine. A path of no file
 * (modified 0) is of files that are asked by themselves. */
static enum tp_status look(struct tp_found *found, struct tp_error *err)
{
    if (found->modified == 0)
        return TP_OK;
    tp_found_meet(found, found->size, found->modified, NULL);
    return tp_found_look(found, err);
}

enum tp_status tp_row_file_open(const struct tp_run *run,
                                const struct tp_row *row,
                                struct tp_tensor_file *file,
                                struct tp_error *err)
{
    struct tp_found *found = &run->files.files[row->source];
    enum tp_status status = look(found, err);
    if (status == TP_OK) {
        file->parts = run->parts;
        file->bare = true;
        status = tp_tensor_file_open(found->path, file, err);
    }
    if (status != TP_OK)
        tp_error_in_file(err, found->path);
    return status;
}

/* Why an open file does not have the tensor of a row. */
static enum tp_status fail_absent(const struct tp_row *row,
                                  const struct tp_tensor_file *file,
                                  struct tp_error *err)
{
    const struct tp_skip *skip = file->skips;
    while (skip && strcmp(skip->path, row->path) != 0)
        skip = skip->next;
    if (!skip)
        skip = file->skips;
    return skip && skip->code != TP_OK
               ? tp_fail(err, skip->code, skip->offset, "%s", skip->reason)
               : tp_fail(err, TP_E_CHANGED, -1,
                         "the file has changed since it was first read");
}

enum tp_status tp_row_file_tensor(const struct tp_row *row,
                                  const struct tp_tensor_file *file,
                                  const struct tp_tensor **tensor,
                                  struct tp_error *err)
{
    *tensor = NULL;
    if (row->place < file->tensor_count)
        *tensor = &file->tensors[row->place];
    return *tensor && tp_row_is_of(row, *tensor) ? TP_OK
                                                 : fail_absent(row, file, err);
}

enum tp_status tp_row_file_unchanged(const struct tp_run *run,
                                     const struct tp_row *row,
                                     const struct tp_tensor_file *file,
                                     struct tp_error *err)
{
    struct tp_found *found = &run->files.files[row->source];
    enum tp_status status = tp_tensor_file_unchanged(file, err);
    if (status == TP_OK)
        status = look(found, err);
    if (status != TP_OK)
        tp_error_in_file(err, found->path);
    return status;
}

enum tp_status tp_row_file_failed(const struct tp_run *run,
                                  const struct tp_row *row,
                                  const struct tp_error *why,
                                  struct tp_error *err)
{
    struct tp_found *found = &run->files.files[row->source];
    bool there;
    if (run->files.borrowed &&
        tp_file_look(found->path, &there, NULL) == TP_OK && !there)
        return TP_OK;
    return tp_found_fail(found, why->code == TP_E_CHANGED ? "" : row->path, why,
                         err);
}
