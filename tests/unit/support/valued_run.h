/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_VALUED_RUN_H
#define TP_TESTS_VALUED_RUN_H

#include "scan/dim_rank.h"
#include "tests/unit/support/stages.h"

/*
 * Runs by hand whose rows have labels, and summaries of values that are counted
 * here one by one: what the stages from the rows on have to work with, without
 * files.
 */

/* The summary of a few values, which are to be e4m3. */
static inline void valued_summarise(const double *values, size_t n,
                                    struct tp_summary *summary)
{
    struct tp_moments *m = &summary->moments;
    memset(summary, 0, sizeof *summary);
    summary->counts.numel = summary->counts.values = n;
    summary->counts.judged = n;
    for (size_t i = 0; i < n; i++) {
        double x = values[i];
        if (isnan(x)) {
            summary->counts.nan++;
            continue;
        }
        summary->counts.zero += x == 0;
        summary->counts.negative += x < 0;
        summary->counts.upper_overflow += x > 448;
        summary->counts.lower_overflow += x < -448;
        summary->counts.underflow += x != 0 && fabs(x) < 0x1p-10;
        summary->counts.subnormal += x != 0 && fabs(x) < 0x1p-6;
        if (x != 0)
            summary->bins[tp_summary_bin(x)]++;
        if (m->n == 0 || x < summary->extrema.min)
            summary->extrema.min = x;
        if (m->n == 0 || x > summary->extrema.max)
            summary->extrema.max = x;
        if (x != 0 && (summary->extrema.abs_min_nonzero == 0 ||
                       fabs(x) < summary->extrema.abs_min_nonzero))
            summary->extrema.abs_min_nonzero = fabs(x);
        m->n++;
        m->mean += x;
        m->sum_abs += fabs(x);
        m->sum_squares += x * x;
    }
    m->mean = m->n ? m->mean / (double)m->n : 0;
    for (size_t i = 0; i < n; i++) {
        double d = isnan(values[i]) ? 0 : values[i] - m->mean;
        m->m2 += d * d;
        m->m3 += d * d * d;
        m->m4 += d * d * d * d;
    }
}

/* Gives a row a summary of values. */
static inline void valued_set(struct tp_run *run, struct tp_row *row,
                              const double *values, size_t n)
{
    struct tp_summary *summary = malloc(sizeof *summary);
    cr_assert_not_null(summary);
    valued_summarise(values, n, summary);
    set_summary(run, row, summary);
    free(summary);
}

/* The same with normal quantiles times `scale`, shifted a little. */
static inline void valued_set_normal(struct tp_run *run, struct tp_row *row,
                                     double scale)
{
    enum { COUNT = 64 };
    double values[COUNT];
    for (int i = 0; i < COUNT; i++) {
        /* the logistic approximation of the normal quantile is enough */
        double p = (i + 0.5) / COUNT;
        values[i] = scale * (log(p / (1 - p)) / 1.702 + 0.01);
    }
    valued_set(run, row, values, COUNT);
}

/* What a row is labelled with. */
struct valued_place {
    const char *quant, *type, *pass, *phase, *name;
    int64_t layer, rank, sample, iteration;
};

/* Adds a row without values. */
static inline struct tp_row *valued_add(struct tp_run *run,
                                        const struct valued_place *place)
{
    struct tp_row *row = add_row(run, "file.pt");
    row->label.quant_type = place->quant;
    row->label.layer_type = place->type;
    row->label.operation = place->pass;
    row->label.phase = place->phase;
    row->label.tensor_name = place->name;
    row->label.layer_idx = place->layer;
    row->label.rank = place->rank;
    row->label.sample_idx = place->sample;
    row->label.iteration = place->iteration;
    tp_label_classify(&row->label);
    row->batch_size = 1 + place->iteration % 2;
    row->target_max = 32768;
    return row;
}

/* What each layer saves in an iteration. */
static const struct {
    const char *type, *pass, *phase, *name;
} valued_tensors[] = {
    {"attention", "forward", "pre", "query"},
    {"attention", "forward", "pre", "key"},
    {"attention", "forward", "pre", "value"},
    {"attention", "forward", "post", "attention_weights"},
    {"attention", "forward", "post", "output"},
    {"linear", "forward", "pre", "input"},
    {"linear", "forward", "pre", "weight"},
    {"linear", "backward", "pre", "input"},
    {"linear", "backward", "post", "output"},
};
enum { VALUED_TENSORS = sizeof valued_tensors / sizeof *valued_tensors };

/* What a run of `layers` by `ranks` by `iterations` saves, in three quant
 * types; rank `loud` is eight times as loud as the others. To be cleared with
 * valued_clear. */
static inline void valued_make(struct tp_run *run, int layers, int ranks,
                               int iterations, int loud)
{
    static const char *const quants[] = {"bf16", "hifp8", "mxfp8"};
    static const char *const formats[] = {"bf16", "hif8", "mxfp8_e4m3"};
    *run = (struct tp_run){0};
    for (int q = 0; q < 3; q++) {
        for (int at = 0; at < layers * ranks * iterations * VALUED_TENSORS;
             at++) {
            int t = at % VALUED_TENSORS, rest = at / VALUED_TENSORS;
            int layer = rest % layers, rank = rest / layers % ranks;
            int iteration = rest / layers / ranks;
            struct valued_place place = {quants[q],
                                         valued_tensors[t].type,
                                         valued_tensors[t].pass,
                                         valued_tensors[t].phase,
                                         valued_tensors[t].name,
                                         layer,
                                         rank,
                                         iteration % 3,
                                         iteration};
            struct tp_row *row = valued_add(run, &place);
            row->target = tp_number_by_id(formats[q]);
            if (q == 2)
                row->target_max = NAN;
            valued_set_normal(
                run, row, exp2(q - t) * (1 + layer) * (rank == loud ? 8 : 1));
        }
    }
}

/* From iteration 10 on, what rank 1 computes from layer 2's linear input on
 * is a million times too large; the axes of one tensor differ, too. */
static inline void valued_break(struct stages *made)
{
    struct tp_run *run = &made->run;
    static const struct tp_dim_index worst[] = {
        {.index = 3, .count = 8, .min = -900, .max = 100},
        {.index = 0, .count = 8, .min = -1, .max = 0.5}};
    static struct tp_dim_axis axis = {.axis = 1,
                                      .risk = TP_DIM_HIGH,
                                      .length = 16,
                                      .ratio = 900,
                                      .median = 1,
                                      .outliers = 1,
                                      .worst = worst,
                                      .kept = 2};
    static const struct tp_dims dims = {&axis, 1};
    const struct tp_baseline_options how = {
        .warmup_steps = 100, .alert_window = 50, .sigma = 3};
    for (size_t i = 0; i < run->row_count; i++) {
        struct tp_row *row = &run->rows[i];
        bool bad = row->label.rank == 1 && row->label.layer_idx == 2 &&
                   row->label.iteration >= 10 &&
                   strcmp(row->label.layer_type, "linear") == 0;
        if (bad)
            valued_set_normal(run, row, 0x1p20);
    }
    run->rows[0].dims = &dims;
    stages_watch(made, &how);
    stages_pair(made);
    for (size_t i = 0; i < made->pairs.count; i++)
        made->pairs.rows[i].numbers.one_minus_r = 0.1;
    made->pairs.measured = made->pairs.count;
    made->pairs.scatters = calloc(1, sizeof *made->pairs.scatters);
    cr_assert_not_null(made->pairs.scatters);
    made->pairs.scatters[0].axis = tp_pair_axis_of(-1, 1, 1);
    made->pairs.scatters[0].cells[0] = 1;
    made->pairs.scatter_count = 1;
}

/* Releases a run that is no part of stages. */
static inline void valued_clear(struct tp_run *run)
{
    free(run->rows);
    tp_arena_clear(&run->arena);
}

#endif
