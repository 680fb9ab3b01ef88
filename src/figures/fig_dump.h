/* SPDX-License-Identifier: MIT */
#ifndef TP_FIGURES_FIG_DUMP_H
#define TP_FIGURES_FIG_DUMP_H

#include "figures/fig.h"
#include "figures/figure_input.h"

/*
 * What the builders of figures of a dump (fig_*.c) share: labels as small
 * numbers, choices of rows, and one function per way to turn rows into a
 * panel. Such a function adds its panel to the figure, or nothing when no row
 * fits, so a builder is a list of wishes and needs no test for missing labels.
 */

/* --- labels as numbers ----------------------------------------------- */

enum tp_key {
    TP_KEY_QUANT,      /* quant_type, or the dtype when there is none       */
    TP_KEY_NAME,       /* tensor_name; gradients under their true name      */
    TP_KEY_LAYER_TYPE,
    TP_KEY_PASS,       /* forward, backward                                 */
    TP_KEY_FORMAT,     /* target format                                     */
    TP_KEY_LAYER,
    TP_KEY_RANK,
    TP_KEY_SAMPLE,
    TP_KEY_ITERATION,
    TP_KEY_BATCH,
    TP_KEY_COUNT
};

/* The distinct values of a label, sorted; codes are their places here. */
struct tp_key_values {
    size_t count;
    const char **names;     /* as shown                                     */
    const int64_t *numbers; /* NULL for texts                               */
    const char *axis;       /* axis label with unit                         */
};

/* A dump as the builders see it; constant while figures are built. */
struct tp_facts {
    const struct tp_figure_input *input;
    const struct tp_run *run;          /* of the input      */
    const int32_t *code[TP_KEY_COUNT]; /* [row]; -1: absent */
    struct tp_key_values keys[TP_KEY_COUNT];
    bool states; /* tensors that an optimizer keeps are among the rows */
};

/* Fills in *facts; everything lives in the arena. TP_E_MEMORY only. */
enum tp_status tp_facts_init(const struct tp_figure_input *input,
                             struct tp_arena *arena, struct tp_facts *facts,
                             struct tp_error *err);

/* The code of a text, -1 when no row has it. */
int32_t tp_facts_code(const struct tp_facts *facts, enum tp_key key,
                      const char *name);

/* --- choosing rows ----------------------------------------------- */

enum { TP_PICK_ANY = -2, TP_PICK_PRESENT = -3 };

/* Which rows: for each label a code, "any" or "present". */
struct tp_pick {
    int32_t want[TP_KEY_COUNT];
};

/* All rows. */
struct tp_pick tp_pick_all(void);

/* The pick narrowed to one code of a label; a code of -1 picks nothing. */
struct tp_pick tp_pick_with(struct tp_pick pick, enum tp_key key,
                            int32_t code);

/* The same by name. */
struct tp_pick tp_pick_named(const struct tp_facts *facts, struct tp_pick pick,
                             enum tp_key key, const char *name);

/* Whether the row is picked. */
bool tp_picked(const struct tp_facts *facts, const struct tp_pick *pick,
               size_t row);

/* The counts of all picked rows together. */
struct tp_counts tp_picked_counts(const struct tp_facts *facts,
                                  const struct tp_pick *pick);

enum { TP_CHOICE_MAX = 32 };

/* Values of a label that are shown: all, or the most telling ones. */
struct tp_choice {
    int32_t codes[TP_CHOICE_MAX]; /* ascending */
    size_t count;
    size_t total; /* values that picked rows have */
};

/*
 * Chooses at most `limit` values of a label among the picked rows of a figure
 * with finite elements: of texts those with most elements, of numbers evenly
 * spaced ones with both ends. Sets its `failed` when memory ends.
 */
void tp_choose(struct tp_fig *fig, const struct tp_pick *pick, enum tp_key key,
               size_t limit, struct tp_choice *choice);

/* --- pooled numbers ----------------------------------------------- */

/* A summary without its histogram: for numbers of many groups at once. */
struct tp_pooled {
    struct tp_counts counts;
    struct tp_moments moments;
    struct tp_extrema extrema;
};

/* Adds a tensor. */
void tp_pooled_add(struct tp_pooled *pooled, const struct tp_packed *packed);

/* As tp_summary_numbers, but the quantiles are NaN. */
void tp_pooled_numbers(const struct tp_pooled *pooled,
                       struct tp_numbers *numbers);

/* A number of a tensor or of a group, and how it is shown. */
struct tp_metric {
    const char *title; /* "std"                             */
    const char *label; /* for an axis, with the unit        */
    enum tp_scale scale;
    size_t offset;     /* in struct tp_numbers              */
    const double *values; /* [row], instead of the offset; not for pools */
};

extern const struct tp_metric tp_metric_mean, tp_metric_std, tp_metric_min,
    tp_metric_max, tp_metric_amax, tp_metric_skewness, tp_metric_overflow,
    tp_metric_upper, tp_metric_lower, tp_metric_underflow,
    tp_metric_subnormal;

/* Whether any row has some of it: a picture of none says less than a word. */
bool tp_metric_any(const struct tp_facts *facts,
                   const struct tp_metric *metric);

/* The metric of one row, and of numbers. */
double tp_metric_of_row(const struct tp_metric *metric,
                        const struct tp_facts *facts, size_t row);
double tp_metric_of(const struct tp_metric *metric,
                    const struct tp_numbers *numbers);

/* The quantile of n sorted values, linear between them; NaN if n is 0. */
double tp_sorted_quantile(const double *sorted, size_t n, double level);

/* --- what is shown ------------------------------------------------ */

/* " (8 of 20)" when not everything is shown, else "". */
const char *tp_fig_note(struct tp_fig *fig, const struct tp_choice *choice);

/* The colour of a code as a series: the same in all figures of a run while
 * the label has few values, else 0. */
unsigned tp_fig_colour(const struct tp_fig *fig, enum tp_key key,
                       int32_t code);

/* Rows named by `choice`, from the top, for TP_SCALE_ROWS. */
struct tp_axis tp_fig_rows(struct tp_fig *fig, enum tp_key key,
                           const struct tp_choice *choice);

/* A series for each value of `choice`, named and coloured, without rows. */
struct tp_panel_series *tp_fig_series(struct tp_fig *fig, enum tp_key key,
                                      const struct tp_choice *choice);

/* --- common panels ------------------------------------------------ */

/* Shares of the elements of a group, made from its counts. */
struct tp_shares {
    const char *title;
    const char *const *rows; /* row_count names, constant              */
    size_t row_count;
    void (*of)(const struct tp_counts *counts, double *shares);
};

/* Lying bars: the shares of all elements, a colour per quant type. */
void tp_fig_shares(struct tp_fig *fig, const struct tp_shares *shares);

/* What the common panels are asked for. */
struct tp_ask {
    const char *title;
    struct tp_pick pick;
    enum tp_key by;                 /* rows of boxes; x of lines, bands, heat */
    enum tp_key series;             /* colours; TP_KEY_COUNT: one series      */
    const struct tp_metric *metric;
    int binades; /* that boxes show on each side of a signed axis; 0: 20     */
};

/* One lying box per value of `by` (and series): the metric over tensors. */
void tp_fig_boxes(struct tp_fig *fig, const struct tp_ask *ask);

/* The pooled metric along `by`, a number; one curve per series. */
void tp_fig_lines(struct tp_fig *fig, const struct tp_ask *ask);

/* Quantiles of the elements along `by`, a number. */
void tp_fig_bands(struct tp_fig *fig, const struct tp_ask *ask);

/* Quantiles over tensors of the metric along `by`, a number. */
void tp_fig_metric_bands(struct tp_fig *fig, const struct tp_ask *ask);

/* The pooled metric by `by` (x) and `series` (y) as colours. */
void tp_fig_heat(struct tp_fig *fig, const struct tp_ask *ask);

/* How many tensors have which value of the metric; an outline per series. */
void tp_fig_histogram(struct tp_fig *fig, const struct tp_ask *ask);

/* Share of tensors by two metrics; `diagonal` draws x = y. */
void tp_fig_cloud(struct tp_fig *fig, const struct tp_ask *ask,
                  const struct tp_metric *y_metric, bool diagonal);

/* Median, quartiles and extremes over tensors along `by`; codes that are
 * flagged get a colour of their own. */
void tp_fig_spread(struct tp_fig *fig, const struct tp_ask *ask,
                   const bool *flagged);

/* --- densities ----------------------------------------------- */

enum tp_density {
    TP_DENSITY_SIGNED,    /* both signs on log2 axes, share per binade      */
    TP_DENSITY_MAGNITUDE, /* |x| on a log2 axis, share per binade, log10    */
    TP_DENSITY_LINEAR,    /* x, density per unit, without far outliers     */
    TP_DENSITY_STANDARD   /* (x - mean) / std, with a normal curve          */
};

/* Density of the elements, one curve per value of ask->series. Without a title
 * the panel has that of its kind. */
void tp_fig_density(struct tp_fig *fig, const struct tp_ask *ask,
                    enum tp_density kind);

/* The values of a label against each other, a colour for each: densities on log
 * axes and of another kind, and boxes of std and amax by quant type. */
void tp_fig_against(struct tp_fig *fig, enum tp_key key, struct tp_pick pick,
                    enum tp_density second);

#endif
