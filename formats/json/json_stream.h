/* SPDX-License-Identifier: MIT */
#ifndef TP_JSON_JSON_STREAM_H
#define TP_JSON_JSON_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/*
 * A JSON file of any size, member by member: what is held is the member at
 * hand. The caller walks down from the root:
 *
 *     enter, then per member: key, and one of value, enter or skip
 *
 * and comes up again where key says that there are no more. The text itself is
 * only cut here, by quotes and brackets; who parses a value finds out whether
 * it is JSON.
 */
struct tp_json_stream {
    struct tp_bytes bytes;
    uint64_t taken; /* bytes of the file that were read into the buffer     */
    char *buffer;
    size_t capacity, used, at;
    size_t chunk; /* bytes to read at a time                                */
    size_t kept;  /* first byte that must stay; SIZE_MAX: none              */
    bool fresh;   /* no member of the object was read yet                   */
    bool member;  /* a key was read, its value was not                      */
    bool cut;     /* the file ended too early                               */
    bool borrowed; /* the bytes are someone else's to close                 */
};

/* Opens a file. TP_E_IO; close also after a failure. */
enum tp_status tp_json_stream_open(struct tp_json_stream *stream,
                                   const char *path, struct tp_error *err);

/* Reads memory, which is borrowed, `chunk` bytes at a time; what is read does
 * not depend on it. */
void tp_json_stream_view(struct tp_json_stream *stream, const void *memory,
                         size_t size, size_t chunk);

/* Reads bytes [start, end) of an input, which stays open longer; places are
 * those in the input. */
void tp_json_stream_range(struct tp_json_stream *stream,
                          const struct tp_bytes *bytes, uint64_t start,
                          uint64_t end);

/* Releases everything. Accepts a zeroed or closed object. */
void tp_json_stream_close(struct tp_json_stream *stream);

/* All below fail with TP_E_DAMAGED and the byte where the text is none that
 * JSON allows there (stream->cut: it ends), TP_E_IO, TP_E_MEMORY. */

/* Whether the value at hand, at first the root, begins as another one than an
 * object: a list, a number, a text. It stays at hand. */
bool tp_json_stream_at_other(struct tp_json_stream *stream);

/* Goes into the object at hand: at first the root. */
enum tp_status tp_json_stream_enter(struct tp_json_stream *stream,
                                    struct tp_error *err);

/* A part of the text, valid until the next call. */
struct tp_json_part {
    const char *text; /* NULL: there are no more members                    */
    size_t length;
    int64_t offset; /* byte in the file                                   */
};

/* The key of the next member, with its quotes and escapes. */
enum tp_status tp_json_stream_key(struct tp_json_stream *stream,
                                  struct tp_json_part *key,
                                  struct tp_error *err);

/* The value of the member, whole; TP_E_LIMIT beyond TP_LIMIT_JSON_VALUE. */
enum tp_status tp_json_stream_value(struct tp_json_stream *stream,
                                    struct tp_json_part *value,
                                    struct tp_error *err);

/* Passes over the value, whatever its size. */
enum tp_status tp_json_stream_skip(struct tp_json_stream *stream,
                                   struct tp_error *err);

/* That only white space follows. */
enum tp_status tp_json_stream_end(struct tp_json_stream *stream,
                                  struct tp_error *err);

/* Whether a key is this plain word. */
bool tp_json_key_is(const struct tp_json_part *key, const char *word);

#endif
