/* SPDX-License-Identifier: MIT */
#include "tests/unit/support/op_vectors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* A line as its words. */
struct line {
    char *text;
    size_t capacity;
    int number;
};

static void *zeroed(struct tp_arena *arena, size_t size)
{
    void *memory = tp_arena_alloc(arena, size);
    return memory ? memset(memory, 0, size) : NULL;
}

static char *next_word(char **at)
{
    char *word = *at + strspn(*at, " \n");
    char *end = word + strcspn(word, " \n");
    *at = *end ? end + 1 : end;
    *end = 0;
    return word;
}

static void read_shape(const char *text, struct tp_arena *arena,
                       struct tp_dump_item *item)
{
    int64_t *shape = zeroed(arena, TP_LIMIT_DIMS * sizeof *shape);
    const char *at = text + 1;
    while (shape && *at && *at != ']') {
        char *end;
        shape[item->dims++] = strtoll(at, &end, 10);
        at = *end == ',' ? end + 1 : end;
    }
    item->shape = shape;
    item->has_shape = true;
}

static enum tp_dtype element_of(char kind)
{
    return kind == 'f'   ? TP_FLOAT64
           : kind == 's' ? TP_FLOAT32
           : kind == 'h' ? TP_FLOAT16
           : kind == 'y' ? TP_BFLOAT16
           : kind == 'l' ? TP_INT64
           : kind == 'i' ? TP_INT32
                         : TP_BOOL;
}

static bool read_tensor(struct op_vector *vector, size_t i, char kind,
                        char *rest)
{
    struct tp_dump_item *item = &vector->items[i];
    struct tp_array *array = &vector->arrays[i];
    struct tp_error err = {0};
    item->kind = TP_DUMP_TENSOR;
    item->type = "torch.Tensor";
    item->element = element_of(kind);
    read_shape(next_word(&rest), &vector->arena, item);
    array->dtype = item->element;
    if (tp_array_make(array, item->dims, item->shape, &err) != TP_OK)
        return false;
    for (int64_t k = 0; k < array->count; k++) {
        char *end;
        array->value[k] = strtod(rest, &end);
        if (end == rest)
            return false;
        rest = end;
    }
    return rest[strspn(rest, " \n")] == 0;
}

static struct tp_json *new_value(struct op_vector *vector,
                                 enum tp_json_kind kind, const char *text)
{
    struct tp_json *value = zeroed(&vector->arena, sizeof *value);
    value->kind = kind;
    value->integer = strtoll(text, NULL, 10);
    value->real = strtod(text, NULL);
    value->text = tp_arena_format(&vector->arena, "%s", text);
    value->length = strlen(text);
    return value;
}

/* "1,None,2": a slice or a size, a list of integers and null. */
static struct tp_json *new_list(struct op_vector *vector, char *text)
{
    struct tp_json *list = new_value(vector, TP_JSON_LIST, "");
    struct tp_json **last = &list->first;
    for (char *part = strtok(text, ","); part; part = strtok(NULL, ",")) {
        *last = new_value(vector,
                          strcmp(part, "None") ? TP_JSON_INTEGER : TP_JSON_NULL,
                          part);
        last = &(*last)->next;
        list->count++;
    }
    return list;
}

static void read_value(struct op_vector *vector, struct tp_dump_item *item,
                       const char *kind, char *text)
{
    text[strcspn(text, "\n")] = 0;
    item->kind = strcmp(kind, "none") ? TP_DUMP_VALUE : TP_DUMP_NOTHING;
    item->type = "";
    if (item->kind == TP_DUMP_NOTHING)
        return;
    const bool list = !strcmp(kind, "slice") || !strcmp(kind, "size");
    item->type = !strcmp(kind, "size")
                     ? "torch.Size"
                     : tp_arena_format(&vector->arena, "%s", kind);
    item->value = list ? new_list(vector, text)
                       : new_value(vector,
                                   !strcmp(kind, "int")    ? TP_JSON_INTEGER
                                   : !strcmp(kind, "bool") ? TP_JSON_BOOL
                                   : !strcmp(kind, "str")  ? TP_JSON_STRING
                                                           : TP_JSON_REAL,
                                   text);
}

static void add_digest(struct op_vector *vector, const char *text)
{
    vector->digest = vector->digest * 31 + tp_hash_bytes(text, strlen(text));
}

/* An item of the forward call, or behind these of the backward call. */
static bool read_item(struct op_vector *vector, char *text)
{
    if (*text == 'i' || *text == 'k')
        add_digest(vector, text);
    const char place = *next_word(&text);
    const bool backward = place == 'g' || place == 'd';
    struct tp_dump_call *forward = &vector->calls[0];
    struct tp_dump_call *call = &vector->calls[backward];
    const size_t i = forward->count + vector->calls[1].count;
    if (i == OP_VECTOR_ITEMS || (!backward && vector->calls[1].count))
        return false;
    struct tp_dump_item *item = &vector->items[i];
    *item = tp_dump_item_none;
    item->place = place == 'i' || place == 'g' ? TP_MSPROBE_INPUT
                  : place == 'k'               ? TP_MSPROBE_KWARGS
                                               : TP_MSPROBE_OUTPUT;
    item->argument = tp_arena_format(&vector->arena, "%s", next_word(&text));
    const char *kind = next_word(&text);
    vector->calls[1].first += !backward;
    call->count++;
    if (!kind[0] || kind[1]) {
        read_value(vector, item, kind, text);
        return true;
    }
    return read_tensor(vector, i, *kind, text);
}

static void clear(struct op_vector *vector)
{
    for (size_t i = 0; i < OP_VECTOR_ITEMS; i++)
        tp_array_clear(&vector->arrays[i]);
    tp_arena_clear(&vector->arena);
    memset(vector, 0, sizeof *vector);
}

static void begin(struct op_vector *vector, char *text, int line)
{
    static const char *const words[] = {"forward", "backward"};
    const char *api = next_word(&text);
    clear(vector);
    vector->line = line;
    add_digest(vector, api);
    for (int i = 0; i < 2; i++) {
        struct tp_dump_call *call = &vector->calls[i];
        snprintf(vector->key[i], sizeof vector->key[i], "%.70s.0.%s", api,
                 words[i]);
        call->key = vector->key[i];
        call->known =
            tp_msprobe_name_parse(call->key, strlen(call->key), &call->name);
    }
    vector->place.items = vector->items;
}

bool op_vectors_each(const char *path, op_vector_fn *each, void *context)
{
    static const char head[] = "call ";
    FILE *file = fopen(path, "r");
    struct op_vector *vector = calloc(1, sizeof *vector);
    struct line line = {0};
    bool right = file && vector;
    while (right && getline(&line.text, &line.capacity, file) > 0) {
        line.number++;
        if (*line.text == '#')
            continue;
        if (strncmp(line.text, head, strlen(head)) != 0) {
            right = vector->line && read_item(vector, line.text);
            continue;
        }
        if (vector->line)
            each(vector, context);
        begin(vector, line.text + strlen(head), line.number);
    }
    if (right && vector->line)
        each(vector, context);
    if (!right)
        fprintf(stderr, "%s: line %d is none of a vector\n", path, line.number);
    if (vector)
        clear(vector);
    free(vector);
    free(line.text);
    if (file)
        fclose(file);
    return right;
}

/* --- calls ---------------------------------------------------------------- */

static bool copy(const struct tp_array *from, struct tp_array *to)
{
    struct tp_error err = {0};
    to->dtype = from->dtype;
    if (tp_array_make(to, from->dims, from->shape, &err) != TP_OK)
        return false;
    memcpy(to->value, from->value, (size_t)from->count * sizeof *to->value);
    return true;
}

/* What goes in; and what comes out where a backward call takes it from. */
static bool copy_tensors(const struct op_vector *vector, bool results,
                         struct tp_replay_call *replay)
{
    const size_t count = replay->call->count;
    replay->arrays = calloc(count + 1, sizeof *replay->arrays);
    replay->outputs = calloc(count + 1, sizeof *replay->outputs);
    replay->output_capacity = count + 1;
    bool right = replay->arrays && replay->outputs;
    for (size_t i = 0; right && i < count; i++) {
        const size_t item = replay->call->first + i;
        const bool result = vector->items[item].place == TP_MSPROBE_OUTPUT;
        if (vector->arrays[item].value && (!result || results))
            right = copy(&vector->arrays[item],
                         result ? &replay->outputs[replay->output_count++]
                                : &replay->arrays[i]);
    }
    return right;
}

static bool load(const struct op_vector *vector, int which, bool results,
                 struct tp_replay_call *replay)
{
    const double rounding = tp_dtype_rounding(TP_FLOAT64);
    replay->place = &vector->place;
    replay->call = &vector->calls[which];
    replay->unit = replay->own = rounding;
    return copy_tensors(vector, results, replay);
}

bool op_vector_load(const struct op_vector *vector, int which,
                    const char *signature, struct tp_replay_call *replay)
{
    *replay = (struct tp_replay_call){.signature = signature};
    if (!load(vector, which, false, replay))
        return false;
    if (which == 0)
        return true;
    replay->forward = calloc(1, sizeof *replay->forward);
    if (!replay->forward)
        return false;
    replay->forward->signature = signature;
    return load(vector, 0, true, replay->forward);
}

const struct tp_array *op_vector_result(const struct op_vector *vector,
                                        int which, size_t k)
{
    const struct tp_dump_call *call = &vector->calls[which];
    for (size_t i = call->first; i < call->first + call->count; i++)
        if (vector->items[i].place == TP_MSPROBE_OUTPUT &&
            vector->items[i].kind == TP_DUMP_TENSOR && k-- == 0)
            return &vector->arrays[i];
    return NULL;
}
