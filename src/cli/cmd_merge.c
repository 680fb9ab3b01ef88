/* SPDX-License-Identifier: MIT */
/*
 * tprof-analyze merge STATE...: what several machines, or days, have read
 * becomes the tables, report, findings and figures of one run.
 */
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "cli/tensor_steps.h"
#include "state/state_merge.h"
#include "tensors/join.h"

struct session {
    struct tp_tensor_session tensors; /* the frame is its first member     */
    struct tp_options options;        /* with those of the states          */
    struct tp_state_merge merge;
    struct tp_memo memo;
    struct tp_text roots;
    char **inputs; /* the lines of roots                                   */
};

static enum tp_status check(void *session, struct tp_error *err)
{
    const struct session *s = session;
    return tp_check_options(s->tensors.frame.options, "STATE", err);
}

/* Reads the states, which have to be of the same options. */
static enum tp_status read_states(struct session *s, struct tp_error *err)
{
    const struct tp_options *options = s->tensors.frame.options;
    struct tp_state_merge *merge = &s->merge;
    const struct tp_state_merge_from from = {
        options->inputs, options->input_count, &s->memo, &tp_interrupted};
    enum tp_status status =
        tp_state_merge_read(merge, &from, s->tensors.frame.pool, err);
    for (size_t i = 1; i < merge->count && status == TP_OK; i++) {
        status =
            tp_compare_shapes(merge->states[i].options,
                              merge->states[0].options, merge->paths[0], err);
        if (status != TP_OK)
            tp_error_in_file(err, merge->paths[i]);
    }
    return status;
}

/* The folder that two paths lie in, one of which may be it; its length. */
static size_t common_folder(const char *a, const char *b)
{
    size_t end = 0;
    for (size_t i = 0;; i++) {
        const bool ends = !a[i] || a[i] == '/', other = !b[i] || b[i] == '/';
        if (ends && other)
            end = i;
        if (!a[i] || a[i] != b[i])
            return end;
    }
}

/* The folder that holds all inputs of the states, as one run over it would be
 * told; where there is none, the inputs, each once. Sorted by bytes, the first
 * and the last have the least in common. */
static void reduce_inputs(struct session *s, size_t count)
{
    size_t kept = 0;
    const size_t length =
        count ? common_folder(s->inputs[0], s->inputs[count - 1]) : 0;
    if (length) {
        s->inputs[0][length] = '\0';
        count = 1;
    }
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || strcmp(s->inputs[kept - 1], s->inputs[i]) != 0)
            s->inputs[kept++] = s->inputs[i];
    }
    s->options.inputs = (const char **)s->inputs;
    s->options.input_count = kept;
}

/* What the states are of. */
static enum tp_status name_inputs(struct session *s, struct tp_error *err)
{
    const struct tp_state_merge *merge = &s->merge;
    size_t lines = 0;
    for (size_t i = 0; i < merge->count; i++)
        tp_text_add(&s->roots, "%s", merge->states[i].roots);
    if (s->roots.failed)
        return tp_fail_memory(err);
    for (size_t i = 0; i < s->roots.length; i++)
        lines += s->roots.data[i] == '\n';
    s->inputs = calloc(lines + 1, sizeof *s->inputs);
    if (!s->inputs)
        return tp_fail_memory(err);
    char *at = s->roots.data;
    for (size_t i = 0; i < lines; i++) {
        s->inputs[i] = at;
        at = strchr(at, '\n');
        *at++ = '\0';
    }
    tp_sort_text((const char **)s->inputs, lines);
    reduce_inputs(s, lines);
    return TP_OK;
}

/* From here on the options are those of the runs that were merged. */
static enum tp_status take_options(struct session *s, struct tp_error *err)
{
    s->options = *s->tensors.frame.options;
    s->tensors.frame.options = &s->options;
    enum tp_status status =
        tp_options_take(&s->options, s->merge.states[0].options, err);
    if (status == TP_OK)
        status = tp_tensor_plan(&s->tensors, err);
    if (status == TP_OK && s->merge.casts > s->tensors.plan.count)
        status = tp_fail(err, TP_E_DAMAGED, -1,
                         "a damaged state: it has casts that its options do "
                         "not ask for");
    if (status != TP_OK)
        tp_error_in_file(err, s->merge.paths[0]);
    return status == TP_OK ? name_inputs(s, err) : status;
}

static enum tp_status merge_states(void *session, struct tp_error *err)
{
    struct session *s = session;
    struct tp_run *run = &s->tensors.run;
    run->memo = &s->memo;
    enum tp_status status = read_states(s, err);
    if (status == TP_OK)
        status = take_options(s, err);
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
    tp_text_add(text,
                "\nMerged\n  %zu state%s, %zu file%s; %zu in several states, "
                "counted once",
                merge->count, merge->count == 1 ? "" : "s",
                merge->records.count, merge->records.count == 1 ? "" : "s",
                merge->twice);
    if (merge->twice) {
        tp_text_add(text, ". First: ");
        tp_text_printable(text, merge->first_twice);
    }
    tp_text_add(text, "\n");
}

static void clear(void *session)
{
    struct session *s = session;
    tp_tensor_clear(&s->tensors);
    tp_state_merge_clear(&s->merge);
    tp_memo_clear(&s->memo);
    tp_text_clear(&s->roots);
    free(s->inputs);
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
        .text = add_text,
        .json = tp_tensor_json,
        .findings_json = tp_tensor_findings,
        .lost = tp_tensor_lost,
        .clear = clear,
    };
    struct session s = {.tensors = {.frame = {.options = options}}};
    tp_memo_init(&s.memo);
    return tp_frame_run(&steps, &s, argc, argv);
}
