/* SPDX-License-Identifier: MIT */
#include "formats/torch/torch_object.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/text.h"
#include "formats/torch/torch_danger.h"
#include "formats/torch/torch_optimizer.h"
#include "formats/torch/torch_path.h"
#include "formats/torch/torch_rebuild.h"
#include "formats/torch/torch_scaled.h"

/*
 * The search for tensors: a walk over the values with a stack of its own,
 * which notes what it finds; afterwards the notes become tensors and skips,
 * so that the array of tensors has its final size from the start. A value that
 * several paths lead to is visited on each, as its owner would reach it; to
 * visit it once would hide all but one of its names. A budget in proportion to
 * the pickle ends what hostile sharing would make endless, and a bit for each
 * value that is being visited ends cycles. Cost: one step for each value and
 * path; 16 bytes for each open container.
 */

enum {
    UNWRAP_MAX = 64,       /* wrappers around one tensor                  */
    ATTRIBUTES_MAX = 64    /* of a distributed tensor; torch has two      */
};

/* What the walk found: a tensor's call, or what stood in the way. */
struct note {
    const char *path;
    const struct tp_torch_global *global; /* TENSOR or UNSUPPORTED, or NULL */
    const struct tp_torch_layout *layout; /* of codes and scales, or NULL   */
    struct tp_torch_object object;        /* the call of either            */
    tp_ref at;
    const char *name;   /* of a call we do not know      */
    const char *reason; /* of a limit that was reached   */
};

/* A container in the course of being visited. */
struct frame {
    tp_ref ref;
    tp_ref blame;  /* unknown call whose arguments we are in, if any */
    uint32_t next; /* child                                          */
    uint32_t path_length;
};

struct walk {
    const struct tp_pickle *pickle;
    struct tp_arena *arena;
    struct tp_optimizer **optimizer; /* where the next one goes          */
    uint64_t parameters;             /* of optimizers that may still come    */
    struct note *notes;
    size_t note_count, note_room;
    struct frame *frames;
    size_t depth, frame_room;
    unsigned char *open; /* a bit per value: it has a frame              */
    uint64_t budget;     /* values still to be visited                   */
    tp_ref blamed;       /* the last call that was noted as unknown      */
    bool too_deep;       /* noted already                                */
    uint32_t path_length;
    uint32_t blame_length; /* of the path of the outermost unknown call   */
    struct tp_error *err;
    struct tp_torch_path at; /* path and path_length */
    char path[TP_TORCH_PATH_ROOM]; /* last: it needs no initialisation    */
};

/* ---- notes ------------------------------------------------------------ */

static enum tp_status add_note(struct walk *w, uint32_t path_length,
                               struct note note)
{
    enum tp_status status = tp_grow(&w->notes, &w->note_room, w->note_count + 1,
                                    sizeof note, w->err);
    if (status != TP_OK)
        return status;
    note.path = tp_torch_path_text(&w->at, path_length, w->arena);
    if (!note.path)
        return tp_fail_memory(w->err);
    w->notes[w->note_count++] = note;
    return TP_OK;
}

static enum tp_status note_limit(struct walk *w, tp_ref at, const char *reason)
{
    return add_note(w, w->path_length,
                    (struct note){.at = at, .reason = reason});
}

/* A tensor, or an unsupported one; inside the arguments of an unknown call
 * it is that call which is noted, once. */
static enum tp_status note_tensor(struct walk *w, tp_ref blame,
                                  struct note note)
{
    if (blame == TP_REF_NONE)
        return add_note(w, w->path_length, note);
    if (blame == w->blamed)
        return TP_OK;
    w->blamed = blame;
    const char *name = tp_pickle_callable(w->pickle, blame);
    return add_note(
        w, w->blame_length,
        (struct note){.at = blame, .name = name ? name : "a nameless call"});
}

/* A storage that is not one of a tensor: what it holds is not known. */
static enum tp_status note_storage(struct walk *w, tp_ref blame, tp_ref at)
{
    return blame == TP_REF_NONE
               ? add_note(w, w->path_length, (struct note){.at = at})
               : note_tensor(w, blame, (struct note){.at = at});
}

/* ---- the walk --------------------------------------------------------- */

static bool is_open(const struct walk *w, tp_ref ref)
{
    return w->open[ref / 8] >> (ref % 8) & 1;
}

static void set_open(struct walk *w, tp_ref ref, bool open)
{
    unsigned char bit = (unsigned char)(1u << (ref % 8));
    if (open)
        w->open[ref / 8] |= bit;
    else
        w->open[ref / 8] &= (unsigned char)~bit;
}

static enum tp_status enter(struct walk *w, tp_ref ref, tp_ref blame)
{
    if (is_open(w, ref))
        return TP_OK; /* a cycle closes here */
    if (w->depth >= TP_LIMIT_NESTING) {
        if (w->too_deep)
            return TP_OK;
        w->too_deep = true;
        /* the place of the outermost container tells enough */
        w->path_length = w->frames[1].path_length;
        return note_limit(w, ref, "containers nested too deep");
    }
    enum tp_status status = tp_grow(&w->frames, &w->frame_room, w->depth + 1,
                                    sizeof *w->frames, w->err);
    if (status != TP_OK)
        return status;
    set_open(w, ref, true);
    w->frames[w->depth++] = (struct frame){
        .ref = ref, .blame = blame, .path_length = w->path_length};
    return TP_OK;
}

/* What is left of a call when wrappers are taken off it. */
struct unwrapped {
    const struct tp_torch_global *global; /* NULL: unknown */
    tp_ref ref;      /* the value found; a call or something else */
    tp_ref callable; /* what names the function */
    tp_ref args;     /* of the call */
    tp_ref state;    /* attributes of a tensor subclass, or TP_REF_NONE */
};

/* Like tp_pickle_lookup, but of the first few pairs: a large dict may be the
 * attributes of a million tensors. */
static tp_ref attribute(const struct tp_pickle *pickle, tp_ref dict,
                        const char *name)
{
    tp_ref key, value;
    for (size_t i = 0; i < ATTRIBUTES_MAX; i++) {
        if (!tp_pickle_pair(pickle, dict, i, &key, &value))
            break;
        if (tp_pickle_is(pickle, key, name))
            return value;
    }
    return TP_REF_NONE;
}

/*
 * The part of a distributed tensor that this rank has. The attributes are a
 * dict, or a pair of the usual ones and those of __slots__.
 */
static tp_ref local_tensor(const struct tp_pickle *pickle, tp_ref state)
{
    static const char name[] = "_local_tensor";
    tp_ref found = attribute(pickle, state, name);
    for (size_t i = 0; found == TP_REF_NONE && i < 2; i++)
        found = attribute(pickle, tp_pickle_item(pickle, state, i), name);
    return found;
}

static struct unwrapped unwrap(const struct tp_pickle *pickle, tp_ref ref)
{
    struct unwrapped u = {
        .ref = ref,
        .callable = ref,
        .args = TP_REF_NONE,
        .state = TP_REF_NONE,
    };
    for (int i = 0; i < UNWRAP_MAX; i++) {
        if (u.callable == u.ref) {
            if (tp_pickle_kind(pickle, u.ref) != TP_VALUE_CALL)
                return (struct unwrapped){.ref = u.ref,
                                          .callable = TP_REF_NONE,
                                          .args = TP_REF_NONE,
                                          .state = u.state};
            u.args = pickle->values[u.ref].u.call.args;
        }
        u.global = tp_torch_global_find(tp_pickle_callable(pickle, u.callable));
        if (u.global && u.global->role == TP_TORCH_WRAPPER) {
            u.ref = u.callable = tp_pickle_item(pickle, u.args, 0);
        } else if (u.global && u.global->role == TP_TORCH_FROM_TYPE) {
            u.callable = tp_pickle_item(pickle, u.args, 0);
            u.state = tp_pickle_item(pickle, u.args, 3);
            u.args = tp_pickle_item(pickle, u.args, 2);
        } else if (u.global && u.global->role == TP_TORCH_SHELL &&
                   local_tensor(pickle, u.state) != TP_REF_NONE) {
            /* the other attributes tell of the mesh; no data of the user */
            u.ref = u.callable = local_tensor(pickle, u.state);
            u.state = TP_REF_NONE;
        } else {
            return u;
        }
    }
    u.global = NULL;
    return u;
}

static enum tp_status visit_call(struct walk *w, tp_ref ref, tp_ref blame)
{
    struct unwrapped u = unwrap(w->pickle, ref);
    if (u.ref == TP_REF_NONE)
        return TP_OK;
    const struct tp_torch_object object = {u.callable, u.args, u.state};
    struct note note = {.layout = tp_torch_layout_of(w->pickle, &object),
                        .global = u.global,
                        .object = object,
                        .at = ref};
    if (note.layout && !tp_torch_layout_walks(note.layout))
        return note_tensor(w, blame, note);
    if (u.global && u.global->role == TP_TORCH_ARRAY)
        note.object.args = u.ref; /* the call itself, or one it is state of */
    enum tp_status status = TP_OK;
    bool tensor = u.global && (u.global->role == TP_TORCH_TENSOR ||
                               u.global->role == TP_TORCH_ARRAY ||
                               u.global->role == TP_TORCH_SHELL ||
                               u.global->role == TP_TORCH_UNSUPPORTED);
    if (tensor)
        status = note_tensor(w, blame, note);
    else if (tp_torch_is_storage(w->pickle, u.ref))
        status = note_storage(w, blame, u.ref);
    else if (tp_pickle_kind(w->pickle, u.ref) != TP_VALUE_PERSISTENT)
        status = enter(w, u.ref, blame);
    /* tensors among the attributes of a tensor */
    if (status == TP_OK && tensor &&
        tp_pickle_kind(w->pickle, u.state) != TP_VALUE_NONE)
        status = enter(w, u.state, blame);
    return status;
}

/* Enters a dict; if it is an optimizer's, what it says of parameters. */
static enum tp_status visit_dict(struct walk *w, tp_ref ref, tp_ref blame)
{
    struct tp_optimizer *optimizer;
    enum tp_status status = tp_torch_optimizer(w->pickle, ref, &w->parameters,
                                               w->arena, &optimizer, w->err);
    if (status != TP_OK)
        return status;
    if (optimizer && w->optimizer) {
        optimizer->path = tp_torch_path_text(&w->at, w->path_length, w->arena);
        if (!optimizer->path)
            return tp_fail_memory(w->err);
        *w->optimizer = optimizer;
        w->optimizer = &optimizer->next;
    }
    return enter(w, ref, blame);
}

/* Visits a value whose path is w->path. */
static enum tp_status visit(struct walk *w, tp_ref ref, tp_ref blame)
{
    switch (tp_pickle_kind(w->pickle, ref)) {
    case TP_VALUE_LIST:
    case TP_VALUE_TUPLE:
    case TP_VALUE_SET:
        return enter(w, ref, blame);
    case TP_VALUE_DICT:
        return visit_dict(w, ref, blame);
    case TP_VALUE_CALL:
        return visit_call(w, ref, blame);
    case TP_VALUE_PERSISTENT:
        return tp_torch_is_storage(w->pickle, ref) ? note_storage(w, blame, ref)
                                                   : TP_OK;
    default:
        return TP_OK;
    }
}

/* A child of a container: the value, and how the path goes on to it. */
struct child {
    tp_ref ref, key;
    size_t index;
    enum { CHILD_SAME, CHILD_KEY, CHILD_INDEX } step;
    bool argument; /* of a call */
};

/* Children of a call are its arguments, its items and its state. */
static bool call_child(const struct tp_pickle *pickle,
                       const struct frame *frame, struct child *child)
{
    const struct tp_value_call *call = &pickle->values[frame->ref].u.call;
    size_t pairs = call->items.count / 2;
    if (frame->next == 0) {
        /* One argument is the content itself: set([...]), dict([...]), but
         * in a tuple with names the value of the only name. */
        bool one =
            tp_pickle_length(pickle, call->args) == 1 &&
            (!pickle->values[frame->ref].made ||
             tp_pickle_kind(pickle, tp_pickle_item(pickle, call->args, 0)) ==
                 TP_VALUE_TUPLE);
        child->ref = one ? tp_pickle_item(pickle, call->args, 0) : call->args;
        child->argument = true;
        child->step = CHILD_SAME;
    } else if (tp_pickle_pair(pickle, frame->ref, frame->next - 1, &child->key,
                              &child->ref)) {
        child->index = frame->next - 1;
        child->step = child->key == TP_REF_NONE ? CHILD_INDEX : CHILD_KEY;
    } else if (frame->next == pairs + 1) {
        child->ref = call->state;
        child->step = CHILD_SAME;
    } else {
        return false;
    }
    return true;
}

static bool next_child(const struct tp_pickle *pickle, struct frame *frame,
                       struct child *child)
{
    *child = (struct child){.ref = TP_REF_NONE};
    bool more;
    switch (tp_pickle_kind(pickle, frame->ref)) {
    case TP_VALUE_DICT:
        child->step = CHILD_KEY;
        more = tp_pickle_pair(pickle, frame->ref, frame->next, &child->key,
                              &child->ref);
        break;
    case TP_VALUE_CALL:
        more = call_child(pickle, frame, child);
        break;
    default:
        child->step = CHILD_INDEX;
        child->index = frame->next;
        child->ref = tp_pickle_item(pickle, frame->ref, frame->next);
        more = child->index < tp_pickle_length(pickle, frame->ref);
        break;
    }
    frame->next++;
    return more;
}

static bool can_hold_tensors(const struct tp_pickle *pickle, tp_ref ref)
{
    enum tp_value_kind kind = tp_pickle_kind(pickle, ref);
    return kind == TP_VALUE_LIST || kind == TP_VALUE_TUPLE ||
           kind == TP_VALUE_SET || kind == TP_VALUE_DICT ||
           kind == TP_VALUE_CALL || kind == TP_VALUE_PERSISTENT;
}

static enum tp_status visit_child(struct walk *w, const struct frame *frame,
                                  const struct child *child)
{
    if (!can_hold_tensors(w->pickle, child->ref))
        return TP_OK;
    bool fits = child->step == CHILD_SAME ||
                (child->step == CHILD_KEY
                     ? tp_torch_path_key(&w->at, w->pickle, child->key)
                     : tp_torch_path_item(&w->at, child->index));
    if (!fits) {
        w->path_length = frame->path_length;
        return note_limit(w, child->ref, "its path is too long");
    }
    tp_ref blame = frame->blame;
    /* What a function makes of a tensor is unknown; an object made by its
     * class holds what it was given, as tuples with names do. */
    if (child->argument && blame == TP_REF_NONE &&
        !w->pickle->values[frame->ref].made) {
        const char *name = tp_pickle_callable(w->pickle, frame->ref);
        if (!tp_torch_global_find(name)) {
            blame = frame->ref;
            w->blame_length = frame->path_length;
        }
    }
    return visit(w, child->ref, blame);
}

static enum tp_status walk_all(struct walk *w)
{
    enum tp_status status = visit(w, w->pickle->root, TP_REF_NONE);
    while (status == TP_OK && w->depth > 0) {
        struct frame *frame = &w->frames[w->depth - 1];
        struct child child;
        w->path_length = frame->path_length;
        if (w->budget-- == 0) {
            w->path_length = 0;
            return note_limit(w, w->pickle->root,
                              "too many paths lead to the same values; the "
                              "rest was not visited");
        }
        if (next_child(w->pickle, frame, &child)) {
            struct frame parent = *frame;
            status = visit_child(w, &parent, &child);
        } else {
            set_open(w, frame->ref, false);
            w->depth--;
        }
    }
    return status;
}

/* ---- from notes to tensors -------------------------------------------- */

/* Turns one note into tensors, or says why there is none, or not all. */
static enum tp_status use_note(struct tp_torch_builder *builder,
                               const struct note *note,
                               struct tp_torch_made *made, struct tp_error *why)
{
    int64_t at = tp_pickle_offset(builder->pickle, note->at);
    enum tp_status status;
    made->count = 0;
    if (note->reason)
        return tp_fail(why, TP_E_LIMIT, at, "%s", note->reason);
    if (note->name)
        return tp_fail(why, TP_E_UNSUPPORTED, at,
                       "a tensor, an array or a storage inside the unknown "
                       "object %s",
                       note->name);
    if (note->layout) {
        status = tp_torch_scaled(builder, note->layout, &note->object,
                                 note->path, made, why);
    } else if (!note->global) {
        return tp_fail(why, TP_E_UNSUPPORTED, at,
                       "a storage that belongs to no tensor");
    } else if (note->global->role != TP_TORCH_TENSOR &&
               note->global->role != TP_TORCH_ARRAY) {
        return tp_fail(why, TP_E_UNSUPPORTED, at, "%s are not supported",
                       note->global->what);
    } else {
        status = tp_torch_rebuild(builder, note->global, note->object.args,
                                  made->tensors, why);
        made->tensors->path = note->path;
        made->count = status == TP_OK;
    }
    if (status != TP_OK && why->offset < 0)
        why->offset = at;
    return status;
}

static size_t most_tensors(const struct note *note)
{
    return note->layout ? tp_torch_layout_parts(note->layout)
                        : note->global != NULL;
}

static enum tp_status use_notes(struct tp_tensor_file *file,
                                struct tp_torch_builder *builder,
                                const struct walk *w, struct tp_error *err)
{
    size_t tensors = 0;
    for (size_t i = 0; i < w->note_count; i++)
        tensors += most_tensors(&w->notes[i]);
    file->tensors =
        tp_arena_alloc(&file->arena, tensors * sizeof *file->tensors);
    if (!file->tensors)
        return tp_fail_memory(err);
    for (size_t i = 0; i < w->note_count; i++) {
        struct tp_error why = {0};
        struct tp_torch_made made = {&file->tensors[file->tensor_count], 0};
        enum tp_status status = use_note(builder, &w->notes[i], &made, &why);
        file->tensor_count += made.count;
        if (status == TP_E_MEMORY ||
            (status != TP_OK &&
             tp_tensor_file_skip(file, w->notes[i].path, &why, NULL) != TP_OK))
            return tp_fail_memory(err);
    }
    tp_torch_scaled_mark(file->tensors, file->tensor_count);
    return TP_OK;
}

/* ---- what the payload says of itself ----------------------------------- */

enum tp_status tp_torch_metadata(const struct tp_pickle *pickle,
                                 struct tp_metadata *metadata, size_t count,
                                 struct tp_arena *arena, struct tp_error *err)
{
    tp_ref dict = tp_pickle_lookup(pickle, pickle->root, "metadata");
    tp_ref meta = TP_REF_NONE;
    if (tp_pickle_lookup(pickle, pickle->root, "value") != TP_REF_NONE)
        meta = tp_pickle_lookup(pickle, pickle->root, "meta");
    for (size_t i = 0; i < count; i++) {
        struct tp_metadata *answer = &metadata[i];
        bool beside = strncmp(answer->name, "meta.", 5) == 0;
        tp_ref from = answer->top ? pickle->root : beside ? meta : dict;
        tp_ref ref =
            tp_pickle_lookup(pickle, from, answer->name + (beside ? 5 : 0));
        const char *text;
        size_t length;
        int64_t number;
        if (tp_pickle_text(pickle, ref, &text, &length)) {
            if (length > TP_LIMIT_LABEL_BYTES)
                continue;
            answer->text = tp_arena_text(arena, text, length);
            if (!answer->text)
                return tp_fail_memory(err);
            answer->length = length;
        } else if (tp_pickle_kind(pickle, ref) != TP_VALUE_BOOL &&
                   tp_pickle_int(pickle, ref, &number) && number >= 0) {
            answer->number = number;
        }
    }
    return TP_OK;
}

/* ---- all of it --------------------------------------------------------- */

/* A walk over all values of a pickle, from its start. */
static void walk_init(struct walk *w, const struct tp_pickle *pickle,
                      struct tp_tensor_file *file, struct tp_error *err)
{
    memset(w, 0, offsetof(struct walk, path));
    w->pickle = pickle;
    w->arena = &file->arena;
    w->parameters = pickle->item_count;
    w->blamed = TP_REF_NONE;
    w->err = err;
    w->at = (struct tp_torch_path){w->path, &w->path_length, false};
    /* Shared values are visited once on each path to them. Honest files
     * share little; hostile ones double at every level. */
    w->budget = 2 * ((uint64_t)pickle->count + pickle->item_count) + 4096;
}

static int compare_paths(const void *left, const void *right)
{
    const struct note *const *a = left, *const *b = right;
    return strcmp((*a)->path, (*b)->path);
}

/* Notes by path; those of equal paths are neighbours. Owned by the caller. */
static struct note **sort_notes(const struct walk *w)
{
    struct note **sorted = calloc(w->note_count + 1, sizeof *sorted);
    for (size_t i = 0; i < w->note_count && sorted; i++)
        sorted[i] = &w->notes[i];
    if (sorted)
        qsort(sorted, w->note_count, sizeof *sorted, compare_paths);
    return sorted;
}

/* Where several notes have one path ({"a": {"b": T}, "a.b": T}), these get
 * brackets: a second walk makes the paths of all with them. */
static enum tp_status part_paths(struct walk *w, struct walk *again)
{
    struct note **sorted = sort_notes(w);
    if (!sorted)
        return tp_fail_memory(w->err);
    enum tp_status status = TP_OK;
    bool walked = false;
    for (size_t first = 0, end; first < w->note_count; first = end) {
        const char *path = sorted[first]->path;
        for (end = first + 1; end < w->note_count; end++) {
            if (strcmp(sorted[end]->path, path) != 0)
                break;
        }
        if (end - first > 1 && !walked) {
            walked = true;
            again->at.brackets = true;
            again->open = w->open;
            status = walk_all(again);
        }
        if (status != TP_OK || (walked && again->note_count != w->note_count))
            break; /* the latter: brackets left no room for some place */
        for (size_t i = first; i < end && end - first > 1; i++)
            sorted[i]->path = again->notes[sorted[i] - w->notes].path;
    }
    free(sorted);
    return status;
}

enum tp_status tp_torch_collect(struct tp_tensor_file *file,
                                const struct tp_pickle *pickle,
                                struct tp_torch_source *source,
                                struct tp_error *err)
{
    struct tp_torch_builder builder = {
        .pickle = pickle, .source = source, .arena = &file->arena};
    struct walk w, again;
    walk_init(&w, pickle, file, err);
    walk_init(&again, pickle, file, err);
    w.optimizer = &file->optimizers;
    w.open = tp_arena_alloc(&file->arena, pickle->count / 8 + 1);
    if (!w.open)
        return tp_fail_memory(err);
    enum tp_status status = tp_torch_builder_init(&builder, err);
    if (status == TP_OK)
        status = walk_all(&w);
    if (status == TP_OK)
        status = part_paths(&w, &again);
    if (status == TP_OK)
        status = use_notes(file, &builder, &w, err);
    if (status == TP_OK)
        status = tp_torch_danger_tell(file, pickle, err);
    if (status == TP_OK)
        status = tp_torch_metadata(pickle, file->metadata,
                                   file->metadata_count, &file->arena, err);
    free(w.notes);
    free(w.frames);
    free(again.notes);
    free(again.frames);
    return status;
}
