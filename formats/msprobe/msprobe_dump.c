/* SPDX-License-Identifier: MIT */
/*
 * dump.json, entry by entry. The file is cut at its members and each entry is
 * parsed on its own into an arena that is used again, so memory is that of the
 * largest entry. A dump that was killed has its whole entries first: they have
 * been handed out by the time the cut is met. Cost: one look at each byte to
 * cut, one parse.
 */
#include "formats/msprobe/msprobe_dump.h"

#include <string.h>

#include "formats/json/json_members.h"

struct reader {
    struct tp_json_stream stream;
    struct tp_json_walk walk;
    const struct tp_msprobe_sink *sink;
    struct tp_msprobe_call call;
    size_t calls;
    bool has_data;
};

static enum tp_status visit_call(void *context, const struct tp_json_pair *pair,
                                 struct tp_arena *arena, struct tp_error *err)
{
    struct reader *reader = context;
    struct tp_msprobe_call *call = &reader->call;
    call->key = pair->key;
    call->entry = pair->value;
    call->offset = pair->offset;
    call->order = reader->calls++;
    enum tp_status status =
        tp_msprobe_items_list(call->entry, arena, &call->items, err);
    return status == TP_OK
               ? reader->sink->call(reader->sink->context, call, err)
               : status;
}

static enum tp_status fail_other(const char *what, struct tp_error *err)
{
    return tp_fail(err, TP_E_UNSUPPORTED, -1, "no dump of msprobe: %s", what);
}

static enum tp_status read_data(struct reader *reader, struct tp_error *err)
{
    const struct tp_json_visitor visitor = {reader, visit_call};
    reader->has_data = true;
    if (tp_json_stream_at_other(&reader->stream))
        return fail_other("its \"data\" is no object", err);
    return tp_json_walk_members(&reader->walk, &reader->stream, &visitor, err);
}

/* Keys beside the data; that of the directory was another one in 1.0. */
static const struct head_key {
    const char *word;
    enum tp_msprobe_head head;
} head_keys[] = {
    {"task", TP_MSPROBE_TASK},           {"level", TP_MSPROBE_LEVEL},
    {"framework", TP_MSPROBE_FRAMEWORK}, {"dump_data_dir", TP_MSPROBE_DATA_DIR},
    {"data_path", TP_MSPROBE_DATA_DIR},
};

static enum tp_status tell_head(struct reader *reader,
                                enum tp_msprobe_head head, struct tp_error *err)
{
    struct tp_json_pair pair;
    struct tp_arena *arena = &reader->walk.arena;
    enum tp_status status =
        tp_json_walk_value(&reader->walk, &reader->stream, arena, &pair, err);
    if (status == TP_OK && pair.value->kind == TP_JSON_STRING)
        status = reader->sink->head(reader->sink->context, head,
                                    pair.value->text, err);
    return status;
}

/* A member beside the data. */
static enum tp_status read_other(struct reader *reader,
                                 const struct tp_json_part *key,
                                 struct tp_error *err)
{
    const size_t count = sizeof head_keys / sizeof *head_keys;
    for (size_t i = 0; i < count && reader->sink->head; i++)
        if (tp_json_key_is(key, head_keys[i].word))
            return tell_head(reader, head_keys[i].head, err);
    return tp_json_stream_skip(&reader->stream, err);
}

static enum tp_status read_root(struct reader *reader, struct tp_error *err)
{
    struct tp_json_part key;
    if (tp_json_stream_at_other(&reader->stream))
        return fail_other("it is no object", err);
    enum tp_status status = tp_json_stream_enter(&reader->stream, err);
    while (status == TP_OK) {
        status = tp_json_stream_key(&reader->stream, &key, err);
        if (status != TP_OK || !key.text)
            break;
        status = tp_json_key_is(&key, "data") ? read_data(reader, err)
                                              : read_other(reader, &key, err);
    }
    if (status == TP_OK && !reader->has_data)
        status = fail_other("it has no \"data\"", err);
    return status == TP_OK ? tp_json_stream_end(&reader->stream, err) : status;
}

/* Reads a stream that was opened with `status`. */
static enum tp_status read_stream(struct reader *reader, enum tp_status status,
                                  struct tp_error *err)
{
    if (status == TP_OK)
        status = read_root(reader, err);
    tp_msprobe_items_clear(&reader->call.items);
    tp_json_walk_clear(&reader->walk);
    tp_json_stream_close(&reader->stream);
    return status;
}

enum tp_status tp_msprobe_read(const char *path,
                               const struct tp_msprobe_sink *sink,
                               struct tp_error *err)
{
    struct reader reader = {.sink = sink};
    enum tp_status status = tp_json_stream_open(&reader.stream, path, err);
    status = read_stream(&reader, status, err);
    if (status != TP_OK)
        tp_error_in_file(err, path);
    return status;
}

enum tp_status tp_msprobe_read_memory(const void *memory, size_t size,
                                      size_t chunk,
                                      const struct tp_msprobe_sink *sink,
                                      struct tp_error *err)
{
    struct reader reader = {.sink = sink};
    tp_json_stream_view(&reader.stream, memory, size, chunk);
    return read_stream(&reader, TP_OK, err);
}
