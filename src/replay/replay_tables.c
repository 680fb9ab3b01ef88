/* SPDX-License-Identifier: MIT */
#include "replay/replay_tables.h"

#include <inttypes.h>

/* --- tables --------------------------------------------------------------- */

static const struct tp_column row_columns[] = {
    TP_COLUMN(struct tp_replay_row, step, "1"),
    TP_COLUMN(struct tp_replay_row, rank, "1"),
    TP_COLUMN(struct tp_replay_row, order, "1"),
    TP_COLUMN(struct tp_replay_row, api_name, ""),
    TP_COLUMN(struct tp_replay_row, module, ""),
    TP_COLUMN(struct tp_replay_row, stage, ""),
    TP_COLUMN(struct tp_replay_row, status, ""),
    TP_COLUMN(struct tp_replay_row, reason, ""),
    TP_COLUMN(struct tp_replay_row, dtype, ""),
    TP_COLUMN(struct tp_replay_row, shape, ""),
    TP_COLUMN(struct tp_replay_row, family, ""),
    TP_COLUMN(struct tp_replay_row, judgement, ""),
    TP_COLUMN(struct tp_replay_row, cause, ""),
    TP_COLUMN(struct tp_replay_row, error, "1"),
    TP_COLUMN(struct tp_replay_row, bound, "1"),
    TP_COLUMN(struct tp_replay_row, excess, "1"),
    TP_COLUMN(struct tp_replay_row, ulp, "1"),
    TP_COLUMN(struct tp_replay_row, ulp_rounded, "1"),
    TP_COLUMN(struct tp_replay_row, error_fp32, "1"),
    TP_COLUMN(struct tp_replay_row, error_bf16, "1"),
    TP_COLUMN(struct tp_replay_row, error_fp8, "1"),
    TP_COLUMN(struct tp_replay_row, repeats, "1"),
    TP_COLUMN(struct tp_replay_row, nonfinite, "1"),
    TP_COLUMN(struct tp_replay_row, limit, "1"),
    TP_COLUMN(struct tp_replay_row, amplification, "1"),
    TP_COLUMN(struct tp_replay_row, overflows, "1"),
    TP_COLUMN(struct tp_replay_row, improve_precision, "1"),
    TP_COLUMN(struct tp_replay_row, add_noise, "1"),
    TP_COLUMN(struct tp_replay_row, bit_noise, "1"),
    TP_COLUMN(struct tp_replay_row, no_change, "1"),
    TP_COLUMN(struct tp_replay_row, change_value, "1"),
    TP_COLUMN(struct tp_replay_row, flags, "1"),
};

static const struct tp_column flag_columns[] = {
    TP_COLUMN(struct tp_replay_flag, rank, "1"),
    TP_COLUMN(struct tp_replay_flag, pert_mode, ""),
    TP_COLUMN(struct tp_replay_flag, stage, ""),
    TP_COLUMN(struct tp_replay_flag, step, "1"),
    TP_COLUMN(struct tp_replay_flag, api_name, ""),
    TP_COLUMN(struct tp_replay_flag, max_rel, ""),
    TP_COLUMN(struct tp_replay_flag, dtype, ""),
    TP_COLUMN(struct tp_replay_flag, shape, ""),
    TP_COLUMN(struct tp_replay_flag, output_index, "1"),
};

static const struct tp_column coverage_columns[] = {
    TP_COLUMN(struct tp_replay_row, api_name, ""),
    TP_COLUMN(struct tp_replay_row, status, ""),
    TP_COLUMN(struct tp_replay_row, reason, ""),
};

void tp_replay_table(const struct tp_replay_results *results,
                     struct tp_table *table)
{
    *table = TP_TABLE_OF("replay", row_columns, results->rows, results->count);
}

void tp_replay_flags_table(const struct tp_replay_results *results,
                           struct tp_table *table)
{
    *table = TP_TABLE_OF("free_benchmark", flag_columns, results->flags,
                         results->flag_count);
}

void tp_replay_coverage_table(const struct tp_replay_results *results,
                              struct tp_table *table)
{
    *table = TP_TABLE_OF("replay_coverage", coverage_columns, results->rows,
                         results->count);
}

/* --- the log -------------------------------------------------------------- */

static void log_call(const struct tp_replay_row *row, int mode,
                     struct tp_text *text)
{
    struct tp_text name = {0};
    tp_text_printable(&name, row->api_name);
    const char *api = tp_text_get(&name);
    switch (row->outcomes[mode]) {
    case TP_PERTURB_APPLIED:
        tp_text_add(text,
                    "[msprobe] Free Benchmark: Perturbation is %s of %s.\n",
                    tp_perturb_words[mode], api);
        break;
    case TP_PERTURB_NO_INPUT:
        tp_text_add(text,
                    "[msprobe] Free benchmark: "
                    "无标杆工具不支持当前算子的输入类型 %s.\n",
                    api);
        break;
    default:
        tp_text_add(text,
                    "[msprobe] Free Benchmark: For %s,%s. "
                    "Cancel perturbation.\n",
                    api, row->reasons[mode]);
    }
    text->failed |= name.failed;
    tp_text_clear(&name);
}

static void log_sample(const struct tp_replay_row *row, struct tp_text *text)
{
    if (!row->sample)
        return;
    tp_text_add(text,
                "[msprobe] Free benchmark: preheat sample in step %" PRId64
                " api_name ",
                row->step);
    tp_text_printable(text, row->api_name);
    tp_text_add(text, " curr_called_seq: %" PRIu64 "/%" PRIu64 "\n",
                row->sample, row->sample_total);
}

void tp_replay_log(const struct tp_replay_results *results,
                   struct tp_text *text)
{
    for (size_t i = 0; i < results->count; i++)
        log_sample(&results->rows[i], text);
    for (int mode = 0; mode < TP_PERTURB_MODES; mode++)
        for (size_t i = 0; i < results->count; i++)
            if (results->rows[i].reasons[mode])
                log_call(&results->rows[i], mode, text);
}
