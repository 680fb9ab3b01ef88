/* SPDX-License-Identifier: MIT */
/*
 * Labels from what stands beside the tensors of an msprobe dump:
 *
 *     stepN/rankN|rank|procPID/{dump.json, construct.json}
 *                             /dump_tensor_data/CALL.PLACE.pt
 *
 * Rows are sorted by path, so those of one directory are neighbours, and its
 * index is read once. The alternative, to read dump.json first and then only
 * the files it names, would lose the tensors of a dump that was killed before
 * its json was written. Cost: one reading of the json of each directory, and a
 * bisection a row.
 */
#include "tensors/dump_labels.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/order.h"
#include "base/text.h"
#include "formats/msprobe/msprobe_index.h"

/* Rows of one directory of tensors. */
struct directory {
    size_t first, end;
    const char *path; /* of the one above it, which has dump.json */
    int64_t process;  /* PID of its name; -1: it has another      */
};

/* Bytes of `path` before the last slash of its first `length`; 0: none. */
static size_t parent_length(const char *path, size_t length)
{
    while (length > 0 && path[length - 1] != '/')
        length--;
    return length > 0 ? length - 1 : 0;
}

/* Bytes of the path of the directory of a file; 0: it has none. */
static size_t directory_length(const char *file)
{
    const size_t length = (size_t)(tp_file_base_name(file) - file);
    return length > 0 ? length - 1 : 0;
}

static bool same_directory(const char *a, const char *b)
{
    const size_t length = directory_length(a);
    return length == directory_length(b) && !memcmp(a, b, length);
}

/* Bytes of the path of the directory above that of a file, if the file is among
 * the tensors of a dump; 0: it is not. */
static size_t dump_length(const char *file)
{
    static const char tensors[] = "/dump_tensor_data";
    const size_t own = directory_length(file);
    const size_t tail = sizeof tensors - 1;
    return own > tail && !memcmp(file + own - tail, tensors, tail) ? own - tail
                                                                   : 0;
}

/* The number of "procPID", the last component of a path; -1: another name. */
static int64_t process_of(const char *path)
{
    const char *name = tp_file_base_name(path);
    size_t word = strlen("proc");
    return strncmp(name, "proc", word) == 0
               ? tp_digits_value(name + word, strlen(name + word))
               : -1;
}

/* The directory that begins with a row; ->path NULL: it is none of a dump's
 * tensors. */
static struct directory directory_at(struct tp_run *run, size_t first)
{
    const char *file = run->rows[first].file;
    const size_t length = dump_length(file);
    struct directory directory = {first, first + 1, NULL, -1};
    while (directory.end < run->row_count &&
           same_directory(file, run->rows[directory.end].file))
        directory.end++;
    if (length)
        directory.path = tp_arena_text(&run->arena, file, length);
    if (directory.path)
        directory.process = process_of(directory.path);
    return directory;
}

/* --- processes ----------------------------------------------- */

/* Compares what is `levels` above two paths. */
static int compare_above(const char *a, const char *b, int levels)
{
    size_t left = strlen(a), right = strlen(b);
    while (levels-- > 0) {
        left = parent_length(a, left);
        right = parent_length(b, right);
    }
    int result = memcmp(a, b, left < right ? left : right);
    return result ? result : tp_order_size(left, right);
}

static int compare_steps(const void *left, const void *right)
{
    const struct directory *a = left, *b = right;
    return compare_above(a->path, b->path, 1);
}

static int compare_processes(const void *left, const void *right)
{
    const struct directory *a = left, *b = right;
    int result = compare_above(a->path, b->path, 2);
    return result ? result : tp_order_int64(a->process, b->process);
}

static bool have_several(struct directory *directories, size_t count)
{
    bool several = false;
    qsort(directories, count, sizeof *directories, compare_steps);
    for (size_t i = 1; i < count; i++) /* what is below one may part it */
        several |= compare_steps(&directories[i - 1], &directories[i]) == 0 &&
                   directories[i - 1].process != directories[i].process;
    return several;
}

/* Ranks by the order of process numbers in a dump, if some step has several:
 * one process a step may be another one after each restart. */
static void number_processes(struct tp_run *run, struct directory *directories,
                             size_t count)
{
    int64_t rank = 0;
    if (count == 0 || !have_several(directories, count))
        return;
    qsort(directories, count, sizeof *directories, compare_processes);
    for (size_t i = 0; i < count; i++) {
        const struct directory *now = &directories[i], *before = now - 1;
        if (i == 0 || compare_above(before->path, now->path, 2) != 0)
            rank = 0;
        else
            rank += before->process != now->process;
        for (size_t k = now->first; k < now->end; k++)
            run->rows[k].label.rank = rank;
    }
    tp_run_note(run, "directories procPID stand for ranks that were not known "
                     "when they were written; ranks are numbered by PID");
}

/* --- labels ----------------------------------------------- */

static void label_row(const struct tp_msprobe_index *index, struct tp_row *row)
{
    const char *name = tp_file_base_name(row->file);
    row->label.counter = tp_msprobe_index_order(index, name);
    if (row->layer_beside)
        row->label.layer_idx = -1; /* what it said an earlier time */
    row->layer_beside = row->label.layer_idx < 0;
    if (row->layer_beside)
        row->label.layer_idx = tp_msprobe_index_layer(index, name);
}

/* Records of one folder with the index beside it. */
static enum tp_status label_folder(struct tp_records *records, size_t first,
                                   size_t end, const char *path,
                                   struct tp_error *err)
{
    struct tp_msprobe_index index = {0};
    struct tp_error own = {0};
    const char *damage = NULL;
    enum tp_status status = tp_msprobe_index_read(path, &index, &own);
    for (size_t i = first; i < end; i++) {
        struct tp_record *record = &records->items[i];
        record->indexed = true;
        for (size_t k = 0; k < record->row_count; k++) {
            if (!record->rows[k].aside)
                label_row(&index, &record->rows[k]);
        }
    }
    tp_msprobe_index_clear(&index);
    if (status == TP_E_MEMORY)
        return tp_fail_memory(err);
    if (status != TP_OK) {
        struct tp_text text = {0};
        tp_text_add(&text, "%s: %s", own.file, own.message);
        damage = text.failed ? NULL
                             : tp_records_text(records, tp_text_get(&text));
        tp_text_clear(&text);
        if (!damage)
            return tp_fail_memory(err);
    }
    for (size_t i = first; i < end; i++)
        records->items[i].beside = damage;
    return TP_OK;
}

/* Whether dump.json is there. */
static enum tp_status look_for_index(const char *folder, bool *there,
                                     struct tp_error *err)
{
    char *path = tp_file_join(folder, "dump.json");
    enum tp_status status =
        path ? tp_file_look(path, there, err) : tp_fail_memory(err);
    free(path);
    return status;
}

/* Takes back what an index said that is gone by now. */
static void unlabel_folder(struct tp_records *records, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        struct tp_record *record = &records->items[i];
        for (size_t k = 0; k < record->row_count && record->indexed; k++) {
            struct tp_row *row = &record->rows[k];
            row->label.counter = row->aside ? row->label.counter : -1;
            row->label.layer_idx =
                row->layer_beside ? -1 : row->label.layer_idx;
            row->layer_beside = false;
        }
        record->indexed = false;
        record->beside = NULL;
    }
}

enum tp_status tp_dump_label(struct tp_records *records, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t first = 0; first < records->count && status == TP_OK;) {
        const char *file = records->items[first].path;
        const size_t length = dump_length(file);
        size_t end = first + 1;
        while (length && end < records->count &&
               same_directory(file, records->items[end].path))
            end++;
        struct tp_text folder = {0};
        bool there = false;
        tp_text_bytes(&folder, file, length);
        if (length)
            status = folder.failed
                         ? tp_fail_memory(err)
                         : look_for_index(tp_text_get(&folder), &there, err);
        if (status == TP_OK && there)
            status =
                label_folder(records, first, end, tp_text_get(&folder), err);
        else if (status == TP_OK && length)
            unlabel_folder(records, first, end);
        tp_text_clear(&folder);
        first = end;
    }
    return status;
}

/* What is to be said of the index of a directory. */
static void note_index(struct tp_run *run, const struct tp_records *records,
                       const struct directory *directory)
{
    const struct tp_record *record =
        &records->items[run->rows[directory->first].source];
    size_t unknown = 0;
    for (size_t i = directory->first; i < directory->end; i++)
        unknown += run->rows[i].label.counter < 0;
    if (record->indexed && record->beside)
        tp_run_note(run, "%s; what it said before that is used",
                    record->beside);
    if (record->indexed && unknown)
        tp_run_note(run,
                    "%zu of %zu tensors in %s/dump_tensor_data are not "
                    "named in dump.json: their order is not known",
                    unknown, directory->end - directory->first,
                    directory->path);
}

enum tp_status tp_dump_ranks(struct tp_run *run,
                             const struct tp_records *records,
                             struct tp_error *err)
{
    struct directory *processes = NULL;
    size_t count = 0, capacity = 0;
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < run->row_count && status == TP_OK;) {
        struct directory directory = directory_at(run, i);
        i = directory.end;
        if (!directory.path)
            continue;
        note_index(run, records, &directory);
        if (directory.process >= 0)
            status = tp_grow(&processes, &capacity, count + 1,
                             sizeof *processes, err);
        if (status == TP_OK && directory.process >= 0)
            processes[count++] = directory;
    }
    if (status == TP_OK)
        number_processes(run, processes, count);
    free(processes);
    return status;
}
