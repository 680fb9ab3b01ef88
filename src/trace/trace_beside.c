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
    LEVELS = 3,       /* the folder of the traces and two above            */
    PARTS_TO_MATCH = 3 /* of trace_dir, where it has as many               */
};

/* What files say of the traces of one folder. */
struct folder {
    const char *path;
    char *real; /* or NULL */
    struct tp_setting settings[TP_SETTING_COUNT]; /* source: the file      */
    bool disagree[TP_SETTING_COUNT];
};

struct search {
    struct tp_trace_run *run;
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

static void add_said(struct search *search, struct folder *folder,
                     const char *path, const struct tp_events *said)
{
    struct tp_arena *arena = &search->run->arena;
    for (int i = 0; i < TP_SETTING_COUNT; i++) {
        struct tp_setting *now = &folder->settings[i];
        const struct tp_setting *more = &said->settings[i];
        if (!more->known || folder->disagree[i])
            continue;
        if (now->known && now->value != more->value) {
            tp_notes_add(&search->run->notes,
                         tp_arena_format(arena,
                                         "%s is %s in %s and %s in %s: "
                                         "neither is used",
                                         tp_setting_table[i].name,
                                         value_of(arena, i, now->value),
                                         now->source,
                                         value_of(arena, i, more->value),
                                         path));
            folder->disagree[i] = true;
            now->known = false;
        } else if (!now->known) {
            *now = *more;
            now->source = path;
        }
    }
}

/* One file that is named as metrics are. */
static enum tp_status try_file(struct search *search, struct folder *folder,
                               const char *path, bool above,
                               struct tp_error *err)
{
    struct tp_events said = {0};
    enum tp_status status = tp_trace_read_metrics(path, &said, err);
    if (status == TP_OK &&
        (!above || is_named(folder->real, said.trace_dir))) {
        add_said(search, folder, path, &said);
        forget_skipped(search->run, path);
    }
    tp_events_clear(&said);
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

static enum tp_status look_in(struct search *search, struct folder *folder,
                              const char *where, struct tp_error *err)
{
    struct dirent **entries;
    const int count = scandir(where, &entries, is_metrics, by_name);
    enum tp_status status = TP_OK;
    for (int i = 0; i < count; i++) {
        const char *path = tp_arena_format(&search->run->arena, "%s/%s", where,
                                           entries[i]->d_name);
        if (status == TP_OK)
            status = *path ? try_file(search, folder, path,
                                      where != folder->path, err)
                           : tp_fail_memory(err);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return status;
}

/* The folder of a trace, looked at when it is met first. */
static enum tp_status find_folder(struct search *search, const char *trace,
                                  const struct folder **found,
                                  struct tp_error *err)
{
    const char *path = parent_of(&search->run->arena, trace);
    if (!path)
        return tp_fail_memory(err);
    for (size_t i = 0; i < search->count; i++) {
        *found = &search->folders[i];
        if (!strcmp((*found)->path, path))
            return TP_OK;
    }
    enum tp_status status =
        tp_grow(&search->folders, &search->capacity, search->count + 1,
                sizeof *search->folders, err);
    if (status != TP_OK)
        return status;
    struct folder *folder = &search->folders[search->count++];
    *folder = (struct folder){.path = path, .real = realpath(path, NULL)};
    for (int i = 0; i < LEVELS && path && status == TP_OK; i++) {
        status = look_in(search, folder, path, err);
        path = parent_of(&search->run->arena, path);
    }
    *found = folder;
    return status;
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

enum tp_status tp_trace_beside_add(struct tp_trace_run *run,
                                   struct tp_error *err)
{
    struct search search = {.run = run};
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < run->trace_count && status == TP_OK; i++) {
        const struct folder *folder = NULL;
        status = find_folder(&search, run->traces[i].path, &folder, err);
        if (status == TP_OK)
            apply(run, &run->traces[i], folder);
    }
    for (size_t i = 0; i < search.count; i++)
        free(search.folders[i].real);
    free(search.folders);
    return status;
}
