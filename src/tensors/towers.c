/* SPDX-License-Identifier: MIT */
/*
 * A tower is what stands in a module's path before the list of its layers:
 * "vision_tower.encoder" of "vision_tower.encoder.layers.0.mlp". Rows are
 * sorted by all labels but the module; neighbours that agree in these and have
 * other towers make both towers ambiguous, and their tensors are renamed in all
 * of the run. A column for the tower would be one more that every grouping,
 * figure and baseline has to know; the name of the tensor is in all of them.
 * Cost: a sort of the rows, if there are two towers at all.
 */
#include "tensors/towers.h"

#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/order.h"
#include "base/text.h"
#include "base/text_index.h"

/* More are no towers of a model, and have their whole paths. */
enum { FEW = 64 };

struct tower {
    const char *path;
    size_t length;
    bool ambiguous;
    const char *word; /* where it differs from the others */
    size_t word_length;
};

/* A row with its tower. */
struct standing {
    struct tp_row *row;
    size_t tower;
};

struct towers {
    struct tower *all;
    size_t count, room, last;
    struct tp_text_index index; /* of their paths, which are the arena's */
    struct tp_arena arena;
    struct standing *rows;
    size_t row_count;
};

/* The bytes of a module's path before the list that its layer is of; false: it
 * is in none. "h.3.attn": 0. */
static bool tower_of(const struct tp_label *label, size_t *length)
{
    const char *at = label->module;
    const char *list = at;
    if (label->layer_idx < 0 || *label->operation)
        return false;
    while (*at) {
        const size_t word = strcspn(at, ".");
        if (word && strspn(at, "0123456789") == word) {
            *length =
                list > label->module ? (size_t)(list - 1 - label->module) : 0;
            return list < at;
        }
        list = at;
        at += word + (at[word] == '.');
    }
    return false;
}

/* The number of a tower; mostly it is the one before. */
static size_t find_tower(struct towers *towers, const char *path, size_t length,
                         struct tp_error *err)
{
    const struct tower *last =
        towers->row_count ? &towers->all[towers->last] : NULL;
    if (last && last->length == length && !memcmp(last->path, path, length))
        return towers->last;
    const char *own = tp_arena_text(&towers->arena, path, length);
    if (!own || tp_grow(&towers->all, &towers->room, towers->count + 1,
                        sizeof *towers->all, NULL) != TP_OK) {
        tp_fail_memory(err);
        return SIZE_MAX;
    }
    size_t *number = tp_text_index_put(&towers->index, own);
    if (*number == TP_TEXT_NEW) {
        *number = towers->count++;
        towers->all[*number] = (struct tower){.path = own, .length = length};
    }
    return *number;
}

/* Rows that are in a tower. */
static enum tp_status find_rows(struct tp_run *run, struct towers *towers,
                                struct tp_error *err)
{
    const size_t count = run->row_count + run->aside_count;
    towers->rows = calloc(count + 1, sizeof *towers->rows);
    if (!towers->rows || !tp_text_index_init(&towers->index, count))
        return tp_fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        struct tp_row *row = &run->rows[i];
        size_t length;
        if (!tower_of(&row->label, &length))
            continue;
        const size_t tower = find_tower(towers, row->label.module, length, err);
        if (tower == SIZE_MAX)
            return TP_E_MEMORY;
        towers->last = tower;
        towers->rows[towers->row_count++] = (struct standing){row, tower};
    }
    return TP_OK;
}

static int compare_labels(const struct tp_row *x, const struct tp_row *y)
{
    const struct tp_label *a = &x->label, *b = &y->label;
    int order = tp_order_int64(a->iteration, b->iteration);
    if (!order)
        order = tp_order_int64(a->rank, b->rank);
    if (!order)
        order = tp_order_int64(a->layer_idx, b->layer_idx);
    if (!order)
        order = tp_order_int64(a->expert, b->expert);
    if (!order)
        order = tp_order_text(a->tensor_name, b->tensor_name);
    if (!order)
        order = tp_order_text(a->layer_type, b->layer_type);
    return order ? order : tp_order_text(a->component, b->component);
}

static int compare_standing(const void *left, const void *right)
{
    const struct standing *a = left, *b = right;
    const int order = compare_labels(a->row, b->row);
    return order ? order : tp_order_place(a->row, b->row);
}

/* Marks towers of which a tensor has the labels of another's. */
static bool find_ambiguous(struct towers *towers)
{
    bool found = false;
    qsort(towers->rows, towers->row_count, sizeof *towers->rows,
          compare_standing);
    for (size_t i = 1; i < towers->row_count; i++) {
        const struct standing *a = &towers->rows[i - 1];
        const struct standing *b = &towers->rows[i];
        if (a->tower == b->tower || compare_labels(a->row, b->row) != 0)
            continue;
        towers->all[a->tower].ambiguous = true;
        towers->all[b->tower].ambiguous = found = true;
    }
    return found;
}

/* The bytes of whole words, with their dots, that two paths begin with. */
static size_t common_words(const struct tower *a, const struct tower *b)
{
    size_t common = 0;
    for (size_t i = 0; i < a->length && i < b->length; i++) {
        if (a->path[i] != b->path[i])
            break;
        if (a->path[i] == '.')
            common = i + 1;
    }
    return common;
}

static bool same_word(const struct tower *a, const struct tower *b)
{
    return a->word_length == b->word_length &&
           memcmp(a->word, b->word, a->word_length) == 0;
}

/* The first word behind what all ambiguous towers have in common, or all that
 * is behind it where that would not tell two apart. */
static void name_towers(struct towers *towers)
{
    const struct tower *first = NULL;
    size_t common = SIZE_MAX;
    bool clear = towers->count <= FEW;
    for (size_t i = 0; i < towers->count; i++) {
        const struct tower *tower = &towers->all[i];
        if (!tower->ambiguous)
            continue;
        first = first ? first : tower;
        const size_t words =
            first == tower ? SIZE_MAX : common_words(first, tower);
        common = words < common ? words : common;
    }
    for (size_t i = 0; i < towers->count; i++) {
        struct tower *tower = &towers->all[i];
        if (!tower->ambiguous)
            continue;
        tower->word = tower->path + common;
        tower->word_length = strcspn(tower->word, ".");
        if (tower->word_length > tower->length - common)
            tower->word_length = tower->length - common;
        for (size_t k = 0; k < i && clear; k++)
            clear = clear && !(towers->all[k].ambiguous &&
                               same_word(&towers->all[k], tower));
    }
    for (size_t i = 0; i < towers->count && !clear; i++)
        towers->all[i].word_length = towers->all[i].length - common;
}

static enum tp_status rename_rows(struct tp_run *run, struct towers *towers,
                                  struct tp_error *err)
{
    struct tp_intern names = {0};
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < towers->row_count && status == TP_OK; i++) {
        const struct tower *tower = &towers->all[towers->rows[i].tower];
        struct tp_label *label = &towers->rows[i].row->label;
        struct tp_text text = {0};
        if (!tower->ambiguous || tower->word_length == 0)
            continue;
        tp_text_bytes(&text, tower->word, tower->word_length);
        tp_text_add(&text, ".%s", label->tensor_name);
        label->tensor_name =
            text.failed ? NULL
                        : tp_intern(&names, &run->arena, tp_text_get(&text));
        tp_text_clear(&text);
        if (!label->tensor_name)
            status = tp_fail_memory(err);
    }
    tp_intern_clear(&names);
    return status;
}

enum tp_status tp_towers_part(struct tp_run *run, struct tp_error *err)
{
    struct towers towers = {.all = NULL};
    enum tp_status status = find_rows(run, &towers, err);
    if (status == TP_OK && towers.count > 1 && find_ambiguous(&towers)) {
        name_towers(&towers);
        status = rename_rows(run, &towers, err);
    }
    tp_text_index_clear(&towers.index);
    tp_arena_clear(&towers.arena);
    free(towers.rows);
    free(towers.all);
    return status;
}
