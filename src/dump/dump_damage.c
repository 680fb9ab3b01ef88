/* SPDX-License-Identifier: MIT */
/*
 * A tensor that something is said about is read once more, for where its
 * elements are wrong: the audits before have counts and ends only, and healthy
 * tensors cost nothing. A result may become an input of another shape; where
 * one of the two lies in memory as it is counted, it is seen in the other's
 * shape.
 */
#include "dump/dump_damage.h"

#include <string.h>

#include "damage/damage_scan.h"
#include "data/tensor_axes.h"
#include "dump/dump_print.h"
#include "formats/reader.h"

/* A tensor while it is read. */
struct opened {
    const struct tp_dump_item *item;
    struct tp_tensor_file file;
    const struct tp_tensor *tensor; /* NULL: it has no elements            */
    bool open;                      /* or could not be                     */
};

static enum tp_status open_item(const struct tp_dump_item *item,
                                struct opened *opened, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    *opened = (struct opened){.item = item, .open = item->file};
    if (opened->open)
        status = tp_dump_item_open(item, &opened->file, &opened->tensor, err);
    if (opened->tensor && opened->tensor->numel == 0)
        opened->tensor = NULL;
    return status;
}

/* Closes what was read with `status`: whether that can be kept. */
static enum tp_status close_item(struct opened *opened, enum tp_status status,
                                 struct tp_error *err)
{
    if (opened->open) {
        status = tp_tensor_file_end_found(opened->item->file, "",
                                          &opened->file, status, err);
        if (status != TP_OK)
            tp_while(err, "reading %s", opened->item->file->path);
    }
    tp_arena_clear(&opened->file.arena);
    return status;
}

static bool same_shape(const struct tp_tensor *a, const struct tp_tensor *b)
{
    bool same = a->ndim == b->ndim;
    for (int i = 0; same && i < a->ndim; i++)
        same = a->shape[i] == b->shape[i];
    return same;
}

/* A tensor in the shape of another of as many elements, with these strides;
 * false: its elements do not follow each other in memory. */
static bool reshape(const struct tp_tensor *tensor, const struct tp_tensor *as,
                    struct tp_tensor *view, int64_t stride[TP_LIMIT_DIMS])
{
    int64_t step = 1;
    for (int i = tensor->ndim - 1; i >= 0; i--) {
        if (tensor->shape[i] > 1 && tensor->stride[i] != step)
            return false;
        step *= tensor->shape[i];
    }
    *view = *tensor;
    view->ndim = as->ndim;
    view->shape = as->shape;
    view->stride = stride;
    tp_dense_strides(as->ndim, as->shape, stride);
    return true;
}

/* What a failure to read means: of the others the words tell. */
static enum tp_status judge(enum tp_status status,
                            const struct tp_error *failure,
                            struct tp_dump_damage *damage, struct tp_error *err)
{
    if (status == TP_E_MEMORY || status == TP_E_INTERRUPTED) {
        if (err)
            *err = *failure;
        return status;
    }
    if (status != TP_OK) {
        damage->read = false;
        damage->cause = "";
        tp_text_clear(&damage->words);
        tp_text_add(&damage->unread, "not known: %s", failure->message);
    }
    return damage->words.failed || damage->unread.failed ? tp_fail_memory(err)
                                                         : TP_OK;
}

static void find_shape(const struct tp_damage_found *found,
                       const struct opened *opened,
                       struct tp_dump_damage *damage)
{
    const struct tp_label *label = &opened->file.label;
    tp_damage_shape_find(&found->plan, &found->damage, found->cells, label,
                         &damage->shape);
    damage->read = true;
    /* why all is wrong is for the audit to say */
    damage->cause = damage->shape.name == TP_DAMAGE_EVERYTHING
                        ? ""
                        : tp_damage_shapes[damage->shape.name].cause;
}

/* --- pairs ---------------------------------------------------------------- */

static enum tp_status scan_pair(struct tp_readers *readers,
                                const struct opened *from,
                                const struct opened *to,
                                struct tp_dump_damage *damage,
                                struct tp_error *err)
{
    struct tp_damage_found found;
    struct tp_tensor x = *from->tensor, y = *to->tensor;
    int64_t stride[TP_LIMIT_DIMS];
    memset(&found, 0, sizeof found);
    if (!same_shape(&x, &y) && !reshape(from->tensor, to->tensor, &x, stride) &&
        !reshape(to->tensor, from->tensor, &y, stride))
        return TP_OK;
    enum tp_status status =
        tp_damage_scan_pair(readers, 0, &x, &y, &found, err);
    if (status == TP_OK) {
        damage->from = x.dtype;
        damage->to = y.dtype;
        find_shape(&found, to, damage);
        tp_damage_tell(&found.plan, &found.damage, &damage->shape,
                       &damage->words);
    }
    tp_damage_found_clear(&found);
    return status;
}

enum tp_status tp_dump_damage_pair(struct tp_readers *readers,
                                   const struct tp_dump_item *from,
                                   const struct tp_dump_item *to,
                                   struct tp_dump_damage *damage,
                                   struct tp_error *err)
{
    struct opened x, y = {.open = false};
    struct tp_error failure = {.code = TP_OK}, other = {.code = TP_OK};
    damage->cause = "";
    enum tp_status status = open_item(from, &x, &failure);
    const bool first = status == TP_OK;
    if (first)
        status = open_item(to, &y, &failure);
    if (status == TP_OK && x.tensor && y.tensor &&
        x.tensor->numel == y.tensor->numel) {
        status = scan_pair(readers, &x, &y, damage, &failure);
        if (status != TP_OK) { /* of which of the two is not known */
            other = failure;
            tp_fail(&failure, other.code, other.offset,
                    "not compared with %s: %s", from->file->path,
                    other.message);
        }
    }
    const enum tp_status its =
        close_item(&x, first ? TP_OK : status, first ? &other : &failure);
    if (first)
        status = close_item(&y, status, &failure);
    if (first && status == TP_OK && its != TP_OK) {
        status = its;
        failure = other;
    }
    return judge(status, &failure, damage, err);
}

/* --- one tensor ----------------------------------------------------------- */

/* The elements of one kind; *any: there are some. */
static enum tp_status scan_kind(struct tp_readers *readers,
                                const struct opened *opened,
                                enum tp_damage_kind kind,
                                struct tp_dump_damage *damage, bool *any,
                                struct tp_error *err)
{
    struct tp_damage_found found;
    memset(&found, 0, sizeof found);
    enum tp_status status =
        tp_damage_scan(readers, 0, opened->tensor, kind, &found, err);
    *any = status == TP_OK && found.damage.damaged > 0;
    if (*any) {
        find_shape(&found, opened, damage);
        tp_damage_tell_kind(&found.plan, &damage->shape,
                            kind == TP_DAMAGE_NAN ? "NaN" : "Inf",
                            &damage->words);
    }
    tp_damage_found_clear(&found);
    return status;
}

enum tp_status tp_dump_damage_nonfinite(struct tp_readers *readers,
                                        const struct tp_dump_item *item,
                                        struct tp_dump_damage *damage,
                                        struct tp_error *err)
{
    struct opened opened;
    struct tp_error failure = {.code = TP_OK};
    bool any = false;
    damage->cause = "";
    enum tp_status status = open_item(item, &opened, &failure);
    if (opened.tensor)
        status =
            scan_kind(readers, &opened, TP_DAMAGE_NAN, damage, &any, &failure);
    if (opened.tensor && status == TP_OK && !any)
        status =
            scan_kind(readers, &opened, TP_DAMAGE_INF, damage, &any, &failure);
    status = close_item(&opened, status, &failure);
    return judge(status, &failure, damage, err);
}

void tp_dump_damage_clear(struct tp_dump_damage *damage)
{
    tp_text_clear(&damage->words);
    tp_text_clear(&damage->unread);
    memset(damage, 0, sizeof *damage);
}
