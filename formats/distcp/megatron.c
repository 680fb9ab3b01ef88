/* SPDX-License-Identifier: MIT */
/*
 * A checkpoint of Megatron-LM, its legacy layout: a folder with a file for each
 * rank of tensor (TT) and pipeline (PPP) parallelism,
 *
 *     mp_rank_TT[_PPP]/model_optim_rng.pt
 *
 * in which "model", or "modelV" of virtual stages, has this rank's part of its
 * stage, with layers numbered from 0 in each stage. Which parameters are split,
 * and along which axis, no file says: it is known of the layers of Megatron by
 * their names. Those are joined here, with the layer's number in the model; of
 * all others each rank's copy is read from its own file, which is told by how
 * much its layers are to be moved. Parts of a gated linear_fc1 follow each
 * other by rank, each with its gate and its up projection. Ranks of experts (a
 * third number) are left as they are. Cost: the pickles of all files, once
 * more than for reading them one by one.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/notes.h"
#include "base/order.h"
#include "base/text.h"
#include "formats/distcp/unit.h"

static const char PATTERN[] = "mp_rank_*";
static const char HEAD[] = "mp_rank_";
static const char FILE_NAME[] = "model_optim_rng.pt";

/* Ranks and layers are some thousand at most; a model has a few lists of layers
 * in each of its stages, which are looked through for each tensor. */
enum { NUMBER_MAX = 1 << 16, AXES = 2, LISTS_MAX = 1024 };

/* ---- names -------------------------------------------------------------- */

/* A number of a name; NULL: none is there, or none that can be. */
static const char *read_number(const char *text, int64_t *number)
{
    const size_t digits = strspn(text, "0123456789");
    *number = tp_digits_value(text, digits);
    return digits && *number >= 0 && *number < NUMBER_MAX ? text + digits
                                                          : NULL;
}

/* The ranks of "mp_rank_TT" or "mp_rank_TT_PPP", then `end`. */
static bool read_ranks(const char *name, char end, int64_t *tensor,
                       int64_t *stage)
{
    *stage = 0;
    if (strncmp(name, HEAD, strlen(HEAD)) != 0)
        return false;
    const char *at = read_number(name + strlen(HEAD), tensor);
    if (at && *at == '_')
        at = read_number(at + 1, stage);
    return at && *at == end;
}

size_t tp_megatron_folder(const char *path)
{
    int64_t tensor, stage;
    const char *name = tp_file_base_name(path);
    if (strcmp(name, FILE_NAME) != 0 || name == path)
        return 0;
    const char *folder = name - 1;
    while (folder > path && folder[-1] != '/')
        folder--;
    return read_ranks(folder, '/', &tensor, &stage) ? (size_t)(folder - path)
                                                    : 0;
}

/* Where the number of a layer stands in a key: behind "layers."; NULL: in none.
 */
static const char *layer_of(const char *path, int64_t *layer)
{
    static const char word[] = ".layers.";
    const char *at = strstr(path, word);
    const char *end = at ? read_number(at + strlen(word), layer) : NULL;
    return end && *end == '.' ? at + strlen(word) : NULL;
}

/* "model.", "model3.": its length, and the number; 0: another key. */
static size_t chunk_of(const char *path, int64_t *chunk)
{
    static const char word[] = "model";
    *chunk = 0;
    if (strncmp(path, word, strlen(word)) != 0)
        return 0;
    const char *at = path + strlen(word);
    if (*at != '.')
        at = read_number(at, chunk);
    return at && *at == '.' ? (size_t)(at + 1 - path) : 0;
}

/* Whether a path ends in ".MODULE.LEAF" for one of the modules. */
static bool ends_in(const char *path, const char *const *modules,
                    const char *leaf)
{
    const size_t length = strlen(path), tail = strlen(leaf);
    if (length <= tail || strcmp(path + length - tail, leaf) != 0)
        return false;
    for (; *modules; modules++) {
        const size_t word = strlen(*modules);
        const size_t whole = word + tail;
        if (length > whole && path[length - whole - 1] == '.' &&
            memcmp(path + length - whole, *modules, word) == 0)
            return true;
    }
    return false;
}

/* The axis that ranks split a parameter along; -1: none, or not known. */
static int split_axis(const char *path)
{
    static const char *const by_column[] = {
        "linear_qkv",        "linear_fc1",      "linear_q",
        "linear_kv",         "linear_q_proj",   "linear_q_up_proj",
        "linear_kv_up_proj", "query_key_value", "dense_h_to_4h",
        "word_embeddings",   "output_layer",    NULL};
    static const char *const by_row[] = {"linear_proj",
                                         "linear_fc2",
                                         "dense_4h_to_h",
                                         "self_attention.dense",
                                         "inter_attention.dense",
                                         "attention.dense",
                                         NULL};
    if (strstr(path, "experts"))
        return -1;
    if (ends_in(path, by_column, ".weight") ||
        ends_in(path, by_column, ".bias"))
        return 0;
    return ends_in(path, by_row, ".weight") ? 1 : -1;
}

/* ---- what the files hold ------------------------------------------------ */

/* A part of a parameter that ranks split. */
struct part {
    const char *path;
    struct tp_storage *storage;
    enum tp_dtype dtype;
    int ndim, axis;
    int64_t size[AXES];
    size_t member, place;
    int64_t tensor, stage;
};

/* Layers with one prefix in one stage: "decoder.layers." of "model1.". */
struct layers {
    const char *prefix; /* without the chunk; of the file's arena          */
    size_t length;      /* of it, and of the chunk before it               */
    size_t chunk_length;
    int64_t chunk, stage, first, last;
    int64_t shift;
};

struct reading {
    struct tp_unit *unit;
    struct part *parts;
    size_t part_count, part_room;
    struct layers *layers;
    size_t layer_count, layer_room;
    int64_t tensors, stages; /* ranks of either kind                       */
    bool *there;             /* [stages]                                   */
    struct tp_error refused; /* why a file was not read by the system      */
    struct tp_error *err;
};

static enum tp_status note_layer(struct reading *r, const char *path,
                                 size_t chunk_length, int64_t chunk,
                                 int64_t stage)
{
    int64_t number;
    const char *at = layer_of(path, &number);
    if (!at)
        return TP_OK;
    const char *prefix = path + chunk_length;
    const size_t length = (size_t)(at - prefix);
    for (size_t i = r->layer_count; i-- > 0;) {
        struct layers *l = &r->layers[i];
        if (l->stage != stage || l->chunk != chunk || l->length != length ||
            memcmp(l->prefix, prefix, length) != 0)
            continue;
        l->first = number < l->first ? number : l->first;
        l->last = number > l->last ? number : l->last;
        return TP_OK;
    }
    if (r->layer_count == LISTS_MAX)
        return tp_fail(r->err, TP_E_UNSUPPORTED, -1,
                       "over %d lists of layers, which no model has",
                       LISTS_MAX);
    prefix = tp_arena_text(&r->unit->file->arena, prefix, length);
    if (!prefix)
        return tp_fail_memory(r->err);
    enum tp_status status =
        tp_grow(&r->layers, &r->layer_room, r->layer_count + 1,
                sizeof *r->layers, r->err);
    if (status == TP_OK)
        r->layers[r->layer_count++] = (struct layers){
            prefix, length, chunk_length, chunk, stage, number, number, 0};
    return status;
}

/* Notes a part of a parameter that is split, if it can be read as one. */
static enum tp_status note_part(struct reading *r, size_t member, size_t place,
                                int64_t tensor, int64_t stage)
{
    struct tp_tensor own = r->unit->item.tensors[place];
    const int axis = split_axis(own.path);
    struct tp_error why = {0};
    if (axis < 0 || own.ndim <= axis || own.ndim > AXES || own.scaled ||
        own.encoded || own.numel == 0)
        return TP_OK;
    enum tp_status status = tp_unit_keep_dense(r->unit, member, &own, &why);
    if (status != TP_OK)
        return status == TP_E_MEMORY ? tp_fail_memory(r->err) : TP_OK;
    struct part part = {.storage = own.storage,
                        .dtype = own.dtype,
                        .ndim = own.ndim,
                        .axis = axis,
                        .member = member,
                        .place = place,
                        .tensor = tensor,
                        .stage = stage};
    memcpy(part.size, own.shape, (size_t)own.ndim * sizeof *part.size);
    part.path =
        tp_arena_text(&r->unit->file->arena, own.path, strlen(own.path));
    if (!part.path)
        return tp_fail_memory(r->err);
    status = tp_grow(&r->parts, &r->part_room, r->part_count + 1,
                     sizeof *r->parts, r->err);
    if (status == TP_OK)
        r->parts[r->part_count++] = part;
    return status;
}

/* Whether the system, which may do so the next time, did not give all of a
 * file; the first such file is kept. */
static bool is_refused(struct reading *r, size_t member,
                       const struct tp_error *opened)
{
    struct tp_error why = *opened;
    for (const struct tp_skip *skip = r->unit->item.skips;
         opened->code == TP_OK && skip && why.code == TP_OK; skip = skip->next)
        if (skip->code == TP_E_IO || skip->code == TP_E_CHANGED) {
            tp_fail(&why, skip->code, skip->offset, "%s", skip->reason);
            tp_while(&why, "reading %s",
                     tp_file_set_name(r->unit->set, member));
        }
    if (why.code != TP_E_IO && why.code != TP_E_CHANGED)
        return false;
    if (r->refused.code == TP_OK)
        r->refused = why;
    return true;
}

/* A file that cannot be read is as one that is not there: who reads it by
 * itself says why, unless it can be read then. */
static enum tp_status read_member(struct reading *r, size_t member)
{
    int64_t tensor, stage, chunk;
    struct tp_error why = {0};
    read_ranks(tp_file_set_name(r->unit->set, member), '/', &tensor, &stage);
    const enum tp_status opened =
        tp_unit_item_open(r->unit, member, 0, UINT64_MAX, &why);
    enum tp_status status =
        opened == TP_E_MEMORY ? tp_fail_memory(r->err) : TP_OK;
    const bool refused = is_refused(r, member, &why);
    const struct tp_tensor_file *item = &r->unit->item;
    for (size_t i = 0;
         opened == TP_OK && !refused && status == TP_OK &&
         i < item->tensor_count;
         i++) {
        const char *path = item->tensors[i].path;
        const size_t length = chunk_of(path, &chunk);
        if (!length)
            continue;
        status = note_layer(r, path, length, chunk, stage);
        if (status == TP_OK)
            status = note_part(r, member, i, tensor, stage);
    }
    if (opened == TP_OK && !refused)
        r->there[stage] = true;
    tp_unit_item_close(r->unit, member);
    return status;
}

/* ---- the numbers of layers ---------------------------------------------- */

/* By prefix, and from the first layer of the model to the last. */
static int compare_layers(const void *a, const void *b)
{
    const struct layers *x = a, *y = b;
    int order = strcmp(x->prefix, y->prefix);
    if (!order)
        order = tp_order_int64(x->chunk, y->chunk);
    return order ? order : tp_order_int64(x->stage, y->stage);
}

/* Layers of stages [first, end) follow one another, unless they are numbered
 * through already. */
static void shift_layers(struct layers *first, const struct layers *end)
{
    int64_t before = 0;
    for (const struct layers *l = first; l < end; l++) {
        if (l->first != 0)
            return;
    }
    for (struct layers *l = first; l < end; l++) {
        l->shift = before;
        before += l->last + 1;
    }
}

static void number_layers(struct reading *r)
{
    if (r->layer_count)
        qsort(r->layers, r->layer_count, sizeof *r->layers, compare_layers);
    for (size_t i = 0, end; i < r->layer_count; i = end) {
        for (end = i + 1; end < r->layer_count; end++) {
            if (strcmp(r->layers[i].prefix, r->layers[end].prefix) != 0)
                break;
        }
        shift_layers(r->layers + i, r->layers + end);
    }
}

static int64_t shift_of(const struct reading *r, const char *path,
                        int64_t stage)
{
    int64_t chunk;
    const size_t length = chunk_of(path, &chunk);
    for (size_t i = 0; i < r->layer_count; i++) {
        const struct layers *l = &r->layers[i];
        if (l->stage == stage && l->chunk == chunk &&
            strncmp(path + length, l->prefix, l->length) == 0)
            return l->shift;
    }
    return 0;
}

/* ---- whole tensors ------------------------------------------------------ */

static int compare_parts(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    int order = tp_order_int64(x->stage, y->stage);
    if (!order)
        order = strcmp(x->path, y->path);
    return order ? order : tp_order_int64(x->tensor, y->tensor);
}

/* Whether these are one part of each rank, and fit each other. */
static bool are_all(const struct reading *r, const struct part *first,
                    size_t count)
{
    bool all = (int64_t)count == r->tensors;
    for (size_t i = 0; all && i < count; i++) {
        const struct part *part = &first[i];
        all = part->tensor == (int64_t)i && part->dtype == first->dtype &&
              part->ndim == first->ndim;
        for (int k = 0; all && k < part->ndim; k++)
            all = k == part->axis || part->size[k] == first->size[k];
    }
    return all;
}

/* The key in the model: without the virtual stage, with the layer's number. */
static const char *whole_path(const struct reading *r, const struct part *part)
{
    int64_t chunk, layer;
    const char *at = layer_of(part->path, &layer);
    const char *rest = part->path + chunk_of(part->path, &chunk);
    struct tp_text text = {0};
    tp_text_add(&text, "model.");
    if (at) {
        tp_text_bytes(&text, rest, (size_t)(at - rest));
        tp_text_add(&text, "%" PRId64,
                    layer + shift_of(r, part->path, part->stage));
        rest = at + strspn(at, "0123456789");
    }
    tp_text_add(&text, "%s", rest);
    return tp_arena_take(&r->unit->file->arena, &text);
}

static enum tp_status join(struct reading *r, const struct part *first,
                           size_t count)
{
    struct tp_arena *arena = &r->unit->file->arena;
    struct tp_tensor_part *boxes = calloc(count, sizeof *boxes);
    int64_t *dims = tp_arena_alloc(arena, 2 * count * AXES * sizeof *dims);
    struct tp_tensor tensor = {.dtype = first->dtype, .ndim = first->ndim};
    struct tp_error why = {0};
    int64_t shape[AXES], end = 0;
    tensor.path = whole_path(r, first);
    if (!boxes || !dims || !tensor.path) {
        free(boxes);
        return tp_fail_memory(r->err);
    }
    memcpy(shape, first->size, sizeof shape);
    tensor.shape = shape;
    for (size_t i = 0; i < count; i++) {
        int64_t *offset = dims + 2 * i * AXES, *size = offset + AXES;
        memset(offset, 0, AXES * sizeof *offset);
        memcpy(size, first[i].size, sizeof first[i].size);
        offset[first->axis] = end;
        end += size[first->axis];
        boxes[i] = (struct tp_tensor_part){first[i].storage, offset, size};
    }
    shape[first->axis] = end;
    enum tp_status status = tp_tensor_join(arena, &tensor, boxes, count, &why);
    free(boxes);
    if (status == TP_E_MEMORY)
        return tp_fail_memory(r->err);
    return status == TP_OK
               ? tp_unit_add(r->unit, &tensor, r->err)
               : tp_tensor_file_skip(r->unit->file, tensor.path, &why, r->err);
}

/* Joins what is whole; the parts that are left stay with their files, and are
 * moved to the front. */
static enum tp_status join_all(struct reading *r)
{
    enum tp_status status = TP_OK;
    size_t joined = 0;
    if (r->part_count)
        qsort(r->parts, r->part_count, sizeof *r->parts, compare_parts);
    for (size_t i = 0, end; status == TP_OK && i < r->part_count; i = end) {
        const struct part *first = &r->parts[i];
        for (end = i + 1; end < r->part_count; end++) {
            if (r->parts[end].stage != first->stage ||
                strcmp(r->parts[end].path, first->path) != 0)
                break;
        }
        if (r->tensors < 2 || !are_all(r, first, end - i))
            continue;
        status = join(r, first, end - i);
        memmove(&r->parts[joined], first, (end - i) * sizeof *first);
        joined += end - i;
    }
    r->part_count = joined;
    return status;
}

/* ---- what is told of the files ------------------------------------------ */

static int compare_places(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    const int order = tp_order_size(x->member, y->member);
    return order ? order : tp_order_size(x->place, y->place);
}

static enum tp_status tell_layers(const struct reading *r, int64_t stage,
                                  struct tp_rank_file *told)
{
    struct tp_arena *arena = &r->unit->file->arena;
    struct tp_layer_shift *shifts =
        tp_arena_alloc(arena, (r->layer_count + 1) * sizeof *shifts);
    if (!shifts)
        return tp_fail_memory(r->err);
    for (size_t i = 0; i < r->layer_count; i++) {
        const struct layers *l = &r->layers[i];
        struct tp_text prefix = {0};
        if (l->stage != stage || l->shift == 0)
            continue;
        if (l->chunk_length > strlen("model."))
            tp_text_add(&prefix, "model%" PRId64 ".%s", l->chunk, l->prefix);
        else
            tp_text_add(&prefix, "model.%s", l->prefix);
        const char *text =
            tp_arena_text(arena, tp_text_get(&prefix), prefix.length);
        const bool failed = prefix.failed || !text;
        tp_text_clear(&prefix);
        if (failed)
            return tp_fail_memory(r->err);
        shifts[told->shift_count++] = (struct tp_layer_shift){text, l->shift};
    }
    told->shifts = shifts;
    return TP_OK;
}

static enum tp_status tell_files(struct reading *r)
{
    struct tp_tensor_file *file = r->unit->file;
    const size_t count = tp_file_set_count(r->unit->set);
    struct tp_rank_file *files =
        tp_arena_alloc(&file->arena, (count + 1) * sizeof *files);
    size_t *places =
        tp_arena_alloc(&file->arena, (r->part_count + 1) * sizeof *places);
    enum tp_status status = files && places ? TP_OK : tp_fail_memory(r->err);
    if (r->part_count)
        qsort(r->parts, r->part_count, sizeof *r->parts, compare_places);
    for (size_t i = 0, at = 0; status == TP_OK && i < count; i++) {
        int64_t tensor, stage;
        const char *name = tp_file_set_name(r->unit->set, i);
        files[i] = (struct tp_rank_file){.name = name, .joined = places + at};
        for (; at < r->part_count && r->parts[at].member == i; at++)
            places[at] = r->parts[at].place;
        files[i].joined_count = (size_t)(places + at - files[i].joined);
        read_ranks(name, '/', &tensor, &stage);
        status = tell_layers(r, stage, &files[i]);
    }
    file->rank_files = files;
    file->rank_file_count = status == TP_OK ? count : 0;
    file->tensors = r->unit->tensors;
    file->tensor_count = r->unit->count;
    return status;
}

/* ---- the format --------------------------------------------------------- */

static bool is_folder(const void *context, const char *name)
{
    int64_t tensor, stage;
    (void)context;
    return read_ranks(name, '\0', &tensor, &stage);
}

/* How many ranks there are; each stage has to be known. */
static enum tp_status read_files(struct reading *r)
{
    const size_t count = tp_file_set_count(r->unit->set);
    int64_t tensor, stage;
    for (size_t i = 0; i < count; i++) {
        read_ranks(tp_file_set_name(r->unit->set, i), '/', &tensor, &stage);
        r->tensors = tensor >= r->tensors ? tensor + 1 : r->tensors;
        r->stages = stage >= r->stages ? stage + 1 : r->stages;
    }
    r->there = calloc((size_t)r->stages + 1, sizeof *r->there);
    enum tp_status status = r->there ? TP_OK : tp_fail_memory(r->err);
    for (size_t i = 0; status == TP_OK && count > 1 && i < count; i++)
        status = read_member(r, i);
    bool all = count > 1;
    for (int64_t i = 0; status == TP_OK && i < r->stages; i++)
        all = all && r->there[i];
    if (status == TP_OK && r->refused.code != TP_OK)
        status = all ? tp_tensor_file_skip(r->unit->file, "", &r->refused,
                                           r->err)
                     : tp_fail(r->err, r->refused.code, r->refused.offset,
                               "%s", r->refused.message);
    else if (status == TP_OK && !all)
        status = tp_fail(r->err, TP_E_UNSUPPORTED, -1,
                         "there are not the files of several ranks here, or "
                         "not of each stage");
    return status;
}

static enum tp_status open_file(struct tp_tensor_file *file,
                                struct tp_error *err)
{
    struct reading r = {.unit = tp_unit_new(file), .err = err};
    enum tp_status status = r.unit ? TP_OK : tp_fail_memory(err);
    file->metadata_count = 0;
    if (status == TP_OK)
        status = tp_file_set_find(r.unit->set, is_folder, NULL, FILE_NAME, err);
    if (status == TP_OK)
        status = read_files(&r);
    if (status == TP_OK) {
        number_layers(&r);
        status = join_all(&r);
    }
    if (status == TP_OK)
        status = tell_files(&r);
    free(r.parts);
    free(r.layers);
    free(r.there);
    return status;
}

static enum tp_name_claim claims(const char *name)
{
    return strcmp(name, PATTERN) == 0 ? TP_NAME_PATTERN : TP_NAME_OTHER;
}

/* Known by its name. */
static int bid(const unsigned char *head, size_t length)
{
    (void)head;
    (void)length;
    return 0;
}

const struct tp_format tp_format_megatron = {
    .name = "megatron",
    .help = "Megatron-LM's legacy layout (mp_rank_TT_PPP/model_optim_rng.pt)",
    .suffixes = "",
    .claims = claims,
    .bid = bid,
    .open = open_file,
    .close = tp_unit_close,
    .unchanged = tp_unit_unchanged,
};
