/* SPDX-License-Identifier: MIT */
/*
 * Maps by layer and iteration, sample or tensor name, one for each quant type
 * and pass. Maps that are to be compared share one range of colours: all of a
 * figure, or, of magnitudes, those of a pass, since activations and gradients
 * differ by many binades and would hide each other, as weights and what an
 * optimizer keeps of them do: then each has its own. See fig_heat.c for the
 * cells and fig.c for the ranges; the cost is theirs.
 */
#include "figures/fig_builders.h"
#include "figures/fig_dump.h"

/* One heat map per quant type in the order of the codes. */
static void by_quant(struct tp_fig *fig, struct tp_ask ask, const char *pass,
                     const struct tp_choice *quants)
{
    struct tp_pick pick = ask.pick;
    for (size_t i = 0; i < quants->count; i++) {
        const char *name =
            fig->facts->keys[TP_KEY_QUANT].names[quants->codes[i]];
        ask.pick = tp_pick_with(pick, TP_KEY_QUANT, quants->codes[i]);
        ask.title = pass ? tp_fig_text(fig, "%s, %s", name, pass) : name;
        tp_fig_heat(fig, &ask);
    }
}

/*
 * One heat map per quant type and pass, of one range of colours or one per
 * pass: magnitudes of activations and gradients differ by many binades and
 * would hide each other.
 */
static void by_layer_iteration(struct tp_fig *fig,
                               const struct tp_metric *metric,
                               bool range_per_pass)
{
    const struct tp_facts *facts = fig->facts;
    struct tp_pick all = tp_pick_all();
    struct tp_ask ask = {
        .pick = all,
        .by = TP_KEY_ITERATION,
        .series = TP_KEY_LAYER,
        .metric = metric,
    };
    struct tp_choice quants, passes;
    tp_choose(fig, &all, TP_KEY_QUANT, 4, &quants);
    tp_choose(fig, &all, TP_KEY_PASS, 2, &passes);
    if (passes.count == 0)
        by_quant(fig, ask, NULL, &quants);
    for (size_t p = passes.count; p > 0; p--) {
        size_t first = fig->count;
        int32_t pass = passes.codes[p - 1];
        ask.pick = tp_pick_with(all, TP_KEY_PASS, pass);
        by_quant(fig, ask, facts->keys[TP_KEY_PASS].names[pass], &quants);
        if (range_per_pass)
            tp_fig_share_colours(fig, first);
    }
    if (!range_per_pass || (passes.count == 0 && !facts->states))
        tp_fig_share_colours(fig, 0);
}

void tp_fig_amax_by_layer_iteration(struct tp_fig *fig)
{
    by_layer_iteration(fig, &tp_metric_amax, true);
}

void tp_fig_overflow_by_layer_iteration(struct tp_fig *fig)
{
    if (tp_metric_any(fig->facts, &tp_metric_overflow))
        by_layer_iteration(fig, &tp_metric_overflow, false);
}

void tp_fig_underflow_by_layer_iteration(struct tp_fig *fig)
{
    if (tp_metric_any(fig->facts, &tp_metric_underflow))
        by_layer_iteration(fig, &tp_metric_underflow, false);
}

void tp_fig_mean_std_by_layer_sample(struct tp_fig *fig)
{
    const struct tp_facts *facts = fig->facts;
    struct tp_choice quants;
    struct tp_ask ask = {
        .pick = tp_pick_with(tp_pick_all(), TP_KEY_SAMPLE, TP_PICK_PRESENT),
        .by = TP_KEY_SAMPLE,
        .series = TP_KEY_LAYER,
    };
    struct tp_pick all = ask.pick;
    tp_choose(fig, &all, TP_KEY_QUANT, 3, &quants);
    for (int m = 0; m < 2; m++) {
        size_t first = fig->count;
        ask.metric = m ? &tp_metric_std : &tp_metric_mean;
        for (size_t i = 0; i < quants.count; i++) {
            int32_t quant = quants.codes[i];
            ask.pick = tp_pick_with(all, TP_KEY_QUANT, quant);
            ask.title = tp_fig_text(fig, "%s, %s", ask.metric->title,
                                    facts->keys[TP_KEY_QUANT].names[quant]);
            tp_fig_heat(fig, &ask);
        }
        tp_fig_share_colours(fig, first);
    }
}

void tp_fig_std_by_layer_tensor_name(struct tp_fig *fig)
{
    const struct tp_facts *facts = fig->facts;
    struct tp_choice quants;
    struct tp_pick all = tp_pick_with(tp_pick_all(), TP_KEY_LAYER,
                                      TP_PICK_PRESENT);
    tp_choose(fig, &all, TP_KEY_QUANT, 4, &quants);
    for (size_t i = 0; i < quants.count; i++) {
        struct tp_ask ask = {
            .title = facts->keys[TP_KEY_QUANT].names[quants.codes[i]],
            .pick = tp_pick_with(all, TP_KEY_QUANT, quants.codes[i]),
            .by = TP_KEY_LAYER,
            .series = TP_KEY_NAME,
            .metric = &tp_metric_std,
        };
        tp_fig_heat(fig, &ask);
    }
    if (!facts->states)
        tp_fig_share_colours(fig, 0);
}
