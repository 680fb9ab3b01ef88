/* SPDX-License-Identifier: MIT */
#ifndef TP_CLI_TENSOR_STEPS_H
#define TP_CLI_TENSOR_STEPS_H

#include "check/check.h"
#include "cli/frame.h"
#include "cli/keep_state.h"
#include "quant/quant_groups.h"
#include "report/report.h"
#include "rules/finding_bins.h"
#include "rules/finding_series.h"
#include "tensors/group.h"
#include "tensors/pairs.h"

/*
 * The steps of commands over rows of tensors, but for reading: the same
 * whether rows come from files or from states. Each takes a session.
 */

/* Everything one run over rows of tensors holds. */
struct tp_tensor_session {
    struct tp_frame frame;
    struct tp_quant_plan plan;
    struct tp_kept kept; /* of --state                                     */
    struct tp_run run;
    struct tp_groups groups;
    struct tp_quant quant;
    struct tp_pairs pairs;
    struct tp_monitor monitor;
    struct tp_incidents incidents;
    struct tp_findings findings;
    struct tp_finding_bins finding_bins;
    struct tp_finding_series finding_series;
    struct tp_check scripts; /* of --scripts */
};

/* Which casts to simulate; words that are not known are usage errors. */
enum tp_status tp_tensor_plan(struct tp_tensor_session *session,
                              struct tp_error *err);

/* Steps as of struct tp_frame_steps; `read` is the command's. */
enum tp_status tp_tensor_judge(void *session, struct tp_error *err);
enum tp_status tp_tensor_write(void *session, struct tp_error *err);
enum tp_status tp_tensor_draw(void *session, struct tp_error *err);
void tp_tensor_head(const void *session, struct tp_text *verdict,
                    struct tp_text *sentence);
void tp_tensor_text(const void *session, const struct tp_report_style *style,
                    struct tp_text *text);
void tp_tensor_json(const void *session, struct tp_text *text);
void tp_tensor_findings(const void *session, struct tp_text *text);
bool tp_tensor_lost(const void *session);
void tp_tensor_clear(void *session);

#endif
