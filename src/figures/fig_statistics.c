/* SPDX-License-Identifier: MIT */
#include "figures/fig_builders.h"
#include "figures/fig_dump.h"

static const struct tp_metric *const four[] = {
    &tp_metric_mean, &tp_metric_std, &tp_metric_min, &tp_metric_max};

/* Pooled numbers along a number, a curve per quant type. */
static void along(struct tp_fig *fig, enum tp_key by,
                  const struct tp_metric *const *metrics)
{
    if (fig->facts->keys[by].count < 2)
        return;
    for (int i = 0; i < 4; i++) {
        struct tp_ask ask = {
            .title = metrics[i]->title,
            .pick = tp_pick_all(),
            .by = by,
            .series = TP_KEY_QUANT,
            .metric = metrics[i],
        };
        tp_fig_lines(fig, &ask);
    }
}

void tp_fig_statistics_by_layer(struct tp_fig *fig)
{
    along(fig, TP_KEY_LAYER, four);
}

void tp_fig_statistics_by_iteration(struct tp_fig *fig)
{
    static const struct tp_metric *const metrics[] = {
        &tp_metric_mean, &tp_metric_std, &tp_metric_amax,
        &tp_metric_underflow};
    along(fig, TP_KEY_ITERATION, metrics);
}

void tp_fig_statistics_by_tensor_name(struct tp_fig *fig)
{
    for (int i = 0; i < 4; i++) {
        struct tp_ask ask = {
            .title = four[i]->title,
            .pick = tp_pick_all(),
            .by = TP_KEY_NAME,
            .series = TP_KEY_QUANT,
            .metric = four[i],
        };
        tp_fig_boxes(fig, &ask);
    }
}
