/* SPDX-License-Identifier: MIT */
#include "tensors/row_file.h"

#include <sys/stat.h>

#include "formats/reader.h"
#include "tensors/row.h"

static enum tp_status has_changed(const struct tp_row *row,
                                  struct tp_error *err)
{
    return tp_fail(err, TP_E_DAMAGED, -1,
                   "%s: the file has changed since it was first read",
                   row->file);
}

/* Whether the file is what the row was made of, maybe by another machine; a
 * path of no file (modified 0) is of files that are asked by themselves. */
static bool is_as_it_was(const struct tp_found *found)
{
    struct stat info;
    return found->modified == 0 || stat(found->path, &info) != 0 ||
           ((uint64_t)info.st_size == found->size &&
            tp_file_modified(&info) == found->modified);
}

enum tp_status tp_row_file_open(const struct tp_run *run,
                                const struct tp_row *row,
                                struct tp_tensor_file *file,
                                struct tp_error *err)
{
    const struct tp_found *found = &run->files.files[row->source];
    const char *path = found->path;
    if (!is_as_it_was(found))
        return has_changed(row, err);
    file->parts = run->parts;
    file->bare = true;
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
    return has_changed(row, err);
}
