/* SPDX-License-Identifier: MIT */
#include "cli/keep_state.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/option_shape.h"
#include "state/state_fold.h"

/* The line at `*at`, which is moved behind it. */
static int take_line(const char **at)
{
    const int length = (int)strcspn(*at, "\n");
    *at += length + ((*at)[length] == '\n');
    return length;
}

enum tp_status tp_compare_shapes(const char *ours, const char *theirs,
                                 const char *what, struct tp_error *err)
{
    while (*ours || *theirs) {
        const char *left = ours, *right = theirs;
        const int a = take_line(&ours), b = take_line(&theirs);
        if (a == b && memcmp(left, right, (size_t)a) == 0)
            continue;
        return tp_fail(err, TP_E_USAGE, -1,
                       "made with other options: --%.*s in %s, --%.*s here: "
                       "rows of both cannot stand side by side",
                       b, right, what, a, left);
    }
    return TP_OK;
}

static struct tp_state_header header_of(const struct tp_kept *kept, bool whole)
{
    return (struct tp_state_header){.options = tp_text_get(&kept->shape),
                                    .roots = tp_text_get(&kept->roots),
                                    .whole = whole};
}

/* Whether the file says what these records say. */
static bool is_there(const struct tp_kept *kept, bool whole)
{
    return whole && kept->known.whole && kept->reused.read == 0 &&
           kept->reused.gone == 0 && kept->reused.hidden == 0 &&
           strcmp(kept->known.roots, tp_text_get(&kept->roots)) == 0;
}

/* How many are ours. */
static size_t files_of(const struct tp_records *records)
{
    size_t files = 0;
    for (size_t i = 0; i < records->count; i++)
        files += !records->items[i].ignored;
    return files;
}

static enum tp_status keep(void *context, const struct tp_records *records,
                           bool whole, struct tp_error *err)
{
    struct tp_kept *kept = context;
    const struct tp_state_header header = header_of(kept, whole);
    enum tp_status status = TP_OK;
    const size_t files = files_of(records);
    kept->file.left = files == 0;
    if (kept->file.left)
        return TP_OK;
    if (!is_there(kept, whole))
        status = tp_state_write(tp_text_get(&kept->path), &header, records,
                                &kept->memo, err);
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

/* A state of nothing. */
static enum tp_status write_first(struct tp_kept *kept, struct tp_error *err)
{
    const struct tp_records none = {.items = NULL};
    const struct tp_state_header header = header_of(kept, false);
    kept->file.made = true;
    return tp_state_write(kept->options->state, &header, &none, NULL, err);
}

enum tp_status tp_kept_lock(const char *path, struct tp_lock *lock,
                            struct tp_error *err)
{
    const enum tp_status status = tp_lock_take(path, lock, err);
    if (status == TP_OK)
        tp_file_remove_abandoned_of(path);
    return status;
}

void tp_kept_end(const struct tp_options *options,
                 const struct tp_kept_file *file, struct tp_lock *lock)
{
    struct tp_found_list sides = {0};
    if (file->made && !file->written &&
        tp_state_find_sides(options->state, &sides, NULL) == TP_OK &&
        sides.count == 0)
        unlink(options->state);
    tp_found_clear(&sides);
    tp_lock_give(lock);
}

void tp_kept_advise(struct tp_error *err, const char *path)
{
    struct tp_text shown = {0};
    if (err->code != TP_E_DAMAGED && err->code != TP_E_USAGE &&
        err->code != TP_E_UNSUPPORTED)
        return;
    const struct tp_error why = *err;
    tp_text_printable(&shown, path);
    if (why.code == TP_E_UNSUPPORTED) /* it may be anything */
        tp_fail(err, why.code, why.offset, "%s; name another --state",
                why.message);
    else
        tp_fail(err, why.code, why.offset,
                why.code == TP_E_DAMAGED
                    ? "%s; delete %s to begin anew"
                    : "%s; name another --state, or delete %s to begin anew",
                why.message, tp_text_get(&shown));
    tp_text_clear(&shown);
}

void tp_kept_path(const struct tp_options *options, struct tp_text *path)
{
    if (options->world && options->world->rank > 0)
        tp_state_side(options->state, options->world->rank, path);
    else
        tp_text_add(path, "%s", options->state);
}

/* What earlier runs kept. */
static enum tp_status read_known(struct tp_kept *kept, struct tp_error *err)
{
    struct tp_error failure = {.code = TP_OK};
    const char *path = kept->options->state;
    enum tp_status status = tp_kept_lock(path, &kept->lock, &failure);
    if (status == TP_OK)
        status = tp_state_fold(path, &failure);
    if (status == TP_OK)
        status = tp_state_read(path, &kept->known, &kept->memo, &failure);
    if (status == TP_E_NOT_FOUND)
        return write_first(kept, err);
    if (status == TP_OK)
        status = tp_compare_shapes(tp_text_get(&kept->shape),
                                   kept->known.options, "the state", &failure);
    if (status != TP_OK && !failure.file[0])
        tp_error_in_file(&failure, path);
    tp_kept_advise(&failure, failure.file);
    if (status != TP_OK && err)
        *err = failure;
    return status;
}

enum tp_status tp_kept_open(const struct tp_options *options,
                            struct tp_run *run, struct tp_kept *kept,
                            struct tp_error *err)
{
    kept->options = options;
    tp_memo_init(&kept->memo);
    tp_options_shape(options, TP_FOR_TENSORS, &kept->shape);
    for (size_t i = 0; i < options->input_count; i++)
        tp_text_add(&kept->roots, "%s\n", options->inputs[i]);
    kept->known.records.arena = &run->arena;
    run->memo = &kept->memo;
    kept->keeper = (struct tp_collect_keeper){.known = &kept->known.records,
                                              .reused = &kept->reused,
                                              .seconds = options->state_every,
                                              .keep = keep,
                                              .context = kept};
    tp_kept_path(options, &kept->path);
    enum tp_status status = TP_OK;
    if (kept->path.failed || kept->shape.failed || kept->roots.failed)
        status = tp_fail_memory(err);
    else if (!options->world || options->world->rank == 0)
        status = read_known(kept, err);
    kept->before = kept->known.records.count;
    return status;
}

void tp_kept_results(struct tp_kept *kept)
{
    struct tp_error err = {0};
    if (!kept->options || kept->memo.made == kept->written)
        return;
    kept->written = kept->memo.made;
    if (tp_state_keep_memo(kept->options->state, &kept->memo, &err) != TP_OK)
        tp_print_warning(kept->options, "%s: %s", kept->options->state,
                         err.message);
}

static void add_count(struct tp_text *text, size_t count, const char *what)
{
    tp_text_add(text, "%zu %s%s", count, what, count == 1 ? "" : "s");
}

void tp_reused_text(const struct tp_reused *reused, const char *state,
                    const char *rest, struct tp_text *text)
{
    tp_text_add(text, "\nState\n  ");
    tp_text_printable(text, state);
    tp_text_add(text, ": ");
    add_count(text, reused->known, "file");
    tp_text_add(text, " known, %zu read (%" PRIu64 " bytes)%s\n", reused->read,
                reused->bytes, rest);
    if (reused->gone) {
        tp_text_add(text, "  ");
        add_count(text, reused->gone, "file");
        tp_text_add(text, " no longer there and left out. First: ");
        tp_text_printable(text, reused->first_gone);
        tp_text_add(text, "\n");
    }
    if (reused->hidden) {
        tp_text_add(text, "  ");
        add_count(text, reused->hidden, "file");
        tp_text_add(text,
                    " not met and left out: elsewhere than this run looked, or "
                    "in a folder that cannot be read. First: ");
        tp_text_printable(text, reused->first_hidden);
        tp_text_add(text, "\n");
    }
}

/* What became of it, in words; false: nothing that has to be said. */
static bool add_outcome(const struct tp_options *options,
                        const struct tp_kept_file *file,
                        const struct tp_reused *reused, enum tp_status status,
                        struct tp_text *text)
{
    const bool interrupted = status == TP_E_INTERRUPTED && file->written;
    const bool nothing = status == TP_E_NOT_FOUND && file->left &&
                         reused->gone + reused->hidden > 0;
    if (interrupted && options->world)
        tp_text_add(text, ": what was read is kept, here and beside it; the "
                          "same command goes on from there");
    else if (interrupted)
        tp_text_add(text,
                    ": what was read of %zu file%s is kept; the same command "
                    "goes on from there",
                    file->files, file->files == 1 ? "" : "s");
    else if (nothing)
        tp_text_add(text,
                    ": left as it is, since nothing was found to read; of its "
                    "files %zu are no longer there, and %zu were not met",
                    reused->gone, reused->hidden);
    return interrupted || nothing;
}

void tp_kept_file_failed(const struct tp_options *options,
                         const struct tp_kept_file *file,
                         const struct tp_reused *reused, enum tp_status status)
{
    struct tp_text text = {0};
    tp_text_printable(&text, options->state);
    if (add_outcome(options, file, reused, status, &text) && !text.failed)
        tp_print_warning(options, "%s", tp_text_get(&text));
    tp_text_clear(&text);
}

void tp_kept_failed(const struct tp_kept *kept, enum tp_status status)
{
    if (kept->options)
        tp_kept_file_failed(kept->options, &kept->file, &kept->reused, status);
}

void tp_kept_text(const struct tp_kept *kept, struct tp_text *text)
{
    struct tp_text again = {0};
    if (!kept->options)
        return;
    tp_text_add(&again, ", ");
    add_count(&again, kept->memo.made, "tensor");
    tp_text_add(&again, " read again");
    tp_reused_text(&kept->reused, kept->options->state, tp_text_get(&again),
                   text);
    text->failed |= again.failed;
    tp_text_clear(&again);
}

void tp_kept_clear(struct tp_kept *kept)
{
    if (kept->options)
        tp_memo_clear(&kept->memo);
    tp_state_clear(&kept->known);
    tp_kept_end(kept->options, &kept->file, &kept->lock);
    tp_text_clear(&kept->shape);
    tp_text_clear(&kept->roots);
    tp_text_clear(&kept->path);
    memset(kept, 0, sizeof *kept);
}
