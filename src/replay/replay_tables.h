/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_REPLAY_TABLES_H
#define TP_REPLAY_REPLAY_TABLES_H

#include "data/table.h"
#include "replay/replay_run.h"

/* The tables "replay", of free_benchmark.csv and of replay_coverage.csv. */
void tp_replay_table(const struct tp_replay_results *results,
                     struct tp_table *table);
void tp_replay_flags_table(const struct tp_replay_results *results,
                           struct tp_table *table);
void tp_replay_coverage_table(const struct tp_replay_results *results,
                              struct tp_table *table);

/* Adds the lines that msprobe logs while it perturbs. */
void tp_replay_log(const struct tp_replay_results *results,
                   struct tp_text *text);

#endif
