/* SPDX-License-Identifier: MIT */
#include "tensors/roots.h"

#include <string.h>

#include "base/text.h"
#include "formats/reader.h"

bool tp_roots_have(const char *const *roots, size_t count, const char *path)
{
    for (size_t i = 0; i < count; i++) {
        if (!strcmp(roots[i], path))
            return true;
    }
    return false;
}

static enum tp_status add_patterns(const char *const *roots, size_t count,
                                   struct tp_found_list *files,
                                   struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; status == TP_OK && i < files->count; i++) {
        struct tp_text pattern = {0};
        const size_t before = files->count;
        if (!tp_roots_have(roots, count, files->files[i].path) &&
            tp_format_pattern(files->files[i].path, &pattern))
            status = pattern.failed
                         ? tp_fail_memory(err)
                         : tp_found_add(files, tp_text_get(&pattern), err);
        i += files->count - before; /* '*' sorts before digits */
        tp_text_clear(&pattern);
    }
    return status;
}

enum tp_status tp_roots_find(const char *const *roots, size_t count,
                             struct tp_found_list *files, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < count && status == TP_OK; i++)
        status = tp_file_find(roots[i], files, err);
    if (status == TP_OK)
        status = tp_found_sort(files, err);
    return status == TP_OK ? add_patterns(roots, count, files, err) : status;
}
