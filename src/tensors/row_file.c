/* SPDX-License-Identifier: MIT */
#include "tensors/row_file.h"

#include "formats/reader.h"
#include "tensors/row.h"

enum tp_status tp_row_file_open(const struct tp_run *run,
                                const struct tp_row *row,
                                struct tp_tensor_file *file,
                                struct tp_error *err)
{
    const char *path = run->files.files[row->source].path;
    file->parts = run->parts;
    enum tp_status status = tp_tensor_file_open(path, file, err);
    if (status != TP_OK)
        tp_error_in_file(err, path);
    return status;
}

enum tp_status tp_row_file_tensor(const struct tp_row *row,
                                  const struct tp_tensor_file *file,
                                  const struct tp_tensor **tensor,
                                  struct tp_error *err)
{
    *tensor = NULL;
    if (row->place < file->tensor_count)
        *tensor = &file->tensors[row->place];
    if (*tensor && tp_row_is_of(row, *tensor))
        return TP_OK;
    return tp_fail(err, TP_E_DAMAGED, -1,
                   "%s: the file has changed since it was first read",
                   row->file);
}
