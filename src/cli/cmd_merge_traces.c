/* SPDX-License-Identifier: MIT */
/* tprof-analyze merge STATE... of traces. */
#include <stdlib.h>

#include "cli/merged_inputs.h"
#include "cli/option_shape.h"
#include "cli/trace_session.h"
#include "state/trace_state_merge.h"
#include "trace/trace_join.h"
#include "verdict/trace_judge.h"

struct session {
    struct tp_trace_session traces; /* the frame is its first member       */
    struct tp_options options;      /* with those of the states            */
    struct tp_trace_merge merge;
    struct tp_merged_inputs inputs;
    size_t files;
};

static enum tp_status check(void *session, struct tp_error *err)
{
    const struct session *s = session;
    return tp_options_only(s->traces.frame.options, TP_FOR_TRACE,
                           "states of traces", err);
}

static struct tp_merged_state state_at(const void *merge, size_t index)
{
    const struct tp_trace_state *state =
        &((const struct tp_trace_merge *)merge)->states[index];
    return (struct tp_merged_state){state->options, state->roots};
}

/* Reads the states. From here on the options are those of the runs that are
 * merged. */
static enum tp_status read_states(struct session *s, struct tp_error *err)
{
    const struct tp_options *given = s->traces.frame.options;
    const struct tp_merged_states states = {given->inputs, given->input_count,
                                            TP_FOR_TRACE, state_at, &s->merge};
    enum tp_status status =
        tp_trace_merge_read(&s->merge, given->inputs, given->input_count,
                            &s->traces.run.arena, &tp_interrupted, err);
    s->options = *given;
    s->traces.frame.options = &s->options;
    if (status == TP_OK)
        status = tp_merged_take(&s->inputs, &states, &s->options, err);
    if (status != TP_OK)
        return status;
    status = tp_trace_plan(&s->traces, err);
    if (status != TP_OK)
        tp_error_in_file(err, given->inputs[0]);
    return status;
}

static enum tp_status merge_states(void *session, struct tp_error *err)
{
    struct session *s = session;
    struct tp_trace_session *traces = &s->traces;
    enum tp_status status = read_states(s, err);
    if (status == TP_OK)
        status = tp_trace_merge_records(&s->merge, err);
    s->files = s->merge.records.count;
    if (status == TP_OK)
        status = tp_trace_run_join(&s->merge.records, &traces->roofs,
                                   &traces->run, err);
    if (status == TP_OK && traces->run.trace_count == 0)
        status = tp_fail(err, TP_E_NOT_FOUND, -1,
                         "no trace in these states: their runs read none");
    if (status == TP_OK)
        status =
            tp_trace_judge(&traces->run, &traces->limits, &traces->judged, err);
    tp_trace_see_damage(traces, &traces->run);
    tp_trace_sum_up(traces);
    return status;
}

static void add_text(const void *session, const struct tp_report_style *style,
                     struct tp_text *text)
{
    const struct session *s = session;
    const struct tp_merged_count count = {s->merge.count, s->files,
                                          s->merge.twice, s->merge.first_twice};
    tp_trace_text(session, style, text);
    if (!style->file)
        tp_merged_text(&count, text);
}

static void clear(void *session)
{
    struct session *s = session;
    tp_trace_merge_clear(&s->merge);
    tp_trace_session_clear(&s->traces);
    tp_merged_inputs_clear(&s->inputs);
    free(s->options.peaks.texts);
}

int tp_merge_traces(const struct tp_options *options, int argc, char **argv)
{
    static const struct tp_frame_steps steps = {
        .title = "traces",
        .hdf5 = "trace.h5",
        .findings = "trace_findings.json",
        .report = "trace_report.txt",
        .check = check,
        .read = merge_states,
        .write = tp_trace_write,
        .draw = tp_trace_draw,
        .text = add_text,
        .json = tp_trace_json,
        .findings_json = tp_trace_findings,
        .lost = tp_trace_lost,
        .clear = clear,
    };
    struct session s = {.traces = {.frame = {.options = options}}};
    return tp_frame_run(&steps, &s, argc, argv);
}
