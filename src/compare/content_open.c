/* SPDX-License-Identifier: MIT */
#include "compare/content_open.h"

#include <string.h>

#include "formats/reader.h"

/* Keeps why a file could not be read; its error names it. */
static enum tp_status keep(struct tp_found *found, const char *path,
                           enum tp_status status, struct tp_error *err)
{
    const struct tp_error why = *err;
    if (status == TP_E_MEMORY || status == TP_E_INTERRUPTED)
        return status;
    tp_error_in_file(err, found->path);
    return tp_found_fail(found, path, &why, err) == TP_OK ? status
                                                          : TP_E_MEMORY;
}

/* Closes a file; that it changed is kept for tp_content_files_unchanged. */
static void close_file(struct tp_content_files *files,
                       struct tp_content_open *its)
{
    struct tp_error why = {.code = TP_OK};
    struct tp_found *found = its->found;
    its->found = NULL;
    if (!found || tp_tensor_file_end_found(found, "", &its->file, TP_OK,
                                           &why) == TP_OK)
        return;
    tp_error_in_file(&why, found->path);
    if (files->why.code != TP_E_MEMORY)
        files->why = why;
}

static enum tp_status open_file(struct tp_content_files *files,
                                struct tp_found *found,
                                struct tp_tensor_file **file,
                                struct tp_error *err)
{
    struct tp_content_open *oldest = &files->files[0];
    for (int i = 0; i < TP_CONTENT_OPEN; i++) {
        struct tp_content_open *its = &files->files[i];
        if (its->found == found) {
            its->used = ++files->clock;
            *file = &its->file;
            return TP_OK;
        }
        if (its->used < oldest->used)
            oldest = its;
    }
    close_file(files, oldest);
    enum tp_status status =
        tp_tensor_file_open_found(found, &oldest->file, err);
    if (status != TP_OK) {
        status =
            tp_tensor_file_end_found(found, "", &oldest->file, status, err);
        tp_error_in_file(err, found->path);
        return status;
    }
    oldest->found = found;
    oldest->used = ++files->clock;
    *file = &oldest->file;
    return TP_OK;
}

enum tp_status tp_content_fetch(struct tp_content_files *files,
                                const struct tp_content_tensor *its,
                                struct tp_tensor *tensor, struct tp_error *err)
{
    struct tp_tensor_file *file = NULL;
    enum tp_status status = open_file(files, its->file, &file, err);
    if (status != TP_OK)
        return status;
    const struct tp_tensor *found = tp_content_tensor_in(its, file);
    if (!found)
        return keep(its->file, "",
                    tp_fail(err, TP_E_CHANGED, -1,
                            "the file is another than when it was first read"),
                    err);
    *tensor = *found;
    return TP_OK;
}

static bool has(const struct tp_tensor_file *file,
                const struct tp_tensor *tensor)
{
    for (size_t i = 0; i < file->tensor_count; i++)
        if (file->tensors[i].storage == tensor->storage)
            return true;
    return false;
}

enum tp_status tp_content_unread(struct tp_content_files *files,
                                 const struct tp_tensor *tensor,
                                 enum tp_status status, struct tp_error *err)
{
    for (int i = 0; i < TP_CONTENT_OPEN; i++) {
        const struct tp_content_open *its = &files->files[i];
        if (its->found && has(&its->file, tensor))
            return keep(its->found, tensor->path, status, err);
    }
    return status;
}

enum tp_status tp_content_files_unchanged(struct tp_content_files *files,
                                          struct tp_error *err)
{
    struct tp_error own;
    for (int i = 0; i < TP_CONTENT_OPEN; i++)
        if (files->files[i].found &&
            tp_tensor_file_unchanged(&files->files[i].file, &own) != TP_OK)
            close_file(files, &files->files[i]);
    const enum tp_status status = files->why.code;
    if (status != TP_OK)
        *err = files->why;
    files->why.code = TP_OK;
    return status;
}

void tp_content_files_close(struct tp_content_files *files)
{
    for (int i = 0; i < TP_CONTENT_OPEN; i++) {
        struct tp_content_open *its = &files->files[i];
        if (its->found)
            tp_tensor_file_close(&its->file);
        tp_arena_clear(&its->file.arena);
    }
    memset(files, 0, sizeof *files);
}
