/* SPDX-License-Identifier: MIT */
#include "formats/json/json_members.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"

void tp_json_walk_clear(struct tp_json_walk *walk)
{
    tp_json_parser_free(walk->parser);
    tp_arena_clear(&walk->arena);
    memset(walk, 0, sizeof *walk);
}

/* Parses a part of the file; a failure is placed at its beginning. */
static enum tp_status parse(struct tp_json_walk *walk,
                            const struct tp_json_part *part,
                            struct tp_arena *arena,
                            const struct tp_json **value, struct tp_error *err)
{
    if (!walk->parser && !(walk->parser = tp_json_parser_new()))
        return tp_fail_memory(err);
    enum tp_status status = tp_json_parse(walk->parser, part->text,
                                          part->length, arena, value, err);
    if (status == TP_E_DAMAGED && err)
        err->offset = part->offset;
    return status;
}

enum tp_status tp_json_walk_value(struct tp_json_walk *walk,
                                  struct tp_json_stream *stream,
                                  struct tp_arena *arena,
                                  struct tp_json_pair *pair,
                                  struct tp_error *err)
{
    struct tp_json_part part;
    pair->value_read = false;
    enum tp_status status = tp_json_stream_value(stream, &part, err);
    if (status != TP_OK)
        return status;
    pair->offset = part.offset;
    pair->value_read = true;
    return parse(walk, &part, arena, &pair->value, err);
}

/* Whether a key is printable ASCII without escapes: its own text. */
static bool is_plain(const struct tp_json_part *key)
{
    bool plain = true;
    for (size_t i = 1; i + 1 < key->length; i++)
        plain &=
            key->text[i] >= ' ' && key->text[i] <= '~' && key->text[i] != '\\';
    return plain;
}

/* The text of a key, which most are as they stand. */
static enum tp_status parse_key(struct tp_json_walk *walk,
                                const struct tp_json_part *key,
                                const char **text, struct tp_error *err)
{
    const struct tp_json *name;
    if (is_plain(key)) {
        *text = tp_arena_text(&walk->arena, key->text + 1, key->length - 2);
        return *text ? TP_OK : tp_fail_memory(err);
    }
    enum tp_status status = parse(walk, key, &walk->arena, &name, err);
    *text = status == TP_OK ? name->text : NULL;
    return status;
}

/* The next member; pair->key NULL: there is none. */
static enum tp_status next_pair(struct tp_json_walk *walk,
                                struct tp_json_stream *stream,
                                struct tp_json_pair *pair, struct tp_error *err)
{
    struct tp_json_part key;
    enum tp_status status = tp_json_stream_key(stream, &key, err);
    *pair = (struct tp_json_pair){NULL, NULL, -1, false};
    if (status != TP_OK || !key.text)
        return status;
    tp_arena_reset(&walk->arena);
    status = parse_key(walk, &key, &pair->key, err);
    if (status != TP_OK)
        return status;
    return tp_json_walk_value(walk, stream, &walk->arena, pair, err);
}

enum tp_status tp_json_walk_members(struct tp_json_walk *walk,
                                    struct tp_json_stream *stream,
                                    const struct tp_json_visitor *visitor,
                                    struct tp_error *err)
{
    struct tp_json_pair pair;
    struct tp_error first = {0};
    bool skipped = false;
    enum tp_status status = tp_json_stream_enter(stream, err);
    while (status == TP_OK) {
        struct tp_error own = {0};
        status = next_pair(walk, stream, &pair, &own);
        if (status == TP_E_DAMAGED && pair.value_read) {
            first = skipped ? first : own; /* the stream is behind it */
            skipped = true;
            status = TP_OK;
            continue;
        }
        if (status != TP_OK && err)
            *err = own;
        if (status != TP_OK || !pair.key)
            break;
        status = visitor->visit(visitor->context, &pair, &walk->arena, err);
    }
    if (!skipped || (status != TP_OK && status != TP_E_DAMAGED))
        return status;
    if (err)
        *err = first;
    return TP_E_DAMAGED;
}

/* Walks a stream that was opened with `status`, and closes it. */
static enum tp_status walk_root(struct tp_json_stream *stream,
                                enum tp_status status,
                                const struct tp_json_visitor *visitor,
                                struct tp_error *err)
{
    struct tp_json_walk walk = {NULL, {0}};
    if (status == TP_OK)
        status = tp_json_walk_members(&walk, stream, visitor, err);
    if (status == TP_OK)
        status = tp_json_stream_end(stream, err);
    tp_json_walk_clear(&walk);
    tp_json_stream_close(stream);
    return status;
}

enum tp_status tp_json_walk_file(const char *path,
                                 const struct tp_json_visitor *visitor,
                                 struct tp_error *err)
{
    struct tp_json_stream stream;
    enum tp_status status = tp_json_stream_open(&stream, path, err);
    status = walk_root(&stream, status, visitor, err);
    if (status != TP_OK)
        tp_error_in_file(err, path);
    return status;
}

enum tp_status tp_json_walk_memory(const void *memory, size_t size,
                                   size_t chunk,
                                   const struct tp_json_visitor *visitor,
                                   struct tp_error *err)
{
    struct tp_json_stream stream;
    tp_json_stream_view(&stream, memory, size, chunk);
    return walk_root(&stream, TP_OK, visitor, err);
}
