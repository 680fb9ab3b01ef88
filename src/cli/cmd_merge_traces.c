/* SPDX-License-Identifier: MIT */
/* tprof-analyze merge STATE... of traces. */
#include <stdlib.h>

#include "cli/keep_state.h"
#include "cli/merged_inputs.h"
#include "cli/option_shape.h"
#include "cli/trace_session.h"
#include "state/trace_state_merge.h"
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

/* Reads the states, which have to be of the same options. */
static enum tp_status read_states(struct session *s, struct tp_error *err)
{
    const struct tp_options *options = s->traces.frame.options;
    struct tp_trace_merge *merge = &s->merge;
    enum tp_status status =
        tp_trace_merge_read(merge, options->inputs, options->input_count,
                            &s->traces.run.arena, &tp_interrupted, err);
    for (size_t i = 1; i < merge->count && status == TP_OK; i++) {
        status = tp_compare_shapes(merge->states[i].options,
                                   merge->states[0].options, options->inputs[0],
                                   err);
        if (status != TP_OK)
            tp_error_in_file(err, options->inputs[i]);
    }
    return status;
}

/* From here on the options are those of the runs that were merged. */
static enum tp_status take_options(struct session *s, struct tp_error *err)
{
    const struct tp_options *given = s->traces.frame.options;
    s->options = *given;
    s->traces.frame.options = &s->options;
    enum tp_status status = tp_options_take(&s->options, TP_FOR_TRACE,
                                            s->merge.states[0].options, err);
    if (status == TP_OK)
        status = tp_trace_plan(&s->traces, err);
    if (status != TP_OK)
        tp_error_in_file(err, given->inputs[0]);
    for (size_t i = 0; i < s->merge.count; i++)
        tp_merged_inputs_add(&s->inputs, s->merge.states[i].roots);
    return status == TP_OK ? tp_merged_inputs_set(&s->inputs, &s->options, err)
                           : status;
}

static enum tp_status merge_states(void *session, struct tp_error *err)
{
    struct session *s = session;
    struct tp_trace_session *traces = &s->traces;
    enum tp_status status = read_states(s, err);
    if (status == TP_OK)
        status = take_options(s, err);
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
