/* SPDX-License-Identifier: MIT */
/*
 * A column is a name and a function that words a cell, and a mode a list of
 * columns. Cells are texts, made before they are written, since what msprobe
 * prints is no plain number anywhere: " inf" with a blank, so that Excel takes
 * it for a text; "unsupported" and "Nan" among metrics; lists as Python has
 * them. Cost: 8 bytes a cell and the texts that are made, some 200 bytes a row,
 * and the stack once a call.
 */
#include "compare/compare_sheet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/compare_judge.h"
#include "formats/json/json_python.h"

/* A row while it is worded. */
struct wording {
    const struct tp_compare_pair *pair;
    const struct tp_compare_line *row;
    const struct tp_compare_entry *a, *b; /* b: NULL, none                  */
    size_t number;                        /* of the row                     */
    struct tp_text *text; /* empty; what is added is the cell, unless a text
                             is returned                                   */
};

typedef const char *word_fn(const struct wording *w, int which);

/* --- cells ---------------------------------------------------------------- */

static const char *name_cell(const struct wording *w, int which)
{
    return which == 0 ? w->a->name : w->b ? w->b->name : "N/A";
}

static const char *dtype_cell(const struct wording *w, int which)
{
    return which == 0 ? w->a->dtype : w->b ? w->b->dtype : "N/A";
}

static const char *shape_cell(const struct wording *w, int which)
{
    return which == 0 ? w->a->shape : w->b ? w->b->shape : "N/A";
}

static const char *grad_cell(const struct wording *w, int which)
{
    return which == 0 ? w->a->grad : w->b ? w->b->grad : "N/A";
}

static const char *md5_cell(const struct wording *w, int which)
{
    return which == 0 ? w->a->md5 : w->b ? w->b->md5 : "N/A";
}

static const char *consistent_cell(const struct wording *w, int which)
{
    (void)which;
    return strcmp(w->a->grad, w->b ? w->b->grad : "N/A") ? "False" : "True";
}

/* Statistics: 0 to 3 of A, 4 to 7 of B. */
static const char *stat_cell(const struct wording *w, int which)
{
    const struct tp_compare_entry *entry = which < TP_DUMP_STATS ? w->a : w->b;
    if (!entry)
        return "N/A";
    const struct tp_compare_value *value = &entry->stats[which % TP_DUMP_STATS];
    return value->kind == TP_COMPARE_INF            ? " inf"
           : value->kind == TP_COMPARE_NEGATIVE_INF ? " -inf"
                                                    : value->text;
}

static const char *difference_cell(const struct wording *w, int which)
{
    return w->row->shifts[which].difference;
}

static const char *relative_cell(const struct wording *w, int which)
{
    return w->row->shifts[which].relative;
}

static const char *metric_cell(const struct wording *w, int which)
{
    static const char *const words[] = {[TP_MSPROBE_UNSUPPORTED] =
                                            "unsupported",
                                        [TP_MSPROBE_SHAPES] = "shape unmatched",
                                        [TP_MSPROBE_APART] = "N/A",
                                        [TP_MSPROBE_NAN] = "Nan"};
    const struct tp_msprobe_value *cell = &w->row->metrics[which];
    if (cell->reason != TP_MSPROBE_NUMBER)
        return words[cell->reason];
    if (isinf(cell->value))
        return cell->value > 0 ? " inf" : " -inf";
    tp_python_float(cell->value, w->text);
    return NULL;
}

static const char *result_cell(const struct wording *w, int which)
{
    (void)which;
    return tp_compare_result_words[w->row->result];
}

static const char *message_cell(const struct wording *w, int which)
{
    (void)which;
    tp_compare_messages_text(w->row, w->text);
    return NULL;
}

/* A call's stack stands in its first row. */
static const char *stack_cell(const struct wording *w, int which)
{
    const struct tp_dump_stack *stack =
        w->pair->a.place->calls[w->a->call].stack;
    const bool first =
        w->number == 0 || w->pair->a.rows[w->row->a - 1].call != w->a->call;
    (void)which;
    if (!stack || !first)
        return "N/A";
    tp_text_add(w->text, "[");
    for (size_t i = 0; i < stack->count; i++) {
        tp_text_add(w->text, "%s", i ? ", " : "");
        tp_python_string(stack->lines[i], w->text);
    }
    tp_text_add(w->text, "]");
    return NULL;
}

static const char *data_cell(const struct wording *w, int which)
{
    (void)which;
    tp_text_add(w->text, "[");
    tp_python_string(w->a->data_name, w->text);
    tp_text_add(w->text, ", ");
    tp_python_string(w->b ? w->b->data_name : "N/A", w->text);
    tp_text_add(w->text, "]");
    return NULL;
}

/* --- columns -------------------------------------------------------------- */

enum {
    IN_TENSOR = 1 << TP_COMPARE_TENSOR,
    IN_STATISTICS = 1 << TP_COMPARE_STATISTICS,
    IN_MD5 = 1 << TP_COMPARE_MD5,
    IN_ALL = IN_TENSOR | IN_STATISTICS | IN_MD5,
    WITH_STACK = 1 << 8 /* only where A has stacks                          */
};

static const struct column {
    const char *name;
    word_fn *word;
    int which;
    unsigned modes;
} columns[] = {
    {"NPU Name", name_cell, 0, IN_ALL},
    {"Bench Name", name_cell, 1, IN_ALL},
    {"NPU Dtype", dtype_cell, 0, IN_ALL},
    {"Bench Dtype", dtype_cell, 1, IN_ALL},
    {"NPU Tensor Shape", shape_cell, 0, IN_ALL},
    {"Bench Tensor Shape", shape_cell, 1, IN_ALL},
    {"NPU Requires_grad", grad_cell, 0, IN_ALL},
    {"Bench Requires_grad", grad_cell, 1, IN_ALL},
    {"Cosine", metric_cell, TP_MSPROBE_COSINE, IN_TENSOR},
    {"EucDist", metric_cell, TP_MSPROBE_EUC_DIST, IN_TENSOR},
    {"MaxAbsErr", metric_cell, TP_MSPROBE_MAX_ABS_ERR, IN_TENSOR},
    {"MaxRelativeErr", metric_cell, TP_MSPROBE_MAX_RELATIVE_ERR, IN_TENSOR},
    {"One Thousandth Err Ratio", metric_cell, TP_MSPROBE_ONE_THOUSANDTH,
     IN_TENSOR},
    {"Five Thousandths Err Ratio", metric_cell, TP_MSPROBE_FIVE_THOUSANDTHS,
     IN_TENSOR},
    {"Max diff", difference_cell, TP_DUMP_MAX, IN_STATISTICS},
    {"Min diff", difference_cell, TP_DUMP_MIN, IN_STATISTICS},
    {"Mean diff", difference_cell, TP_DUMP_MEAN, IN_STATISTICS},
    {"L2norm diff", difference_cell, TP_DUMP_NORM, IN_STATISTICS},
    {"MaxRelativeErr", relative_cell, TP_DUMP_MAX, IN_STATISTICS},
    {"MinRelativeErr", relative_cell, TP_DUMP_MIN, IN_STATISTICS},
    {"MeanRelativeErr", relative_cell, TP_DUMP_MEAN, IN_STATISTICS},
    {"NormRelativeErr", relative_cell, TP_DUMP_NORM, IN_STATISTICS},
    {"NPU max", stat_cell, 0, IN_TENSOR | IN_STATISTICS},
    {"NPU min", stat_cell, 1, IN_TENSOR | IN_STATISTICS},
    {"NPU mean", stat_cell, 2, IN_TENSOR | IN_STATISTICS},
    {"NPU l2norm", stat_cell, 3, IN_TENSOR | IN_STATISTICS},
    {"Bench max", stat_cell, 4, IN_TENSOR | IN_STATISTICS},
    {"Bench min", stat_cell, 5, IN_TENSOR | IN_STATISTICS},
    {"Bench mean", stat_cell, 6, IN_TENSOR | IN_STATISTICS},
    {"Bench l2norm", stat_cell, 7, IN_TENSOR | IN_STATISTICS},
    {"NPU MD5", md5_cell, 0, IN_MD5},
    {"BENCH MD5", md5_cell, 1, IN_MD5},
    {"Requires_grad Consistent", consistent_cell, 0, IN_ALL},
    {"Result", result_cell, 0, IN_ALL},
    {"Err_message", message_cell, 0, IN_ALL},
    {"NPU_Stack_Info", stack_cell, 0, IN_ALL | WITH_STACK},
    {"Data_name", data_cell, 0, IN_TENSOR},
};

enum { COLUMNS = sizeof columns / sizeof *columns };

/* The columns of a mode; how many. */
static size_t choose(const struct tp_compare_pair *pair,
                     enum tp_compare_mode mode,
                     const struct column *chosen[TP_SHEET_COLUMNS_MAX])
{
    const bool stacks = pair->a.place->sources[TP_DUMP_STACK].file != NULL;
    size_t count = 0;
    for (size_t i = 0; i < COLUMNS; i++)
        if (columns[i].modes & 1u << mode &&
            (stacks || !(columns[i].modes & WITH_STACK)))
            chosen[count++] = &columns[i];
    return count;
}

/* --- the sheet ------------------------------------------------------------ */

static const char *cell_of(const struct wording *w, const struct column *column,
                           struct tp_arena *arena)
{
    w->text->length = 0;
    const char *word = column->word(w, column->which);
    if (word)
        return word;
    return w->text->failed
               ? NULL
               : tp_arena_text(arena, tp_text_get(w->text), w->text->length);
}

enum tp_status tp_compare_sheet_make(const struct tp_compare_pair *pair,
                                     enum tp_compare_mode mode,
                                     struct tp_compare_sheet *sheet,
                                     struct tp_error *err)
{
    const struct column *chosen[TP_SHEET_COLUMNS_MAX];
    const size_t count = choose(pair, mode, chosen);
    struct tp_text text = {0};
    memset(sheet, 0, sizeof *sheet);
    sheet->cells = calloc(pair->row_count * count + 1, sizeof *sheet->cells);
    bool whole = sheet->cells != NULL;
    for (size_t i = 0; i < pair->row_count && whole; i++) {
        const struct tp_compare_line *row = &pair->rows[i];
        const struct wording w = {pair,
                                  row,
                                  tp_compare_row_a(pair, row),
                                  tp_compare_row_b(pair, row),
                                  i,
                                  &text};
        for (size_t k = 0; k < count && whole; k++) {
            const char *cell = cell_of(&w, chosen[k], &sheet->arena);
            sheet->cells[i * count + k] = cell;
            whole = cell != NULL;
        }
    }
    tp_text_clear(&text);
    for (size_t k = 0; k < count; k++)
        sheet->columns[k] =
            (struct tp_column){chosen[k]->name, "", TP_COLUMN_TEXT,
                               k * sizeof *sheet->cells, NULL};
    sheet->table = (struct tp_table){.name = "compare_result",
                                     .columns = sheet->columns,
                                     .column_count = count,
                                     .rows = sheet->cells,
                                     .row_count = pair->row_count,
                                     .row_size = count * sizeof *sheet->cells};
    return whole ? TP_OK : tp_fail_memory(err);
}

void tp_compare_sheet_clear(struct tp_compare_sheet *sheet)
{
    free(sheet->cells);
    tp_arena_clear(&sheet->arena);
    memset(sheet, 0, sizeof *sheet);
}
