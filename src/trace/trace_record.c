/* SPDX-License-Identifier: MIT */
#include "trace/trace_record.h"

#include <stdlib.h>
#include <string.h>

#include "formats/trace/trace_reader.h"
#include "trace/trace_lists.h"
#include "trace/trace_pack.h"

enum tp_status tp_trace_records_make(struct tp_trace_records *records,
                                     const struct tp_found_list *files,
                                     bool (*is_root)(const void *context,
                                                     const char *path),
                                     const void *context, struct tp_error *err)
{
    const size_t problems = files->problem_count;
    records->items = calloc(files->count + 1, sizeof *records->items);
    records->problems = calloc(problems + 1, sizeof *records->problems);
    if (!records->items || !records->problems)
        return tp_fail_memory(err);
    for (size_t i = 0; i < files->count; i++) {
        const struct tp_found *file = &files->files[i];
        const bool root = is_root(context, file->path);
        if (!root && !tp_trace_is_name(file->path))
            continue;
        records->items[records->count++] = (struct tp_trace_record){
            .path = file->path,
            .size = file->size,
            .modified = file->modified,
            .reason = "",
            .named = root || strstr(file->path, ".pt.trace.json")};
    }
    for (size_t i = 0; i < problems; i++)
        records->problems[records->problem_count++] = files->problems[i];
    return TP_OK;
}

void tp_trace_records_clear(struct tp_trace_records *records)
{
    for (size_t i = 0; i < records->count; i++)
        tp_trace_clear(&records->items[i].trace);
    free(records->items);
    free(records->problems);
    free(records->said.rows);
    tp_intern_clear(&records->texts);
    *records = (struct tp_trace_records){.arena = records->arena};
}

static bool add_text(void *digest, const char *text, uint64_t *number)
{
    tp_digest_text(digest, text);
    *number = 0;
    return true;
}

enum tp_status tp_trace_record_seal(struct tp_trace_record *record,
                                    struct tp_error *err)
{
    struct tp_digest digest = {{0, 0}};
    struct tp_text bytes = {0};
    enum tp_status status = TP_OK;
    tp_digest_number(&digest, record->status);
    tp_digest_text(&digest, record->reason);
    if (record->status == TP_OK)
        status = tp_trace_pack(&record->trace, add_text, &digest, &bytes, err);
    tp_digest_add(&digest, tp_text_get(&bytes), bytes.length);
    tp_text_clear(&bytes);
    record->digest = digest;
    return status;
}

int tp_trace_record_compare(const void *left, const void *right)
{
    const struct tp_trace_record *a = left, *b = right;
    int order = strcmp(a->path, b->path);
    if (order == 0)
        order = (a->size > b->size) - (a->size < b->size);
    return order ? order : tp_digest_compare(&a->digest, &b->digest);
}

/* Takes what is known of the file, if it is the same one; what the system
 * refused it may give now. */
static bool reuse(struct tp_trace_record *known, struct tp_trace_record *record)
{
    if (known->status == TP_E_IO || known->size != record->size ||
        known->modified != record->modified)
        return false;
    known->path = record->path;
    known->named = record->named;
    known->trace.path = record->path;
    *record = *known;
    known->trace = (struct tp_trace){.path = NULL};
    return true;
}

void tp_trace_records_reuse(struct tp_trace_records *known,
                            struct tp_trace_records *records,
                            struct tp_reused *reused)
{
    size_t k = 0;
    *reused = (struct tp_reused){.known = 0};
    for (size_t i = 0; i < records->count || k < known->count;) {
        struct tp_trace_record *record = &records->items[i];
        const int order = i == records->count ? 1
                          : k == known->count
                              ? -1
                              : strcmp(record->path, known->items[k].path);
        if (order > 0) {
            tp_reused_miss(reused, known->items[k].path);
            k++;
        } else {
            if (order == 0 && reuse(&known->items[k], record)) {
                reused->known++;
            } else {
                reused->read++;
                reused->bytes += record->size;
            }
            k += order == 0;
            i++;
        }
    }
}
