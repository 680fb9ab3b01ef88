/* SPDX-License-Identifier: MIT */
#include "figures/fig.h"
#include "figures/fig_builders.h"

/* Shares of special values, one row each, one bar per quant type. */
static void special_values(struct tp_fig *fig)
{
    static const char *const rows[] = {"negative", "zero", "NaN", "Inf"};
    struct tp_pick all = tp_pick_all();
    struct tp_choice choice;
    tp_choose(fig->facts, &all, TP_KEY_QUANT, TP_PANEL_SERIES_MAX, &choice);
    double *shares = tp_fig_alloc(fig, 4 * choice.count + 1, sizeof *shares);
    for (size_t i = 0; shares && i < choice.count; i++) {
        struct tp_pick pick =
            tp_pick_with(all, TP_KEY_QUANT, choice.codes[i]);
        struct tp_counts counts = tp_picked_counts(fig->facts, &pick);
        double n = (double)counts.values;
        shares[4 * i] = (double)counts.negative / n;
        shares[4 * i + 1] = (double)counts.zero / n;
        shares[4 * i + 2] = (double)counts.nan / n;
        shares[4 * i + 3] = (double)(counts.pos_inf + counts.neg_inf) / n;
    }
    struct tp_bars bars = {
        .title = "special values",
        .rows = rows,
        .row_count = 4,
        .key = TP_KEY_QUANT,
        .choice = &choice,
        .values = shares,
        .x = {.label = "share of elements [1, log10]",
              .scale = TP_SCALE_LOG10},
    };
    tp_fig_bars(fig, &bars);
}

void tp_fig_density_by_quant_type(struct tp_fig *fig)
{
    struct tp_ask ask = {
        .title = "both signs, log scale",
        .pick = tp_pick_all(),
        .series = TP_KEY_QUANT,
    };
    tp_fig_density(fig, &ask, TP_DENSITY_SIGNED);
    ask.title = "linear scale, without far outliers";
    tp_fig_density(fig, &ask, TP_DENSITY_LINEAR);
    ask.title = "magnitudes, tails";
    tp_fig_density(fig, &ask, TP_DENSITY_MAGNITUDE);
    special_values(fig);
}

void tp_fig_density_by_tensor_name(struct tp_fig *fig)
{
    struct tp_pick all = tp_pick_all();
    struct tp_choice names;
    tp_choose(fig->facts, &all, TP_KEY_NAME, TP_FIGURE_PANELS_MAX, &names);
    for (size_t i = 0; i < names.count; i++) {
        struct tp_ask ask = {
            .title = tp_fig_text(
                fig, "%s%s",
                fig->facts->keys[TP_KEY_NAME].names[names.codes[i]],
                i == 0 ? tp_fig_note(fig, &names) : ""),
            .pick = tp_pick_with(all, TP_KEY_NAME, names.codes[i]),
            .series = TP_KEY_QUANT,
        };
        tp_fig_density(fig, &ask, TP_DENSITY_SIGNED);
    }
}
