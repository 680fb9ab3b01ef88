/* SPDX-License-Identifier: MIT */
#include "figures/fig_builders.h"
#include "figures/fig_dump.h"

/* In the order of the data's way through the operation. */
static const char *const parts[] = {"query", "key", "value",
                                    "attention_weights", "output"};
enum { PARTS = sizeof parts / sizeof *parts };

/* Tensors of attention layers; when no row knows its layer type, those that
 * are called so. */
static struct tp_pick attention(const struct tp_facts *facts)
{
    struct tp_pick all = tp_pick_all();
    if (facts->keys[TP_KEY_LAYER_TYPE].count == 0)
        return all;
    return tp_pick_named(facts, all, TP_KEY_LAYER_TYPE, "attention");
}

void tp_fig_attention_density(struct tp_fig *fig)
{
    struct tp_pick pick = attention(fig->facts);
    enum tp_key series =
        fig->facts->keys[TP_KEY_LAYER].count ? TP_KEY_LAYER : TP_KEY_QUANT;
    for (int i = 0; i < PARTS; i++) {
        struct tp_ask ask = {
            .title = parts[i],
            .pick = tp_pick_named(fig->facts, pick, TP_KEY_NAME, parts[i]),
            .series = series,
        };
        tp_fig_density(fig, &ask, TP_DENSITY_SIGNED);
    }
}

void tp_fig_attention_by_layer(struct tp_fig *fig)
{
    static const struct tp_metric *const metrics[] = {&tp_metric_std,
                                                      &tp_metric_amax};
    struct tp_pick pick = attention(fig->facts);
    struct tp_choice quants;
    if (fig->facts->keys[TP_KEY_LAYER].count < 2)
        return;
    tp_choose(fig, &pick, TP_KEY_QUANT, 3, &quants);
    for (size_t i = 0; i < 2 * quants.count; i++) {
        int32_t quant = quants.codes[i % quants.count];
        const struct tp_metric *metric = metrics[i / quants.count];
        struct tp_ask ask = {
            .title =
                tp_fig_text(fig, "%s, %s", metric->title,
                            fig->facts->keys[TP_KEY_QUANT].names[quant]),
            .pick = tp_pick_with(pick, TP_KEY_QUANT, quant),
            .by = TP_KEY_LAYER,
            .series = TP_KEY_NAME,
            .metric = metric,
        };
        tp_fig_lines(fig, &ask);
    }
}

void tp_fig_attention_by_iteration(struct tp_fig *fig)
{
    struct tp_pick pick = attention(fig->facts);
    for (int i = 0; i < PARTS; i++) {
        struct tp_ask ask = {
            .title = tp_fig_text(fig, "std of %s", parts[i]),
            .pick = tp_pick_named(fig->facts, pick, TP_KEY_NAME, parts[i]),
            .by = TP_KEY_ITERATION,
            .metric = &tp_metric_std,
        };
        tp_fig_metric_bands(fig, &ask);
    }
}
