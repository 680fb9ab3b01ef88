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
#include "dump/dump_reread.h"

/* The tensor of an open reading, if it has elements. */
static bool has_elements(const struct tp_dump_reread *reading)
{
    return reading->tensor && reading->tensor->numel > 0;
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

/* Closes what was read: what a failure means, of others than these two the
 * words tell. */
static enum tp_status close_reading(struct tp_dump_reread *reading,
                                    struct tp_dump_damage *damage,
                                    struct tp_error *err)
{
    const struct tp_dump_item *item = reading->item;
    const enum tp_status status = tp_dump_reread_close(reading);
    tp_dump_reread_clear(reading);
    if (status == TP_E_MEMORY || status == TP_E_INTERRUPTED) {
        if (err)
            *err = reading->why;
        return status;
    }
    if (status != TP_OK) {
        damage->read = false;
        damage->cause = "";
        tp_text_clear(&damage->words);
        tp_text_clear(&damage->unread);
        tp_text_add(&damage->unread, "not known: %s, while reading %s",
                    reading->why.message, item->file->path);
    }
    return damage->words.failed || damage->unread.failed ? tp_fail_memory(err)
                                                         : TP_OK;
}

static void find_shape(const struct tp_damage_found *found,
                       const struct tp_dump_reread *reading,
                       struct tp_dump_damage *damage)
{
    const struct tp_label *label = &reading->file.label;
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
                                const struct tp_dump_reread *from,
                                const struct tp_dump_reread *to,
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
    struct tp_dump_reread x = {0}, y = {0};
    damage->cause = "";
    if (tp_dump_reread_open(&x, from) == TP_OK)
        tp_dump_reread_open(&y, to);
    if (has_elements(&x) && has_elements(&y) &&
        x.tensor->numel == y.tensor->numel) {
        struct tp_error why = {.code = TP_OK};
        const enum tp_status status = scan_pair(readers, &x, &y, damage, &why);
        struct tp_dump_reread *reads = why.of_second ? &y : &x;
        reads->status = status;
        reads->why = why;
    }
    const enum tp_status first = close_reading(&x, damage, err);
    const enum tp_status second =
        close_reading(&y, damage, first == TP_OK ? err : NULL);
    return first != TP_OK ? first : second;
}

/* --- one tensor ----------------------------------------------------------- */

/* The elements of one kind; *any: there are some. */
static enum tp_status scan_kind(struct tp_readers *readers,
                                const struct tp_dump_reread *reading,
                                enum tp_damage_kind kind,
                                struct tp_dump_damage *damage, bool *any,
                                struct tp_error *err)
{
    struct tp_damage_found found;
    memset(&found, 0, sizeof found);
    enum tp_status status =
        tp_damage_scan(readers, 0, reading->tensor, kind, &found, err);
    *any = status == TP_OK && found.damage.damaged > 0;
    if (*any) {
        find_shape(&found, reading, damage);
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
    struct tp_dump_reread reading = {0};
    bool any = false;
    damage->cause = "";
    tp_dump_reread_open(&reading, item);
    if (has_elements(&reading))
        reading.status = scan_kind(readers, &reading, TP_DAMAGE_NAN, damage,
                                   &any, &reading.why);
    if (has_elements(&reading) && reading.status == TP_OK && !any)
        reading.status = scan_kind(readers, &reading, TP_DAMAGE_INF, damage,
                                   &any, &reading.why);
    return close_reading(&reading, damage, err);
}

void tp_dump_damage_clear(struct tp_dump_damage *damage)
{
    tp_text_clear(&damage->words);
    tp_text_clear(&damage->unread);
    memset(damage, 0, sizeof *damage);
}
