/* SPDX-License-Identifier: MIT */
#ifndef TP_JSON_JSON_MEMBERS_H
#define TP_JSON_JSON_MEMBERS_H

#include "formats/json/json_stream.h"
#include "formats/json/json_value.h"

/* Members of an object, parsed one after the other. */

/* A member; valid until the next one. */
struct tp_json_pair {
    const char *key;
    const struct tp_json *value;
    int64_t offset;  /* of the value in the file */
    bool value_read; /* from the stream, whether it is JSON or not */
};

/* Who is told of each; anything but TP_OK ends the walk with it. */
struct tp_json_visitor {
    void *context;
    enum tp_status (*visit)(void *context, const struct tp_json_pair *pair,
                            struct tp_arena *arena, struct tp_error *err);
};

/* What a walk needs besides the stream. All-zero is ready. */
struct tp_json_walk {
    struct tp_json_parser *parser;
    struct tp_arena arena; /* of the member at hand */
};

/* Releases what a walk took; it is ready again. */
void tp_json_walk_clear(struct tp_json_walk *walk);

/* The value of the member whose key was read, parsed into `arena`. */
enum tp_status tp_json_walk_value(struct tp_json_walk *walk,
                                  struct tp_json_stream *stream,
                                  struct tp_arena *arena,
                                  struct tp_json_pair *pair,
                                  struct tp_error *err);

/* Goes into the object at hand and visits its members. Fails as the stream
 * does, after all members before the failure were visited; a value that is no
 * JSON is left out, and the first of these failures is told at the end. */
enum tp_status tp_json_walk_members(struct tp_json_walk *walk,
                                    struct tp_json_stream *stream,
                                    const struct tp_json_visitor *visitor,
                                    struct tp_error *err);

/* The same for the root of a file. The failure names the file. */
enum tp_status tp_json_walk_file(const char *path,
                                 const struct tp_json_visitor *visitor,
                                 struct tp_error *err);

/* The same for memory, read `chunk` bytes at a time, which changes nothing. */
enum tp_status tp_json_walk_memory(const void *memory, size_t size,
                                   size_t chunk,
                                   const struct tp_json_visitor *visitor,
                                   struct tp_error *err);

#endif
