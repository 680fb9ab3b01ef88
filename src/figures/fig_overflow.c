/* SPDX-License-Identifier: MIT */
#include "figures/fig_builders.h"

#include <math.h>
#include "figures/fig_peers.h"

/* Exact shares of what the target format does to the elements. */
static void loss_shares(const struct tp_counts *counts, double *shares)
{
    double n = counts->judged ? (double)counts->judged : NAN;
    shares[0] = (double)counts->upper_overflow / n;
    shares[1] = (double)counts->lower_overflow / n;
    shares[2] = (double)counts->underflow / n;
    shares[3] = (double)counts->subnormal / n;
}

void tp_fig_overflow_by_quant_type(struct tp_fig *fig)
{
    static const char *const rows[] = {"upper overflow", "lower overflow",
                                       "underflow", "subnormal"};
    const struct tp_shares losses = {"of all elements", rows, 4, loss_shares};
    struct tp_ask ask = {
        .title = "tensors by their overflow",
        .pick = tp_pick_all(),
        .series = TP_KEY_QUANT,
        .metric = &tp_metric_overflow,
    };
    const bool overflow = tp_metric_any(fig->facts, &tp_metric_overflow);
    const bool underflow = tp_metric_any(fig->facts, &tp_metric_underflow);
    if (overflow || underflow ||
        tp_metric_any(fig->facts, &tp_metric_subnormal))
        tp_fig_shares(fig, &losses);
    if (overflow)
        tp_fig_histogram(fig, &ask);
    ask.title = "tensors by their underflow";
    ask.metric = &tp_metric_underflow;
    if (underflow)
        tp_fig_histogram(fig, &ask);
    ask.title = "upper against lower overflow";
    ask.metric = &tp_metric_upper;
    if (overflow)
        tp_fig_cloud(fig, &ask, &tp_metric_lower, true);
}

void tp_fig_overflow_by_layer_type(struct tp_fig *fig)
{
    static const struct tp_metric *const metrics[] = {&tp_metric_overflow,
                                                      &tp_metric_underflow};
    static const enum tp_key keys[] = {TP_KEY_LAYER_TYPE, TP_KEY_NAME};
    for (int i = 0; i < 4; i++) {
        struct tp_ask ask = {
            .title = metrics[i % 2]->title,
            .pick = tp_pick_with(tp_pick_all(), TP_KEY_LAYER_TYPE,
                                 TP_PICK_PRESENT),
            .by = keys[i / 2],
            .series = TP_KEY_QUANT,
            .metric = metrics[i % 2],
        };
        if (tp_metric_any(fig->facts, ask.metric))
            tp_fig_boxes(fig, &ask);
    }
}

void tp_fig_overflow_by_iteration(struct tp_fig *fig)
{
    static const struct tp_metric *const metrics[] = {
        &tp_metric_overflow, &tp_metric_underflow, &tp_metric_subnormal};
    for (int i = 0; i < 3; i++) {
        struct tp_ask ask = {
            .title = metrics[i]->title,
            .pick = tp_pick_all(),
            .by = TP_KEY_ITERATION,
            .series = TP_KEY_QUANT,
            .metric = metrics[i],
        };
        if (fig->facts->keys[TP_KEY_ITERATION].count > 1 &&
            tp_metric_any(fig->facts, ask.metric))
            tp_fig_lines(fig, &ask);
    }
}

/* Binades between the largest magnitude and the format's largest value. */
static double *headroom_values(struct tp_fig *fig)
{
    double *values = tp_fig_row_values(fig);
    for (size_t r = 0; values && r < fig->facts->run->row_count; r++) {
        const struct tp_row *row = &fig->facts->run->rows[r];
        if (row->target_max > 0 && row->numbers.abs_max > 0)
            values[r] = log2(row->target_max / row->numbers.abs_max);
    }
    return values;
}

/* Marks the edge of the format in the panel added last. */
static void mark_limit(struct tp_fig *fig, size_t before)
{
    static const struct tp_mark limit = {0, "limit of the format"};
    if (fig->count > before) {
        fig->panels[fig->count - 1].marks = &limit;
        fig->panels[fig->count - 1].mark_count = 1;
    }
}

/* Formats differ by a hundred binades, so each has panels of its own. */
void tp_fig_headroom(struct tp_fig *fig)
{
    struct tp_metric headroom = {
        .title = "headroom",
        .label = "log2(largest finite / amax) [binades]",
        .values = headroom_values(fig),
    };
    const struct tp_facts *facts = fig->facts;
    size_t formats = facts->keys[TP_KEY_FORMAT].count, shown = 0;
    for (size_t f = 0; headroom.values && f < formats && shown < 3; f++) {
        const char *name = facts->keys[TP_KEY_FORMAT].names[f];
        size_t before = fig->count;
        struct tp_ask ask = {
            .title = tp_fig_text(fig, "%s, by tensor name", name),
            .pick =
                tp_pick_with(tp_pick_all(), TP_KEY_FORMAT, (int32_t)f),
            .by = TP_KEY_NAME,
            .series = TP_KEY_COUNT,
            .metric = &headroom,
        };
        tp_fig_boxes(fig, &ask);
        mark_limit(fig, before);
        ask.title = tp_fig_text(fig, "%s, tensors over iterations", name);
        ask.by = TP_KEY_ITERATION;
        tp_fig_metric_bands(fig, &ask);
        shown += fig->count > before;
    }
}
