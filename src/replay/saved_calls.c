/* SPDX-License-Identifier: MIT */
/*
 * Files of a place are put in the order in which they were saved, which the
 * counter in their names is; operands wait in a small table, the longest waiter
 * makes room. To pair by labels alone would not do: the four linears of a layer
 * share theirs. Cost: opening each file, n log n comparisons.
 */
#include "replay/saved_calls.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "formats/reader.h"
#include "formats/tensor_saver.h"

enum { ROLES = 5, WAITERS = 64 };

/* A kind of call: its operands, then its results. */
static const struct kind {
    const char *layer_type;
    enum tp_direction direction;
    const char *api;
    const char *roles[ROLES]; /* true names; "" an end                      */
    int operands, results;
    int spared; /* a role that need not be there; -1: none                  */
} kinds[] = {
    {"linear",
     TP_FORWARD,
     "linear",
     {"input", "weight", "output", "", ""},
     2,
     1,
     -1},
    {"linear",
     TP_BACKWARD,
     "linear_dgrad",
     {"grad_output", "weight", "grad_input", "", ""},
     2,
     1,
     -1},
    {"attention",
     TP_FORWARD,
     "core_attention",
     {"query", "key", "value", "attention_weights", "output"},
     3,
     2,
     3},
};

/* A file that may belong to a call. */
struct saved {
    struct tp_found *file;
    size_t directory; /* bytes of its path                                  */
    struct tp_label label;
    const struct kind *kind;
    int role;
    enum tp_dtype dtype; /* TP_DTYPE_COUNT: it cannot be read               */
    int dims;
    const int64_t *shape;
};

/* Operands without their result as yet. */
struct waiter {
    const struct saved *parts[ROLES]; /* NULL: not there                    */
    const struct saved *last;
};

struct reader {
    const struct tp_dump_wish *wish;
    struct tp_dump *dump;
    struct tp_intern words;
    struct saved *saved;
    size_t count, capacity;
    struct waiter waiters[WAITERS]; /* the last touched last                */
    size_t waiting;
    struct tp_text_index numbers; /* of calls, by what their key begins with */
    size_t incomplete, unwanted;  /* files that were not asked for       */
    const char *example; /* a file of one of these                          */
};

/* --- files ---------------------------------------------------------------- */

static bool find_role(struct saved *saved)
{
    const struct tp_label *label = &saved->label;
    const char *name = label->direction == TP_BACKWARD
                           ? tp_backward_name(label->tensor_name)
                           : label->tensor_name;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int k = 0; k < kinds[i].operands + kinds[i].results; k++)
            if (kinds[i].direction == label->direction &&
                !strcmp(kinds[i].layer_type, label->layer_type) &&
                !strcmp(kinds[i].roles[k], name)) {
                saved->kind = &kinds[i];
                saved->role = k;
                return true;
            }
    return false;
}

/* Texts of a label outlive its file. */
static enum tp_status keep_label(struct reader *r, struct tp_label *label,
                                 struct tp_error *err)
{
    const char **const texts[] = {&label->layer_type, &label->operation,
                                  &label->phase,      &label->component,
                                  &label->quant_type, &label->tensor_name,
                                  &label->timestamp};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        *texts[i] = tp_intern(&r->words, &r->dump->arena, *texts[i]);
        if (!*texts[i])
            return tp_fail_memory(err);
    }
    return TP_OK;
}

static enum tp_status keep_shape(struct reader *r, struct saved *saved,
                                 const struct tp_tensor *tensor,
                                 struct tp_error *err)
{
    int64_t *shape = tp_arena_alloc(&r->dump->arena,
                                    ((size_t)tensor->ndim + 1) * sizeof *shape);
    if (!shape)
        return tp_fail_memory(err);
    for (int i = 0; i < tensor->ndim; i++)
        shape[i] = tensor->shape[i];
    saved->dtype = tensor->dtype;
    saved->dims = tensor->ndim;
    saved->shape = shape;
    return TP_OK;
}

/* What a file is, from its head, or from its name if it cannot be read. */
static enum tp_status look(struct reader *r, struct saved *saved,
                           struct tp_tensor_file *file, struct tp_error *err)
{
    struct tp_error own = {0};
    const char *path = saved->file->path;
    enum tp_status status = tp_tensor_file_open(path, file, &own);
    const bool whole = status == TP_OK && file->tensor_count == 1;
    saved->dtype = TP_DTYPE_COUNT;
    if (status == TP_E_MEMORY)
        return tp_fail_memory(err);
    saved->label = file->label;
    if (!whole)
        status = tp_label_from_name(path, &r->dump->arena, &saved->label, err);
    tp_label_classify(&saved->label);
    if (status == TP_OK && whole && find_role(saved))
        status = keep_shape(r, saved, &file->tensors[0], err);
    return status == TP_OK ? keep_label(r, &saved->label, err) : status;
}

static enum tp_status add_file(struct reader *r, struct tp_found *found,
                               struct tp_error *err)
{
    const char *name = tp_file_base_name(found->path);
    struct tp_tensor_file file = {0};
    struct tp_label label;
    struct saved saved = {.file = found,
                          .directory = (size_t)(name - found->path)};
    enum tp_status status = tp_label_from_name(name, &file.arena, &label, err);
    if (status == TP_OK && *label.layer_type && *label.tensor_name)
        status = look(r, &saved, &file, err);
    tp_tensor_file_close(&file);
    tp_arena_clear(&file.arena);
    if (status != TP_OK || !saved.label.layer_type || !find_role(&saved))
        return status;
    if (!tp_number_set_has(&r->wish->steps, saved.label.iteration) ||
        !tp_number_set_has(&r->wish->ranks, saved.label.rank)) {
        r->unwanted++;
        return TP_OK;
    }
    status =
        tp_grow(&r->saved, &r->capacity, r->count + 1, sizeof *r->saved, err);
    if (status == TP_OK)
        r->saved[r->count++] = saved;
    return status;
}

static int compare_places(const struct saved *a, const struct saved *b)
{
    const size_t shared =
        a->directory < b->directory ? a->directory : b->directory;
    int result = tp_order_int64(a->label.iteration, b->label.iteration);
    if (result == 0)
        result = tp_order_int64(a->label.rank, b->label.rank);
    if (result == 0)
        result = memcmp(a->file->path, b->file->path, shared);
    return result ? result : tp_order_size(a->directory, b->directory);
}

static int compare_saved(const void *left, const void *right)
{
    const struct saved *a = left, *b = right;
    int result = compare_places(a, b);
    if (result == 0)
        result = tp_order_int64(a->label.counter, b->label.counter);
    if (result == 0)
        result = strcmp(a->label.timestamp, b->label.timestamp);
    return result ? result : strcmp(a->file->path, b->file->path);
}

/* --- calls ---------------------------------------------------------------- */

/* Whether two files may be of one call. Results of backward calls are saved
 * without their layer. */
static bool belong(const struct saved *a, const struct saved *b)
{
    const struct tp_label *x = &a->label, *y = &b->label;
    return a->kind == b->kind &&
           (x->layer_idx == y->layer_idx || y->layer_idx < 0) &&
           !strcmp(x->quant_type, y->quant_type) &&
           x->group_idx == y->group_idx && x->sample_idx == y->sample_idx;
}

static void forget(struct reader *r, size_t at)
{
    memmove(&r->waiters[at], &r->waiters[at + 1],
            (r->waiting - at - 1) * sizeof *r->waiters);
    r->waiting--;
}

/* Nothing came for it. */
static void give_up(struct reader *r, size_t at)
{
    if (r->incomplete++ == 0)
        r->example = tp_file_base_name(r->waiters[at].last->file->path);
    forget(r, at);
}

static enum tp_status add_tensor(struct tp_dump_place *place,
                                 const struct saved *saved, int number,
                                 struct tp_error *err)
{
    struct tp_dump_item *item;
    enum tp_status status = tp_dump_item_add(place, &item, err);
    if (status != TP_OK)
        return status;
    item->kind = TP_DUMP_TENSOR;
    item->place =
        number < saved->kind->operands ? TP_MSPROBE_INPUT : TP_MSPROBE_OUTPUT;
    item->argument = tp_arena_format(&place->arena, "%d",
                                     number < saved->kind->operands
                                         ? number
                                         : number - saved->kind->operands);
    item->type = "torch.Tensor";
    item->has_shape = saved->dtype < TP_DTYPE_COUNT;
    if (item->has_shape)
        item->dtype = tp_arena_format(&place->arena, "torch.%s",
                                      tp_dtype_info(saved->dtype)->name);
    item->element = saved->dtype;
    item->dims = saved->dims;
    item->shape = saved->shape;
    item->file = saved->file;
    item->data_name = tp_file_base_name(item->file->path);
    return TP_OK;
}

/* What the operands were quantised to, if the run did so. */
static enum tp_status add_format(struct tp_dump_place *place, const char *word,
                                 struct tp_error *err)
{
    struct tp_dump_item *item;
    struct tp_json *value = tp_arena_alloc(&place->arena, sizeof *value);
    if (!value)
        return tp_fail_memory(err);
    enum tp_status status = tp_dump_item_add(place, &item, err);
    if (status != TP_OK)
        return status;
    *value = (struct tp_json){
        .kind = TP_JSON_STRING, .text = word, .length = strlen(word)};
    item->kind = TP_DUMP_VALUE;
    item->place = TP_MSPROBE_KWARGS;
    item->argument = "quant_type";
    item->type = "str";
    item->value = value;
    return TP_OK;
}

/* "L1.linear.": what its calls are counted by. */
static const char *prefix_of(struct reader *r, const struct saved *saved)
{
    const char *text =
        saved->label.layer_idx < 0
            ? tp_arena_format(&r->dump->arena, "Layer.%s.", saved->kind->api)
            : tp_arena_format(&r->dump->arena, "L%" PRId64 ".%s.",
                              saved->label.layer_idx, saved->kind->api);
    return tp_intern(&r->words, &r->dump->arena, text);
}

static enum tp_status add_call(struct reader *r, struct tp_dump_place *place,
                               const struct waiter *waiter,
                               struct tp_error *err)
{
    const struct saved *first = waiter->parts[0];
    const char *prefix = prefix_of(r, first);
    struct tp_dump_call *call;
    if (!prefix)
        return tp_fail_memory(err);
    size_t *number = tp_text_index_put(&r->numbers, prefix);
    *number = *number == TP_TEXT_NEW ? 0 : *number + 1;
    enum tp_status status = tp_dump_call_add(
        place, tp_arena_format(&place->arena, "%s%zu.forward", prefix, *number),
        &call, err);
    for (int i = 0; i < ROLES && status == TP_OK; i++)
        if (waiter->parts[i])
            status = add_tensor(place, waiter->parts[i], i, err);
    if (status == TP_OK && *first->label.quant_type)
        status = add_format(place, first->label.quant_type, err);
    if (status == TP_OK)
        call->count = place->item_count - call->first;
    return status;
}

static bool is_complete(const struct waiter *waiter, const struct kind *kind)
{
    for (int i = 0; i < kind->operands + kind->results; i++)
        if (!waiter->parts[i] && i != kind->spared)
            return false;
    return true;
}

/* A file joins those that wait for it, or waits itself. */
static enum tp_status take(struct reader *r, struct tp_dump_place *place,
                           const struct saved *saved, struct tp_error *err)
{
    const struct kind *kind = saved->kind;
    struct waiter waiter = {.last = saved};
    size_t at = r->waiting;
    while (at > 0 && !belong(r->waiters[at - 1].last, saved))
        at--;
    if (at > 0 && r->waiters[at - 1].parts[saved->role])
        give_up(r, at - 1); /* another call begins                          */
    else if (at > 0) {
        waiter = r->waiters[at - 1];
        forget(r, at - 1);
    }
    waiter.parts[saved->role] = saved;
    if (saved->role < kind->operands)
        waiter.last = saved; /* results may lack the layer                  */
    if (is_complete(&waiter, kind))
        return add_call(r, place, &waiter, err);
    if (r->waiting == WAITERS)
        give_up(r, 0);
    r->waiters[r->waiting++] = waiter;
    return TP_OK;
}

/* --- places --------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    const struct tp_dump_file *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static enum tp_status fill_place(struct reader *r, struct tp_dump_place *place,
                                 const struct saved *saved, size_t count,
                                 struct tp_error *err)
{
    const size_t length = saved->directory > 1 ? saved->directory - 1 : 0;
    enum tp_status status = TP_OK;
    tp_dump_place_init(place);
    place->step = saved->label.iteration;
    place->rank = saved->label.rank;
    place->directory =
        length ? tp_arena_text(&r->dump->arena, saved->file->path, length)
               : ".";
    place->files = calloc(count, sizeof *place->files);
    if (!place->directory || !place->files)
        return tp_fail_memory(err);
    tp_text_index_clear(&r->numbers);
    if (!tp_text_index_init(&r->numbers, count))
        return tp_fail_memory(err);
    for (size_t i = 0; i < count && status == TP_OK; i++) {
        place->files[place->file_count++] = (struct tp_dump_file){
            tp_file_base_name(saved[i].file->path), saved[i].file, true};
        status = take(r, place, &saved[i], err);
    }
    while (r->waiting)
        give_up(r, 0);
    qsort(place->files, place->file_count, sizeof *place->files, compare_names);
    return status == TP_OK ? tp_dump_calls_index(place, err) : status;
}

static enum tp_status add_places(struct reader *r, struct tp_error *err)
{
    struct tp_dump *dump = r->dump;
    enum tp_status status = TP_OK;
    for (size_t i = 0, end; i < r->count && status == TP_OK; i = end) {
        for (end = i + 1;
             end < r->count && !compare_places(&r->saved[i], &r->saved[end]);)
            end++;
        status = tp_grow(&dump->places, &dump->place_capacity,
                         dump->place_count + 1, sizeof *dump->places, err);
        if (status == TP_OK)
            status = fill_place(r, &dump->places[dump->place_count++],
                                &r->saved[i], end - i, err);
    }
    return status;
}

static enum tp_status check_calls(const struct reader *r, struct tp_error *err)
{
    size_t calls = 0;
    for (size_t i = 0; i < r->dump->place_count; i++)
        calls += r->dump->places[i].call_count;
    if (r->incomplete)
        tp_notes_add(
            &r->dump->notes,
            tp_arena_format(&r->dump->arena,
                            "%zu calls of linear or attention lack an operand "
                            "or their result, the first one beside %s",
                            r->incomplete, r->example));
    if (calls == 0 && r->count == 0 && r->unwanted)
        return tp_fail(err, TP_E_NOT_FOUND, -1,
                       "%zu files of linear or attention were found, but none "
                       "of a step and rank that was asked for",
                       r->unwanted);
    return calls ? TP_OK
                 : tp_fail(err, TP_E_NOT_FOUND, -1,
                           "%s%s has no dump of msprobe, and no linear or "
                           "attention that tensor_saver saved with all its "
                           "operands and its result",
                           r->wish->roots[0],
                           r->wish->root_count > 1 ? " or another" : "");
}

enum tp_status tp_saved_calls_read(const struct tp_dump_read_options *options,
                                   struct tp_dump *dump, struct tp_error *err)
{
    struct reader r = {.wish = &options->wish, .dump = dump};
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < dump->found.count && status == TP_OK; i++)
        status = options->stop && *options->stop
                     ? tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted")
                     : add_file(&r, &dump->found.files[i], err);
    if (status == TP_OK && r.count)
        qsort(r.saved, r.count, sizeof *r.saved, compare_saved);
    if (status == TP_OK)
        status = add_places(&r, err);
    if (status == TP_OK)
        status = check_calls(&r, err);
    tp_text_index_clear(&r.numbers);
    tp_intern_clear(&r.words);
    free(r.saved);
    return status;
}
