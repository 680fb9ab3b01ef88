/* SPDX-License-Identifier: MIT */
/*
 * A finding knows the directory, or else the step and the rank, the place in
 * the order of calls, the item and the name of what it is about. Several places
 * may be of one step and rank, where these are not known: the call has to have
 * the name, too. One about no call names a file, or nothing that has one.
 */
#include "dump/finding_files.h"

#include <stdlib.h>
#include <string.h>

#include "dump/dump_call.h"

/* Files of a call: arguments of a large optimizer are hundreds, which nobody
 * opens one by one. */
enum { NAMED = 12 };

enum tp_status tp_finding_files_add(struct tp_finding_files *files,
                                    int64_t finding, const char *what,
                                    const char *file, struct tp_error *err)
{
    enum tp_status status = tp_grow(&files->rows, &files->capacity,
                                    files->count + 1, sizeof *files->rows, err);
    if (status == TP_OK && !(what && file))
        status = tp_fail_memory(err);
    if (status == TP_OK)
        files->rows[files->count++] =
            (struct tp_finding_file){finding, what, file};
    return status;
}

/* Where an item's tensor is, or would be; NULL: nowhere, or no memory. */
static const char *path_of(struct tp_finding_files *files,
                           const struct tp_dump_place *place,
                           const struct tp_dump_item *item)
{
    if (item->file)
        return item->file->path;
    return *item->data_name
               ? tp_arena_format(&files->arena, "%s/dump_tensor_data/%s",
                                 place->directory, item->data_name)
               : NULL;
}

static bool has_file(const struct tp_dump_item *item)
{
    return item->file || *item->data_name;
}

/* What an item is to its call, in the words of its file's name. */
static const char *what_of(struct tp_finding_files *files,
                           const struct tp_finding_call *of,
                           const struct tp_dump_item *item)
{
    struct tp_text name = {0};
    tp_dump_item_name(of->call, item, "kwargs", &name);
    const size_t call = strlen(of->call->key);
    const char *words = tp_text_get(&name);
    const bool inside = name.length > call + 1 && words[call] == '.';
    const char *what = name.failed
                           ? NULL
                           : tp_arena_format(&files->arena, "%s%s", of->side,
                                             inside ? words + call + 1 : words);
    tp_text_clear(&name);
    return what;
}

enum tp_status tp_finding_files_item(struct tp_finding_files *files,
                                     const struct tp_finding_call *of,
                                     const struct tp_dump_item *item,
                                     struct tp_error *err)
{
    return has_file(item)
               ? tp_finding_files_add(files, of->finding,
                                      what_of(files, of, item),
                                      path_of(files, of->place, item), err)
               : TP_OK;
}

/* The items with a file that are results, or are none. */
static enum tp_status add_items(struct tp_finding_files *files,
                                const struct tp_finding_call *of, bool results,
                                size_t *met, struct tp_error *err)
{
    const struct tp_dump_item *item = of->place->items + of->call->first;
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < of->call->count && status == TP_OK; i++, item++) {
        if (!has_file(item) ||
            tp_dump_item_is_result(of->call, item) != results)
            continue;
        if (++*met <= NAMED)
            status = tp_finding_files_item(files, of, item, err);
    }
    return status;
}

enum tp_status tp_finding_files_call(struct tp_finding_files *files,
                                     const struct tp_finding_call *of,
                                     struct tp_error *err)
{
    size_t met = 0;
    enum tp_status status = add_items(files, of, true, &met, err);
    if (status == TP_OK)
        status = add_items(files, of, false, &met, err);
    if (status != TP_OK || met <= NAMED)
        return status;
    return tp_finding_files_add(
        files, of->finding,
        tp_arena_format(&files->arena, "%s%zu more in", of->side, met - NAMED),
        tp_arena_format(&files->arena, "%s/dump_tensor_data",
                        of->place->directory),
        err);
}

enum tp_status tp_finding_files_told(struct tp_finding_files *files,
                                     const struct tp_finding_call *of,
                                     const char *name, struct tp_error *err)
{
    if (!name)
        name = tp_dump_source_name(
            of->place,
            of->call && of->call->variable_file ? TP_DUMP_DEBUG : TP_DUMP_JSON);
    return tp_finding_files_add(
        files, of->finding,
        tp_arena_format(&files->arena, "%s%s", of->side, name),
        tp_arena_format(&files->arena, "%s/%s", of->place->directory, name),
        err);
}

/* --- of a dump ------------------------------------------------------------ */

/* Whether a name is a call's, or that of something of it. */
static bool is_of(const char *name, const struct tp_dump_call *call)
{
    const size_t length = strlen(call->key);
    return !strncmp(name, call->key, length) &&
           (name[length] == '\0' || name[length] == '.');
}

/* The place of a finding and the call, if it is about one. */
static bool find(const struct tp_dump *dump,
                 const struct tp_dump_finding *finding,
                 struct tp_finding_call *of)
{
    for (size_t i = 0; i < dump->place_count; i++) {
        const struct tp_dump_place *place = &dump->places[i];
        if (finding->directory
                ? place->directory != finding->directory
                : place->step != finding->step || place->rank != finding->rank)
            continue;
        of->place = place;
        if (finding->order < 0)
            return true;
        if ((size_t)finding->order < place->call_count &&
            is_of(finding->name, &place->calls[finding->order])) {
            of->call = &place->calls[finding->order];
            return true;
        }
    }
    return false;
}

/* The item that a finding is about; NULL: the whole call. Where the finding
 * does not tell, its name does. */
static enum tp_status item_of(const struct tp_finding_call *of,
                              const struct tp_dump_finding *finding,
                              const struct tp_dump_item **found,
                              struct tp_error *err)
{
    const struct tp_dump_item *items = of->place->items + of->call->first;
    struct tp_text name = {0};
    *found = NULL;
    if (finding->item >= 0 && (size_t)finding->item < of->call->count) {
        *found = &items[finding->item];
        return TP_OK;
    }
    if (!strcmp(finding->name, of->call->key))
        return TP_OK;
    for (size_t i = 0; i < of->call->count && !*found && !name.failed; i++) {
        tp_text_clear(&name);
        tp_dump_item_name(of->call, &items[i], "kwargs", &name);
        if (!name.failed && !strcmp(tp_text_get(&name), finding->name))
            *found = &items[i];
    }
    const bool failed = name.failed;
    tp_text_clear(&name);
    return failed ? tp_fail_memory(err) : TP_OK;
}

/* Of a finding about no call: the file it names, else what it was read from. */
static enum tp_status add_named(struct tp_finding_files *files,
                                const struct tp_finding_call *of,
                                const struct tp_dump_finding *finding,
                                struct tp_error *err)
{
    const struct tp_dump_file *file = tp_dump_file_of(of->place, finding->name);
    if (file)
        return tp_finding_files_add(files, of->finding, "file",
                                    file->found->path, err);
    if (finding->rule == &tp_dump_checks[TP_CHECK_TREE].rule)
        return tp_finding_files_told(
            files, of, tp_dump_json_names[TP_DUMP_CONSTRUCT], err);
    for (int i = 0; i < TP_DUMP_JSONS; i++)
        if (!strcmp(finding->name, tp_dump_json_names[i]))
            return tp_finding_files_told(files, of, tp_dump_json_names[i], err);
    return tp_finding_files_told(files, of, NULL, err);
}

enum tp_status tp_dump_finding_files(const struct tp_dump *dump,
                                     const struct tp_dump_findings *findings,
                                     struct tp_finding_files *files,
                                     struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < findings->count && status == TP_OK; i++) {
        const struct tp_dump_finding *finding = &findings->rows[i];
        struct tp_finding_call of = {.finding = (int64_t)i, .side = ""};
        if (!find(dump, finding, &of))
            continue;
        if (!of.call) {
            status = add_named(files, &of, finding, err);
            continue;
        }
        const struct tp_dump_item *item;
        status = item_of(&of, finding, &item, err);
        if (status == TP_OK)
            status = item ? tp_finding_files_item(files, &of, item, err)
                          : tp_finding_files_call(files, &of, err);
        if (status == TP_OK)
            status = tp_finding_files_told(files, &of, NULL, err);
    }
    return status;
}

void tp_finding_files_table(const struct tp_finding_files *files,
                            struct tp_table *table)
{
    static const struct tp_column columns[] = {
        TP_COLUMN(struct tp_finding_file, finding, "1"),
        TP_COLUMN(struct tp_finding_file, what, ""),
        TP_COLUMN(struct tp_finding_file, file, "")};
    *table = TP_TABLE_OF("finding_files", columns, files->rows, files->count);
}

void tp_finding_files_clear(struct tp_finding_files *files)
{
    free(files->rows);
    tp_arena_clear(&files->arena);
    memset(files, 0, sizeof *files);
}
