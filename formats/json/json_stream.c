/* SPDX-License-Identifier: MIT */
/*
 * Members of a JSON file of any size. One buffer slides over the file; the end
 * of a value is where its brackets close outside strings, and a value that is
 * wanted whole stays in the buffer, which grows for it.
 *
 * A parser of events (SAX) would hand out every number of an entry, of which
 * its consumer had to rebuild the entry; a tree of the whole file takes many
 * times its size. Cost: one look at each byte, of most by eights, and memory
 * for a chunk and the largest value that was asked for.
 */
#include "formats/json/json_stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/memory.h"
#include "base/text.h"

/* Large enough for the system to read at full speed. */
enum { CHUNK = 1 << 18 };

static const size_t NOTHING = SIZE_MAX;

static void begin(struct tp_json_stream *stream, size_t chunk)
{
    memset(stream, 0, sizeof *stream);
    stream->kept = NOTHING;
    stream->chunk = chunk;
}

enum tp_status tp_json_stream_open(struct tp_json_stream *stream,
                                   const char *path, struct tp_error *err)
{
    begin(stream, CHUNK);
    return tp_bytes_open(path, &stream->bytes, err);
}

void tp_json_stream_view(struct tp_json_stream *stream, const void *memory,
                         size_t size, size_t chunk)
{
    begin(stream, chunk);
    tp_bytes_view(memory, size, &stream->bytes);
}

void tp_json_stream_range(struct tp_json_stream *stream,
                          const struct tp_bytes *bytes, uint64_t start,
                          uint64_t end)
{
    begin(stream, CHUNK);
    stream->bytes = *bytes;
    stream->bytes.owned = NULL;
    stream->bytes.size = end;
    stream->taken = start;
    stream->borrowed = true;
}

void tp_json_stream_close(struct tp_json_stream *stream)
{
    if (!stream->borrowed)
        tp_bytes_close(&stream->bytes);
    free(stream->buffer);
    memset(stream, 0, sizeof *stream);
}

/* Place in the file of a byte of the buffer. */
static int64_t offset_of(const struct tp_json_stream *stream, size_t at)
{
    return (int64_t)(stream->taken - stream->used + at);
}

static enum tp_status fail_here(const struct tp_json_stream *stream,
                                const char *what, struct tp_error *err)
{
    return tp_fail(err, TP_E_DAMAGED, offset_of(stream, stream->at),
                   "not JSON: %s", what);
}

/* Drops what nobody needs from the front of the buffer. */
static void drop_front(struct tp_json_stream *stream)
{
    size_t first = stream->kept < stream->at ? stream->kept : stream->at;
    if (first == 0)
        return;
    memmove(stream->buffer, stream->buffer + first, stream->used - first);
    stream->used -= first;
    stream->at -= first;
    if (stream->kept != NOTHING)
        stream->kept -= first;
}

/* Reads on, one byte at least; TP_E_DAMAGED at the end of the file. */
static enum tp_status read_on(struct tp_json_stream *stream,
                              struct tp_error *err)
{
    uint64_t left = stream->bytes.size - stream->taken;
    if (left == 0) {
        stream->cut = true;
        stream->at = stream->used;
        return tp_fail(err, TP_E_DAMAGED, (int64_t)stream->taken,
                       "the file ends too early");
    }
    drop_front(stream);
    if (stream->used > TP_LIMIT_JSON_VALUE)
        return tp_fail(err, TP_E_LIMIT, offset_of(stream, 0),
                       "a value is longer than %zu MiB",
                       TP_LIMIT_JSON_VALUE >> 20);
    size_t length = left < stream->chunk ? (size_t)left : stream->chunk;
    enum tp_status status = tp_grow(&stream->buffer, &stream->capacity,
                                    stream->used + length, 1, err);
    if (status != TP_OK)
        return status;
    status = tp_bytes_read(&stream->bytes, stream->taken,
                           stream->buffer + stream->used, length, err);
    if (status != TP_OK)
        return status;
    stream->used += length;
    stream->taken += length;
    return TP_OK;
}

/* The next byte that is no white space, which stays where it is. */
static enum tp_status peek(struct tp_json_stream *stream, char *c,
                           struct tp_error *err)
{
    for (;;) {
        while (stream->at < stream->used &&
               tp_json_is_blank(stream->buffer[stream->at]))
            stream->at++;
        if (stream->at < stream->used) {
            *c = stream->buffer[stream->at];
            return TP_OK;
        }
        enum tp_status status = read_on(stream, err);
        if (status != TP_OK)
            return status;
    }
}

/* Takes a character that has to be next. */
static enum tp_status take(struct tp_json_stream *stream, char wanted,
                           const char *what, struct tp_error *err)
{
    char c;
    enum tp_status status = peek(stream, &c, err);
    if (status == TP_OK && c != wanted)
        return fail_here(stream, what, err);
    stream->at += status == TP_OK;
    return status;
}

/* Takes the colon before the value of a member, unless it was taken. */
static enum tp_status take_colon(struct tp_json_stream *stream,
                                 struct tp_error *err)
{
    enum tp_status status = TP_OK;
    if (stream->member)
        status = take(stream, ':', "a colon is missing", err);
    stream->member = false;
    return status;
}

enum tp_status tp_json_stream_enter(struct tp_json_stream *stream,
                                    struct tp_error *err)
{
    enum tp_status status = take_colon(stream, err);
    stream->fresh = true;
    return status == TP_OK
               ? take(stream, '{', "an object should begin here", err)
               : status;
}

bool tp_json_stream_at_other(struct tp_json_stream *stream)
{
    char c;
    if (peek(stream, &c, NULL) != TP_OK || (stream->member && c != ':'))
        return false; /* whoever reads on says what is wrong */
    stream->at += stream->member;
    stream->member = false;
    return peek(stream, &c, NULL) == TP_OK && c &&
           strchr("[\"-0123456789tfnNI", c);
}

/* Where in a value the scan is. */
struct scan {
    size_t depth;
    bool quoted, escaped;
    bool scalar; /* a number or a word */
};

/* Whether a byte of a value at depth 0 ends it without being of it. */
static bool ends_scalar(char c)
{
    return c == ',' || c == '}' || c == ']' || c == ':' || tp_json_is_blank(c);
}

/* Bytes that mean something between the strings of a list or an object. */
enum { PLAIN, QUOTE, OPENS, CLOSES };
static const unsigned char meaning[256] = {['"'] = QUOTE,
                                           ['{'] = OPENS,
                                           ['['] = OPENS,
                                           ['}'] = CLOSES,
                                           [']'] = CLOSES};

/* Behind the quote that ends a string, or where the buffer ends. */
static size_t scan_string(const struct tp_json_stream *stream, size_t at,
                          struct scan *scan)
{
    const char *text = stream->buffer;
    size_t used = stream->used;
    if (scan->escaped && at < used)
        at++;
    scan->escaped = false;
    for (; at < used && text[at] != '"'; at++) {
        if (text[at] != '\\')
            continue;
        scan->escaped = ++at == used;
        if (scan->escaped)
            return at;
    }
    scan->quoted = at == used;
    return at + !scan->quoted;
}

/* A scalar that is no string, to the byte that ends it. */
static size_t scan_scalar(const struct tp_json_stream *stream, size_t at,
                          bool *ended)
{
    while (at < stream->used && !ends_scalar(stream->buffer[at]))
        at++;
    *ended = at < stream->used;
    return at;
}

/* One bit in each of eight bytes: the lowest, the highest. */
static const uint64_t LOW_BITS = UINT64_C(0x0101010101010101);
static const uint64_t HIGH_BITS = UINT64_C(0x8080808080808080);

/* The high bit of each byte that is `c`, which is below 128. */
static uint64_t bytes_equal(uint64_t bytes, unsigned char c)
{
    const uint64_t other = bytes ^ LOW_BITS * c;
    return ~(((other & ~HIGH_BITS) + ~HIGH_BITS) | other) & HIGH_BITS;
}

/* How many high bits are set. */
static size_t count_bits(uint64_t high)
{
    return (size_t)((high >> 7) * LOW_BITS >> 56);
}

/* Eight bytes, the first one lowest. */
static uint64_t load_bytes(const char *text)
{
    uint64_t bytes;
    memcpy(&bytes, text, sizeof bytes);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bytes = __builtin_bswap64(bytes);
#endif
    return bytes;
}

/* Goes over a list or an object eight bytes at a time, as far as they hold no
 * escape and cannot hold its end. */
static size_t scan_words(const struct tp_json_stream *stream, size_t at,
                         struct scan *scan)
{
    const uint64_t lower = LOW_BITS * 0x20; /* makes '{' of '[', '}' of ']' */
    size_t depth = scan->depth;
    uint64_t carry = scan->quoted ? HIGH_BITS : 0;
    for (; stream->used - at >= sizeof(uint64_t); at += sizeof(uint64_t)) {
        const uint64_t bytes = load_bytes(stream->buffer + at);
        uint64_t inside = bytes_equal(bytes, '"');
        inside ^= inside << 8; /* from each quote on the other one */
        inside ^= inside << 16;
        inside ^= inside << 32;
        inside ^= carry;
        const uint64_t opens = bytes_equal(bytes | lower, '{') & ~inside;
        const uint64_t closes = bytes_equal(bytes | lower, '}') & ~inside;
        if (bytes_equal(bytes, '\\'))
            break;
        if (opens | closes) {
            if (count_bits(closes) >= depth)
                break;
            depth += count_bits(opens) - count_bits(closes);
        }
        carry = inside >> 63 ? HIGH_BITS : 0;
    }
    scan->depth = depth;
    scan->quoted = carry != 0;
    return at;
}

/* Goes over the bytes in the buffer; whether the value ended. */
static bool scan_buffer(struct tp_json_stream *stream, struct scan *scan)
{
    const unsigned char *text = (const unsigned char *)stream->buffer;
    size_t at = stream->at, used = stream->used;
    bool ended = false;
    while (at < used && !ended) {
        if (scan->depth > 0 && !scan->escaped)
            at = scan_words(stream, at, scan);
        if (at == used)
            break;
        unsigned char what = meaning[text[at]];
        if (scan->quoted) {
            at = scan_string(stream, at, scan);
            ended = !scan->quoted && scan->depth == 0;
        } else if (scan->scalar ||
                   (scan->depth == 0 && (what == PLAIN || what == CLOSES))) {
            scan->scalar = true;
            at = scan_scalar(stream, at, &ended);
        } else {
            while (what == PLAIN && ++at < used)
                what = meaning[text[at]];
            scan->quoted = what == QUOTE;
            scan->depth += what == OPENS;
            ended = what == CLOSES && --scan->depth == 0;
            at += what != PLAIN;
        }
    }
    stream->at = at;
    return ended;
}

/* Goes to the end of the value that begins at stream->at. */
static enum tp_status scan_value(struct tp_json_stream *stream,
                                 struct tp_error *err)
{
    struct scan scan = {.depth = 0};
    while (!scan_buffer(stream, &scan)) {
        enum tp_status status = read_on(stream, err);
        if (status != TP_OK)
            return status;
    }
    return TP_OK;
}

/* The value that begins at the next byte; with `keep` its text. */
static enum tp_status next_value(struct tp_json_stream *stream, bool keep,
                                 struct tp_json_part *part,
                                 struct tp_error *err)
{
    char c;
    enum tp_status status = peek(stream, &c, err);
    if (status != TP_OK)
        return status;
    if (ends_scalar(c))
        return fail_here(stream, "a value should begin here", err);
    part->offset = offset_of(stream, stream->at);
    if (keep)
        stream->kept = stream->at;
    status = scan_value(stream, err);
    if (keep && status == TP_OK) {
        part->text = stream->buffer + stream->kept;
        part->length = stream->at - stream->kept;
    }
    stream->kept = NOTHING;
    return status;
}

enum tp_status tp_json_stream_key(struct tp_json_stream *stream,
                                  struct tp_json_part *key,
                                  struct tp_error *err)
{
    char c;
    *key = (struct tp_json_part){NULL, 0, -1};
    enum tp_status status = peek(stream, &c, err);
    if (status != TP_OK)
        return status;
    if (c == '}') {
        stream->at++;
        stream->fresh = false;
        return TP_OK;
    }
    if (!stream->fresh)
        status = take(stream, ',', "a comma is missing", err);
    stream->fresh = false;
    if (status == TP_OK)
        status = peek(stream, &c, err);
    if (status == TP_OK && c != '"')
        status = fail_here(stream, "a key should begin here", err);
    stream->member = true;
    return status == TP_OK ? next_value(stream, true, key, err) : status;
}

enum tp_status tp_json_stream_value(struct tp_json_stream *stream,
                                    struct tp_json_part *value,
                                    struct tp_error *err)
{
    enum tp_status status = take_colon(stream, err);
    return status == TP_OK ? next_value(stream, true, value, err) : status;
}

enum tp_status tp_json_stream_skip(struct tp_json_stream *stream,
                                   struct tp_error *err)
{
    struct tp_json_part part;
    enum tp_status status = take_colon(stream, err);
    return status == TP_OK ? next_value(stream, false, &part, err) : status;
}

enum tp_status tp_json_stream_end(struct tp_json_stream *stream,
                                  struct tp_error *err)
{
    for (;;) {
        while (stream->at < stream->used &&
               tp_json_is_blank(stream->buffer[stream->at]))
            stream->at++;
        if (stream->at < stream->used)
            return fail_here(stream, "something follows its end", err);
        if (stream->taken == stream->bytes.size)
            return stream->borrowed ? TP_OK
                                    : tp_bytes_unchanged(&stream->bytes, err);
        enum tp_status status = read_on(stream, err);
        if (status != TP_OK)
            return status;
    }
}

bool tp_json_key_is(const struct tp_json_part *key, const char *word)
{
    size_t length = strlen(word);
    return key->length == length + 2 &&
           memcmp(key->text + 1, word, length) == 0;
}
