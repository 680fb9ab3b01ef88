/* SPDX-License-Identifier: MIT */
#include "compare/content_open.h"

#include <string.h>

#include "formats/reader.h"

/* Ends a file that was read with `status`, not TP_OK. */
static enum tp_status fail(struct tp_found *found, struct tp_tensor_file *file,
                           enum tp_status status, struct tp_error *err)
{
    status = tp_tensor_file_end_found(found, "", file, status, err);
    tp_error_in_file(err, found->path);
    return status;
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
    if (oldest->found)
        tp_tensor_file_close(&oldest->file);
    oldest->found = NULL;
    enum tp_status status =
        tp_tensor_file_open_found(found, &oldest->file, err);
    if (status != TP_OK)
        return fail(found, &oldest->file, status, err);
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
        return tp_fail(err, TP_E_CHANGED, -1,
                       "the file was changed while it was read");
    *tensor = *found;
    return TP_OK;
}

enum tp_status tp_content_files_unchanged(struct tp_content_files *files,
                                          struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (int i = 0; i < TP_CONTENT_OPEN && status != TP_E_MEMORY; i++) {
        struct tp_content_open *its = &files->files[i];
        struct tp_error own = {.code = TP_OK};
        if (!its->found || tp_tensor_file_unchanged(&its->file, &own) == TP_OK)
            continue;
        status = fail(its->found, &its->file, own.code, &own);
        *err = own;
        its->found = NULL;
    }
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
