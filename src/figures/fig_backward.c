/* SPDX-License-Identifier: MIT */
#include "figures/fig_builders.h"
#include "figures/fig_dump.h"

static struct tp_pick backward(const struct tp_facts *facts)
{
    return tp_pick_named(facts, tp_pick_all(), TP_KEY_PASS,
                         tp_direction_word(TP_BACKWARD));
}

void tp_fig_forward_against_backward(struct tp_fig *fig)
{
    if (fig->facts->keys[TP_KEY_PASS].count > 1)
        tp_fig_against(fig, TP_KEY_PASS, tp_pick_all(), TP_DENSITY_MAGNITUDE);
}

void tp_fig_backward_by_layer_type(struct tp_fig *fig)
{
    struct tp_pick pick = backward(fig->facts);
    struct tp_ask ask = {
        .title = "by tensor, both signs, log scale",
        .pick = pick,
        .by = TP_KEY_LAYER_TYPE,
        .series = TP_KEY_NAME,
    };
    tp_fig_density(fig, &ask, TP_DENSITY_SIGNED);
    ask.title = "by tensor, std of each tensor";
    ask.metric = &tp_metric_std;
    tp_fig_boxes(fig, &ask);
    ask.title = "by layer type, both signs, log scale";
    ask.series = TP_KEY_LAYER_TYPE;
    tp_fig_density(fig, &ask, TP_DENSITY_SIGNED);
    ask.title = "by layer, std of each tensor";
    ask.by = TP_KEY_LAYER;
    tp_fig_boxes(fig, &ask);
}

/* A panel of boxes for each statistic. */
static void add_statistics(struct tp_fig *fig, struct tp_ask *ask)
{
    static const struct tp_metric *const metrics[] = {
        &tp_metric_mean, &tp_metric_std, &tp_metric_min, &tp_metric_max};
    for (int i = 0; i < 4; i++) {
        ask->title = metrics[i]->title;
        ask->metric = metrics[i];
        tp_fig_boxes(fig, ask);
    }
}

void tp_fig_forward_backward_statistics(struct tp_fig *fig)
{
    /* Gradients lie some 20 binades below, and an outlier as many above. */
    struct tp_ask ask = {.pick = tp_pick_all(),
                         .by = TP_KEY_LAYER_TYPE,
                         .series = TP_KEY_PASS,
                         .binades = 40};
    if (fig->facts->keys[TP_KEY_PASS].count > 1)
        add_statistics(fig, &ask);
}

void tp_fig_backward_statistics(struct tp_fig *fig)
{
    struct tp_ask ask = {.pick = backward(fig->facts),
                         .by = TP_KEY_NAME,
                         .series = TP_KEY_QUANT};
    add_statistics(fig, &ask);
}

void tp_fig_gradients(struct tp_fig *fig)
{
    static const char *const names[] = {"grad_output", "grad_input"};
    static const struct tp_metric *const metrics[] = {
        &tp_metric_std, &tp_metric_amax, &tp_metric_underflow};
    for (int m = 0; m < 3; m++) {
        for (int n = 0; n < 2; n++) {
            struct tp_ask ask = {
                .title =
                    tp_fig_text(fig, "%s, %s", names[n], metrics[m]->title),
                .pick = tp_pick_named(fig->facts, backward(fig->facts),
                                      TP_KEY_NAME, names[n]),
                .by = TP_KEY_ITERATION,
                .series = TP_KEY_QUANT,
                .metric = metrics[m],
            };
            if (fig->facts->keys[TP_KEY_ITERATION].count > 1)
                tp_fig_lines(fig, &ask);
        }
    }
}
