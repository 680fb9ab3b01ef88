/* SPDX-License-Identifier: MIT */
/*
 * Codes and scales as tables: a row for each tensor, and one for each code
 * that a tensor has. The second is large, so its rows are made when they are
 * written, from a share and a value for each code of a format, kept once for
 * each tensor: 1 KiB of eight bits, 64 bytes of four. Cost: as of a copy.
 */
#include "tensors/quantised.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"

static const char *text_in(struct tp_arena *arena, const char *text)
{
    return tp_arena_text(arena, text, strlen(text));
}

static const char *format_of(const struct tp_scaled *s, struct tp_arena *arena)
{
    char word[16];
    if (s->number)
        return s->number->id;
    if (s->packing == TP_PACKED_NOT)
        return tp_dtype_info(s->codes->dtype)->name;
    snprintf(word, sizeof word, "int%d", s->bits);
    return text_in(arena, word);
}

static bool pack_codes(struct tp_quantised *q, const struct tp_scaled *s,
                       const struct tp_code_use *use, struct tp_arena *arena)
{
    float *share = tp_arena_alloc(arena, use->codes * sizeof *share);
    float *value = tp_arena_alloc(arena, use->codes * sizeof *value);
    for (unsigned i = 0; share && value && i < use->codes; i++) {
        share[i] = (float)((double)use->code[i] / (double)use->elements);
        value[i] = (float)tp_code_use_value(s, i);
    }
    q->share = share;
    q->value = value;
    return share && value;
}

/* A part of a whole; NaN of nothing. */
static double share_of(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : NAN;
}

const struct tp_quantised *tp_quantised_pack(const struct tp_tensor *tensor,
                                             const struct tp_code_use *use,
                                             struct tp_arena *arena)
{
    const struct tp_scaled *s = tensor->scaled;
    const struct tp_tensor *scale = s->scale.tensor;
    struct tp_quantised *q = tp_arena_alloc(arena, sizeof *q);
    if (!q)
        return NULL;
    q->layout = s->layout;
    q->format = format_of(s, arena);
    q->codes_path = text_in(arena, s->codes->path ? s->codes->path : "");
    q->scales_path = text_in(arena, scale && scale->path ? scale->path : "");
    q->elements = use->elements;
    q->scales = use->scales;
    q->unused = use->unused;
    q->scale_nan = use->scale_nan;
    q->scale_inf = use->scale_inf;
    q->scale_zero = use->scale_zero;
    q->scale_negative = use->scale_negative;
    q->scale_saturated = use->scale_saturated;
    q->scale_powers = use->scale_powers;
    q->scale_min = use->scale_min;
    q->scale_max = use->scale_max;
    q->blocks = use->blocks;
    q->blocks_at_max = use->blocks_at_max;
    q->blocks_below_half = use->blocks_below_half;
    q->blocks_zero = use->blocks_zero;
    q->blocks_lost = use->blocks_lost;
    q->elements_at_max = use->at_max;
    q->codes = use->codes;
    q->codes_used = use->codes_used;
    q->zero_share = share_of(use->zero, use->elements);
    q->at_max_share = share_of(use->at_max, use->elements);
    bool packed = !use->codes || !use->elements || pack_codes(q, s, use, arena);
    return packed && q->format && q->codes_path && q->scales_path ? q : NULL;
}

enum tp_status tp_quantised_number(struct tp_run *run, struct tp_error *err)
{
    size_t count = 0;
    uint64_t before = 0;
    for (size_t i = 0; i < run->row_count; i++)
        count += run->rows[i].quantised != NULL;
    run->quantised = calloc(count + 1, sizeof *run->quantised);
    if (!run->quantised)
        return tp_fail_memory(err);
    for (size_t i = 0; i < run->row_count; i++) {
        if (!run->rows[i].quantised)
            continue;
        struct tp_quantised *q = &run->quantised[run->quantised_count++];
        *q = *run->rows[i].quantised;
        q->tensor = i;
        q->codes_before = before;
        before += q->share ? q->codes : 0;
    }
    return TP_OK;
}

/* ---- tables ----------------------------------------------------------------
 */

#define COLUMN(member, unit) TP_COLUMN(struct tp_quantised, member, unit)

static const struct tp_column columns[] = {
    COLUMN(tensor, "1"),         COLUMN(layout, ""),
    COLUMN(format, ""),          COLUMN(codes_path, ""),
    COLUMN(scales_path, ""),     COLUMN(scales, "1"),
    COLUMN(unused, "1"),         COLUMN(scale_nan, "1"),
    COLUMN(scale_inf, "1"),      COLUMN(scale_zero, "1"),
    COLUMN(scale_negative, "1"), COLUMN(scale_saturated, "1"),
    COLUMN(scale_powers, "1"),   COLUMN(scale_min, "value"),
    COLUMN(scale_max, "value"),  COLUMN(blocks, "1"),
    COLUMN(blocks_at_max, "1"),  COLUMN(blocks_below_half, "1"),
    COLUMN(blocks_zero, "1"),    COLUMN(elements_at_max, "1"),
    COLUMN(at_max_share, "1"),   COLUMN(zero_share, "1"),
    COLUMN(codes, "1"),          COLUMN(codes_used, "1"),
};

/* A code of a tensor. */
struct code_row {
    uint64_t tensor, code;
    double value, share;
};

static const struct tp_column code_columns[] = {
    TP_COLUMN(struct code_row, tensor, "1"),
    TP_COLUMN(struct code_row, code, "1"),
    TP_COLUMN(struct code_row, value, "1"),
    TP_COLUMN(struct code_row, share, "1"),
};

static void make_codes(const void *from, size_t first, size_t count, void *made)
{
    const struct tp_run *run = from;
    struct code_row *rows = made;
    size_t above;
    TP_PARTITION_POINT(above, run->quantised_count,
                       run->quantised[above].codes_before <= first);
    size_t i = above - 1;
    for (size_t done = 0; done < count;) {
        const struct tp_quantised *q = &run->quantised[i];
        uint64_t code = first + done - q->codes_before;
        if (!q->share || code >= q->codes) {
            i++;
            continue;
        }
        rows[done++] = (struct code_row){
            q->tensor, code, (double)q->value[code], (double)q->share[code]};
    }
}

void tp_quantised_tables_make(const struct tp_run *run,
                              struct tp_table *quantised,
                              struct tp_table *code_use)
{
    const struct tp_quantised *last =
        run->quantised_count ? &run->quantised[run->quantised_count - 1] : NULL;
    *quantised =
        TP_TABLE_OF("quantised", columns, run->quantised, run->quantised_count);
    *code_use = (struct tp_table){
        .name = "code_use",
        .columns = code_columns,
        .column_count = sizeof code_columns / sizeof *code_columns,
        .rows = run,
        .row_count = last ? (size_t)(last->codes_before +
                                     (last->share ? last->codes : 0))
                          : 0,
        .row_size = sizeof(struct code_row),
        .make = make_codes,
    };
}
