/* SPDX-License-Identifier: MIT */
/*
 * One walk over all files below the roots; a file belongs to the directory it
 * is in or, in dump_tensor_data, to the one above. Files are sorted by that
 * directory, so that a place is a stretch of them. To look for the names of
 * steps and ranks instead would miss what a user copied out of a dump. Cost:
 * n log n comparisons of paths for n files.
 */
#define _XOPEN_SOURCE 700 /* realpath */
#include "dump/dump_find.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/order.h"
#include "formats/torchtitan/activation_log.h"

static const char data_dir[] = "dump_tensor_data";

/* A file that belongs to a place. */
struct part {
    struct tp_found *file;
    size_t directory; /* bytes of the path that name the place; 0: "."     */
    const char *name;
    int json; /* of enum tp_dump_json; -1: a tensor                        */
    int64_t log; /* the rank of a log of torchtitan, which is a place of its
                    own; -1: it is none                                    */
};

struct parts {
    struct part *parts;
    size_t count, capacity;
};

/* --- files ---------------------------------------------------------------- */

/* Bytes of the directory of a path of `length` bytes; 0: there is none. */
static size_t directory_length(const char *path, size_t length)
{
    while (length > 0 && path[length - 1] != '/')
        length--;
    return length > 1 ? length - 1 : length;
}

/* Whether the last component of the first `length` bytes is this word. */
static bool ends_with(const char *path, size_t length, const char *word)
{
    size_t size = strlen(word);
    return length >= size && !memcmp(path + length - size, word, size) &&
           (length == size || path[length - size - 1] == '/');
}

static int json_of(const char *name)
{
    int json = 0;
    while (json < TP_DUMP_JSONS && strcmp(name, tp_dump_json_names[json]))
        json++;
    return json < TP_DUMP_JSONS ? json : -1;
}

bool tp_dump_names(const char *path)
{
    const char *name = tp_file_base_name(path);
    return json_of(name) >= 0 || tp_activation_log_rank(name) >= 0;
}

/* Whether a file is one of a place. */
static bool is_part(struct tp_found *file, struct part *part)
{
    size_t length = strlen(file->path);
    size_t directory = directory_length(file->path, length);
    const char *name = tp_file_base_name(file->path);
    *part = (struct part){file, directory, name, -1,
                          tp_activation_log_rank(name)};
    if (ends_with(file->path, directory, data_dir)) {
        part->directory = directory_length(file->path, directory);
        return part->name[0] != '.';
    }
    part->json = part->log >= 0 ? TP_DUMP_JSON : json_of(part->name);
    return part->json >= 0;
}

static int compare_directories(const struct part *a, const struct part *b)
{
    size_t shared = a->directory < b->directory ? a->directory : b->directory;
    int result = memcmp(a->file->path, b->file->path, shared);
    return result ? result : tp_order_size(a->directory, b->directory);
}

static int compare_parts(const void *left, const void *right)
{
    const struct part *a = left, *b = right;
    int result = compare_directories(a, b);
    if (result == 0)
        result = tp_order_int64(a->log, b->log);
    if (result == 0)
        result = tp_order_int64(a->json < 0, b->json < 0);
    return result ? result : strcmp(a->name, b->name);
}

static enum tp_status list_parts(const struct tp_found_list *found,
                                 struct parts *parts, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < found->count && status == TP_OK; i++) {
        struct part part;
        if (!is_part(&found->files[i], &part))
            continue;
        status = tp_grow(&parts->parts, &parts->capacity, parts->count + 1,
                         sizeof *parts->parts, err);
        if (status == TP_OK)
            parts->parts[parts->count++] = part;
    }
    if (parts->count)
        qsort(parts->parts, parts->count, sizeof *parts->parts, compare_parts);
    return status;
}

/* --- places --------------------------------------------------------------- */

/* The number behind a word; `alone` of the word alone; -1: another name. */
static int64_t number_behind(const char *name, size_t length, const char *word,
                             int64_t alone)
{
    size_t size = strlen(word);
    if (length < size || memcmp(name, word, size) != 0)
        return -1;
    return length == size ? alone : tp_digits_value(name + size, length - size);
}

/* Sets what one component of the path tells, unless one below it did. */
static void read_component(struct tp_dump_place *place, const char *name,
                           size_t length)
{
    int64_t step = number_behind(name, length, "step", -1);
    int64_t rank = number_behind(name, length, "rank", 0);
    int64_t process = number_behind(name, length, "proc", -1);
    if (place->step < 0)
        place->step = step;
    if (place->rank < 0 && place->process < 0) {
        place->rank = rank;
        place->process = process;
    }
}

/* Step and rank are within the last three components: a framework may put
 * "graph" or "pynative" between them. */
static void read_path(struct tp_dump_place *place)
{
    char real[PATH_MAX];
    const char *path =
        realpath(place->directory, real) ? real : place->directory;
    size_t end = strlen(path);
    for (int i = 0; i < 3 && end > 0; i++) {
        size_t begin = end;
        while (begin > 0 && path[begin - 1] != '/')
            begin--;
        read_component(place, path + begin, end - begin);
        end = begin > 0 ? begin - 1 : 0;
    }
}

static enum tp_status add_files(struct tp_dump_place *place,
                                const struct part *parts, size_t count,
                                struct tp_error *err)
{
    place->files = count ? calloc(count, sizeof *place->files) : NULL;
    if (count && !place->files)
        return tp_fail_memory(err);
    for (size_t i = 0; i < count; i++)
        place->files[place->file_count++] = (struct tp_dump_file){
            parts[i].name, parts[i].file, false};
    return TP_OK;
}

/* A place of a stretch of parts: its json files, then its tensors. */
static enum tp_status fill_place(struct tp_dump *dump,
                                 struct tp_dump_place *place,
                                 const struct part *parts, size_t count,
                                 struct tp_error *err)
{
    size_t jsons = 0;
    tp_dump_place_init(place);
    place->directory =
        parts->directory
            ? tp_arena_text(&dump->arena, parts->file->path,
                            parts->directory)
            : ".";
    if (!place->directory)
        return tp_fail_memory(err);
    for (; jsons < count && parts[jsons].json >= 0; jsons++)
        place->sources[parts[jsons].json].file = parts[jsons].file;
    read_path(place);
    if (parts->log >= 0) {
        place->log = parts->name;
        place->rank = parts->log;
    }
    return add_files(place, parts + jsons, count - jsons, err);
}

static enum tp_status add_places(struct tp_dump *dump,
                                 const struct parts *parts,
                                 struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0, end; i < parts->count && status == TP_OK; i = end) {
        for (end = i + 1;
             end < parts->count &&
             !compare_directories(&parts->parts[i], &parts->parts[end]) &&
             parts->parts[i].log == parts->parts[end].log;)
            end++;
        status = tp_grow(&dump->places, &dump->place_capacity,
                         dump->place_count + 1, sizeof *dump->places, err);
        if (status == TP_OK)
            status = fill_place(dump, &dump->places[dump->place_count++],
                                &parts->parts[i], end - i, err);
    }
    return status;
}

static int compare_places(const void *left, const void *right)
{
    const struct tp_dump_place *a = left, *b = right;
    int result = tp_order_int64(a->step, b->step);
    if (result == 0)
        result = tp_order_int64(a->rank, b->rank);
    if (result == 0)
        result = tp_order_int64(a->process, b->process);
    return result ? result : strcmp(a->directory, b->directory);
}

static void sort_places(struct tp_dump *dump)
{
    if (dump->place_count)
        qsort(dump->places, dump->place_count, sizeof *dump->places,
              compare_places);
}

/* Ranks by the order of process numbers, where some step has several: one
 * process a step may be another one after each restart. */
static void number_processes(struct tp_dump *dump)
{
    bool several = false;
    for (size_t i = 1; i < dump->place_count; i++) {
        const struct tp_dump_place *a = &dump->places[i - 1], *b = a + 1;
        several |= a->step == b->step && a->process >= 0 && b->process >= 0 &&
                   a->process != b->process;
    }
    for (size_t i = 0; i < dump->place_count && several; i++) {
        struct tp_dump_place *place = &dump->places[i];
        int64_t rank = 0;
        for (size_t k = i; k-- > 0 && dump->places[k].step == place->step;)
            rank += dump->places[k].process >= 0 &&
                    dump->places[k].process != dump->places[k + 1].process;
        if (place->process >= 0)
            place->rank = rank;
    }
    if (several)
        tp_notes_add(&dump->notes,
                     "directories procPID stand for ranks that were not known "
                     "when they were written; ranks are numbered by PID");
}

/* --- the wish ------------------------------------------------------------- */

/* Removes the places that nobody asked for. */
static void keep_wanted(const struct tp_dump_wish *wish, struct tp_dump *dump)
{
    size_t kept = 0;
    for (size_t i = 0; i < dump->place_count; i++) {
        struct tp_dump_place *place = &dump->places[i];
        const int64_t rank = place->rank < 0 ? 0 : place->rank; /* alone */
        if (tp_number_set_has(&wish->steps, place->step) &&
            tp_number_set_has(&wish->ranks, rank))
            dump->places[kept++] = *place;
        else
            free(place->files);
    }
    dump->unwanted = dump->place_count - kept;
    dump->place_count = kept;
}

/* Whether a directory is dump_tensor_data by another name, as "." */
static bool is_data_dir(const char *root)
{
    char real[PATH_MAX];
    return realpath(root, real) && ends_with(real, strlen(real), data_dir);
}

/* Where to look for what a root names: a json file, or dump_tensor_data, names
 * the directory it is in. NULL: no memory. */
static const char *start_of(struct tp_dump *dump, const char *root)
{
    struct stat info;
    size_t length = strlen(root);
    while (length > 1 && root[length - 1] == '/')
        length--;
    bool is_file = stat(root, &info) == 0 && S_ISREG(info.st_mode);
    if (!(is_file && json_of(tp_file_base_name(root)) >= 0) &&
        !(!is_file && ends_with(root, length, data_dir)))
        return !is_file && is_data_dir(root)
                   ? tp_arena_format(&dump->arena, "%s/..", root)
                   : root;
    size_t directory = directory_length(root, length);
    return directory ? tp_arena_text(&dump->arena, root, directory) : ".";
}

static enum tp_status find_files(const struct tp_dump_wish *wish,
                                 struct tp_dump *dump, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < wish->root_count && status == TP_OK; i++) {
        const char *start = start_of(dump, wish->roots[i]);
        status = start ? tp_file_find(start, &dump->found, err)
                       : tp_fail_memory(err);
    }
    return status == TP_OK ? tp_found_sort(&dump->found, err) : status;
}

static enum tp_status fail_empty(const struct tp_dump_wish *wish, size_t found,
                                 struct tp_error *err)
{
    if (found > 0)
        return tp_fail(err, TP_E_NOT_FOUND, -1,
                       "%zu directories of a dump were found, but none of a "
                       "step and rank that was asked for",
                       found);
    return tp_fail(err, TP_E_NOT_FOUND, -1,
                   "%s%s has no dump of msprobe (no dump.json, debug.json, "
                   "stack.json, construct.json or dump_tensor_data) and no "
                   "rank_R_activations.log of torchtitan",
                   wish->roots[0], wish->root_count > 1 ? " or another" : "");
}

enum tp_status tp_dump_find(const struct tp_dump_wish *wish,
                            struct tp_dump *dump, struct tp_error *err)
{
    struct parts parts = {0};
    enum tp_status status = find_files(wish, dump, err);
    if (status == TP_OK)
        status = list_parts(&dump->found, &parts, err);
    if (status == TP_OK)
        status = add_places(dump, &parts, err);
    free(parts.parts);
    if (status != TP_OK)
        return status;
    size_t found = dump->place_count;
    sort_places(dump);
    number_processes(dump);
    sort_places(dump);
    keep_wanted(wish, dump);
    return dump->place_count ? TP_OK : fail_empty(wish, found, err);
}
