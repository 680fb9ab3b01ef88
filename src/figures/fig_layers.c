/* SPDX-License-Identifier: MIT */
#include "figures/fig_builders.h"
#include "figures/fig_dump.h"

/* The forward pass; everything, when no row knows its pass. */
static struct tp_pick forward(const struct tp_facts *facts)
{
    struct tp_pick all = tp_pick_all();
    if (facts->keys[TP_KEY_PASS].count == 0)
        return all;
    return tp_pick_named(facts, all, TP_KEY_PASS,
                         tp_direction_word(TP_FORWARD));
}

/* Nothing where the tensors that are picked have but one value. */
static void against(struct tp_fig *fig, enum tp_key key, struct tp_pick pick)
{
    struct tp_choice values;
    tp_choose(fig, &pick, key, 2, &values);
    if (values.count >= 2)
        tp_fig_against(fig, key, pick, TP_DENSITY_LINEAR);
}

void tp_fig_attention_against_linear(struct tp_fig *fig)
{
    against(fig, TP_KEY_LAYER_TYPE, forward(fig->facts));
}

void tp_fig_by_batch_size(struct tp_fig *fig)
{
    against(fig, TP_KEY_BATCH, forward(fig->facts));
}

void tp_fig_by_sample(struct tp_fig *fig)
{
    against(fig, TP_KEY_SAMPLE, forward(fig->facts));
}

void tp_fig_quantile_bands(struct tp_fig *fig)
{
    struct tp_pick pick = tp_pick_with(tp_pick_all(), TP_KEY_LAYER,
                                       TP_PICK_PRESENT);
    struct tp_choice names;
    tp_choose(fig, &pick, TP_KEY_NAME, TP_FIGURE_PANELS_MAX, &names);
    for (size_t i = 0; i < names.count; i++) {
        struct tp_ask ask = {
            .title = fig->facts->keys[TP_KEY_NAME].names[names.codes[i]],
            .pick = tp_pick_with(pick, TP_KEY_NAME, names.codes[i]),
            .by = TP_KEY_LAYER,
        };
        tp_fig_bands(fig, &ask);
    }
}
