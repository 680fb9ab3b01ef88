/* SPDX-License-Identifier: MIT */
/*
 * First the files: every item that has one is a task of the pool, which reads
 * its tensor piece by piece and leaves plain numbers in a slot of the item's
 * own. Then the checks compare slots with the json, in the order of the dump,
 * so that findings depend neither on threads nor on who was first. To compare
 * in the tasks would save the slots, some 200 bytes an item, and need a sort
 * behind it; and CRC-32s are looked up among all tensors of a place.
 */
#include "dump/dump_check.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/notes.h"
#include "dump/dump_checks.h"
#include "formats/reader.h"

/* --- reading -------------------------------------------------------------- */

/* An item with a file. */
struct task {
    size_t place, item;
};

struct work {
    const struct tp_dump_checker *checker;
    struct tp_readers readers;
    struct tp_tensor_file *files; /* of each worker                        */
    struct task *tasks;
    size_t count, capacity;
    atomic_bool no_memory;
    pthread_mutex_t lock; /* of the arena and the sums of the integrity    */
};

static const char *keep(struct work *work, const char *text)
{
    pthread_mutex_lock(&work->lock);
    const char *own =
        tp_arena_text(&work->checker->integrity->arena, text, strlen(text));
    pthread_mutex_unlock(&work->lock);
    if (!own)
        work->no_memory = true;
    return own ? own : "";
}

static void set_damaged(struct work *work, struct tp_dump_checked *checked,
                        enum tp_status code, const char *problem)
{
    if (code == TP_E_MEMORY)
        work->no_memory = true;
    checked->reading = TP_READING_DAMAGED;
    checked->problem = keep(work, problem);
}

/* The shape, where it is another than that of the json. */
static void compare_shape(struct work *work, const struct tp_dump_item *item,
                          const struct tp_tensor *tensor,
                          struct tp_dump_checked *checked)
{
    bool same = item->dims == tensor->ndim;
    for (int i = 0; same && i < item->dims; i++)
        same = item->shape[i] == tensor->shape[i];
    if (!item->has_shape || same)
        return;
    struct tp_text text = {0};
    tp_text_add(&text, "[");
    for (int i = 0; i < tensor->ndim; i++)
        tp_text_add(&text, "%s%" PRId64, i ? ", " : "", tensor->shape[i]);
    tp_text_add(&text, "]");
    if (text.failed)
        work->no_memory = true;
    checked->shape = keep(work, tp_text_get(&text));
    tp_text_clear(&text);
}

/* Whether the archive in a file was written under the name that it has: torch
 * calls it by the name of the file up to its last dot. */
static void compare_name(struct work *work, const struct tp_dump_item *item,
                         const struct tp_tensor_file *file,
                         struct tp_dump_checked *checked)
{
    const size_t length = strlen(file->saved_as);
    const char *name = tp_file_base_name(item->file->path);
    if (length &&
        (strncmp(name, file->saved_as, length) != 0 || name[length] != '.'))
        checked->saved_as = keep(work, file->saved_as);
}

static struct tp_dump_wanted wanted_of(const struct tp_dump_checker *checker,
                                       const struct tp_dump_item *item)
{
    const enum tp_dump_verify verify = checker->options->verify;
    const bool crc = verify == TP_VERIFY_ALL || verify == TP_VERIFY_CRC;
    const bool other = checker->options->crc_from != NULL;
    return (struct tp_dump_wanted){
        .statistics = verify == TP_VERIFY_ALL || verify == TP_VERIFY_STATS ||
                      item->dims == 0, /* the xor of a scalar is its value */
        .words = (crc && !strncmp(item->md5, "0x", 2)) || other,
        .wide = (crc && *item->md5) || other};
}

static enum tp_status measure(struct work *work,
                              const struct tp_dump_item *item,
                              const struct tp_tensor *tensor, unsigned worker,
                              struct tp_dump_checked *checked,
                              struct tp_error *err)
{
    const struct tp_dump_wanted wanted = wanted_of(work->checker, item);
    checked->element = tensor->dtype;
    compare_shape(work, item, tensor, checked);
    checked->reading = TP_READING_DONE;
    return tp_dump_measure(&work->readers, worker, tensor, &wanted,
                           &checked->measure, err);
}

/* Reads the open file of an item. */
static enum tp_status read_tensor(struct work *work,
                                  const struct tp_dump_item *item,
                                  unsigned worker,
                                  struct tp_dump_checked *checked,
                                  struct tp_error *err)
{
    const struct tp_tensor_file *file = &work->files[worker];
    const struct tp_skip *skip = file->skips;
    compare_name(work, item, file, checked);
    pthread_mutex_lock(&work->lock);
    work->checker->integrity->files++;
    work->checker->integrity->bytes += file->bytes.size;
    pthread_mutex_unlock(&work->lock);
    if (item->tensor < file->tensor_count)
        return measure(work, item, &file->tensors[item->tensor], worker,
                       checked, err);
    return tp_fail(err, skip ? skip->code : TP_E_DAMAGED,
                   skip ? skip->offset : -1, "%s",
                   skip ? skip->reason : "it holds no tensor");
}

static bool is_numpy(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && strcmp(dot, ".npy") == 0;
}

static void read_task(void *context, size_t index, unsigned worker)
{
    struct work *work = context;
    const struct tp_dump_checker *checker = work->checker;
    const struct task *task = &work->tasks[index];
    const struct tp_dump_item *item =
        &checker->dump->places[task->place].items[task->item];
    struct tp_dump_checked *checked =
        &checker->integrity->items[task->place][task->item];
    struct tp_error err = {0};
    if ((work->readers.stop && *work->readers.stop) || work->no_memory)
        return;
    struct tp_tensor_file *file = &work->files[worker];
    enum tp_status status = tp_tensor_file_open_found(item->file, file, &err);
    if (status == TP_E_UNSUPPORTED && is_numpy(item->file->path)) {
        checked->reading = TP_READING_OTHER;
        tp_tensor_file_close(file);
        return;
    }
    if (status == TP_OK)
        status = read_tensor(work, item, worker, checked, &err);
    status = tp_tensor_file_end_found(item->file, "", file, status, &err);
    if (status != TP_OK && status != TP_E_INTERRUPTED)
        set_damaged(work, checked, status, err.message);
}

static enum tp_status list_tasks(struct work *work, size_t place,
                                 struct tp_error *err)
{
    const struct tp_dump_place *at = &work->checker->dump->places[place];
    struct tp_dump_checked **items = &work->checker->integrity->items[place];
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < at->item_count && status == TP_OK; i++) {
        if (!at->items[i].file)
            continue;
        if (!*items)
            *items = calloc(at->item_count, sizeof **items);
        if (!*items)
            return tp_fail_memory(err);
        status = tp_grow(&work->tasks, &work->capacity, work->count + 1,
                         sizeof *work->tasks, err);
        if (status == TP_OK)
            work->tasks[work->count++] = (struct task){place, i};
    }
    for (size_t i = 0; *items && i < at->item_count; i++)
        (*items)[i].problem = (*items)[i].shape = (*items)[i].saved_as = "";
    return status;
}

static void end_work(struct work *work)
{
    for (unsigned i = 0; work->files && i < work->readers.count; i++)
        tp_arena_clear(&work->files[i].arena);
    free(work->files);
    free(work->tasks);
    tp_readers_clear(&work->readers);
    pthread_mutex_destroy(&work->lock);
}

static enum tp_status read_files(const struct tp_dump_checker *checker,
                                 struct tp_error *err)
{
    struct work work = {.checker = checker};
    enum tp_status status =
        tp_readers_init(&work.readers, checker->options->pool, err);
    if (status != TP_OK)
        return status;
    pthread_mutex_init(&work.lock, NULL);
    work.readers.stop = checker->options->stop;
    work.files = calloc(work.readers.count, sizeof *work.files);
    if (!work.files)
        status = tp_fail_memory(err);
    for (size_t i = 0; i < checker->dump->place_count && status == TP_OK; i++)
        status = list_tasks(&work, i, err);
    if (status == TP_OK)
        tp_pool_for(checker->options->pool, work.count, read_task, &work);
    if (status == TP_OK && work.no_memory)
        status = tp_fail_memory(err);
    if (status == TP_OK)
        status = tp_readers_go_on(&work.readers, err);
    end_work(&work);
    return status;
}

/* --- checks --------------------------------------------------------------- */

static enum tp_status check_unfinished(const struct tp_dump_checker *checker,
                                       const struct tp_dump_at *at,
                                       struct tp_error *err)
{
    struct tp_dump_finding *finding;
    enum tp_status status = tp_dump_check_add(
        checker, at, TP_CHECK_UNFINISHED, TP_SEVERITY_MEDIUM, &finding, err);
    if (status != TP_OK)
        return status;
    finding->expected = "statistics";
    finding->found = "a placeholder";
    finding->evidence = "The entry has the number under which its statistics "
                        "were still to be computed.";
    finding->suggestion = "The process ended before msprobe wrote the file: "
                          "let debugger.stop() and step() run, or take the "
                          "dump again.";
    return TP_OK;
}

static enum tp_status check_damaged(const struct tp_dump_checker *checker,
                                    const struct tp_dump_at *at,
                                    struct tp_error *err)
{
    struct tp_dump_findings *findings = checker->findings;
    struct tp_dump_finding *finding;
    enum tp_status status = tp_dump_check_add(
        checker, at, TP_CHECK_DAMAGED_FILE, TP_SEVERITY_HIGH, &finding, err);
    if (status != TP_OK)
        return status;
    finding->expected =
        tp_dump_finding_text(findings, "a tensor in %s", at->item->data_name);
    finding->found = tp_dump_finding_text(findings, "%s", at->checked->problem);
    finding->evidence = tp_dump_finding_text(
        findings, "%s: %s.", at->item->data_name, at->checked->problem);
    finding->suggestion = "Copy the file again from where the dump was made; "
                          "a full disk or a copy that broke off leave such.";
    return TP_OK;
}

static enum tp_status check_name(const struct tp_dump_checker *checker,
                                 const struct tp_dump_at *at,
                                 struct tp_error *err)
{
    struct tp_dump_findings *findings = checker->findings;
    struct tp_dump_finding *finding;
    enum tp_status status = tp_dump_check_add(
        checker, at, TP_CHECK_RENAMED_FILE, TP_SEVERITY_MEDIUM, &finding, err);
    if (status != TP_OK)
        return status;
    finding->expected =
        tp_dump_finding_text(findings, "%s", at->item->data_name);
    finding->found = tp_dump_finding_text(findings, "the archive of %s",
                                          at->checked->saved_as);
    finding->evidence =
        tp_dump_finding_text(findings, "torch.save wrote %s under the name %s.",
                             at->item->data_name, at->checked->saved_as);
    finding->suggestion = "The file was renamed or took the place of another "
                          "one: do not trust what it is called.";
    return TP_OK;
}

static enum tp_status check_item(const struct tp_dump_checker *checker,
                                 const struct tp_dump_at *at,
                                 struct tp_error *err)
{
    enum tp_status status = TP_OK;
    if (at->item->unfinished)
        status = check_unfinished(checker, at, err);
    if (status == TP_OK && at->checked && *at->checked->saved_as)
        status = check_name(checker, at, err);
    if (status != TP_OK || !at->checked)
        return status;
    switch (at->checked->reading) {
    case TP_READING_DONE:
        return tp_dump_check_values(checker, at, err);
    case TP_READING_DAMAGED:
        return check_damaged(checker, at, err);
    case TP_READING_OTHER:
        checker->integrity->unread++;
        return TP_OK;
    case TP_READING_NONE:
        break;
    }
    return TP_OK;
}

static enum tp_status check_place(const struct tp_dump_checker *checker,
                                  size_t index, struct tp_error *err)
{
    const struct tp_dump_place *place = &checker->dump->places[index];
    const struct tp_dump_checked *items = checker->integrity->items[index];
    enum tp_status status = tp_dump_check_files(checker, place, err);
    if (status == TP_OK)
        status = tp_dump_check_tree(checker, place, err);
    for (size_t i = 0; i < place->call_count && status == TP_OK; i++) {
        const struct tp_dump_call *call = &place->calls[i];
        for (size_t k = call->first;
             k < call->first + call->count && status == TP_OK; k++) {
            const struct tp_dump_at at = {place, call, &place->items[k],
                                          items ? &items[k] : NULL};
            status = check_item(checker, &at, err);
        }
    }
    return status == TP_OK ? tp_dump_check_crc(checker, index, err) : status;
}

enum tp_status tp_dump_integrity_check(
    const struct tp_dump *dump, const struct tp_dump_check_options *options,
    struct tp_dump_findings *findings, struct tp_dump_integrity *integrity,
    struct tp_error *err)
{
    const struct tp_dump_checker checker = {dump, options, findings, integrity};
    enum tp_status status = TP_OK;
    integrity->place_count = dump->place_count;
    integrity->items = calloc(dump->place_count, sizeof *integrity->items);
    if (!integrity->items)
        return tp_fail_memory(err);
    if (options->verify != TP_VERIFY_NONE || options->crc_from)
        status = read_files(&checker, err);
    for (size_t i = 0; i < dump->place_count && status == TP_OK; i++)
        status = check_place(&checker, i, err);
    return status == TP_OK ? tp_dump_check_sets(&checker, err) : status;
}
