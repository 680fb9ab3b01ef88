/* SPDX-License-Identifier: MIT */
/*
 * tprof-analyze --tensor_dir DIR: from directories to summary.h5, report.txt,
 * findings.json and figures, and the same summary on stdout.
 */
#include "cli/journal.h"
#include "cli/scripts.h"
#include "cli/tensor_steps.h"
#include "cli/wait.h"
#include "formats/reader.h"
#include "state/state_gather.h"
#include "tensors/collect.h"

/* What the processes of a world need to read together. */
struct team {
    struct tp_journal journal;
    struct tp_state_gather gather;
    struct tp_collect_team how;
};

static void team_reading(void *context, const char *path, unsigned worker)
{
    struct team *team = context;
    tp_journal_reading(&team->journal, path, worker);
}

static enum tp_status team_gather(void *context, struct tp_records *records,
                                  struct tp_error *err)
{
    struct team *team = context;
    return tp_state_gather(&team->gather, records, err);
}

static void team_open(struct team *team, const struct tp_options *options)
{
    *team = (struct team){.gather = {.world = options->world},
                          .how = {.world = options->world,
                                  .reading = team_reading,
                                  .gather = team_gather,
                                  .context = team}};
    if (options->world)
        tp_journal_open(&team->journal, options);
}

static void team_close(struct team *team)
{
    tp_state_gather_clear(&team->gather);
    tp_journal_close(&team->journal);
}

static enum tp_status collect(struct tp_tensor_session *s, struct tp_error *err)
{
    const struct tp_options *options = s->frame.options;
    struct tp_progress progress;
    struct team team;
    tp_progress_start(&progress, "files", options);
    team_open(&team, options);
    struct tp_collect_options how = {.roots = options->inputs,
                                     .root_count = options->input_count,
                                     .mx_scale = options->mx_scale,
                                     .mx_nonfinite = options->mx_nonfinite,
                                     .block_axis = options->block_axis,
                                     .backward_format =
                                         tp_backward_format(options),
                                     .quant = &s->plan,
                                     .dims = options->dims,
                                     .reduce = options->reduce_dtype,
                                     .parts = options->parts,
                                     .progress = tp_progress_update,
                                     .progress_context = &progress,
                                     .stop = &tp_interrupted,
                                     .team = options->world ? &team.how : NULL};
    enum tp_status status = TP_OK;
    if (options->state)
        status = tp_kept_open(options, &s->run, &s->kept, err);
    if (options->state)
        how.keeper = &s->kept.keeper;
    if (status == TP_OK)
        status = tp_open_device(options, tp_pool_size(s->frame.pool), how.quant,
                                &how.device, err);
    if (status == TP_OK)
        status = tp_collect(s->frame.pool, &how, &s->run, err);
    tp_close_device(options, how.device);
    team_close(&team);
    tp_progress_end(&progress);
    return status;
}

static enum tp_status check(void *session, struct tp_error *err)
{
    struct tp_tensor_session *s = session;
    enum tp_status status = tp_check_options(s->frame.options, "DIR", err);
    return status == TP_OK ? tp_tensor_plan(s, err) : status;
}

/* Says what was looked for and what was there instead. */
static enum tp_status nothing_found(const struct tp_tensor_session *s,
                                    struct tp_error *err)
{
    const struct tp_run *run = &s->run;
    const struct tp_skipped *first = run->skipped;
    size_t unusable = 0;
    for (size_t i = 0; i < run->skipped_count; i++)
        unusable += run->skipped[i].damage;
    for (size_t i = 0; i < run->skipped_count && i < TP_MOST_ON_STDOUT; i++)
        tp_print_warning(s->frame.options, "%s%s%s", first[i].file,
                         first[i].file[0] ? ": " : "", first[i].reason);
    tp_kept_failed(&s->kept, TP_E_NOT_FOUND);
    struct tp_text suffixes = {0};
    tp_format_suffixes(&suffixes);
    enum tp_status status =
        tp_fail(err, TP_E_NOT_FOUND, -1,
                "no tensor found in %s%s: looked "
                "for files that end in %s or begin as "
                "torch.save writes them (%zu files seen, %zu could not be "
                "used)",
                s->frame.options->inputs[0],
                s->frame.options->input_count > 1 ? " and others" : "",
                tp_text_get(&suffixes), run->files.count, unusable);
    tp_text_clear(&suffixes);
    return status;
}

/* Waits for what is to be read, and reads it. */
static enum tp_status read_inputs(void *session, struct tp_error *err)
{
    struct tp_tensor_session *s = session;
    struct tp_text over = {0};
    if (s->frame.options->world && s->frame.options->world->rank > 0)
        return collect(s, err);
    enum tp_status status = tp_wait_for_run(s->frame.options, &over, err);
    if (over.length)
        tp_print_warning(s->frame.options, "%s", tp_text_get(&over));
    if (status == TP_OK)
        status =
            tp_scripts_read(s->frame.options, s->frame.pool, &s->scripts, err);
    if (status == TP_OK)
        status = collect(s, err);
    if (status == TP_E_INTERRUPTED)
        tp_kept_failed(&s->kept, status);
    s->run.arena.failed |= over.failed;
    if (status == TP_OK && over.length)
        tp_run_note(&s->run, "%s", tp_text_get(&over));
    if (status == TP_OK && s->run.row_count + s->run.aside_count == 0)
        status = nothing_found(s, err);
    if ((status == TP_E_NOT_FOUND || status == TP_E_IO) &&
        s->frame.options->input_from_environment)
        tp_while(err, "reading what " TP_INPUT_VARIABLE " names");
    tp_text_clear(&over);
    return status;
}

int tp_cmd_tensors(const struct tp_options *options, int argc, char **argv)
{
    static const struct tp_frame_steps steps = {
        .title = "dumped tensors",
        .hdf5 = "summary.h5",
        .findings = "findings.json",
        .report = "report.txt",
        .check = check,
        .read = read_inputs,
        .judge = tp_tensor_judge,
        .write = tp_tensor_write,
        .draw = tp_tensor_draw,
        .computes = true,
        .head = tp_tensor_head,
        .text = tp_tensor_text,
        .json = tp_tensor_json,
        .findings_json = tp_tensor_findings,
        .lost = tp_tensor_lost,
        .clear = tp_tensor_clear,
    };
    struct tp_tensor_session s = {.frame = {.options = options}};
    return tp_frame_run(&steps, &s, argc, argv);
}
