/* SPDX-License-Identifier: MIT */
#include "figures/fig_builders.h"
#include "figures/fig_dump.h"

static void special_shares(const struct tp_counts *counts, double *shares)
{
    double n = (double)counts->values;
    shares[0] = (double)counts->negative / n;
    shares[1] = (double)counts->zero / n;
    shares[2] = (double)counts->nan / n;
    shares[3] = (double)tp_counts_infinite(counts) / n;
}

void tp_fig_density_by_quant_type(struct tp_fig *fig)
{
    static const char *const rows[] = {"negative", "zero", "NaN", "Inf"};
    struct tp_ask ask = {
        .pick = tp_pick_all(),
        .series = TP_KEY_QUANT,
    };
    tp_fig_density(fig, &ask, TP_DENSITY_SIGNED);
    tp_fig_density(fig, &ask, TP_DENSITY_LINEAR);
    tp_fig_density(fig, &ask, TP_DENSITY_MAGNITUDE);
    const struct tp_shares special = {"special values", rows, 4,
                                      special_shares};
    tp_fig_shares(fig, &special);
}

void tp_fig_density_by_tensor_name(struct tp_fig *fig)
{
    struct tp_pick all = tp_pick_all();
    struct tp_choice names;
    tp_choose(fig, &all, TP_KEY_NAME, TP_FIGURE_PANELS_MAX, &names);
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
