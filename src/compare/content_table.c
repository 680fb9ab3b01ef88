/* SPDX-License-Identifier: MIT */
#include "compare/content_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/notes.h"
#include "base/order.h"
#include "base/text.h"

/* Names of a row that are told; of more, how many. */
enum { MOST_NAMES = 64 };

/* --- words ---------------------------------------------------------------- */

static const struct tp_content_tensor *first_of(
    const struct tp_content *content, const struct tp_content_match *match,
    size_t side)
{
    return &content->sides[side].tensors[match->items[side][0]];
}

static void add_numbers(const int *numbers, int count, struct tp_text *text)
{
    for (int i = 0; i < count; i++)
        tp_text_add(text, "%s%d", i ? ", " : "", numbers[i]);
}

/* One behind the other may be along the first axis, or along a new one. */
static void add_in_order(const struct tp_content *content,
                         const struct tp_content_match *match,
                         struct tp_text *text)
{
    const struct tp_content_tensor *a = first_of(content, match, 0);
    const struct tp_content_tensor *b = first_of(content, match, 1);
    const struct tp_content_tensor *whole = match->counts[0] == 1 ? a : b;
    const struct tp_content_tensor *part = match->counts[0] == 1 ? b : a;
    bool joined = whole->ndim == part->ndim && whole->ndim > 0;
    bool stacked = whole->ndim == part->ndim + 1;
    for (int i = 1; i < part->ndim && joined; i++)
        joined = whole->shape[i] == part->shape[i];
    for (int i = 0; i < part->ndim && stacked; i++)
        stacked = whole->shape[i + 1] == part->shape[i];
    tp_text_add(text, joined    ? " along axis 0"
                      : stacked ? ", stacked"
                                : ", one behind the other");
}

static void add_how(const struct tp_content *content,
                    const struct tp_content_match *match, struct tp_text *text)
{
    const struct tp_content_proof *proof = &match->proof;
    const bool several = match->counts[0] + match->counts[1] > 2;
    switch (proof->how) {
    case TP_CONTENT_IN_ORDER:
        if (several)
            add_in_order(content, match, text);
        break;
    case TP_CONTENT_ALONG:
        tp_text_add(text, " along axis %d", proof->axis);
        break;
    case TP_CONTENT_ROWS:
        tp_text_add(text, "%srows in another order, in blocks of %" PRId64,
                    several ? ", " : "", proof->block);
        break;
    case TP_CONTENT_PERMUTED:
        if (proof->ndim > 2) {
            tp_text_add(text, " (");
            add_numbers(proof->permutation, proof->ndim, text);
            tp_text_add(text, ")");
        }
        break;
    case TP_CONTENT_DIFFER:
        tp_text_add(text, "%sthe same elements in another order",
                    several ? ", " : "");
        break;
    }
}

static void add_words(const struct tp_content *content,
                      const struct tp_content_match *match,
                      struct tp_text *text)
{
    const size_t *counts = match->counts;
    const bool in_b = counts[1] > 1;
    switch (match->relation) {
    case TP_CONTENT_EQUAL:
    case TP_CONTENT_RESHAPED:
    case TP_CONTENT_TRANSPOSED:
        tp_text_add(text, "%s", tp_content_relation_words[match->relation]);
        break;
    case TP_CONTENT_SPLIT:
        tp_text_add(text, "split in %zu in %s", counts[in_b], in_b ? "B" : "A");
        break;
    case TP_CONTENT_FUSED:
        tp_text_add(text, "fused of %zu in %s", counts[in_b], in_b ? "A" : "B");
        break;
    case TP_CONTENT_RESHARDED:
        tp_text_add(text, "resharded, %zu in A and %zu in B", counts[0],
                    counts[1]);
        break;
    default:
        break;
    }
    add_how(content, match, text);
    if (match->cast)
        tp_text_add(text, ", rounded to %s", tp_dtype_info(match->dtype)->name);
    if (match->constant)
        tp_text_add(text, ", constant");
}

static const char *names_of(const struct tp_content *content,
                            const struct tp_content_match *match, size_t side,
                            struct tp_arena *arena)
{
    struct tp_text text = {0};
    const size_t count = match->counts[side];
    for (size_t i = 0; i < count && i < MOST_NAMES; i++)
        tp_text_add(&text, "%s%s", i ? ", " : "",
                    content->sides[side].tensors[match->items[side][i]].name);
    if (count > MOST_NAMES)
        tp_text_add(&text, ", and %zu more", count - MOST_NAMES);
    return tp_arena_take(arena, &text);
}

/* --- rows ----------------------------------------------------------------- */

static bool set_row(const struct tp_content *content,
                    const struct tp_content_match *match,
                    struct tp_arena *arena, struct tp_content_row *row)
{
    const struct tp_content_proof *proof = &match->proof;
    struct tp_text words = {0}, axes = {0};
    add_words(content, match, &words);
    if (proof->how == TP_CONTENT_PERMUTED)
        add_numbers(proof->permutation, proof->ndim, &axes);
    *row = (struct tp_content_row){
        .left = names_of(content, match, 0, arena),
        .right = names_of(content, match, 1, arena),
        .left_count = (int64_t)match->counts[0],
        .right_count = (int64_t)match->counts[1],
        .relation = tp_content_relation_words[match->relation],
        .words = tp_arena_take(arena, &words),
        .dtype = tp_dtype_info(match->dtype)->name,
        .axis = proof->how == TP_CONTENT_ALONG ? proof->axis : -1,
        .permutation = tp_arena_take(arena, &axes),
        .row_block = proof->how == TP_CONTENT_ROWS ? proof->block : -1,
        .cast = match->cast,
        .constant = match->constant,
        .copy = match->copy,
        .verified = proof->how == TP_CONTENT_DIFFER ? "digests" : "elements"};
    if (row->words && strstr(row->words, "along axis 0"))
        row->axis = 0;
    return row->left && row->right && row->words && row->permutation;
}

static struct tp_content_lone_row lone_row(const struct tp_content *content,
                                           size_t side, size_t item)
{
    const struct tp_content_tensor *its = &content->sides[side].tensors[item];
    const struct tp_content_near *near = &content->near[side][item];
    struct tp_content_lone_row row = {.side = side ? "B" : "A",
                                      .name = its->name,
                                      .dtype = tp_dtype_info(its->dtype)->name,
                                      .shape = its->shape_text,
                                      .kind = !its->read        ? "not read"
                                              : its->numel == 0 ? "empty"
                                              : its->constant   ? "constant"
                                                                : "",
                                      .amax = its->amax,
                                      .nearest = "",
                                      .differing_share = NAN,
                                      .relative_l2 = NAN};
    if (near->item == SIZE_MAX)
        return row;
    row.nearest = content->sides[!side].tensors[near->item].name;
    row.differing_share = (double)near->distance.differ / (double)its->numel;
    row.relative_l2 = near->distance.relative_l2;
    return row;
}

static void count_side(const struct tp_content *content, size_t side,
                       struct tp_content_rows *rows)
{
    for (size_t i = 0; i < content->sides[side].count; i++) {
        const struct tp_content_tensor *its = &content->sides[side].tensors[i];
        const bool found = content->match_of[side][i] != SIZE_MAX;
        rows->all[side] += its->numel > 0;
        rows->found[side] += found;
        rows->lost[side] +=
            !found && its->read && its->numel > 0 && !its->constant;
        if (!found)
            rows->alone[rows->alone_count++] = lone_row(content, side, i);
    }
}

static int compare_sums(const void *left, const void *right)
{
    const struct tp_content_sum_row *a = left, *b = right;
    const int result = tp_order_size(b->count, a->count);
    return result ? result : strcmp(a->words, b->words);
}

/* Counts the tensors of A by what became of them. */
static enum tp_status sum_up(const struct tp_content *content,
                             struct tp_content_rows *rows, struct tp_error *err)
{
    const size_t all = content->sides[0].count;
    const char **words = calloc(all + 1, sizeof *words);
    size_t count = 0;
    rows->sums = calloc(all + 1, sizeof *rows->sums);
    if (!words || !rows->sums) {
        free(words);
        return tp_fail_memory(err);
    }
    for (size_t i = 0; i < all; i++)
        if (content->match_of[0][i] != SIZE_MAX)
            words[count++] = rows->rows[content->match_of[0][i]].words;
    tp_sort_text(words, count);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(words[i - 1], words[i]) != 0)
            rows->sums[rows->sum_count++].words = words[i];
        rows->sums[rows->sum_count - 1].count++;
    }
    if (rows->sum_count)
        qsort(rows->sums, rows->sum_count, sizeof *rows->sums, compare_sums);
    free(words);
    return TP_OK;
}

enum tp_status tp_content_rows_make(const struct tp_content *content,
                                    struct tp_content_rows *rows,
                                    struct tp_error *err)
{
    const size_t all = content->sides[0].count + content->sides[1].count;
    rows->rows = calloc(content->count + 1, sizeof *rows->rows);
    rows->alone = calloc(all + 1, sizeof *rows->alone);
    bool made = rows->rows && rows->alone;
    for (size_t i = 0; i < content->count && made; i++)
        made = set_row(content, &content->matches[i], &rows->arena,
                       &rows->rows[rows->count++]);
    if (!made)
        return tp_fail_memory(err);
    count_side(content, 0, rows);
    count_side(content, 1, rows);
    return sum_up(content, rows, err);
}

void tp_content_rows_clear(struct tp_content_rows *rows)
{
    free(rows->rows);
    free(rows->alone);
    free(rows->sums);
    tp_arena_clear(&rows->arena);
    memset(rows, 0, sizeof *rows);
}

/* --- tables --------------------------------------------------------------- */

#define MATCH(member) TP_COLUMN(struct tp_content_row, member, "")
#define MATCH_NUMBER(member) TP_COLUMN(struct tp_content_row, member, "1")
#define LONE(member) TP_COLUMN(struct tp_content_lone_row, member, "")

static const struct tp_column match_columns[] = {
    MATCH(left),
    MATCH(right),
    MATCH_NUMBER(left_count),
    MATCH_NUMBER(right_count),
    MATCH(relation),
    MATCH(words),
    MATCH(dtype),
    MATCH_NUMBER(axis),
    MATCH(permutation),
    MATCH_NUMBER(row_block),
    MATCH_NUMBER(cast),
    MATCH_NUMBER(constant),
    MATCH_NUMBER(copy),
    MATCH(verified),
};

static const struct tp_column lone_columns[] = {
    LONE(side),
    LONE(name),
    LONE(dtype),
    LONE(shape),
    LONE(kind),
    TP_COLUMN(struct tp_content_lone_row, amax, "tensor units"),
    LONE(nearest),
    TP_COLUMN(struct tp_content_lone_row, differing_share, "1"),
    TP_COLUMN(struct tp_content_lone_row, relative_l2, "1"),
};

void tp_content_matches_table(const struct tp_content_rows *rows,
                              struct tp_table *table)
{
    *table =
        TP_TABLE_OF("content_matches", match_columns, rows->rows, rows->count);
}

void tp_content_alone_table(const struct tp_content_rows *rows,
                            struct tp_table *table)
{
    *table = TP_TABLE_OF("content_alone", lone_columns, rows->alone,
                         rows->alone_count);
}
