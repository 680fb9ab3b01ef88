/* SPDX-License-Identifier: MIT */
#include "analyze/fig.h"
#include "analyze/fig_builders.h"

/* One heat map per quant type and pass: activations and gradients differ by
 * many binades and would hide each other. */
static void by_quant_and_pass(struct tp_fig *fig, struct tp_ask ask)
{
    const struct tp_facts *facts = fig->facts;
    struct tp_pick all = ask.pick;
    struct tp_choice quants, passes;
    tp_choose(facts, &all, TP_KEY_QUANT, 4, &quants);
    tp_choose(facts, &all, TP_KEY_PASS, 2, &passes);
    size_t pass_count = passes.count ? passes.count : 1;
    for (size_t i = 0; i < pass_count * quants.count; i++) {
        int32_t quant = quants.codes[i % quants.count];
        const char *name = facts->keys[TP_KEY_QUANT].names[quant];
        ask.pick = tp_pick_with(all, TP_KEY_QUANT, quant);
        ask.title = name;
        if (passes.count) {
            int32_t pass = passes.codes[passes.count - 1 - i / quants.count];
            ask.pick = tp_pick_with(ask.pick, TP_KEY_PASS, pass);
            ask.title = tp_fig_text(fig, "%s, %s", name,
                                    facts->keys[TP_KEY_PASS].names[pass]);
        }
        tp_fig_heat(fig, &ask);
    }
}

static void by_layer_iteration(struct tp_fig *fig,
                               const struct tp_metric *metric)
{
    struct tp_ask ask = {
        .pick = tp_pick_all(),
        .by = TP_KEY_ITERATION,
        .series = TP_KEY_LAYER,
        .metric = metric,
    };
    by_quant_and_pass(fig, ask);
}

void tp_fig_amax_by_layer_iteration(struct tp_fig *fig)
{
    by_layer_iteration(fig, &tp_metric_amax);
}

void tp_fig_overflow_by_layer_iteration(struct tp_fig *fig)
{
    by_layer_iteration(fig, &tp_metric_overflow);
}

void tp_fig_underflow_by_layer_iteration(struct tp_fig *fig)
{
    by_layer_iteration(fig, &tp_metric_underflow);
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
    tp_choose(facts, &all, TP_KEY_QUANT, 3, &quants);
    for (size_t i = 0; i < 2 * quants.count; i++) {
        int32_t quant = quants.codes[i % quants.count];
        bool mean = i < quants.count;
        ask.metric = mean ? &tp_metric_mean : &tp_metric_std;
        ask.pick = tp_pick_with(all, TP_KEY_QUANT, quant);
        ask.title = tp_fig_text(fig, "%s, %s", ask.metric->title,
                                facts->keys[TP_KEY_QUANT].names[quant]);
        tp_fig_heat(fig, &ask);
    }
}

void tp_fig_std_by_layer_tensor_name(struct tp_fig *fig)
{
    const struct tp_facts *facts = fig->facts;
    struct tp_choice quants;
    struct tp_pick all = tp_pick_with(tp_pick_all(), TP_KEY_LAYER,
                                      TP_PICK_PRESENT);
    tp_choose(facts, &all, TP_KEY_QUANT, 4, &quants);
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
}
