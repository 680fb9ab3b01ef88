/* SPDX-License-Identifier: MIT */
#include "cli/keep_traces.h"

#include <string.h>

#include "cli/keep_state.h"
#include "cli/option_shape.h"
#include "state/state_fold.h"
#include "state/trace_fold.h"

static bool is_same_said(const struct tp_trace_said_list *a,
                         const struct tp_trace_said_list *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; i < a->count && same; i++)
        same = tp_trace_said_same(&a->rows[i], &b->rows[i]);
    return same;
}

/* Whether the file says what these records say. */
static bool is_there(const struct tp_kept_traces *kept,
                     const struct tp_trace_records *records)
{
    return kept->known.whole && kept->reused.read == 0 &&
           kept->reused.gone == 0 && kept->reused.hidden == 0 &&
           strcmp(kept->known.roots, tp_text_get(&kept->roots)) == 0 &&
           is_same_said(&kept->known.records.said, &records->said);
}

static struct tp_state_header header_of(const struct tp_kept_traces *kept,
                                        bool whole)
{
    return (struct tp_state_header){.options = tp_text_get(&kept->shape),
                                    .roots = tp_text_get(&kept->roots),
                                    .whole = whole};
}

/* How many were read. */
static size_t files_of(const struct tp_trace_records *records)
{
    size_t files = 0;
    for (size_t i = 0; i < records->count; i++)
        files += records->items[i].done && !records->items[i].elsewhere;
    return files;
}

static enum tp_status keep(void *context,
                           const struct tp_trace_records *records, bool whole,
                           struct tp_error *err)
{
    struct tp_kept_traces *kept = context;
    const struct tp_state_header header = header_of(kept, whole);
    enum tp_status status = TP_OK;
    const size_t files = files_of(records);
    kept->file.left = files == 0;
    if (kept->file.left)
        return TP_OK;
    if (!whole || !is_there(kept, records))
        status = tp_trace_state_write(tp_text_get(&kept->path), &header,
                                      records, err);
    if (status != TP_OK) {
        tp_while(err, "keeping the state");
        return status;
    }
    if (whole)
        tp_state_drop_sides(kept->options->state);
    kept->file.written = true;
    kept->file.files = files;
    return TP_OK;
}

/* A state of what is known by now. */
static enum tp_status write_known(const struct tp_kept_traces *kept,
                                  struct tp_error *err)
{
    const struct tp_state_header header = header_of(kept, false);
    return tp_trace_state_write(kept->options->state, &header,
                                &kept->known.records, err);
}

/* What earlier runs kept, with what stands beside it, which is gone then. */
static enum tp_status read_known(struct tp_kept_traces *kept,
                                 struct tp_error *err)
{
    struct tp_error failure = {.code = TP_OK};
    const char *path = kept->options->state;
    size_t sides = 0;
    enum tp_status status = tp_kept_lock(path, &kept->lock, &failure);
    if (status == TP_OK)
        status = tp_trace_state_read(path, &kept->known, &failure);
    kept->file.made = status == TP_E_NOT_FOUND;
    if (status == TP_E_NOT_FOUND)
        return write_known(kept, err);
    if (status == TP_OK)
        status = tp_compare_shapes(tp_text_get(&kept->shape),
                                   kept->known.options, "the state", &failure);
    if (status == TP_OK)
        status = tp_trace_fold(path, &kept->known, &sides, &failure);
    if (status == TP_OK && sides) {
        status = write_known(kept, &failure);
        if (status == TP_OK)
            tp_state_drop_sides(path);
    }
    if (status != TP_OK && !failure.file[0])
        tp_error_in_file(&failure, path);
    tp_kept_advise(&failure, failure.file);
    if (status != TP_OK && err)
        *err = failure;
    return status;
}

enum tp_status tp_kept_traces_open(const struct tp_options *options,
                                   struct tp_trace_run *run,
                                   struct tp_kept_traces *kept,
                                   struct tp_error *err)
{
    kept->options = options;
    tp_options_shape(options, TP_FOR_TRACE, &kept->shape);
    for (size_t i = 0; i < options->input_count; i++)
        tp_text_add(&kept->roots, "%s\n", options->inputs[i]);
    tp_kept_path(options, &kept->path);
    kept->known.records.arena = &run->arena;
    kept->keeper = (struct tp_trace_keeper){.known = &kept->known.records,
                                            .reused = &kept->reused,
                                            .seconds = options->state_every,
                                            .keep = keep,
                                            .context = kept};
    if (kept->path.failed || kept->shape.failed || kept->roots.failed)
        return tp_fail_memory(err);
    return !options->world || options->world->rank == 0 ? read_known(kept, err)
                                                        : TP_OK;
}

void tp_kept_traces_failed(const struct tp_kept_traces *kept,
                           enum tp_status status)
{
    if (kept->options)
        tp_kept_file_failed(kept->options, &kept->file, &kept->reused, status);
}

void tp_kept_traces_text(const struct tp_kept_traces *kept,
                         struct tp_text *text)
{
    if (kept->options)
        tp_reused_text(&kept->reused, kept->options->state, "", text);
}

void tp_kept_traces_clear(struct tp_kept_traces *kept)
{
    tp_trace_state_clear(&kept->known);
    tp_kept_end(kept->options, &kept->file, &kept->lock);
    tp_text_clear(&kept->shape);
    tp_text_clear(&kept->roots);
    tp_text_clear(&kept->path);
    memset(kept, 0, sizeof *kept);
}
