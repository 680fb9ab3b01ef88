/* SPDX-License-Identifier: MIT */
/*
 * From json files to calls and items. dump.json and debug.json are read entry
 * by entry, each parsed on its own; what is kept of an item is plain numbers
 * and shared texts, some 300 bytes. Then the names of the calls become an
 * index, by which stack.json and the names of files find theirs. To keep the
 * json trees would be simpler and take about 3 kB an item. A place is one task
 * of the pool: dumps have one for each rank and step. Cost: one parse of each
 * file.
 */
#include "dump/dump_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/limits.h"
#include "base/notes.h"
#include "dump/dump_activations.h"
#include "dump/dump_recover.h"
#include "formats/json/json_python.h"
#include "formats/msprobe/msprobe_stack.h"
#include "formats/msprobe/msprobe_tree.h"

/* Reads one place. */
struct reader {
    struct tp_dump_place *place;
    const struct tp_dump_read_options *options;
    struct tp_intern words;
    bool variables;    /* debug.json is read                                  */
    const char *dtype; /* the last one, of the words; or NULL          */
    enum tp_dtype element; /* what it is                                   */
    const struct tp_dump_stack *stack; /* the last one that was told       */
};

/* --- items ---------------------------------------------------------------- */

/* What is read of an item, in the order in which msprobe writes it. */
enum {
    TYPE,
    DTYPE,
    SHAPE,
    STATS, /* as many as there are */
    REQUIRES_GRAD = STATS + TP_DUMP_STATS,
    MD5,
    DATA_NAME,
    VALUE,
    GROUP_RANKS, /* of a torch.ProcessGroup */
    PENDING,     /* what stands in place of statistics still to be computed */
    MEMBERS = PENDING + 3
};

static const char *const members[MEMBERS] = {"type",
                                             "dtype",
                                             "shape",
                                             "Max",
                                             "Min",
                                             "Mean",
                                             "Norm",
                                             "requires_grad",
                                             "md5",
                                             "data_name",
                                             "value",
                                             "group_ranks",
                                             "tensor_stat_index",
                                             "md5_index",
                                             "is_nan_index"};

/* A text; "" of anything else. */
static const char *text_of(const struct tp_json *value)
{
    return value && value->kind == TP_JSON_STRING ? value->text : "";
}

/* The arena's only copy of a text; "" of none. NULL: no memory. */
static const char *word_of(struct reader *reader, const char *text)
{
    return *text ? tp_intern(&reader->words, &reader->place->arena, text) : "";
}

static struct tp_dump_number number_of(const struct tp_json *value)
{
    struct tp_dump_number number = {TP_JSON_NULL, 0, NAN};
    if (tp_json_is_number(value) || (value && value->kind == TP_JSON_BOOL))
        number = (struct tp_dump_number){
            value->kind, value->integer,
            value->kind == TP_JSON_BOOL ? (double)value->integer : value->real};
    return number;
}

/* A CRC is text; the xor of a 0-d tensor is its value, a bare number. NULL: no
 * memory. */
static const char *md5_of(struct tp_dump_place *place,
                          const struct tp_json *value)
{
    struct tp_text text = {0};
    if (value && value->kind == TP_JSON_STRING)
        return tp_arena_text(&place->arena, value->text, value->length);
    if (!tp_json_is_number(value) && !(value && value->kind == TP_JSON_BOOL))
        return "";
    tp_json_python(value, &text);
    return tp_arena_take(&place->arena, &text);
}

/* The dtype behind the word for the framework: "torch.float32". Neighbours
 * mostly share theirs. */
static enum tp_dtype element_of(struct reader *reader, const char *dtype)
{
    const char *dot = strrchr(dtype, '.');
    if (reader->dtype != dtype)
        reader->element = tp_dtype_by_name(dot ? dot + 1 : dtype);
    reader->dtype = dtype;
    return reader->element;
}

static enum tp_status set_shape(struct tp_dump_place *place,
                                const struct tp_json *list,
                                struct tp_dump_item *item, struct tp_error *err)
{
    if (!list || list->kind != TP_JSON_LIST || list->count > TP_LIMIT_DIMS)
        return TP_OK;
    int64_t *shape = tp_arena_alloc(&place->arena, list->count * sizeof *shape);
    if (!shape)
        return tp_fail_memory(err);
    item->has_shape = true;
    for (const struct tp_json *at = list->first; at; at = at->next) {
        shape[item->dims++] = at->integer;
        item->has_shape &= at->kind == TP_JSON_INTEGER && at->integer >= 0;
    }
    item->shape = shape;
    if (!item->has_shape)
        item->dims = 0;
    return TP_OK;
}

/* Fills in what is said of a tensor. */
static enum tp_status set_tensor(struct reader *reader,
                                 const struct tp_json *const *said,
                                 struct tp_dump_item *item,
                                 struct tp_error *err)
{
    const struct tp_json *grad = said[REQUIRES_GRAD];
    const char *file = text_of(said[DATA_NAME]);
    struct tp_dump_place *place = reader->place;
    item->kind = TP_DUMP_TENSOR;
    item->dtype = word_of(reader, text_of(said[DTYPE]));
    item->md5 = md5_of(place, said[MD5]);
    item->data_name =
        *file ? tp_arena_text(&place->arena, file, strlen(file)) : "";
    if (!item->dtype || !item->md5 || !item->data_name)
        return tp_fail_memory(err);
    item->element = element_of(reader, item->dtype);
    if (grad && grad->kind == TP_JSON_BOOL)
        item->requires_grad = grad->integer != 0;
    for (int i = 0; i < TP_DUMP_STATS; i++)
        item->stats[i] = number_of(said[STATS + i]);
    for (int i = PENDING; i < MEMBERS; i++)
        item->unfinished |= said[i] != NULL;
    return set_shape(place, said[SHAPE], item, err);
}

/* What the P2POp of a tensor says. */
static enum tp_status set_p2p(struct reader *reader, const struct tp_json *p2p,
                              struct tp_dump_item *item, struct tp_error *err)
{
    const struct tp_json *peer = tp_json_member(p2p, "peer");
    item->p2p = word_of(reader, tp_json_text(p2p, "op", ""));
    if (peer && peer->kind == TP_JSON_INTEGER)
        item->peer = peer->integer;
    return item->p2p ? TP_OK : tp_fail_memory(err);
}

static enum tp_status add_item(struct reader *reader,
                               const struct tp_msprobe_item *from,
                               struct tp_error *err)
{
    struct tp_dump_place *place = reader->place;
    const struct tp_json *said[MEMBERS];
    struct tp_dump_item *item;
    enum tp_status status = tp_dump_item_add(place, &item, err);
    if (status != TP_OK)
        return status;
    tp_json_members(from->value, members, MEMBERS, said);
    item->place = from->place;
    item->argument = word_of(reader, from->argument);
    item->type = word_of(reader, text_of(said[TYPE]));
    if (!item->argument || !item->type)
        return tp_fail_memory(err);
    if (from->p2p && (status = set_p2p(reader, from->p2p, item, err)) != TP_OK)
        return status;
    if (tp_msprobe_is_tensor(item->type) ||
        (said[DTYPE] && said[SHAPE])) /* an array of numpy */
        return set_tensor(reader, said, item, err);
    item->empty =
        from->value->kind == TP_JSON_OBJECT && from->value->count == 0;
    const struct tp_json *value = said[VALUE] ? said[VALUE] : said[GROUP_RANKS];
    if (*item->type)
        item->kind = TP_DUMP_VALUE;
    if (*item->type && value)
        return tp_json_copy(value, &place->arena, &item->value, err);
    return TP_OK;
}

/* --- calls ---------------------------------------------------------------- */

static bool is_true(const struct tp_json *entry, const char *key)
{
    const struct tp_json *value = tp_json_member(entry, key);
    return value && value->kind == TP_JSON_BOOL && value->integer;
}

static enum tp_status read_call(void *context,
                                const struct tp_msprobe_call *from,
                                struct tp_error *err)
{
    struct reader *reader = context;
    struct tp_dump_call *call;
    enum tp_status status =
        tp_dump_call_add(reader->place, from->key, &call, err);
    if (status != TP_OK)
        return status;
    call->offset = from->offset;
    call->variable_file = reader->variables;
    call->recompute = is_true(from->entry, "is_recompute");
    for (size_t i = 0; i < from->items.count && status == TP_OK; i++) {
        status = add_item(reader, &from->items.items[i], err);
        call->count += status == TP_OK;
    }
    if (reader->options->stop && *reader->options->stop)
        return tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted");
    return status;
}

static enum tp_status read_head(void *context, enum tp_msprobe_head head,
                                const char *text, struct tp_error *err)
{
    struct reader *reader = context;
    struct tp_dump_place *place = reader->place;
    if (reader->variables)
        return TP_OK;
    place->heads[head] = tp_arena_text(&place->arena, text, strlen(text));
    return place->heads[head] ? TP_OK : tp_fail_memory(err);
}

/* --- stack.json ----------------------------------------------------------- */

static enum tp_status read_lines(void *context, const struct tp_json *lines,
                                 struct tp_error *err)
{
    struct reader *reader = context;
    struct tp_arena *arena = &reader->place->arena;
    struct tp_dump_stack *stack = tp_arena_alloc(arena, sizeof *stack);
    const char **texts = tp_arena_alloc(arena, lines->count * sizeof *texts);
    if (!stack || !texts)
        return tp_fail_memory(err);
    for (const struct tp_json *at = lines->first; at; at = at->next) {
        const char *text = at->kind == TP_JSON_STRING ? at->text : "";
        texts[stack->count] = tp_arena_text(arena, text, strlen(text));
        if (!texts[stack->count++])
            return tp_fail_memory(err);
    }
    stack->lines = texts;
    reader->stack = stack;
    return TP_OK;
}

static enum tp_status read_stack_call(void *context, const char *name,
                                      struct tp_error *err)
{
    struct reader *reader = context;
    struct tp_dump_call *call = tp_dump_call_of(reader->place, name);
    (void)err;
    if (call)
        call->stack = reader->stack;
    return TP_OK;
}

/* --- construct.json ------------------------------------------------------- */

static enum tp_status read_parent(void *context, const char *name,
                                  const char *parent, struct tp_error *err)
{
    struct reader *reader = context;
    struct tp_dump_place *place = reader->place;
    struct tp_dump_node node = {
        tp_arena_text(&place->arena, name, strlen(name)),
        word_of(reader, parent)};
    if (!node.name || !node.parent)
        return tp_fail_memory(err);
    enum tp_status status =
        tp_grow(&place->nodes, &place->node_capacity, place->node_count + 1,
                sizeof *place->nodes, err);
    if (status == TP_OK)
        place->nodes[place->node_count++] = node;
    return status;
}

static int compare_nodes(const void *left, const void *right)
{
    const struct tp_dump_node *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static void sort_nodes(struct tp_dump_place *place)
{
    if (place->node_count)
        qsort(place->nodes, place->node_count, sizeof *place->nodes,
              compare_nodes);
}

/* --- files ---------------------------------------------------------------- */

static enum tp_status read_calls_file(struct reader *reader,
                                      const struct tp_found *file,
                                      struct tp_error *err)
{
    const struct tp_msprobe_sink sink = {reader, read_call, read_head};
    return tp_msprobe_read(file->path, &sink, err);
}

static enum tp_status read_log(struct reader *reader,
                               const struct tp_found *file,
                               struct tp_error *err)
{
    struct tp_bytes bytes;
    enum tp_status status = tp_bytes_open(file->path, &bytes, err);
    if (status != TP_OK)
        return status;
    status = tp_dump_activations_read(&bytes, reader->place, err);
    if (status == TP_OK)
        status = tp_bytes_unchanged(&bytes, err);
    tp_bytes_close(&bytes);
    return status;
}

static enum tp_status read_dump(struct reader *reader,
                                const struct tp_found *file,
                                struct tp_error *err)
{
    reader->variables = false;
    return reader->place->log ? read_log(reader, file, err)
                              : read_calls_file(reader, file, err);
}

enum tp_status tp_dump_read_memory(const void *text, size_t length,
                                   struct tp_dump_place *place,
                                   struct tp_error *err)
{
    const struct tp_dump_read_options options = {.stop = NULL};
    struct reader reader = {.place = place, .options = &options};
    const struct tp_msprobe_sink sink = {&reader, read_call, read_head};
    struct tp_error own = {0};
    const enum tp_status status =
        tp_msprobe_read_memory(text, length, length, &sink, err);
    const enum tp_status indexed = tp_dump_calls_index(place, &own);
    tp_intern_clear(&reader.words);
    return status == TP_OK && indexed != TP_OK ? tp_fail_memory(err) : status;
}

static enum tp_status read_debug(struct reader *reader,
                                 const struct tp_found *file,
                                 struct tp_error *err)
{
    reader->variables = true;
    return read_calls_file(reader, file, err);
}

static enum tp_status read_stack(struct reader *reader,
                                 const struct tp_found *file,
                                 struct tp_error *err)
{
    const struct tp_msprobe_stack_sink sink = {reader, read_lines,
                                               read_stack_call};
    return tp_msprobe_read_stack(file->path, &sink, err);
}

static enum tp_status read_construct(struct reader *reader,
                                     const struct tp_found *file,
                                     struct tp_error *err)
{
    const struct tp_msprobe_tree_sink sink = {reader, read_parent};
    return tp_msprobe_read_tree(file->path, &sink, err);
}

/* What a place has before one of its files is read. */
struct before {
    size_t calls, items, nodes;
    const char *heads[TP_MSPROBE_HEADS];
};

static void look_before(const struct tp_dump_place *place,
                        struct before *before)
{
    before->calls = place->call_count;
    before->items = place->item_count;
    before->nodes = place->node_count;
    memcpy(before->heads, place->heads, sizeof before->heads);
}

/* Forgets what a file gave; a log keeps its heads, which are its name's. */
static void forget(struct tp_dump_place *place, const struct before *before,
                   enum tp_dump_json which)
{
    place->call_count = before->calls;
    place->item_count = before->items;
    place->node_count = before->nodes;
    if (!place->log)
        memcpy(place->heads, before->heads, sizeof before->heads);
    for (size_t i = 0; which == TP_DUMP_STACK && i < place->call_count; i++)
        place->calls[i].stack = NULL;
}

/* Of a file that is cut off what stands before counts, of one that changed
 * while it was read nothing. */
static enum tp_status read_unchanged(struct reader *reader,
                                     enum tp_dump_json which,
                                     struct tp_error *err)
{
    static enum tp_status (*const readers[TP_DUMP_JSONS])(
        struct reader *, const struct tp_found *, struct tp_error *) = {
        read_dump, read_debug, read_stack, read_construct};
    struct tp_found *file = reader->place->sources[which].file;
    struct before before;
    look_before(reader->place, &before);
    tp_found_look(file, NULL);
    enum tp_status status =
        file->size ? readers[which](reader, file, err)
                   : tp_fail(err, TP_E_DAMAGED, 0, "the file is empty");
    if (status == TP_E_MEMORY || status == TP_E_INTERRUPTED)
        return status;
    if (status != TP_E_CHANGED && tp_found_look(file, err) != TP_OK)
        status = TP_E_CHANGED;
    if (status == TP_E_CHANGED)
        forget(reader->place, &before, which);
    return status;
}

/* Reads one file; what is wrong with it becomes the source's problem. */
static enum tp_status read_source(struct reader *reader,
                                  enum tp_dump_json which, struct tp_error *err)
{
    struct tp_dump_place *place = reader->place;
    struct tp_dump_source *source = &place->sources[which];
    struct tp_error own = {0};
    const enum tp_status status =
        source->file ? read_unchanged(reader, which, &own) : TP_OK;
    if (status == TP_E_MEMORY)
        return tp_fail_memory(err);
    if (status == TP_E_INTERRUPTED)
        return tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted");
    if (status == TP_OK)
        return TP_OK;
    const bool optional = which == TP_DUMP_STACK || which == TP_DUMP_CONSTRUCT;
    struct tp_error why = own;
    why.code = optional && source->file->size == 0 && status == TP_E_DAMAGED
                   ? TP_E_UNSUPPORTED /* as old versions leave them */
                   : TP_E_DAMAGED;    /* something of it was not read */
    source->status = status;
    source->offset = own.offset;
    source->problem =
        tp_arena_text(&place->arena, own.message, strlen(own.message));
    return source->problem ? tp_found_fail(source->file, "", &why, err)
                           : tp_fail_memory(err);
}

static void mark_files(struct tp_dump_place *place)
{
    for (size_t i = 0; i < place->item_count; i++) {
        struct tp_dump_item *item = &place->items[i];
        struct tp_dump_file *file =
            *item->data_name ? tp_dump_file_of(place, item->data_name) : NULL;
        if (!file)
            continue;
        file->used = true;
        item->file = file->found;
    }
}

static enum tp_status read_place(const struct tp_dump_read_options *options,
                                 struct tp_dump_place *place,
                                 struct tp_error *err)
{
    struct reader reader = {.place = place, .options = options};
    enum tp_status status = read_source(&reader, TP_DUMP_JSON, err);
    if (status == TP_OK)
        status = read_source(&reader, TP_DUMP_DEBUG, err);
    if (status == TP_OK)
        mark_files(place); /* else the last item may be half made        */
    if (status == TP_OK)
        status = tp_dump_calls_index(place, err);
    if (status == TP_OK && options->recover)
        status = tp_dump_recover(place, err);
    if (status == TP_OK)
        status = read_source(&reader, TP_DUMP_STACK, err);
    if (status == TP_OK)
        status = read_source(&reader, TP_DUMP_CONSTRUCT, err);
    sort_nodes(place);
    tp_intern_clear(&reader.words);
    return status;
}

/* --- places --------------------------------------------------------------- */

struct places {
    const struct tp_dump_read_options *options;
    struct tp_dump *dump;
    struct tp_error *errors; /* [place_count] */
};

static void read_task(void *context, size_t index, unsigned worker)
{
    struct places *places = context;
    (void)worker;
    read_place(places->options, &places->dump->places[index],
               &places->errors[index]);
}

enum tp_status tp_dump_read(const struct tp_dump_read_options *options,
                            struct tp_dump *dump, struct tp_error *err)
{
    enum tp_status status = tp_dump_find(&options->wish, dump, err);
    if (status != TP_OK)
        return status;
    struct places places = {options, dump,
                            calloc(dump->place_count, sizeof *places.errors)};
    if (!places.errors)
        return tp_fail_memory(err);
    tp_pool_for(options->pool, dump->place_count, read_task, &places);
    for (size_t i = 0; i < dump->place_count && status == TP_OK; i++) {
        status = places.errors[i].code;
        if (status != TP_OK)
            *err = places.errors[i];
    }
    free(places.errors);
    return status;
}
