/* SPDX-License-Identifier: MIT */
#include "tensors/collect_file.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "data/dtype.h"
#include "tensors/roots.h"
#include "tensors/row.h"

/* Whether the user named the file. */
static bool is_root(const struct tp_collector *c, const char *path)
{
    return tp_roots_have(c->options->roots, c->options->root_count, path);
}

/* Named by the user, or by a name that promises tensors: then whatever is
 * wrong with it must be said. */
static bool is_expected(const struct tp_collector *c, const char *path)
{
    return tp_format_has_suffix(path) || is_root(c, path);
}

/* Any other file counts when it carries a magic; of zip archives only those
 * that open as torch's are ours. */
static bool carries_magic(struct tp_record *record)
{
    unsigned char head[TP_FORMAT_HEAD];
    FILE *file = fopen(record->path, "rb");
    record->refused = !file;
    if (!file)
        return false;
    size_t length = fread(head, 1, sizeof head, file);
    record->refused = ferror(file) != 0;
    fclose(file);
    const struct tp_format *format = tp_format_by_content(head, length);
    return format && !format->any_content;
}

static void add_skipped(struct tp_collector *c, struct tp_record *record,
                        const char *file, const struct tp_skip *skip)
{
    pthread_mutex_lock(&c->lock);
    if (tp_record_skip(&c->records, record, file, skip, NULL) != TP_OK)
        c->no_memory = true;
    pthread_mutex_unlock(&c->lock);
}

static void add_failure(struct tp_collector *c, struct tp_record *result,
                        const char *file, const char *path,
                        const struct tp_error *err)
{
    struct tp_text reason = {0};
    tp_text_add(&reason, "%s", err->message);
    struct tp_skip skip = {.path = path,
                           .code = err->code,
                           .reason = tp_text_get(&reason),
                           .offset = err->offset};
    if (err->code == TP_E_MEMORY || reason.failed)
        c->no_memory = true;
    else
        add_skipped(c, result, file, &skip);
    tp_text_clear(&reason);
}

/* Whether a row gets statistics by index: codes, scales and counters do not. */
static bool has_dims(const struct tp_collector *c, const struct tp_row *row)
{
    return c->options->dims != TP_DIMS_NONE && !row->aside;
}

/* Moves what a row borrows from the open file into the run. */
static bool keep_texts(struct tp_collector *c, const struct tp_tensor *tensor,
                       struct tp_row *row, const struct tp_file_worker *worker)
{
    struct tp_label *label = &row->label;
    const char **const texts[] = {&row->path,         &row->shape,
                                  &label->layer_type, &label->operation,
                                  &label->phase,      &label->component,
                                  &label->quant_type, &label->tensor_name,
                                  &label->timestamp,  &label->module};
    bool kept = true;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        *texts[i] = tp_records_text(&c->records, *texts[i]);
        kept = kept && *texts[i];
    }
    row->packed = tp_summary_pack(&worker->scan.summary, &c->run->arena);
    kept = kept && row->packed;
    if (worker->quant.count)
        row->quant = tp_quant_pack(&worker->quant, &c->run->arena);
    kept = kept && (row->quant || !worker->quant.count);
    if (tensor->scaled) {
        row->quantised =
            tp_quantised_pack(tensor, &worker->use, &c->run->arena);
        kept = kept && row->quantised;
    }
    if (has_dims(c, row)) {
        row->dims =
            tp_dims_pack(&worker->dims.dims, c->options->dims, &c->run->arena);
        kept = kept && row->dims;
    }
    pthread_mutex_unlock(&c->lock);
    return kept;
}

static void scan_tensor(struct tp_collector *c, struct tp_record *result,
                        const char *path, size_t place, unsigned number)
{
    struct tp_file_worker *worker = &c->workers[number];
    struct tp_tensor *tensor = &worker->file.tensors[place];
    struct tp_error err = {0};
    char shape[TP_ROW_SHAPE_MAX];
    struct tp_row row;
    const struct tp_row_rules rules = {c->options->mx_scale,
                                       c->options->backward_format};
    struct tp_label label;
    if (tp_tensor_file_label(&worker->file, place, &label, &err) != TP_OK) {
        c->no_memory = true;
        return;
    }
    const struct tp_number *target =
        tp_row_describe(tensor, &label, &rules, shape, &row);
    worker->quant.count = 0;
    if (c->options->quant && !row.aside)
        tp_quant_choose(c->options->quant, tensor->dtype, target,
                        &worker->quant);
    const struct tp_scan_request request = {
        .target = target,
        .scale_rule = c->options->mx_scale,
        .nonfinite = c->options->mx_nonfinite,
        .worker = number,
        .block_axis = c->options->block_axis,
        .specs = worker->quant.specs,
        .spec_count = worker->quant.count,
        .errors = worker->quant.errors,
        .dims = has_dims(c, &row) ? &worker->dims : NULL,
        .dims_keep = result->dims_keep,
        .dims_notable = c->options->dims == TP_DIMS_WORST,
        .dims_reduce = c->options->reduce,
        .ahead = true,
    };
    row.file = path;
    row.place = place;
    enum tp_status status =
        tp_scan(c->scanner, tensor, &request, &worker->scan, &err);
    if (status == TP_OK && tensor->scaled)
        status = tp_code_use_count(tensor->scaled, &worker->use, &err);
    if (status != TP_OK) {
        add_failure(c, result, path, tensor->path, &err);
        return;
    }
    tp_row_measure(&row, &worker->scan);
    if (!keep_texts(c, tensor, &row, worker)) {
        c->no_memory = true;
        return;
    }
    result->rows[result->row_count++] = row;
}

/* A sentence about the open file, for the run; "" becomes NULL. */
static const char *keep_sentence(struct tp_collector *c, const char *sentence)
{
    pthread_mutex_lock(&c->lock);
    const char *kept =
        *sentence ? tp_records_text(&c->records, sentence) : NULL;
    pthread_mutex_unlock(&c->lock);
    return kept;
}

static void read_open_file(struct tp_collector *c, struct tp_record *result,
                           const char *path, unsigned number)
{
    struct tp_tensor_file *file = &c->workers[number].file;
    const struct tp_skip *skips = result->part == 0 ? file->skips : NULL;
    for (const struct tp_skip *s = skips; s; s = s->next)
        add_skipped(c, result, path, s);
    if (result->part == 0 && file->tensor_count == 0 && !file->skips &&
        !file->rank_file_count) {
        const struct tp_skip none = {
            .path = "", .reason = "no tensor", .offset = -1};
        add_skipped(c, result, path, &none);
        result->empty = file->format->only_tensors;
    }
    result->conflict = keep_sentence(c, file->label_conflict);
    result->assumption = keep_sentence(c, file->assumption);
    size_t count = file->tensor_count, first = 0;
    result->tensors = count;
    result->dims_keep =
        tp_record_dims_keep(c->options->dims, c->records.count, count);
    if (result->parts) {
        const struct tp_claim claim = {0, result->part, result->parts};
        tp_claim_range(&claim, file->tensors, count, &first, &count);
    }
    if (tp_record_reserve(result, count - first, NULL) != TP_OK)
        c->no_memory = true;
    for (size_t i = first, ahead = first; result->rows && i < count; i++) {
        if (c->options->stop && *c->options->stop)
            return;
        if (i == ahead)
            ahead +=
                tp_scan_ahead(c->scanner, file->tensors + i, count - i, number);
        if (c->options->parts || !tp_rank_file_joined(result->told, i))
            scan_tensor(c, result, path, i, number);
    }
}

/* The path of a file. */
static const char *shown_path(struct tp_collector *c, const char *path)
{
    if (tp_text_is_utf8(path))
        return path;
    pthread_mutex_lock(&c->lock);
    const char *shown = tp_records_text(&c->records, path);
    pthread_mutex_unlock(&c->lock);
    return shown ? shown : "";
}

/* What an earlier run knew of a file does not hold. */
static void forget(struct tp_record *record)
{
    if (record->borrowed)
        *record = (struct tp_record){.path = record->path,
                                     .size = record->size,
                                     .modified = record->modified};
}

/* The unit goes with a file that it describes. Called under the lock. */
static void add_tie(struct tp_collector *c, struct tp_record *unit,
                    const struct tp_text *path)
{
    c->no_memory = c->no_memory || path->failed;
    if (c->telling)
        return;
    const char *kept =
        path->failed
            ? NULL
            : tp_intern(&c->records.texts, &c->run->arena, tp_text_get(path));
    if (kept && unit->ties)
        unit->ties[unit->tie_count++] = kept;
    else
        c->no_memory = true;
}

/* Room for the ties of a unit, and for one more. */
static void make_ties(struct tp_collector *c, struct tp_record *unit,
                      const struct tp_tensor_file *file)
{
    const size_t count = file->member_count + file->rank_file_count;
    if (count == 0)
        return;
    pthread_mutex_lock(&c->lock);
    unit->ties = tp_arena_alloc(&c->run->arena, count * sizeof *unit->ties);
    pthread_mutex_unlock(&c->lock);
}

/* Whether what a unit says of a file is taken down: once, and not of those that
 * the user named. */
static bool is_told(const struct tp_collector *c, size_t file,
                    const struct tp_text *path)
{
    return !c->told && file < c->run->files.count &&
           !is_root(c, tp_text_get(path));
}

/* Who reads a unit reads what lies in its files. Called under the lock. */
static void add_weight(struct tp_collector *c, const struct tp_record *unit,
                       size_t file)
{
    if (c->telling && file < c->run->files.count)
        c->weights[unit - c->records.items] += c->run->files.files[file].size;
}

/* The files whose tensors this one has are not read by themselves. */
static void take_members(struct tp_collector *c, const char *path,
                         struct tp_record *result,
                         const struct tp_tensor_file *file)
{
    const int folder = (int)(tp_file_base_name(path) - path);
    for (size_t i = 0; i < file->member_count; i++) {
        struct tp_text member = {0};
        tp_text_add(&member, "%.*s%s", folder, path, file->members[i]);
        const size_t found =
            tp_found_index(&c->run->files, tp_text_get(&member));
        pthread_mutex_lock(&c->lock);
        add_weight(c, result, found);
        if (is_told(c, found, &member)) {
            forget(&c->records.items[found]);
            c->records.items[found].taken = true;
        }
        add_tie(c, result, &member);
        pthread_mutex_unlock(&c->lock);
        tp_text_clear(&member);
    }
}

/* What a unit tells of files goes with them. */
static void tell_files(struct tp_collector *c, const char *path,
                       struct tp_record *result,
                       const struct tp_tensor_file *file)
{
    const int folder = (int)(tp_file_base_name(path) - path);
    for (size_t i = 0; i < file->rank_file_count; i++) {
        struct tp_text name = {0};
        tp_text_add(&name, "%.*s%s", folder, path, file->rank_files[i].name);
        const size_t found = tp_found_index(&c->run->files, tp_text_get(&name));
        pthread_mutex_lock(&c->lock);
        add_weight(c, result, found);
        if (is_told(c, found, &name)) {
            struct tp_record *told = &c->records.items[found];
            forget(told);
            told->told = tp_rank_file_keep(&file->rank_files[i],
                                           &c->records.texts, &c->run->arena);
            c->no_memory = c->no_memory || !told->told;
        }
        add_tie(c, result, &name);
        pthread_mutex_unlock(&c->lock);
        tp_text_clear(&name);
    }
}

/* Whether a file that was read is as it was before; parts of it are read at
 * different times, so that all compare it with what was found. */
static enum tp_status check_unchanged(const struct tp_tensor_file *file,
                                      const struct tp_record *result,
                                      struct tp_error *err)
{
    struct stat info;
    enum tp_status status = tp_tensor_file_unchanged(file, err);
    if (status == TP_OK && result->parts && stat(result->path, &info) == 0 &&
        ((uint64_t)info.st_size != result->size ||
         tp_file_modified(&info) != result->modified))
        status = tp_fail(err, TP_E_IO, -1,
                         "the file changed while several processes read it");
    return status;
}

void tp_collect_file(struct tp_collector *c, size_t index,
                     struct tp_record *result, bool claimed, unsigned number)
{
    struct tp_found *found = &c->run->files.files[index];
    struct tp_tensor_file *file = &c->workers[number].file;
    bool expected = is_expected(c, found->path);
    if (!expected && !claimed && !carries_magic(result)) {
        result->ignored = true;
        return;
    }
    if (c->options->team && c->options->team->reading && !c->telling)
        c->options->team->reading(c->options->team->context, found->path,
                                  number);
    struct tp_error err = {0};
    const char *shown = shown_path(c, found->path);
    file->parts = c->options->parts;
    enum tp_status status = tp_tensor_file_open(found->path, file, &err);
    if (status == TP_OK && file->bytes.modified != 0)
        status = tp_found_meet(found, file->bytes.size, file->bytes.modified,
                               &err);
    if (status == TP_OK && result->part == 0) {
        make_ties(c, result, file);
        take_members(c, found->path, result, file);
        tell_files(c, found->path, result, file);
    }
    if (c->telling) {
        c->no_memory |= status == TP_E_MEMORY;
    } else if (status == TP_OK) {
        file->shifts = result->told ? result->told->shifts : NULL;
        file->shift_count = result->told ? result->told->shift_count : 0;
        read_open_file(c, result, shown, number);
        if (check_unchanged(file, result, &err) != TP_OK) {
            result->changed = true;
            result->row_count = 0; /* they may be of two files */
            add_failure(c, result, shown, "", &err);
        }
    } else if (result->part > 0) {
        c->no_memory |= status == TP_E_MEMORY; /* the first part says why */
    } else if (expected || err.code != TP_E_UNSUPPORTED)
        add_failure(c, result, shown, "", &err);
    else
        result->ignored = true;
    tp_tensor_file_close(file);
}
