/* SPDX-License-Identifier: MIT */
#include "compare/content_files.h"

#include <string.h>

#include "base/text_index.h"

struct maker {
    const struct tp_content *content;
    struct tp_text_index named[2]; /* the tensors of each side            */
    struct tp_finding_files *files;
    int64_t finding;
    struct tp_error *err;
};

/* The first of each name. */
static enum tp_status index_names(struct maker *m)
{
    for (int i = 0; i < 2; i++) {
        const struct tp_content_side *side = &m->content->sides[i];
        if (!tp_text_index_init(&m->named[i], side->count))
            return tp_fail_memory(m->err);
        for (size_t k = 0; k < side->count; k++) {
            size_t *at =
                tp_text_index_put(&m->named[i], side->tensors[k].name);
            if (*at == TP_TEXT_NEW)
                *at = k;
        }
    }
    return TP_OK;
}

/* What both sides have under a name, as far as they have one. */
static enum tp_status add_name(struct maker *m, const char *name)
{
    enum tp_status status = TP_OK;
    for (int i = 0; i < 2 && status == TP_OK; i++) {
        const size_t at = tp_text_index_of(&m->named[i], name);
        if (at == TP_TEXT_NEW)
            continue;
        status = tp_finding_files_add(
            m->files, m->finding,
            tp_arena_format(&m->files->arena, "%s: %s", i ? "B" : "A", name),
            m->content->sides[i].tensors[at].file->path, m->err);
    }
    return status;
}

enum tp_status tp_content_finding_files(const struct tp_content *content,
                                        const struct tp_dump_findings *findings,
                                        struct tp_finding_files *files,
                                        struct tp_error *err)
{
    struct maker m = {.content = content, .files = files, .err = err};
    enum tp_status status = index_names(&m);
    for (size_t i = 0; i < findings->count && status == TP_OK; i++) {
        const struct tp_dump_finding *finding = &findings->rows[i];
        m.finding = (int64_t)i;
        status = add_name(&m, finding->found);
        if (status == TP_OK && strcmp(finding->found, finding->expected) != 0)
            status = add_name(&m, finding->expected);
    }
    for (int i = 0; i < 2; i++)
        tp_text_index_clear(&m.named[i]);
    return status;
}
