/* SPDX-License-Identifier: MIT */
/*
 * Rows of items and calls are made when they are written, some at a time: a
 * dump has a million of them. A row is found by bisection over the places'
 * first rows. Texts that no one has (shapes, CRC-32s) stand in the row itself.
 */
#include "dump/dump_tables.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/search.h"
#include "dump/dump_call.h"

/* --- items ---------------------------------------------------------------- */

enum {
    SHAPE_MAX = 96, /* what four axes of any length take; the rest is cut  */
    CRC_MAX = 9
};

struct entry {
    int64_t step, rank, order;
    const char *call, *place, *argument, *type, *dtype, *shape;
    int64_t requires_grad;
    const char *md5, *data_name;
    double json_max, json_min, json_mean, json_norm;
    double max, min, mean, norm;
    int64_t nan, pos_inf, neg_inf;
    const char *crc32, *problem;
    char shape_room[SHAPE_MAX], crc_room[CRC_MAX];
};

static const char *const place_words[] = {[TP_MSPROBE_CALL] = "",
                                          [TP_MSPROBE_INPUT] = "input",
                                          [TP_MSPROBE_OUTPUT] = "output",
                                          [TP_MSPROBE_KWARGS] = "kwargs",
                                          [TP_MSPROBE_PARAMETERS] =
                                              "parameters"};

/* Puts a number before `end`; returns its first digit. */
static char *put_number(int64_t number, char *end)
{
    do
        *--end = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    return end;
}

/* "[2, 3]"; "" where none is said. Such that do not fit end in "...". */
static const char *shape_words(const struct tp_dump_item *item, char *room)
{
    enum { DIGITS = 20 };
    char digits[DIGITS], *at = room;
    if (!item->has_shape)
        return "";
    *at++ = '[';
    for (int i = 0; i < item->dims; i++) {
        const char *first = put_number(item->shape[i], digits + DIGITS);
        const size_t length = (size_t)(digits + DIGITS - first);
        if (at + length + sizeof ", ...]" > room + SHAPE_MAX) {
            memcpy(at, "...", 3);
            at += 3;
            break;
        }
        memcpy(at, first, length);
        at += length;
        memcpy(at, ", ", i + 1 < item->dims ? 2 : 0);
        at += i + 1 < item->dims ? 2 : 0;
    }
    memcpy(at, "]", sizeof "]");
    return room;
}

static void set_found(const struct tp_dump_checked *checked,
                      struct entry *entry)
{
    const struct tp_dump_measure *m = &checked->measure;
    entry->problem = checked->problem;
    if (checked->reading != TP_READING_DONE)
        return;
    entry->max = m->max;
    entry->min = m->min;
    entry->mean = m->mean;
    entry->norm = m->norm;
    entry->nan = (int64_t)m->nan;
    entry->pos_inf = (int64_t)m->pos_inf;
    entry->neg_inf = (int64_t)m->neg_inf;
    if (!m->has_crc)
        return;
    snprintf(entry->crc_room, sizeof entry->crc_room, "%08" PRIx32, m->crc);
    entry->crc32 = entry->crc_room;
}

/* The call of an item: a call's items follow those of the one before it. */
static size_t call_of(const struct tp_dump_place *place, size_t item)
{
    size_t call; /* the first behind the item */
    TP_PARTITION_POINT(call, place->call_count,
                       place->calls[call].first <= item);
    while (place->calls[call - 1].count == 0)
        call--;
    return call - 1;
}

static void set_entry(const struct tp_dump_place *place, size_t number,
                      const struct tp_dump_checked *checked,
                      struct entry *entry)
{
    const struct tp_dump_item *item = &place->items[number];
    const size_t call = call_of(place, number);
    *entry = (struct entry){.step = place->step,
                            .rank = place->rank,
                            .order = (int64_t)call,
                            .call = place->calls[call].key,
                            .place = place_words[item->place],
                            .argument = item->argument,
                            .type = item->type,
                            .dtype = item->dtype,
                            .requires_grad = item->requires_grad,
                            .md5 = item->md5,
                            .data_name = item->data_name,
                            .json_max = item->stats[TP_DUMP_MAX].real,
                            .json_min = item->stats[TP_DUMP_MIN].real,
                            .json_mean = item->stats[TP_DUMP_MEAN].real,
                            .json_norm = item->stats[TP_DUMP_NORM].real,
                            .max = NAN,
                            .min = NAN,
                            .mean = NAN,
                            .norm = NAN,
                            .nan = -1,
                            .pos_inf = -1,
                            .neg_inf = -1,
                            .crc32 = "",
                            .problem = ""};
    entry->shape = shape_words(item, entry->shape_room);
    if (checked)
        set_found(checked, entry);
}

/* The place that holds row `row`, when each has so many; *first is its first
 * row. */
static const struct tp_dump_place *place_of(const struct tp_dump *dump,
                                            size_t row, bool calls,
                                            size_t *first)
{
    *first = 0;
    for (size_t i = 0; i < dump->place_count; i++) {
        const struct tp_dump_place *place = &dump->places[i];
        const size_t count = calls ? place->call_count : place->item_count;
        if (row < *first + count)
            return place;
        *first += count;
    }
    return NULL;
}

static void make_entries(const void *rows, size_t first, size_t count,
                         void *made)
{
    const struct tp_dump_tables *tables = rows;
    const struct tp_dump_place *place = NULL;
    struct entry *entries = made;
    size_t begin = 0;
    for (size_t i = 0; i < count; i++) {
        if (!place || first + i - begin >= place->item_count)
            place = place_of(tables->dump, first + i, false, &begin);
        const size_t number = (size_t)(place - tables->dump->places);
        const struct tp_dump_checked *items = tables->integrity->items[number];
        set_entry(place, first + i - begin,
                  items ? &items[first + i - begin] : NULL, &entries[i]);
    }
}

static const struct tp_column entry_columns[] = {
    TP_COLUMN(struct entry, step, "1"),
    TP_COLUMN(struct entry, rank, "1"),
    TP_COLUMN(struct entry, order, "1"),
    TP_COLUMN(struct entry, call, ""),
    TP_COLUMN(struct entry, place, ""),
    TP_COLUMN(struct entry, argument, ""),
    TP_COLUMN(struct entry, type, ""),
    TP_COLUMN(struct entry, dtype, ""),
    TP_COLUMN(struct entry, shape, ""),
    TP_COLUMN(struct entry, requires_grad, "1"),
    TP_COLUMN(struct entry, md5, ""),
    TP_COLUMN(struct entry, data_name, ""),
    TP_COLUMN(struct entry, json_max, "1"),
    TP_COLUMN(struct entry, json_min, "1"),
    TP_COLUMN(struct entry, json_mean, "1"),
    TP_COLUMN(struct entry, json_norm, "1"),
    TP_COLUMN(struct entry, max, "1"),
    TP_COLUMN(struct entry, min, "1"),
    TP_COLUMN(struct entry, mean, "1"),
    TP_COLUMN(struct entry, norm, "1"),
    TP_COLUMN(struct entry, nan, "1"),
    TP_COLUMN(struct entry, pos_inf, "1"),
    TP_COLUMN(struct entry, neg_inf, "1"),
    TP_COLUMN(struct entry, crc32, ""),
    TP_COLUMN(struct entry, problem, ""),
};

/* --- calls ---------------------------------------------------------------- */

/* What a path of modules and a line of a program take as a rule; longer ones
 * are cut. */
enum { MODULE_MAX = 160, LINE_BYTES = 400 };

struct call_row {
    int64_t step, rank, order;
    const char *name, *module, *parent, *direction, *line;
    int64_t number;
    uint64_t items;
    double abs_max;    /* of its floating results, infinities included; NaN:
                          there are none, or nothing but NaN               */
    int64_t nonfinite; /* elements of these; -1: none was read             */
    char module_room[MODULE_MAX], line_room[LINE_BYTES];
};

/* Takes a tensor into the row of its call: from its file, else as msprobe
 * wrote it, of which only the magnitude is known. */
static void add_values(const struct tp_dump_item *item,
                       const struct tp_dump_checked *checked,
                       struct call_row *row)
{
    const bool read = checked && checked->reading == TP_READING_DONE;
    const struct tp_dump_measure *m = read ? &checked->measure : NULL;
    const double max = read ? m->max : item->stats[TP_DUMP_MAX].real;
    const double min = read ? m->min : item->stats[TP_DUMP_MIN].real;
    row->abs_max = fmax(row->abs_max, fmax(fabs(max), fabs(min)));
    if (!read)
        return;
    row->nonfinite = row->nonfinite < 0 ? 0 : row->nonfinite;
    row->nonfinite += (int64_t)(m->nan + m->pos_inf + m->neg_inf);
}

static bool is_floating(const struct tp_dump_item *item)
{
    return item->kind == TP_DUMP_TENSOR && item->element != TP_DTYPE_COUNT &&
           tp_dtype_info(item->element)->kind != TP_CLASS_INTEGER;
}

/* What the call gave; of one that gives nothing, such as the hook of a module's
 * backward pass that sees only what comes in, what it was given. */
static void set_values(const struct tp_dump_place *place,
                       const struct tp_dump_call *call,
                       const struct tp_dump_checked *checked,
                       struct call_row *row)
{
    bool any = false;
    row->abs_max = NAN;
    row->nonfinite = -1;
    for (int results = 1; results >= 0 && !any; results--)
        for (size_t i = call->first; i < call->first + call->count; i++) {
            const struct tp_dump_item *item = &place->items[i];
            if (!is_floating(item) ||
                (results && !tp_dump_item_is_result(call, item)))
                continue;
            any = true;
            add_values(item, checked ? &checked[i] : NULL, row);
        }
}

/* The line that a call was made in: the innermost of its stack. */
static void set_line(const struct tp_dump_call *call, struct call_row *row)
{
    row->line = row->line_room;
    if (!call->stack || call->stack->count == 0)
        return;
    const struct tp_dump_line line = tp_dump_line_of(call->stack->lines[0]);
    const int length =
        snprintf(row->line_room, LINE_BYTES, "%.*s%s%.*s", line.head,
                 line.place, line.length ? ": " : "", line.length, line.code);
    if (length >= LINE_BYTES)
        row->line_room[tp_utf8_cut(row->line_room, LINE_BYTES - 1)] = 0;
}

static void set_call(const struct tp_dump_place *place, size_t number,
                     const struct tp_dump_checked *checked,
                     struct call_row *row)
{
    const struct tp_dump_call *call = &place->calls[number];
    const struct tp_dump_node *node = tp_dump_node_of(place, call->key);
    const struct tp_msprobe_part path = tp_dump_call_module(place, call);
    *row = (struct call_row){
        .step = place->step,
        .rank = place->rank,
        .order = (int64_t)number,
        .name = call->key,
        .parent = node ? node->parent : "",
        .direction = call->known ? tp_direction_word(call->name.direction) : "",
        .number = call->known ? call->name.number : -1,
        .items = call->count};
    memcpy(row->module_room, path.at,
           path.length < MODULE_MAX ? path.length
                                    : tp_utf8_cut(path.at, MODULE_MAX - 1));
    row->module = row->module_room;
    set_line(call, row);
    set_values(place, call, checked, row);
}

static void make_calls(const void *rows, size_t first, size_t count, void *made)
{
    const struct tp_dump_tables *tables = rows;
    const struct tp_dump_place *place = NULL;
    struct call_row *calls = made;
    size_t begin = 0;
    for (size_t i = 0; i < count; i++) {
        if (!place || first + i - begin >= place->call_count)
            place = place_of(tables->dump, first + i, true, &begin);
        set_call(place, first + i - begin,
                 tables->integrity->items[place - tables->dump->places],
                 &calls[i]);
    }
}

static const struct tp_column call_columns[] = {
    TP_COLUMN(struct call_row, step, "1"),
    TP_COLUMN(struct call_row, rank, "1"),
    TP_COLUMN(struct call_row, order, "1"),
    TP_COLUMN(struct call_row, name, ""),
    TP_COLUMN(struct call_row, module, ""),
    TP_COLUMN(struct call_row, parent, ""),
    TP_COLUMN(struct call_row, direction, ""),
    TP_COLUMN(struct call_row, number, "1"),
    TP_COLUMN(struct call_row, items, "1"),
    TP_COLUMN(struct call_row, abs_max, "1"),
    TP_COLUMN(struct call_row, nonfinite, "1"),
    TP_COLUMN(struct call_row, line, ""),
};

/* --- places --------------------------------------------------------------- */

struct place_row {
    int64_t step, rank;
    const char *directory, *task, *level, *framework;
    uint64_t calls, items, tensors, files, recovered;
};

static void make_places(const void *rows, size_t first, size_t count,
                        void *made)
{
    const struct tp_dump_tables *tables = rows;
    struct place_row *into = made;
    for (size_t i = 0; i < count; i++) {
        const struct tp_dump_place *place = &tables->dump->places[first + i];
        uint64_t tensors = 0;
        for (size_t k = 0; k < place->item_count; k++)
            tensors += place->items[k].kind == TP_DUMP_TENSOR;
        into[i] =
            (struct place_row){.step = place->step,
                               .rank = place->rank,
                               .directory = place->directory,
                               .task = place->heads[TP_MSPROBE_TASK],
                               .level = place->heads[TP_MSPROBE_LEVEL],
                               .framework = place->heads[TP_MSPROBE_FRAMEWORK],
                               .calls = place->call_count,
                               .items = place->item_count,
                               .tensors = tensors,
                               .files = place->file_count,
                               .recovered = place->recovered};
    }
}

static const struct tp_column place_columns[] = {
    TP_COLUMN(struct place_row, step, "1"),
    TP_COLUMN(struct place_row, rank, "1"),
    TP_COLUMN(struct place_row, directory, ""),
    TP_COLUMN(struct place_row, task, ""),
    TP_COLUMN(struct place_row, level, ""),
    TP_COLUMN(struct place_row, framework, ""),
    TP_COLUMN(struct place_row, calls, "1"),
    TP_COLUMN(struct place_row, items, "1"),
    TP_COLUMN(struct place_row, tensors, "1"),
    TP_COLUMN(struct place_row, files, "1"),
    TP_COLUMN(struct place_row, recovered, "1"),
};

/* --- the tree ------------------------------------------------------------- */

/* Adds a finding to a node and to all above it; a circle, which a tree does
 * not have, ends after as many steps as there are nodes. */
static void add_upwards(const struct tp_dump_place *place, const char *name,
                        enum tp_severity level, struct tp_dump_tree_row *rows)
{
    const struct tp_dump_node *node = tp_dump_node_of(place, name);
    for (size_t i = 0; node && i < place->node_count; i++) {
        struct tp_dump_tree_row *row = &rows[node - place->nodes];
        row->findings++;
        if ((int64_t)level > row->worst)
            row->worst = (int64_t)level;
        node = *node->parent ? tp_dump_node_of(place, node->parent) : NULL;
    }
}

static void add_findings(const struct tp_dump_place *place,
                         const struct tp_dump_findings *findings,
                         struct tp_dump_tree_row *rows)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct tp_dump_finding *finding = &findings->rows[i];
        if (finding->step == place->step && finding->rank == place->rank &&
            finding->order >= 0 && (size_t)finding->order < place->call_count)
            add_upwards(place, place->calls[finding->order].key, finding->level,
                        rows);
    }
}

enum tp_status tp_dump_tree_make(const struct tp_dump *dump,
                                 const struct tp_dump_findings *findings,
                                 struct tp_dump_tree *tree,
                                 struct tp_error *err)
{
    size_t count = 0;
    for (size_t i = 0; i < dump->place_count; i++)
        count += dump->places[i].node_count;
    *tree = (struct tp_dump_tree){NULL, 0};
    if (count == 0)
        return TP_OK;
    tree->rows = calloc(count, sizeof *tree->rows);
    if (!tree->rows)
        return tp_fail_memory(err);
    for (size_t i = 0; i < dump->place_count; i++) {
        const struct tp_dump_place *place = &dump->places[i];
        for (size_t k = 0; k < place->node_count; k++)
            tree->rows[tree->count + k] =
                (struct tp_dump_tree_row){place->step,
                                          place->rank,
                                          place->nodes[k].name,
                                          place->nodes[k].parent,
                                          0,
                                          -1};
        add_findings(place, findings, tree->rows + tree->count);
        tree->count += place->node_count;
    }
    return TP_OK;
}

static const char *worst_word(const void *row)
{
    const int64_t worst = ((const struct tp_dump_tree_row *)row)->worst;
    return worst < 0 ? "" : tp_severity_words[worst];
}

static const struct tp_column tree_columns[] = {
    TP_COLUMN(struct tp_dump_tree_row, step, "1"),
    TP_COLUMN(struct tp_dump_tree_row, rank, "1"),
    TP_COLUMN(struct tp_dump_tree_row, name, ""),
    TP_COLUMN(struct tp_dump_tree_row, parent, ""),
    TP_COLUMN(struct tp_dump_tree_row, findings, "1"),
    TP_COLUMN_WORD("worst", worst_word),
};

/* --- all ------------------------------------------------------------------ */

#define COLUMNS(list) \
    .columns = list, .column_count = sizeof list / sizeof *list

void tp_dump_tables_make(struct tp_dump_tables *tables)
{
    size_t items = 0, calls = 0;
    for (size_t i = 0; i < tables->dump->place_count; i++) {
        items += tables->dump->places[i].item_count;
        calls += tables->dump->places[i].call_count;
    }
    tables->tables[TP_DUMP_TABLE_ENTRIES] =
        (struct tp_table){.name = "dump_entries",
                          COLUMNS(entry_columns),
                          .rows = tables,
                          .row_count = items,
                          .row_size = sizeof(struct entry),
                          .make = make_entries};
    tables->tables[TP_DUMP_TABLE_CALLS] =
        (struct tp_table){.name = "calls",
                          COLUMNS(call_columns),
                          .rows = tables,
                          .row_count = calls,
                          .row_size = sizeof(struct call_row),
                          .make = make_calls};
    tables->tables[TP_DUMP_TABLE_TREE] =
        (struct tp_table){.name = "tree",
                          COLUMNS(tree_columns),
                          .rows = tables->tree->rows,
                          .row_count = tables->tree->count,
                          .row_size = sizeof *tables->tree->rows};
    tables->tables[TP_DUMP_TABLE_PLACES] =
        (struct tp_table){.name = "places",
                          COLUMNS(place_columns),
                          .rows = tables,
                          .row_count = tables->dump->place_count,
                          .row_size = sizeof(struct place_row),
                          .make = make_places};
    tp_dump_findings_table(tables->findings,
                           &tables->tables[TP_DUMP_TABLE_FINDINGS]);
}

/* --- dump_integrity.csv --------------------------------------------------- */

static const struct tp_column integrity_columns[] = {
    TP_COLUMN(struct tp_dump_finding, step, "1"),
    TP_COLUMN(struct tp_dump_finding, rank, "1"),
    TP_COLUMN(struct tp_dump_finding, name, ""),
    TP_COLUMN_WORD("check", tp_dump_finding_rule),
    TP_COLUMN_WORD("severity", tp_dump_finding_level),
    TP_COLUMN(struct tp_dump_finding, expected, ""),
    TP_COLUMN(struct tp_dump_finding, found, ""),
};

enum tp_status tp_dump_integrity_table(const struct tp_dump_findings *findings,
                                       struct tp_dump_finding **rows,
                                       struct tp_table *table,
                                       struct tp_error *err)
{
    size_t count = 0;
    *rows = calloc(findings->count + 1, sizeof **rows);
    if (!*rows)
        return tp_fail_memory(err);
    for (size_t i = 0; i < findings->count; i++)
        if (tp_dump_check_of(&findings->rows[i])->integrity)
            (*rows)[count++] = findings->rows[i];
    *table = (struct tp_table){.name = "dump_integrity",
                               COLUMNS(integrity_columns),
                               .rows = *rows,
                               .row_count = count,
                               .row_size = sizeof **rows};
    return TP_OK;
}
