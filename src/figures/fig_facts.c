/* SPDX-License-Identifier: MIT */
/*
 * Labels as small numbers. For each label the rows that carry it are sorted by
 * its value and the distinct values numbered in that order, so that picks,
 * colours and grids compare integers, and codes are in the order in which
 * values are shown. A hash table would find the distinct values without sorting
 * all rows, but they would be sorted afterwards all the same. O(rows log rows)
 * for each label, once a run; 4 bytes for each row and label.
 */
#include "figures/fig_dump.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/order.h"

/* One row's value of a label while the distinct ones are searched. */
struct entry {
    const char *name;
    int64_t number;
    uint32_t row;
};

static const char *const axis_names[TP_KEY_COUNT] = {
    [TP_KEY_QUANT] = "quant type [name]",
    [TP_KEY_NAME] = "tensor [name]",
    [TP_KEY_LAYER_TYPE] = "layer type [name]",
    [TP_KEY_PASS] = "pass [name]",
    [TP_KEY_FORMAT] = "target format [name]",
    [TP_KEY_LAYER] = "layer [index]",
    [TP_KEY_RANK] = "rank [index]",
    [TP_KEY_SAMPLE] = "sample [index]",
    [TP_KEY_ITERATION] = "iteration [number]",
    [TP_KEY_BATCH] = "batch size [samples]",
};

/* Where no quant type tells rows apart their dtypes do, and, of what an
 * optimizer keeps, what it is: moments are many binades below the weights
 * they stand beside, and each would hide the other. NULL: no memory. */
static const char *kind_of(const struct tp_row *row, struct tp_intern *kinds,
                           struct tp_arena *arena)
{
    enum { WORDS = 64 };
    const struct tp_label *label = &row->label;
    char words[WORDS];
    if (label->quant_type[0])
        return label->quant_type;
    if (!(label->roles & TP_ROLES_OF_STATE))
        return tp_row_dtype_word(row);
    snprintf(words, sizeof words, "%s %s", tp_row_dtype_word(row),
             label->component);
    return tp_intern(kinds, arena, words);
}

static const char *text_of(const struct tp_row *row, enum tp_key key)
{
    switch (key) {
    case TP_KEY_NAME:
        return tp_label_true_name(&row->label, row->path);
    case TP_KEY_LAYER_TYPE:
        return row->label.layer_type;
    case TP_KEY_PASS:
        return row->label.operation;
    default:
        return tp_row_target_word(row);
    }
}

static int64_t number_of(const struct tp_row *row, enum tp_key key)
{
    switch (key) {
    case TP_KEY_LAYER:
        return row->label.layer_idx;
    case TP_KEY_RANK:
        return row->label.rank;
    case TP_KEY_SAMPLE:
        return row->label.sample_idx;
    case TP_KEY_ITERATION:
        return row->label.iteration;
    default:
        return row->batch_size;
    }
}

static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->name)
        return strcmp(a->name, b->name);
    return tp_order_int64(a->number, b->number);
}

/* Collects the rows that carry the label; returns how many do. */
static size_t collect(const struct tp_run *run, enum tp_key key,
                      const char *const *kinds, struct entry *entries)
{
    size_t n = 0;
    bool numeric = key >= TP_KEY_LAYER;
    for (size_t r = 0; r < run->row_count; r++) {
        const char *text = numeric                ? NULL
                           : key == TP_KEY_QUANT ? kinds[r]
                                                 : text_of(&run->rows[r], key);
        int64_t number = numeric ? number_of(&run->rows[r], key) : 0;
        if (numeric ? number >= 0 : text[0] != '\0')
            entries[n++] = (struct entry){text, number, (uint32_t)r};
    }
    return n;
}

/* Numbers the distinct values of sorted entries; returns how many. */
static size_t assign(const struct entry *entries, size_t n, int32_t *code,
                     const struct entry **firsts)
{
    size_t distinct = 0;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || compare_entries(&entries[i - 1], &entries[i]) != 0)
            firsts[distinct++] = &entries[i];
        code[entries[i].row] = (int32_t)distinct - 1;
    }
    return distinct;
}

static enum tp_status name_values(const struct entry *const *firsts,
                                  size_t count, enum tp_key key,
                                  struct tp_arena *arena,
                                  struct tp_key_values *values,
                                  struct tp_error *err)
{
    const char **names = tp_arena_alloc(arena, count * sizeof *names);
    int64_t *numbers = tp_arena_alloc(arena, count * sizeof *numbers);
    if (!names || !numbers)
        return tp_fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        char text[32];
        int length = snprintf(text, sizeof text, "%lld",
                              (long long)firsts[i]->number);
        numbers[i] = firsts[i]->number;
        names[i] = firsts[i]->name
                       ? firsts[i]->name
                       : tp_arena_text(arena, text, (size_t)length);
        if (!names[i])
            return tp_fail_memory(err);
    }
    *values = (struct tp_key_values){
        .count = count,
        .names = names,
        .numbers = key >= TP_KEY_LAYER ? numbers : NULL,
        .axis = axis_names[key],
    };
    return TP_OK;
}

/* The kind of every row; NULL: no memory. */
static const char **name_kinds(const struct tp_run *run, struct tp_arena *arena)
{
    struct tp_intern texts = {0};
    const char **kinds = calloc(run->row_count + 1, sizeof *kinds);
    bool named = kinds != NULL;
    for (size_t r = 0; r < run->row_count && named; r++) {
        kinds[r] = kind_of(&run->rows[r], &texts, arena);
        named = kinds[r] != NULL;
    }
    tp_intern_clear(&texts);
    if (named)
        return kinds;
    free(kinds);
    return NULL;
}

enum tp_status tp_facts_init(const struct tp_figure_input *input,
                             struct tp_arena *arena, struct tp_facts *facts,
                             struct tp_error *err)
{
    const struct tp_run *run = input->run;
    size_t rows = run->row_count;
    struct entry *entries = calloc(rows + 1, sizeof *entries);
    const struct entry **firsts = calloc(rows + 1, sizeof *firsts);
    const char **kinds = name_kinds(run, arena);
    enum tp_status status = TP_OK;
    *facts = (struct tp_facts){.input = input, .run = run};
    if (!entries || !firsts || !kinds)
        status = tp_fail_memory(err);
    for (int k = 0; k < TP_KEY_COUNT && status == TP_OK; k++) {
        int32_t *code = tp_arena_alloc(arena, rows * sizeof *code);
        if (!code) {
            status = tp_fail_memory(err);
            break;
        }
        memset(code, -1, rows * sizeof *code);
        size_t n = collect(run, (enum tp_key)k, kinds, entries);
        qsort(entries, n, sizeof *entries, compare_entries);
        size_t distinct = assign(entries, n, code, firsts);
        facts->code[k] = code;
        status = name_values(firsts, distinct, (enum tp_key)k, arena,
                             &facts->keys[k], err);
    }
    for (size_t r = 0; r < rows; r++)
        facts->states |= run->rows[r].label.roles & TP_ROLES_OF_STATE;
    free(entries);
    free(firsts);
    free(kinds);
    return status;
}

int32_t tp_facts_code(const struct tp_facts *facts, enum tp_key key,
                      const char *name)
{
    const struct tp_key_values *values = &facts->keys[key];
    for (size_t i = 0; i < values->count; i++) {
        if (strcmp(values->names[i], name) == 0)
            return (int32_t)i;
    }
    return -1;
}

/* --- how values are shown ---------------------------------------------- */

const char *tp_fig_note(struct tp_fig *fig, const struct tp_choice *choice)
{
    if (choice->count == choice->total)
        return "";
    return tp_fig_text(fig, " (%zu of %zu)", choice->count, choice->total);
}

unsigned tp_fig_colour(const struct tp_fig *fig, enum tp_key key, int32_t code)
{
    bool few = fig->facts->keys[key].count <= TP_PANEL_SERIES_MAX;
    return few ? (unsigned)code + 1 : 0;
}

struct tp_axis tp_fig_rows(struct tp_fig *fig, enum tp_key key,
                           const struct tp_choice *choice)
{
    struct tp_tic *tics = tp_fig_alloc(fig, choice->count + 1, sizeof *tics);
    for (size_t i = 0; tics && i < choice->count; i++) {
        const char *name = fig->facts->keys[key].names[choice->codes[i]];
        const char *word = key == TP_KEY_LAYER    ? "layer "
                           : key == TP_KEY_RANK   ? "rank "
                           : key == TP_KEY_SAMPLE ? "sample "
                           : key == TP_KEY_BATCH  ? "batch "
                                                  : "";
        tics[i] = (struct tp_tic){
            (double)i, word[0] ? tp_fig_text(fig, "%s%s", word, name) : name};
    }
    return (struct tp_axis){
        .scale = TP_SCALE_ROWS,
        .tics = tics,
        .tic_count = tics ? choice->count : 0,
    };
}

struct tp_panel_series *tp_fig_series(struct tp_fig *fig, enum tp_key key,
                                      const struct tp_choice *choice)
{
    struct tp_axis names = tp_fig_rows(fig, key, choice);
    struct tp_panel_series *series =
        tp_fig_alloc(fig, choice->count + 1, sizeof *series);
    for (size_t s = 0; series && s < names.tic_count; s++) {
        series[s].name = names.tics[s].text;
        series[s].colour = tp_fig_colour(fig, key, choice->codes[s]);
    }
    return series;
}
