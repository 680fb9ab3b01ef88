/* SPDX-License-Identifier: MIT */
#include "compare/content_files.h"

#include <string.h>

struct maker {
    const struct tp_content *content;
    struct tp_finding_files *files;
    int64_t finding;
    struct tp_error *err;
};

static const struct tp_content_tensor *named(const struct tp_content_side *side,
                                             const char *name)
{
    for (size_t i = 0; i < side->count; i++)
        if (!strcmp(side->tensors[i].name, name))
            return &side->tensors[i];
    return NULL;
}

/* What both sides have under a name, as far as they have one. */
static enum tp_status add_name(struct maker *m, const char *name)
{
    enum tp_status status = TP_OK;
    for (int i = 0; i < 2 && status == TP_OK; i++) {
        const struct tp_content_tensor *tensor =
            named(&m->content->sides[i], name);
        if (tensor)
            status =
                tp_finding_files_add(m->files, m->finding,
                                     tp_arena_format(&m->files->arena, "%s: %s",
                                                     i ? "B" : "A", name),
                                     tensor->file, m->err);
    }
    return status;
}

enum tp_status tp_content_finding_files(const struct tp_content *content,
                                        const struct tp_dump_findings *findings,
                                        struct tp_finding_files *files,
                                        struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < findings->count && status == TP_OK; i++) {
        const struct tp_dump_finding *finding = &findings->rows[i];
        struct maker m = {content, files, (int64_t)i, err};
        status = add_name(&m, finding->found);
        if (status == TP_OK && strcmp(finding->found, finding->expected) != 0)
            status = add_name(&m, finding->expected);
    }
    return status;
}
