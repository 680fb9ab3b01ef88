/* SPDX-License-Identifier: MIT */
/*
 * The same tensor in different quant types, as tensors/pairs.h pairs them up.
 * The type of the highest precision is the base; each other tensor is held
 * against its partner there. Ratios of std and amax and how far elements are
 * from being correlated are taken tensor by tensor and then shown as boxes and
 * bands: a ratio of pooled numbers would hide tensors that drift in opposite
 * directions. Where elements lie is shown for the pairs that are least alike,
 * each two types against each other.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "figures/fig_builders.h"
#include "figures/fig_peers.h"

enum { OTHERS_MAX = 3 }; /* quant types compared with the base */

/* Tensors of other quant types beside the same tensor of the base. */
struct pairs {
    int32_t base;          /* quant type that the others are held against */
    const char *base_name;
    double *member;        /* [row]: 1 where all shown types have it      */
    double *std_ratio;     /* [row]: std over the base's, others only     */
    double *amax_ratio;
    double *base_std;      /* [row]: the base's std, others only          */
    double *apart;         /* [row]: 1 - Pearson r, others only           */
    double *askew;         /* [row]: 1 - cosine, others only              */
};

/* The quant type of the highest precision that has partners, and its name. */
static void choose_base(const struct tp_facts *facts, struct pairs *pairs)
{
    const struct tp_pairs *all = facts->input->pairs;
    const struct tp_row *rows = facts->run->rows;
    size_t best = all->rows[0].x;
    for (size_t i = 1; i < all->count; i++) {
        if (tp_pair_compare_types(&rows[all->rows[i].x], &rows[best]) < 0)
            best = all->rows[i].x;
    }
    pairs->base = facts->code[TP_KEY_QUANT][best];
    pairs->base_name = tp_pair_type(&rows[best]);
}

static double positive_ratio(double a, double b)
{
    return a > 0 && b > 0 ? a / b : NAN;
}

/* Notes what a pair with the base says of its other row. */
static void note_pair(const struct tp_facts *facts, const struct tp_pair *pair,
                      struct pairs *pairs)
{
    const struct tp_pairs *all = facts->input->pairs;
    const struct tp_numbers *its = &facts->run->rows[pair->x].numbers;
    const struct tp_numbers *mine = &facts->run->rows[pair->y].numbers;
    const size_t row = pair->y;
    pairs->std_ratio[row] = positive_ratio(mine->std, its->std);
    pairs->amax_ratio[row] = positive_ratio(mine->abs_max, its->abs_max);
    pairs->base_std[row] = its->std;
    pairs->member[row] = pairs->member[pair->x] = 1;
    if (all->measured && !*pair->error) {
        pairs->apart[row] = pair->numbers.one_minus_r;
        pairs->askew[row] = pair->numbers.one_minus_cosine;
    }
}

/* Finds all pairs; false when there is none. */
static bool find_pairs(struct tp_fig *fig, struct pairs *pairs)
{
    const struct tp_facts *facts = fig->facts;
    const struct tp_pairs *all = facts->input->pairs;
    double **const columns[] = {&pairs->member,     &pairs->std_ratio,
                                &pairs->amax_ratio, &pairs->base_std,
                                &pairs->apart,      &pairs->askew};
    if (all->count == 0)
        return false;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        *columns[i] = tp_fig_row_values(fig);
    if (fig->failed)
        return false;
    choose_base(facts, pairs);
    for (size_t i = 0; i < all->count; i++) {
        const struct tp_pair *pair = &all->rows[i];
        if (facts->code[TP_KEY_QUANT][pair->x] == pairs->base)
            note_pair(facts, pair, pairs);
    }
    return true;
}

/* The other types, one after the other. */
static size_t others(struct tp_fig *fig, const struct pairs *pairs,
                     int32_t *codes)
{
    size_t n = 0;
    const int32_t *of_row = fig->facts->code[TP_KEY_QUANT];
    size_t types = fig->facts->keys[TP_KEY_QUANT].count;
    for (size_t t = 0; t < types && n < OTHERS_MAX; t++) {
        for (size_t r = 0; r < fig->facts->run->row_count; r++) {
            if (of_row[r] == (int32_t)t && isfinite(pairs->base_std[r])) {
                codes[n++] = (int32_t)t;
                break;
            }
        }
    }
    return n;
}

void tp_fig_same_tensor_density(struct tp_fig *fig)
{
    struct pairs pairs;
    struct tp_choice names;
    struct tp_pick all = tp_pick_all();
    if (!find_pairs(fig, &pairs))
        return;
    struct tp_metric member = {.values = pairs.member};
    tp_choose(fig, &all, TP_KEY_NAME, TP_FIGURE_PANELS_MAX, &names);
    for (size_t i = 0; i < names.count; i++) {
        struct tp_ask ask = {
            .title = fig->facts->keys[TP_KEY_NAME].names[names.codes[i]],
            .pick = tp_pick_with(all, TP_KEY_NAME, names.codes[i]),
            .series = TP_KEY_QUANT,
            .metric = &member,
        };
        tp_fig_density(fig, &ask, TP_DENSITY_SIGNED);
    }
}

static struct tp_metric ratio_metric(struct tp_fig *fig,
                                     const struct pairs *pairs,
                                     const char *what, const double *values)
{
    return (struct tp_metric){
        .title = what,
        .label = tp_fig_text(fig, "%s / %s in %s [1, log2]", what, what,
                             pairs->base_name),
        .scale = TP_SCALE_LOG2,
        .values = values,
    };
}

/* The pairs with what is drawn of them. */
struct ratios {
    struct pairs pairs;
    struct tp_metric std, amax;
    int32_t codes[OTHERS_MAX]; /* of the other types */
    size_t count;
};

static bool find_ratios(struct tp_fig *fig, struct ratios *ratios)
{
    const struct pairs *pairs = &ratios->pairs;
    if (!find_pairs(fig, &ratios->pairs))
        return false;
    ratios->std = ratio_metric(fig, pairs, "std", pairs->std_ratio);
    ratios->amax = ratio_metric(fig, pairs, "amax", pairs->amax_ratio);
    ratios->count = others(fig, pairs, ratios->codes);
    return true;
}

void tp_fig_same_tensor_ratio(struct tp_fig *fig)
{
    struct ratios ratios;
    if (!find_ratios(fig, &ratios))
        return;
    const char *base_name = ratios.pairs.base_name;
    struct tp_ask ask = {
        .title = "std, by tensor name",
        .pick = tp_pick_all(),
        .by = TP_KEY_NAME,
        .series = TP_KEY_QUANT,
        .metric = &ratios.std,
    };
    tp_fig_boxes(fig, &ask);
    ask.title = "amax, by tensor name";
    ask.metric = &ratios.amax;
    tp_fig_boxes(fig, &ask);
    struct tp_metric base = {
        .label =
            tp_fig_text(fig, "std in %s [tensor units, log2]", base_name),
        .scale = TP_SCALE_LOG2,
        .values = ratios.pairs.base_std,
    };
    for (size_t i = 0; i < ratios.count && i < 2; i++) {
        int32_t code = ratios.codes[i];
        const char *name = fig->facts->keys[TP_KEY_QUANT].names[code];
        struct tp_metric mine = tp_metric_std;
        mine.label = tp_fig_text(fig, "std in %s [tensor units, log2]", name);
        struct tp_ask cloud = {
            .title = tp_fig_text(fig, "%s against %s", name, base_name),
            .pick = tp_pick_with(tp_pick_all(), TP_KEY_QUANT, code),
            .metric = &base,
        };
        tp_fig_cloud(fig, &cloud, &mine, true);
    }
}

void tp_fig_same_tensor_drift(struct tp_fig *fig)
{
    struct ratios ratios;
    if (!find_ratios(fig, &ratios))
        return;
    size_t n = ratios.count;
    for (size_t i = 0; i < 2 * n; i++) {
        int32_t code = ratios.codes[i % n];
        const struct tp_metric *metric = i < n ? &ratios.std : &ratios.amax;
        struct tp_ask ask = {
            .title =
                tp_fig_text(fig, "%s, %s against %s", metric->title,
                            fig->facts->keys[TP_KEY_QUANT].names[code],
                            ratios.pairs.base_name),
            .pick = tp_pick_with(tp_pick_all(), TP_KEY_QUANT, code),
            .by = TP_KEY_ITERATION,
            .metric = metric,
        };
        tp_fig_metric_bands(fig, &ask);
    }
}

/* --- element by element --------------------------------------------------- */

static struct tp_metric distance_metric(struct tp_fig *fig,
                                        const struct pairs *pairs,
                                        const char *what, const double *values)
{
    return (struct tp_metric){
        .title = what,
        .label =
            tp_fig_text(fig, "%s to %s [1, log10]", what, pairs->base_name),
        .scale = TP_SCALE_LOG10,
        .values = values,
    };
}

/* Boxes of two metrics by the values of a label. */
static void add_distances(struct tp_fig *fig, const struct tp_metric metrics[2],
                          enum tp_key key, const char *by)
{
    for (int i = 0; i < 2; i++) {
        struct tp_ask ask = {
            .title = tp_fig_text(fig, "%s, by %s", metrics[i].title, by),
            .pick = tp_pick_all(),
            .by = key,
            .series = TP_KEY_QUANT,
            .metric = &metrics[i],
        };
        tp_fig_boxes(fig, &ask);
    }
}

void tp_fig_same_tensor_correlation(struct tp_fig *fig)
{
    struct ratios ratios;
    if (!find_ratios(fig, &ratios))
        return;
    const struct pairs *pairs = &ratios.pairs;
    const struct tp_metric metrics[2] = {
        distance_metric(fig, pairs, "1 - Pearson r", pairs->apart),
        distance_metric(fig, pairs, "1 - cosine", pairs->askew)};
    add_distances(fig, metrics, TP_KEY_NAME, "tensor name");
    if (fig->facts->keys[TP_KEY_LAYER].count > 1)
        add_distances(fig, metrics, TP_KEY_LAYER, "layer");
    for (size_t i = 0; i < ratios.count; i++) {
        const int32_t code = ratios.codes[i];
        struct tp_ask ask = {
            .title =
                tp_fig_text(fig, "%s of %s, by iteration", metrics[0].title,
                            fig->facts->keys[TP_KEY_QUANT].names[code]),
            .pick = tp_pick_with(tp_pick_all(), TP_KEY_QUANT, code),
            .by = TP_KEY_ITERATION,
            .metric = &metrics[0],
        };
        tp_fig_metric_bands(fig, &ask);
    }
}

/* "0.9973", or "1 - 2.1e-09" where that would hide what is missing. */
static const char *near_one(struct tp_fig *fig, double value, double rest)
{
    if (isnan(value))
        return "none";
    return rest == 0       ? "1"
           : rest < 0.0005 ? tp_fig_text(fig, "1 - %.2g", rest)
                           : tp_fig_text(fig, "%.4f", value);
}

static const char *scatter_title(struct tp_fig *fig,
                                 const struct tp_pair *pair)
{
    const struct tp_row *row = &fig->facts->run->rows[pair->y];
    const struct tp_label *label = &row->label;
    const struct tp_pair_numbers *n = &pair->numbers;
    const char *layer = "", *iteration = "";
    if (label->layer_idx >= 0)
        layer = tp_fig_text(fig, "L%" PRId64 " ", label->layer_idx);
    if (label->iteration >= 0)
        iteration = tp_fig_text(fig, " it %" PRId64, label->iteration);
    return tp_fig_text(fig, "%s%s%s: r %s, cos %s", layer,
                       tp_label_true_name(label, row->path), iteration,
                       near_one(fig, n->pearson_r, n->one_minus_r),
                       near_one(fig, n->cosine, n->one_minus_cosine));
}

/* A row for each cell that has elements. */
static double *scatter_table(struct tp_fig *fig,
                             const struct tp_pair_scatter *scatter,
                             size_t *rows)
{
    enum { CELLS = TP_PAIR_CELLS * TP_PAIR_CELLS };
    double *table = tp_fig_alloc(fig, 3 * CELLS, sizeof *table);
    *rows = 0;
    for (int i = 0; table && i < CELLS; i++) {
        if (scatter->cells[i] == 0)
            continue;
        double *row = table + 3 * (*rows)++;
        row[0] = tp_pair_middle(&scatter->axis, i % TP_PAIR_CELLS);
        row[1] = tp_pair_middle(&scatter->axis, i / TP_PAIR_CELLS);
        row[2] = (double)scatter->cells[i];
    }
    return table;
}

static struct tp_axis scatter_axis(struct tp_fig *fig,
                                   const struct tp_pair_axis *axis, size_t row)
{
    const double end = fmin(
        exp2(axis->inner + axis->binades * TP_PAIR_CELLS / 2), DBL_MAX);
    return (struct tp_axis){
        .label = tp_fig_text(fig, "%s [tensor units%s]",
                             tp_pair_type(&fig->facts->run->rows[row]),
                             axis->is_signed ? ", +-log2" : ""),
        .scale = axis->is_signed ? TP_SCALE_SIGNED_LOG2 : TP_SCALE_LINEAR,
        .limited = true, /* the same for both, so that the diagonal tells */
        .min = !axis->is_signed ? axis->low : axis->low < 0 ? -end : 0,
        .max = !axis->is_signed ? axis->high : axis->high > 0 ? end : 0,
        .inner = axis->inner,
    };
}

void tp_fig_same_tensor_scatter(struct tp_fig *fig)
{
    const struct tp_pairs *pairs = fig->facts->input->pairs;
    for (size_t i = 0; i < pairs->scatter_count; i++) {
        const struct tp_pair_scatter *scatter = &pairs->scatters[i];
        const struct tp_pair_axis *axis = &scatter->axis;
        const struct tp_pair *pair = &pairs->rows[scatter->pair];
        struct tp_panel_series *series = tp_fig_alloc(fig, 1, sizeof *series);
        if (!series)
            return;
        series->name = "";
        series->values = scatter_table(fig, scatter, &series->rows);
        const double cell = axis->is_signed
                                ? axis->binades
                                : axis->high / TP_PAIR_CELLS -
                                      axis->low / TP_PAIR_CELLS;
        const struct tp_panel panel = {
            .kind = TP_PANEL_CLOUD,
            .title = scatter_title(fig, pair),
            .x = scatter_axis(fig, axis, pair->x),
            .y = scatter_axis(fig, axis, pair->y),
            .z = {.label = "elements [count]", .scale = TP_SCALE_LOG10},
            .series = series,
            .series_count = series->values ? 1 : 0,
            .diagonal = true,
            .cell_width = cell,
            .cell_height = cell,
        };
        tp_fig_add(fig, &panel);
    }
}
