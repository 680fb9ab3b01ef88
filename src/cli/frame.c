/* SPDX-License-Identifier: MIT */
#include "cli/frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text_wrap.h"
#include "cli/journal.h"
#include "cli/targets.h"
#include "config.h"
#include "mpi/world_open.h"
#include "report/hdf5.h"
#include "report/staging.h"

/* The file of the HTML report is called as the report, but for its end. NULL:
 * no memory. Released with free(). */
static char *html_name(const char *report)
{
    static const char html[] = ".html";
    const size_t stem = strlen(report) - strlen(".txt");
    char *name = malloc(stem + sizeof html);
    if (name)
        snprintf(name, stem + sizeof html, "%.*s%s", (int)stem, report, html);
    return name;
}

static enum tp_status take_tables(struct tp_frame *frame,
                                  const struct tp_table *tables, size_t count,
                                  struct tp_error *err)
{
    enum tp_status status = TP_OK;
    frame->page.full = frame->steps->hdf5;
    if (!frame->page.folder)
        status = tp_output_whole(frame->options, &frame->page.folder, err);
    return status == TP_OK ? tp_html_page_add_all(&frame->page, tables, count,
                                                  frame->pool, err)
                           : status;
}

/* Tables that become a file and a part of the page, both at once where rows
 * are made from what is only read and there are threads for it. */
struct writing {
    struct tp_frame *frame;
    const char *path;
    const struct tp_hdf5_header *header;
    const struct tp_table *tables;
    size_t count;
    enum tp_status status[2]; /* of the file, of the page */
    struct tp_error err[2];
};

static void write_task(void *context, size_t index, unsigned worker)
{
    struct writing *w = context;
    (void)worker;
    w->status[index] =
        index == 0 ? tp_hdf5_write(w->path, w->header, w->tables, w->count,
                                   &w->err[0])
                   : take_tables(w->frame, w->tables, w->count, &w->err[1]);
}

static enum tp_status write_tables(struct writing *w, struct tp_error *err)
{
    const size_t parts = w->frame->options->no_html ? 1 : 2;
    tp_pool_for(w->frame->steps->beside ? w->frame->pool : NULL, parts,
                write_task, w);
    for (size_t i = 0; i < parts; i++) {
        if (w->status[i] == TP_OK)
            continue;
        if (err)
            *err = w->err[i];
        return w->status[i];
    }
    return TP_OK;
}

enum tp_status tp_frame_hdf5(struct tp_frame *frame,
                             const struct tp_table *tables, size_t count,
                             uint64_t files, uint64_t bytes,
                             struct tp_error *err)
{
    const struct tp_hdf5_header header = {
        PACKAGE_VERSION, tp_text_get(&frame->command_line), files, bytes,
        tp_text_get(&frame->sandbox)};
    char *path = tp_file_join(frame->options->staging, frame->steps->hdf5);
    struct writing writing = {.frame = frame,
                              .path = path,
                              .header = &header,
                              .tables = tables,
                              .count = count};
    enum tp_status status =
        path && !frame->command_line.failed && !frame->sandbox.failed
            ? write_tables(&writing, err)
            : tp_fail_memory(err);
    free(path);
    frame->page.files = files;
    return status;
}

static void replace(struct tp_text *names, const char *name)
{
    tp_text_bytes(names, name, strlen(name) + 1);
}

/* Results of an earlier run in this folder, but for figures. */
static void replace_results(struct tp_frame *frame)
{
    const struct tp_frame_steps *steps = frame->steps;
    replace(&frame->replaced, steps->report);
    replace(&frame->replaced, steps->findings);
    replace(&frame->replaced, steps->hdf5);
    char *page = html_name(steps->report);
    if (page)
        replace(&frame->replaced, page);
    frame->replaced.failed |= !page;
    free(page);
    for (size_t i = 0; i < TP_FRAME_OTHERS && steps->others[i]; i++)
        replace(&frame->replaced, steps->others[i]);
}

/* The file of --output_json. */
static enum tp_status write_json(const struct tp_frame *frame,
                                 struct tp_error *err)
{
    const char *path = frame->options->output_json;
    struct tp_text json = {0};
    if (!path)
        return TP_OK;
    frame->steps->json(frame, &json);
    enum tp_status status =
        json.failed ? tp_fail_memory(err)
                    : tp_file_write(path, tp_text_get(&json), json.length, err);
    tp_text_clear(&json);
    return status;
}

/* The page of the report's text and the words of its head. */
static enum tp_status write_words(const struct tp_frame *frame,
                                  struct tp_html_words *words,
                                  struct tp_error *err)
{
    struct tp_text html = {0};
    char *name = html_name(frame->steps->report);
    words->title = frame->steps->title;
    words->tool_version = PACKAGE_VERSION;
    words->inputs = frame->options->inputs;
    words->input_count = frame->options->input_count;
    words->folder = frame->options->staging;
    words->figures = frame->drawn.lines;
    words->figure_count = frame->drawn.count;
    enum tp_status status =
        name ? tp_html_page_write(&frame->page, words, &html, err)
             : tp_fail_memory(err);
    if (status == TP_OK)
        status = tp_output_write(frame->options, name, &html, err);
    tp_text_clear(&html);
    free(name);
    return status;
}

static enum tp_status write_html(const struct tp_frame *frame,
                                 const struct tp_text *report,
                                 struct tp_error *err)
{
    struct tp_text verdict = {0}, sentence = {0};
    struct tp_html_words words = {.verdict = frame->verdict,
                                  .sentence = frame->sentence,
                                  .report = tp_text_get(report)};
    if (!words.sentence && frame->steps->head) {
        frame->steps->head(frame, &verdict, &sentence);
        words.verdict = verdict.length ? tp_text_get(&verdict) : NULL;
        words.sentence = sentence.length ? tp_text_get(&sentence) : NULL;
    }
    enum tp_status status = verdict.failed || sentence.failed
                                ? tp_fail_memory(err)
                                : write_words(frame, &words, err);
    tp_text_clear(&verdict);
    tp_text_clear(&sentence);
    return status;
}

/* The page, for which figures are drawn once more, unless something kept the
 * first drawing from it; these pictures go whatever became of the page. */
static enum tp_status write_page(const struct tp_frame *frame,
                                 const struct tp_text *report,
                                 struct tp_error *err)
{
    struct tp_error other = {0};
    enum tp_status status =
        frame->drawn.count && !*frame->drawn.warning
            ? tp_output_draw_again(frame->options, &frame->figures, err)
            : TP_OK;
    if (status == TP_OK)
        status = write_html(frame, report, err);
    const enum tp_status forgot =
        tp_output_forget(frame->options, &frame->drawn, &other);
    if (status != TP_OK || forgot == TP_OK)
        return status;
    *err = other;
    return forgot;
}

/* Names are made printable where a text takes them; once more, for what is
 * taken for a word of ours, as those of a state are. */
static void make_shown(struct tp_text *text, bool color)
{
    struct tp_text shown = {.columns = text->columns, .failed = text->failed};
    if (!color && tp_text_is_plain(tp_text_get(text)))
        return;
    tp_text_shown(&shown, tp_text_get(text), color);
    tp_text_clear(text);
    *text = shown;
}

static enum tp_status write_reports(const struct tp_frame *frame,
                                    struct tp_error *err)
{
    const struct tp_frame_steps *steps = frame->steps;
    const struct tp_report_style style = {.file = true};
    struct tp_text text = {.columns = TP_TEXT_COLUMNS}, findings = {0};
    steps->text(frame, &style, &text);
    make_shown(&text, false);
    tp_text_add(&text, "\nSandbox: %s\n", tp_text_get(&frame->sandbox));
    (steps->findings_json ? steps->findings_json : steps->json)(frame,
                                                                &findings);
    enum tp_status status =
        tp_output_write(frame->options, steps->findings, &findings, err);
    if (status == TP_OK)
        status = tp_output_write(frame->options, steps->report, &text, err);
    if (status == TP_OK && !frame->options->no_html)
        status = write_page(frame, &text, err);
    tp_text_clear(&text);
    tp_text_clear(&findings);
    return status;
}

static enum tp_status draw(struct tp_frame *frame, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    if (!frame->steps->draw)
        return TP_OK;
    if (!tp_interrupted && !frame->options->no_plots)
        status = frame->steps->draw(frame, err);
    return status == TP_OK && tp_interrupted
               ? tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted")
               : status;
}

static enum tp_status write_all(struct tp_frame *frame, struct tp_error *err)
{
    enum tp_status status = frame->steps->write(frame, err);
    if (status != TP_OK)
        return status;
    status = draw(frame, err);
    if (status != TP_OK && status != TP_E_IO)
        return status;
    /* of a disk too full for the rest they are worth most, and small */
    struct tp_error other = {0};
    enum tp_status reported =
        write_reports(frame, status == TP_OK ? err : &other);
    if (status != TP_OK && reported != TP_OK && frame->known) {
        tp_staging_hide(frame->options->staging, other.message);
        tp_print_error(&other);
    }
    return status == TP_OK ? reported : status;
}

/* Of a result that a full disk takes a part of, that part is there, unless it
 * had to take the place of a whole one. */
static enum tp_status write_results(struct tp_frame *frame,
                                    struct tp_error *err)
{
    const struct tp_options *options = frame->options;
    struct tp_options inner = *options;
    const char *folder = options->output_dir;
    char *staging;
    enum tp_status status = tp_staging_open(folder, &staging, err);
    inner.staging = staging;
    inner.starter = frame->confined.starter;
    frame->options = &inner;
    if (status == TP_OK)
        status = write_all(frame, err);
    if (status == TP_OK && tp_interrupted)
        status = tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted");
    if (status == TP_OK && frame->steps->lost(frame))
        status = tp_fail_memory(err);
    if (status == TP_OK && frame->steps->elsewhere)
        status = frame->steps->elsewhere(frame, err);
    if (status == TP_OK)
        status = tp_staging_commit(folder, staging, &frame->replaced,
                                   frame->steps->report, err);
    else if (status == TP_E_IO && staging &&
             !tp_staging_replaces(folder, &frame->replaced))
        tp_staging_commit(folder, staging, &frame->replaced,
                          frame->steps->report, NULL);
    else if (staging)
        tp_file_remove_tree(staging);
    if (status != TP_OK && staging) {
        tp_staging_hide(staging, err->message);
        tp_staging_hide(staging, err->file);
    }
    frame->options = options;
    free(staging);
    return status == TP_OK ? write_json(frame, err) : status;
}

/* Whether another process has the result, and this one only reads. */
static bool is_helper(const struct tp_frame *frame)
{
    return frame->options->world && frame->options->world->rank > 0;
}

/* Gives away the rights that reading does not take. */
static enum tp_status confine(struct tp_frame *frame, bool writes,
                              const struct tp_output_made *made,
                              struct tp_error *err)
{
    const struct tp_frame_steps *steps = frame->steps;
    const struct tp_confine_use use = {.writes = writes,
                                       .draws = writes && steps->draw,
                                       .computes = steps->computes,
                                       .temporary = true,
                                       .made = made};
    enum tp_status status =
        tp_confine(frame->options, &use, &frame->confined, err);
    tp_confine_words(&frame->confined, &frame->sandbox);
    return status;
}

static enum tp_status analyse(struct tp_frame *frame, struct tp_error *err)
{
    const struct tp_frame_steps *steps = frame->steps;
    const bool helps = is_helper(frame);
    const bool writes = steps->report != NULL && !helps;
    struct tp_output_made made = {false, false, false};
    enum tp_status status = steps->check(frame, err);
    if (status != TP_OK)
        return status;
    if (writes) {
        replace_results(frame);
        status = tp_output_prepare(frame->options, &made, err);
    }
    if (status == TP_OK && writes)
        status = tp_targets_check(frame->options, &frame->replaced, err);
    if (status == TP_OK)
        status = confine(frame, writes, &made, err);
    if (status == TP_OK && writes)
        status = tp_output_recover(frame->options, err);
    if (status == TP_OK && writes)
        tp_journal_recover(frame->options);
    if (status == TP_OK)
        status =
            tp_pool_new(tp_options_jobs(frame->options), &frame->pool, err);
    if (status == TP_OK)
        status = steps->read(frame, err);
    if (helps)
        return status;
    if (status == TP_OK && steps->judge)
        status = steps->judge(frame, err);
    if (status == TP_OK && steps->lost(frame))
        status = tp_fail_memory(err);
    if (status == TP_OK && writes)
        status = write_results(frame, err);
    if (status != TP_OK)
        tp_output_undo(frame->options, &made);
    return status;
}

/* What a process that only reads has to say. */
static int end_help(const struct tp_frame *frame, const struct tp_error *err)
{
    const struct tp_world *world = frame->options->world;
    if (err->code == TP_OK || tp_interrupted || tp_world_is_over(world))
        return tp_interrupted ? TP_EXIT_FAILED : TP_EXIT_OK;
    struct tp_error ours = *err;
    tp_while(&ours, "reading as process %u of %u", world->rank, world->size);
    tp_print_error(&ours);
    return tp_exit_of(err->code);
}

/* Where the page is. */
static void add_link(const struct tp_frame *frame, struct tp_text *text)
{
    if (frame->options->no_html || !frame->steps->report)
        return;
    char *name = html_name(frame->steps->report);
    if (name)
        tp_output_link(frame->options, name, text);
    text->failed |= !name;
    free(name);
}

static bool print_result(const struct tp_frame *frame)
{
    const struct tp_options *options = frame->options;
    const struct tp_report_style style = {
        .most = options->verbose ? 0 : TP_MOST_ON_STDOUT,
        .color = tp_wants_color()};
    struct tp_text text = {.columns = tp_stdout_columns()};
    if (options->format == TP_FORM_JSON)
        frame->steps->json(frame, &text);
    else if (!options->quiet) {
        frame->steps->text(frame, &style, &text);
        make_shown(&text, style.color);
        add_link(frame, &text);
    }
    return tp_print(&text);
}

static int exit_status(const struct tp_frame *frame)
{
    if (frame->damaged)
        return TP_EXIT_DAMAGED;
    return tp_reaches_fail_on(frame->options, frame->worst) ? TP_EXIT_FINDINGS
                                                            : TP_EXIT_OK;
}

int tp_frame_run(const struct tp_frame_steps *steps, void *session, int argc,
                 char **argv)
{
    struct tp_frame *frame = session;
    struct tp_error err = {0};
    int result;
    frame->steps = steps;
    tp_note_command_line(argc, argv, &frame->command_line);
    enum tp_status status = analyse(frame, &err);
    if (is_helper(frame)) {
        result = end_help(frame, &err);
    } else if (status == TP_OK) {
        result = print_result(frame) ? exit_status(frame) : TP_EXIT_FAILED;
    } else {
        if (status == TP_E_IO && frame->known) /* what no file could take */
            print_result(frame);
        tp_print_error(&err);
        result = tp_exit_of(status);
    }
    tp_text_clear(&frame->command_line);
    tp_text_clear(&frame->replaced);
    tp_text_clear(&frame->sandbox);
    tp_figure_set_clear(&frame->figures);
    tp_html_page_clear(&frame->page);
    free(frame->drawn.lines);
    steps->clear(session);
    tp_pool_free(frame->pool);
    tp_confine_end(&frame->confined);
    return result;
}
