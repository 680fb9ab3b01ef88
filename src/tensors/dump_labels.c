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
#include <unistd.h>

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

static bool same_directory(const char *a, const char *b)
{
    size_t length = parent_length(a, strlen(a));
    return length == parent_length(b, strlen(b)) && !memcmp(a, b, length);
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
    static const char tensors[] = "/dump_tensor_data";
    const char *file = run->rows[first].file;
    size_t own = parent_length(file, strlen(file)), tail = sizeof tensors - 1;
    struct directory directory = {first, first + 1, NULL, -1};
    while (directory.end < run->row_count &&
           same_directory(file, run->rows[directory.end].file))
        directory.end++;
    if (own > tail && !memcmp(file + own - tail, tensors, tail))
        directory.path = tp_arena_text(&run->arena, file, own - tail);
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

static void label_row(const struct tp_msprobe_index *index, struct tp_row *row,
                      size_t *unknown)
{
    const char *name = tp_file_base_name(row->file);
    int64_t order = tp_msprobe_index_order(index, name);
    *unknown += order < 0;
    row->label.counter = order;
    if (row->label.layer_idx < 0)
        row->label.layer_idx = tp_msprobe_index_layer(index, name);
}

static enum tp_status label_directory(struct tp_run *run,
                                      const struct directory *directory,
                                      struct tp_error *err)
{
    struct tp_msprobe_index index = {0};
    struct tp_error own = {0};
    size_t unknown = 0, count = directory->end - directory->first;
    enum tp_status status =
        tp_msprobe_index_read(directory->path, &index, &own);
    for (size_t i = directory->first; i < directory->end; i++)
        label_row(&index, &run->rows[i], &unknown);
    tp_msprobe_index_clear(&index);
    if (status == TP_E_MEMORY)
        return tp_fail_memory(err);
    if (status != TP_OK)
        tp_run_note(run, "%s: %s; what it said before that is used", own.file,
                    own.message);
    if (unknown)
        tp_run_note(run,
                    "%zu of %zu tensors in %s/dump_tensor_data are not "
                    "named in dump.json: their order is not known",
                    unknown, count, directory->path);
    return TP_OK;
}

/* Whether dump.json is there. */
static bool has_index(const struct directory *directory)
{
    struct tp_text path = {0};
    tp_text_add(&path, "%s/dump.json", directory->path);
    bool there = access(tp_text_get(&path), R_OK) == 0;
    tp_text_clear(&path);
    return there;
}

enum tp_status tp_dump_label(struct tp_run *run, struct tp_error *err)
{
    struct directory *processes = NULL;
    size_t count = 0, capacity = 0;
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < run->row_count && status == TP_OK;) {
        struct directory directory = directory_at(run, i);
        i = directory.end;
        if (!directory.path)
            continue;
        if (has_index(&directory))
            status = label_directory(run, &directory, err);
        if (status == TP_OK && directory.process >= 0)
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
