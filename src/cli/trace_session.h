/* SPDX-License-Identifier: MIT */
#ifndef TP_CLI_TRACE_SESSION_H
#define TP_CLI_TRACE_SESSION_H

#include "check/check.h"
#include "cli/frame.h"
#include "cli/keep_traces.h"
#include "trace/trace_run.h"
#include "verdict/judged.h"
#include "verdict/trace_limits.h"

/*
 * The steps of commands over traces, but for reading: the same whether rows
 * come from files or from states. Each takes a session.
 */

/* Everything one run over traces holds. */
struct tp_trace_session {
    struct tp_frame frame;
    struct tp_trace_limits limits;
    struct tp_roof_choice roofs;
    const char *sort; /* NULL: by device time, if there is any             */
    struct tp_kept_traces kept; /* of --state                              */
    struct tp_trace_run run;
    struct tp_trace_judged judged;
    struct tp_check scripts; /* of --scripts                               */
};

/* Sets limits, roofs and sort by the options; words that are not known are
 * usage errors. */
enum tp_status tp_trace_plan(struct tp_trace_session *session,
                             struct tp_error *err);

/* Notes whether a run has damaged input. */
void tp_trace_see_damage(struct tp_trace_session *session,
                         const struct tp_trace_run *run);

/* Tells the frame what was judged. */
void tp_trace_sum_up(struct tp_trace_session *session);

/* Steps as of struct tp_frame_steps; `read` is the command's. */
enum tp_status tp_trace_write(void *session, struct tp_error *err);
enum tp_status tp_trace_draw(void *session, struct tp_error *err);
void tp_trace_text(const void *session, const struct tp_report_style *style,
                   struct tp_text *text);
void tp_trace_json(const void *session, struct tp_text *text);
void tp_trace_findings(const void *session, struct tp_text *text);
bool tp_trace_lost(const void *session);
void tp_trace_session_clear(void *session);

#endif
