/* SPDX-License-Identifier: MIT */
/*
 * Metrics beside traces. A training script writes them where its traces are,
 * or above: results/metrics_demo.json and results/traces/demo/. There are
 * several as soon as it has run twice, and who moves folders moves them apart;
 * so a file from above has to name the folder, by its last parts, and two that
 * disagree say nothing.
 *
 * Matching times of files with those of traces would tell runs apart, too, but
 * copies do not keep them. Each folder is looked at once: O(files in it).
 */
#define _XOPEN_SOURCE 700 /* realpath */
#include "trace/trace_beside.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "formats/trace/trace_metrics.h"

enum {
    LEVELS = 3,        /* the folder of the traces and two above            */
    PARTS_TO_MATCH = 3 /* of trace_dir, where it has as many               */
};

/* Files beside the traces of one folder. */
struct search {
    const char *folder;
    char *real; /* or NULL */
    struct tp_arena *arena;
    struct tp_trace_said_list *said;
};

/* What files say of the traces of one folder. */
struct folder {
    const char *path;
    struct tp_setting settings[TP_SETTING_COUNT]; /* source: the file      */
    bool disagree[TP_SETTING_COUNT];
};

/* A run, and its folders that were met. */
struct holder {
    struct tp_trace_run *run;
    const struct tp_trace_said_list *said;
    struct folder *folders;
    size_t count, capacity;
};

/* The folder of a path, or the one above a folder, in the arena. */
static const char *parent_of(struct tp_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *last = tp_file_base_name(path);
    if (!strcmp(last, "..") || !strcmp(path, "."))
        return strcmp(path, ".") ? tp_arena_format(arena, "%s/..", path) : "..";
    if (!slash)
        return ".";
    return slash == path ? "/"
                         : tp_arena_text(arena, path, (size_t)(slash - path));
}

/* The start of the last of the first `length` bytes' parts. */
static size_t last_part(const char *path, size_t length)
{
    while (length > 0 && path[length - 1] != '/')
        length--;
    return length;
}

static size_t without_slashes(const char *path, size_t length)
{
    while (length > 0 && path[length - 1] == '/')
        length--;
    return length;
}

/* Whether a folder ends in the last parts of trace_dir. */
static bool is_named(const char *folder, const char *trace_dir)
{
    if (!folder || !trace_dir)
        return false;
    size_t a = strlen(folder), b = strlen(trace_dir);
    for (int i = 0; i < PARTS_TO_MATCH; i++) {
        a = without_slashes(folder, a);
        b = without_slashes(trace_dir, b);
        const size_t from_a = last_part(folder, a);
        const size_t from_b = last_part(trace_dir, b);
        if (b == from_b || (b - from_b == 1 && trace_dir[from_b] == '.'))
            return i > 0;
        if (a - from_a != b - from_b ||
            memcmp(folder + from_a, trace_dir + from_b, b - from_b) != 0)
            return false;
        a = from_a;
        b = from_b;
    }
    return true;
}

/* One file that is named as metrics are. */
static enum tp_status try_file(struct search *search, const char *path,
                               bool above, struct tp_error *err)
{
    struct tp_events events = {0};
    struct tp_trace_said_list *list = search->said;
    enum tp_status status = tp_trace_read_metrics(path, &events, err);
    if (status == TP_OK &&
        (!above || is_named(search->real, events.trace_dir))) {
        status = tp_grow(&list->rows, &list->capacity, list->count + 1,
                         sizeof *list->rows, err);
        struct tp_trace_said said = {search->folder, path, {{false, 0, NULL}}};
        for (int i = 0; i < TP_SETTING_COUNT; i++) {
            said.settings[i] = events.settings[i];
            said.settings[i].source = NULL;
        }
        if (status == TP_OK)
            list->rows[list->count++] = said;
    }
    tp_events_clear(&events);
    return status == TP_E_MEMORY ? status : TP_OK;
}

static int is_metrics(const struct dirent *entry)
{
    return tp_trace_is_metrics_name(entry->d_name);
}

/* Not alphasort, whose order is the locale's. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static enum tp_status look_in(struct search *search, const char *where,
                              struct tp_error *err)
{
    struct dirent **entries;
    const int count = scandir(where, &entries, is_metrics, by_name);
    enum tp_status status = TP_OK;
    for (int i = 0; i < count; i++) {
        const char *path =
            tp_arena_format(search->arena, "%s/%s", where, entries[i]->d_name);
        if (status == TP_OK)
            status = *path
                         ? try_file(search, path, where != search->folder, err)
                         : tp_fail_memory(err);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return status;
}

enum tp_status tp_trace_beside_find(const char *folder, struct tp_arena *arena,
                                    struct tp_trace_said_list *said,
                                    struct tp_error *err)
{
    struct search search = {folder, realpath(folder, NULL), arena, said};
    const char *where = folder;
    enum tp_status status = TP_OK;
    for (int i = 0; i < LEVELS && where && status == TP_OK; i++) {
        status = look_in(&search, where, err);
        where = parent_of(arena, where);
    }
    free(search.real);
    return status;
}

/* --- what they say -------------------------------------------------------- */

/* The files used are no longer said to be skipped. */
static void forget_skipped(struct tp_trace_run *run, const char *path)
{
    size_t kept = 0;
    for (size_t i = 0; i < run->skipped.count; i++) {
        const struct tp_trace_skipped *row = &run->skipped.rows[i];
        if (row->damage || strcmp(row->file, path) != 0)
            run->skipped.rows[kept++] = *row;
    }
    run->skipped.count = kept;
}

/* A value as it is written in JSON. */
static const char *value_of(struct tp_arena *arena, int id, int64_t value)
{
    if (tp_setting_table[id].flag)
        return value ? "true" : "false";
    return tp_arena_format(arena, "%" PRId64, value);
}

static void add_said(struct tp_trace_run *run, struct folder *folder,
                     const struct tp_trace_said *said)
{
    struct tp_arena *arena = &run->arena;
    for (int i = 0; i < TP_SETTING_COUNT; i++) {
        struct tp_setting *now = &folder->settings[i];
        const struct tp_setting *more = &said->settings[i];
        if (!more->known || folder->disagree[i])
            continue;
        if (now->known && now->value != more->value) {
            tp_notes_add(
                &run->notes,
                tp_arena_format(arena,
                                "%s is %s in %s and %s in %s: "
                                "neither is used",
                                tp_setting_table[i].name,
                                value_of(arena, i, now->value), now->source,
                                value_of(arena, i, more->value), said->path));
            folder->disagree[i] = true;
            now->known = false;
        } else if (!now->known) {
            *now = *more;
            now->source = said->path;
        }
    }
}

/* The folder of a trace, with what is said when it is met first. */
static enum tp_status find_folder(struct holder *holder, const char *trace,
                                  const struct folder **found,
                                  struct tp_error *err)
{
    const char *path = parent_of(&holder->run->arena, trace);
    if (!path)
        return tp_fail_memory(err);
    for (size_t i = 0; i < holder->count; i++) {
        *found = &holder->folders[i];
        if (!strcmp((*found)->path, path))
            return TP_OK;
    }
    enum tp_status status =
        tp_grow(&holder->folders, &holder->capacity, holder->count + 1,
                sizeof *holder->folders, err);
    if (status != TP_OK)
        return status;
    struct folder *folder = &holder->folders[holder->count++];
    *folder = (struct folder){.path = path};
    for (size_t i = 0; i < holder->said->count; i++) {
        const struct tp_trace_said *said = &holder->said->rows[i];
        if (strcmp(said->folder, path) != 0)
            continue;
        add_said(holder->run, folder, said);
        forget_skipped(holder->run, said->path);
    }
    *found = folder;
    return TP_OK;
}

/* Lets what the files say hold for a trace. */
static void apply(struct tp_trace_run *run, struct tp_trace *trace,
                  const struct folder *folder)
{
    for (int i = 0; i < TP_SETTING_COUNT; i++) {
        const struct tp_setting *said = &folder->settings[i];
        struct tp_setting *shown = &trace->settings[i];
        if (!said->known)
            continue;
        if (shown->known && shown->value != said->value)
            tp_notes_add(&run->notes,
                         tp_arena_format(&run->arena,
                                         "%s: %s is %s by what is recorded, "
                                         "but %s in %s, which is taken",
                                         trace->path, tp_setting_table[i].name,
                                         value_of(&run->arena, i, shown->value),
                                         value_of(&run->arena, i, said->value),
                                         said->source));
        *shown = *said;
    }
}

bool tp_trace_said_same(const struct tp_trace_said *a,
                        const struct tp_trace_said *b)
{
    bool same =
        strcmp(a->folder, b->folder) == 0 && strcmp(a->path, b->path) == 0;
    for (int i = 0; i < TP_SETTING_COUNT && same; i++)
        same = a->settings[i].known == b->settings[i].known &&
               a->settings[i].value == b->settings[i].value;
    return same;
}

const char *tp_trace_folder_of(struct tp_arena *arena, const char *path)
{
    return parent_of(arena, path);
}

enum tp_status tp_trace_beside_add(struct tp_trace_run *run,
                                   const struct tp_trace_said_list *said,
                                   struct tp_error *err)
{
    struct holder holder = {.run = run, .said = said};
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < run->trace_count && status == TP_OK; i++) {
        const struct folder *folder = NULL;
        status = find_folder(&holder, run->traces[i].path, &folder, err);
        if (status == TP_OK)
            apply(run, &run->traces[i], folder);
    }
    free(holder.folders);
    return status;
}
