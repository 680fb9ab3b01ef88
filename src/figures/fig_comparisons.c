/* SPDX-License-Identifier: MIT */
/*
 * The same tensor in different quant types. The type of the highest precision
 * that has partners is the base; each other tensor is divided by its partner of
 * the same sample, or by the first where one of the two does not know its
 * sample. Ratios of std and amax are taken tensor by tensor and then shown as
 * boxes and bands: a ratio of pooled numbers would hide tensors that drift in
 * opposite directions. Finding peers sorts all rows; a partner is searched
 * among its group.
 */
#include <math.h>
#include <string.h>

#include "figures/fig_builders.h"
#include "figures/fig_peers.h"

enum { OTHERS_MAX = 3 }; /* quant types compared with the base */

/* Tensors of other quant types beside the same tensor of the base. */
struct pairs {
    int32_t base;          /* quant type that the others are divided by   */
    const char *base_name;
    double *member;        /* [row]: 1 where all shown types have it      */
    double *std_ratio;     /* [row]: std over the base's, others only     */
    double *amax_ratio;
    double *base_std;      /* [row]: the base's std, others only          */
};

/* The quant type with the highest precision is what others are held
 * against; without one of these names, the first that has partners. */
static int32_t choose_base(const struct tp_facts *facts,
                           const struct tp_peers *peers)
{
    static const char *const names[] = {"fp32", "float32", "bf16", "bfloat16",
                                        "fp16", "float16"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int32_t code = tp_facts_code(facts, TP_KEY_QUANT, names[i]);
        for (size_t k = 0; code >= 0 && k < peers->groups[peers->count]; k++) {
            if (facts->code[TP_KEY_QUANT][peers->rows[k]] == code)
                return code;
        }
    }
    return peers->count ? facts->code[TP_KEY_QUANT][peers->rows[0]] : -1;
}

/* The base's row for `row`: of the same sample, or the first when one of the
 * two does not know its sample; SIZE_MAX when there is none. */
static size_t partner_of(const struct tp_facts *facts,
                         const struct tp_peers *peers, size_t group,
                         size_t row, int32_t base)
{
    const struct tp_row *rows = facts->run->rows;
    int64_t sample = rows[row].label.sample_idx;
    for (size_t k = peers->groups[group]; k < peers->groups[group + 1]; k++) {
        size_t other = peers->rows[k];
        int64_t theirs = rows[other].label.sample_idx;
        if (facts->code[TP_KEY_QUANT][other] == base &&
            (sample == theirs || sample < 0 || theirs < 0))
            return other;
    }
    return SIZE_MAX;
}

static double positive_ratio(double a, double b)
{
    return a > 0 && b > 0 ? a / b : NAN;
}

/* Pairs up one group; returns the number of quant types it connects. */
static size_t pair_group(struct tp_fig *fig, const struct tp_peers *peers,
                         size_t group, struct pairs *pairs)
{
    const struct tp_facts *facts = fig->facts;
    size_t types = 0;
    int32_t last = -1;
    for (size_t k = peers->groups[group]; k < peers->groups[group + 1]; k++) {
        size_t row = peers->rows[k];
        int32_t type = facts->code[TP_KEY_QUANT][row];
        if (type == pairs->base)
            continue;
        size_t other = partner_of(facts, peers, group, row, pairs->base);
        if (other == SIZE_MAX)
            continue;
        const struct tp_numbers *mine = &facts->run->rows[row].numbers;
        const struct tp_numbers *its = &facts->run->rows[other].numbers;
        types += type != last;
        last = type;
        pairs->std_ratio[row] = positive_ratio(mine->std, its->std);
        pairs->amax_ratio[row] = positive_ratio(mine->abs_max, its->abs_max);
        pairs->base_std[row] = its->std;
        pairs->member[row] = pairs->member[other] = 1;
    }
    return types;
}

/* Finds all pairs; false when there is none. */
static bool find_pairs(struct tp_fig *fig, struct pairs *pairs)
{
    struct tp_peers peers;
    size_t found = 0;
    tp_peers_find(fig, TP_KEY_QUANT, &peers);
    pairs->member = tp_fig_row_values(fig);
    pairs->std_ratio = tp_fig_row_values(fig);
    pairs->amax_ratio = tp_fig_row_values(fig);
    pairs->base_std = tp_fig_row_values(fig);
    if (!fig->failed && peers.count > 0) {
        pairs->base = choose_base(fig->facts, &peers);
        pairs->base_name =
            fig->facts->keys[TP_KEY_QUANT].names[pairs->base];
        for (size_t g = 0; g < peers.count; g++)
            found += pair_group(fig, &peers, g, pairs);
    }
    tp_peers_clear(&peers);
    return found > 0;
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
    tp_choose(fig->facts, &all, TP_KEY_NAME, TP_FIGURE_PANELS_MAX, &names);
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
