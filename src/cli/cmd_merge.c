/* SPDX-License-Identifier: MIT */
/*
 * tprof-analyze merge STATE...: what several machines, or days, have read
 * becomes the tables, report, findings and figures of one run: of tensors
 * here, of traces in cmd_merge_traces.c. Which of them it is says the first
 * block of the first state, which a process without rights looks at.
 */
#include "cli/confine.h"
#include "cli/merged_inputs.h"
#include "cli/option_shape.h"
#include "cli/tensor_steps.h"
#include "state/state_image.h"
#include "state/state_merge.h"
#include "tensors/join.h"

struct session {
    struct tp_tensor_session tensors; /* the frame is its first member     */
    struct tp_options options;        /* with those of the states          */
    struct tp_state_merge merge;
    struct tp_memo memo;
    struct tp_merged_inputs inputs;
};

static enum tp_status check(void *session, struct tp_error *err)
{
    const struct session *s = session;
    const struct tp_options *options = s->tensors.frame.options;
    enum tp_status status = tp_check_options(options, "STATE", err);
    return status == TP_OK ? tp_options_only(options, TP_FOR_TENSORS,
                                             "states of tensors", err)
                           : status;
}

static struct tp_merged_state state_at(const void *merge, size_t index)
{
    const struct tp_state *state =
        &((const struct tp_state_merge *)merge)->states[index];
    return (struct tp_merged_state){state->options, state->roots};
}

/* Reads the states. From here on the options are those of the runs that are
 * merged. */
static enum tp_status read_states(struct session *s, struct tp_error *err)
{
    const struct tp_options *options = s->tensors.frame.options;
    const struct tp_state_merge_from from = {
        options->inputs, options->input_count, &s->memo, &tp_interrupted};
    const struct tp_merged_states states = {
        options->inputs, options->input_count, TP_FOR_TENSORS, state_at,
        &s->merge};
    enum tp_status status =
        tp_state_merge_read(&s->merge, &from, s->tensors.frame.pool, err);
    s->options = *options;
    s->tensors.frame.options = &s->options;
    if (status == TP_OK)
        status = tp_merged_take(&s->inputs, &states, &s->options, err);
    if (status != TP_OK)
        return status;
    status = tp_tensor_plan(&s->tensors, err);
    if (status == TP_OK && s->merge.casts > s->tensors.plan.count)
        status = tp_fail(err, TP_E_DAMAGED, -1,
                         "a damaged state: it has casts that its options do "
                         "not ask for");
    if (status != TP_OK)
        tp_error_in_file(err, s->merge.paths[0]);
    return status;
}

static enum tp_status merge_states(void *session, struct tp_error *err)
{
    struct session *s = session;
    struct tp_run *run = &s->tensors.run;
    run->memo = &s->memo;
    enum tp_status status = read_states(s, err);
    if (status == TP_OK)
        status = tp_state_merge_records(&s->merge, s->options.dims, &run->arena,
                                        err);
    if (status == TP_OK)
        status = tp_state_merge_files(&s->merge, &run->files, err);
    if (status != TP_OK)
        return status;
    run->plan = s->tensors.plan;
    run->parts = s->options.parts;
    status = tp_records_join(&s->merge.records, s->options.dims != TP_DIMS_NONE,
                             run, err);
    if (status == TP_OK)
        tp_state_merge_drop_records(&s->merge);
    if (status == TP_OK && run->row_count + run->aside_count == 0)
        status = tp_fail(err, TP_E_NOT_FOUND, -1,
                         "no tensor in these states: their runs read none");
    return status;
}

static void add_text(const void *session, const struct tp_report_style *style,
                     struct tp_text *text)
{
    const struct session *s = session;
    const struct tp_state_merge *merge = &s->merge;
    tp_tensor_text(session, style, text);
    if (style->file)
        return;
    const struct tp_merged_count count = {merge->count, merge->files,
                                          merge->twice, merge->first_twice};
    tp_merged_text(&count, text);
}

static void clear(void *session)
{
    struct session *s = session;
    tp_tensor_clear(&s->tensors);
    tp_state_merge_clear(&s->merge);
    tp_memo_clear(&s->memo);
    tp_merged_inputs_clear(&s->inputs);
}

int tp_cmd_merge(const struct tp_options *options, int argc, char **argv)
{
    static const struct tp_frame_steps steps = {
        .title = "dumped tensors",
        .hdf5 = "summary.h5",
        .findings = "findings.json",
        .report = "report.txt",
        .check = check,
        .read = merge_states,
        .judge = tp_tensor_judge,
        .write = tp_tensor_write,
        .draw = tp_tensor_draw,
        .head = tp_tensor_head,
        .text = add_text,
        .json = tp_tensor_json,
        .findings_json = tp_tensor_findings,
        .lost = tp_tensor_lost,
        .clear = clear,
    };
    struct tp_error err = {0};
    bool traces = false;
    if (options->input_count &&
        tp_confined_ask(options, tp_state_image_holds_traces,
                        options->inputs[0], &traces, &err) != TP_OK) {
        tp_print_error(&err);
        return TP_EXIT_FAILED;
    }
    if (traces)
        return tp_merge_traces(options, argc, argv);
    struct session s = {.tensors = {.frame = {.options = options}}};
    tp_memo_init(&s.memo);
    return tp_frame_run(&steps, &s, argc, argv);
}
