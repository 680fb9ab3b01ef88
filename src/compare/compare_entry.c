/* SPDX-License-Identifier: MIT */
/*
 * A row's texts are those that str() of Python gives for what json.load() reads
 * (formats/json/json_python.h), since msprobe compares texts and users' scripts
 * read them. The order is msprobe's: arguments, keywords, parameters, results.
 * In the backward pass calls are counted in the order in which they came:
 * their own numbers are those of the forward calls, which shift when a part of
 * the model is computed again. Cost: some 300 bytes and a few microseconds a
 * row, most of them for decimal digits.
 */
#include "compare/compare_entry.h"

#include <inttypes.h>
#include <libdeflate.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "compare/compare_group.h"
#include "formats/json/json_python.h"

/* Lists one place. */
struct lister {
    struct tp_compare_entries *entries;
    struct tp_intern words;
    struct tp_text text; /* room for a text that is made                    */
    const char **orders; /* [calls] number of a call in the backward pass as
                            a text; NULL: its own                           */
    bool stats;
};

/* The arena's only copy of a text; NULL without memory. */
static const char *word(struct lister *lister, const char *text)
{
    return tp_intern(&lister->words, &lister->entries->arena, text);
}

/* Empties the room for a text, of which `kept` is what is kept. */
static const char *emptied(struct lister *lister, const char *kept)
{
    const bool failed = lister->text.failed;
    lister->text.length = 0;
    if (lister->text.data)
        lister->text.data[0] = '\0';
    return failed ? NULL : kept;
}

/* Keeps the text that was made, and empties the room. */
static const char *take(struct lister *lister)
{
    return emptied(lister, word(lister, tp_text_get(&lister->text)));
}

/* The same for a name, which no other row has. */
static const char *take_name(struct lister *lister)
{
    return emptied(lister, tp_arena_text(&lister->entries->arena,
                                         tp_text_get(&lister->text),
                                         lister->text.length));
}

/* --- values --------------------------------------------------------------- */

/* As str() has it: a text is itself, without quotes. */
static void add_value(const struct tp_json *value, struct tp_text *text)
{
    if (!value)
        tp_text_add(text, "None");
    else if (value->kind == TP_JSON_STRING)
        tp_text_bytes(text, value->text, strlen(value->text));
    else
        tp_json_python(value, text);
}

static bool names_device(const char *text)
{
    return strstr(text, "npu") || strstr(text, "cpu") || strstr(text, "cuda");
}

static struct tp_compare_value number_value(struct lister *lister,
                                            enum tp_json_kind kind,
                                            int64_t integer, double real)
{
    struct tp_compare_value value = {TP_COMPARE_NUMBER, real, ""};
    if (kind == TP_JSON_INTEGER)
        tp_text_integer(&lister->text, integer);
    else if (isnan(real))
        tp_text_add(&lister->text, "Nan");
    else
        tp_python_float(real, &lister->text);
    value.text = take(lister);
    if (isnan(real))
        value.kind = TP_COMPARE_NAN;
    else if (isinf(real))
        value.kind = real > 0 ? TP_COMPARE_INF : TP_COMPARE_NEGATIVE_INF;
    return value;
}

static struct tp_compare_value text_value(const char *text)
{
    return (struct tp_compare_value){
        text && names_device(text) ? TP_COMPARE_DEVICE : TP_COMPARE_OTHER, NAN,
        text};
}

static struct tp_compare_value json_value(struct lister *lister,
                                          const struct tp_json *value)
{
    if (tp_json_is_number(value))
        return number_value(lister, value->kind, value->integer, value->real);
    add_value(value, &lister->text);
    return text_value(take(lister));
}

static struct tp_compare_value stat_value(struct lister *lister,
                                          const struct tp_dump_number *number)
{
    if (number->kind == TP_JSON_BOOL)
        return text_value(number->integer ? "True" : "False");
    if (number->kind == TP_JSON_NULL)
        return text_value("None");
    return number_value(lister, number->kind, number->integer, number->real);
}

/* --- dtype and shape ------------------------------------------------------ */

static const char *class_of(const struct tp_json *value)
{
    static const char *const words[] = {[TP_JSON_NULL] = "<class 'NoneType'>",
                                        [TP_JSON_BOOL] = "<class 'bool'>",
                                        [TP_JSON_INTEGER] = "<class 'int'>",
                                        [TP_JSON_REAL] = "<class 'float'>",
                                        [TP_JSON_STRING] = "<class 'str'>",
                                        [TP_JSON_LIST] = "<class 'list'>",
                                        [TP_JSON_OBJECT] = "<class 'dict'>"};
    return words[value ? value->kind : TP_JSON_NULL];
}

static const char *shape_text(struct lister *lister,
                              const struct tp_dump_item *item)
{
    if (!item->has_shape)
        return "None";
    tp_text_bytes(&lister->text, "[", 1);
    for (int i = 0; i < item->dims; i++) {
        tp_text_bytes(&lister->text, ", ", i ? 2 : 0);
        tp_text_integer(&lister->text, item->shape[i]);
    }
    tp_text_bytes(&lister->text, "]", 1);
    return take(lister);
}

/* Fills in what is no tensor: types that have a way of their own, then all
 * others, which are their value. */
static void describe_value(struct lister *lister,
                           const struct tp_dump_item *item,
                           struct tp_compare_entry *row)
{
    const struct tp_json *value = item->value;
    struct tp_compare_value all = text_value("None");
    const char *argument = strrchr(item->argument, '.');
    argument = argument ? argument + 1 : item->argument;
    bool peer = !strcmp(argument, "src") || !strcmp(argument, "dst") ||
                !strcmp(argument, "group_src") ||
                !strcmp(argument, "group_dst");
    row->shape = "[]";
    row->dtype = item->type;
    if (!strcmp(item->type, "torch.Size")) {
        add_value(value, &lister->text);
        row->shape = take(lister);
    } else if (!strcmp(item->type, "slice")) {
        tp_text_add(&lister->text, "(%zu,)", value ? value->count : 0);
        row->shape = take(lister);
    } else {
        if (!peer && strcmp(item->type, "ellipsis") != 0 &&
            strcmp(item->type, "torch.ProcessGroup") != 0)
            row->dtype = class_of(value);
        all = json_value(lister, value);
    }
    for (int i = 0; i < TP_DUMP_STATS; i++)
        row->stats[i] = all;
}

static void describe(struct lister *lister, const struct tp_dump_item *item,
                     struct tp_compare_entry *row)
{
    static const char *const grads[] = {"N/A", "False", "True"};
    row->grad = grads[item->requires_grad + 1];
    for (int i = 0; i < TP_DUMP_STATS; i++)
        row->stats[i] = text_value("None");
    if (item->kind == TP_DUMP_VALUE) {
        describe_value(lister, item, row);
        return;
    }
    row->dtype = *item->dtype ? item->dtype : "None";
    row->shape = shape_text(lister, item);
    for (int i = 0; i < TP_DUMP_STATS && lister->stats; i++)
        row->stats[i] = stat_value(lister, &item->stats[i]);
}

/* --- names ---------------------------------------------------------------- */

/* Whether an item is the only element of a list among the gradients of a
 * module's parameters: msprobe names its file without the index. */
static bool is_only_gradient(const struct lister *lister,
                             const struct tp_dump_call *call,
                             const struct tp_dump_item *item)
{
    const struct tp_dump_item *items =
        &lister->entries->place->items[call->first];
    const size_t length = strlen(item->argument);
    if (!call->known || !call->name.gradient || length < 3 ||
        strcmp(item->argument + length - 2, ".0") != 0)
        return false;
    for (size_t i = 0; i < call->count; i++)
        if (&items[i] != item &&
            !strncmp(items[i].argument, item->argument, length - 1))
            return false;
    return true;
}

/* The name of the file that has it, or what it would be. */
static const char *name_of(struct lister *lister,
                           const struct tp_dump_call *call,
                           const struct tp_dump_item *item)
{
    const char *dot = strrchr(item->data_name, '.');
    if (!*item->data_name)
        tp_dump_item_name(call, item, "input", &lister->text);
    else
        tp_text_bytes(&lister->text, item->data_name,
                      dot ? (size_t)(dot - item->data_name)
                          : strlen(item->data_name));
    if (!*item->data_name && is_only_gradient(lister, call, item) &&
        !lister->text.failed)
        lister->text.data[lister->text.length -= strlen(".0")] = '\0';
    return take_name(lister);
}

/* The call, with a number of the backward pass in place of its own. */
static void add_call(const struct tp_dump_call *call, const char *order,
                     struct tp_text *text)
{
    const struct tp_msprobe_name *name = &call->name;
    if (name->kind == TP_MSPROBE_MODULE)
        tp_text_add(text, "%.*s.%.*s.%.*s.backward.%s", (int)name->type.length,
                    name->type.at, (int)name->path.length, name->path.at,
                    (int)name->class_name.length, name->class_name.at, order);
    else
        tp_text_add(text, "%.*s.%.*s.%s.backward", (int)name->type.length,
                    name->type.at, (int)name->path.length, name->path.at,
                    order);
}

static const char *key_of(struct lister *lister, size_t index, const char *name)
{
    const struct tp_dump_call *call = &lister->entries->place->calls[index];
    const char *order = lister->orders[index];
    size_t length = strlen(call->key);
    if (!order)
        return name;
    add_call(call, order, &lister->text);
    name += strncmp(name, call->key, length) ? 0 : length;
    tp_text_bytes(&lister->text, name, strlen(name));
    return take_name(lister);
}

static const char *md5_of(struct lister *lister,
                          const struct tp_dump_item *item)
{
    if (*item->md5)
        return item->md5;
    if (item->kind == TP_DUMP_NOTHING)
        return "N/A";
    if (item->value)
        add_value(item->value, &lister->text);
    uint32_t crc =
        libdeflate_crc32(0, tp_text_get(&lister->text), lister->text.length);
    lister->text.length = 0;
    tp_text_add(&lister->text, "%08" PRIx32, crc);
    return take(lister);
}

/* --- rows ----------------------------------------------------------------- */

static enum tp_status add_row(struct lister *lister, size_t call,
                              const struct tp_dump_item *item,
                              struct tp_error *err)
{
    struct tp_compare_entries *entries = lister->entries;
    enum tp_status status =
        tp_grow(&entries->rows, &entries->capacity, entries->count + 1,
                sizeof *entries->rows, err);
    if (status != TP_OK)
        return status;
    struct tp_compare_entry *row = &entries->rows[entries->count++];
    row->item = item;
    row->call = call;
    row->name = name_of(lister, &entries->place->calls[call], item);
    row->key = row->name ? key_of(lister, call, row->name) : NULL;
    row->md5 = md5_of(lister, item);
    row->data_name = *item->data_name ? item->data_name
                     : item->file     ? tp_file_base_name(item->file->path)
                                      : "-1";
    describe(lister, item, row);
    bool whole = row->key && row->md5 && row->shape;
    for (int i = 0; i < TP_DUMP_STATS; i++)
        whole = whole && row->stats[i].text;
    return whole ? TP_OK : tp_fail_memory(err);
}

/* The three rounds in which the items of a call are listed. */
static int round_of(const struct tp_dump_item *item)
{
    return item->place == TP_MSPROBE_OUTPUT       ? 2
           : item->place == TP_MSPROBE_PARAMETERS ? 1
                                                  : 0;
}

static enum tp_status add_call_rows(struct lister *lister, size_t index,
                                    struct tp_error *err)
{
    const struct tp_dump_place *place = lister->entries->place;
    const struct tp_dump_call *call = &place->calls[index];
    enum tp_status status = TP_OK;
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < call->count && status == TP_OK; i++) {
            const struct tp_dump_item *item = &place->items[call->first + i];
            if (round_of(item) == round && !item->empty)
                status = add_row(lister, index, item, err);
        }
    return status;
}

/* Whether calls of this name are counted anew. */
static bool is_counted(const struct tp_dump_call *call)
{
    return call->known && call->name.direction == TP_BACKWARD &&
           call->name.number >= 0 && !call->name.gradient;
}

/* The name of a call without its number: what is counted. */
static const char *base_of(struct lister *lister,
                           const struct tp_dump_call *call)
{
    if (!is_counted(call))
        return "";
    add_call(call, "", &lister->text);
    return take(lister);
}

/* Numbers the calls of the backward pass by their order. */
static enum tp_status count_calls(struct lister *lister, struct tp_error *err)
{
    const struct tp_dump_place *place = lister->entries->place;
    const size_t calls = place->call_count, some = calls + 1;
    const char **bases = calloc(some, sizeof *bases);
    size_t *groups = calloc(some, sizeof *groups), group_count = 0;
    size_t *seen = calloc(some, sizeof *seen);
    bool whole = bases && groups && seen;
    for (size_t i = 0; i < calls && whole; i++) {
        bases[i] = base_of(lister, &place->calls[i]);
        whole = bases[i] != NULL;
    }
    enum tp_status status =
        whole ? tp_compare_group(bases, calls, groups, &group_count, err)
              : tp_fail_memory(err);
    for (size_t i = 0; i < calls && status == TP_OK; i++) {
        if (!is_counted(&place->calls[i]))
            continue;
        tp_text_integer(&lister->text, (int64_t)seen[groups[i]]++);
        lister->orders[i] = take(lister);
        if (!lister->orders[i])
            status = tp_fail_memory(err);
    }
    free(bases);
    free(groups);
    free(seen);
    return status;
}

enum tp_status tp_compare_entries_make(const struct tp_dump_place *place,
                                       bool stats,
                                       struct tp_compare_entries *entries,
                                       struct tp_error *err)
{
    struct lister lister = {.entries = entries, .stats = stats};
    entries->place = place;
    lister.orders = calloc(place->call_count + 1, sizeof *lister.orders);
    enum tp_status status =
        lister.orders ? count_calls(&lister, err) : tp_fail_memory(err);
    for (size_t i = 0; i < place->call_count && status == TP_OK; i++)
        status = add_call_rows(&lister, i, err);
    free(lister.orders);
    tp_text_clear(&lister.text);
    tp_intern_clear(&lister.words);
    return status;
}

void tp_compare_entries_clear(struct tp_compare_entries *entries)
{
    free(entries->rows);
    tp_arena_clear(&entries->arena);
    memset(entries, 0, sizeof *entries);
}

bool tp_compare_is_output(const struct tp_compare_entry *entry)
{
    return strstr(entry->name, ".output.") != NULL;
}
