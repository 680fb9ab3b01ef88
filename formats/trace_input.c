/* SPDX-License-Identifier: MIT */
#include "formats/trace_input.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Compressed bytes taken at a time; traces shrink by 5 to 30. */
enum { CHUNK = 64 << 10 };

/* 15: the largest window; 16: gzip framing only. */
enum { GZIP_WINDOW = 15 + 16 };

struct tp_trace_gzip {
    z_stream stream;
    bool member; /* inside one: its end was not met yet */
    uint64_t made;
    unsigned char chunk[CHUNK];
};

static enum tp_status start_gzip(struct tp_trace_input *input,
                                 struct tp_error *err)
{
    unsigned char magic[2];
    if (input->bytes.size < 2)
        return TP_OK;
    enum tp_status status =
        tp_bytes_read(&input->bytes, 0, magic, sizeof magic, err);
    if (status != TP_OK || magic[0] != 0x1f || magic[1] != 0x8b)
        return status;
    input->gzip = calloc(1, sizeof *input->gzip);
    if (!input->gzip)
        return tp_fail_memory(err);
    if (inflateInit2(&input->gzip->stream, GZIP_WINDOW) != Z_OK) {
        free(input->gzip);
        input->gzip = NULL;
        return tp_fail_memory(err);
    }
    input->gzip->member = true;
    return TP_OK;
}

enum tp_status tp_trace_input_open(struct tp_trace_input *input,
                                   const char *path, struct tp_error *err)
{
    memset(input, 0, sizeof *input);
    enum tp_status status = tp_bytes_open(path, &input->bytes, err);
    return status == TP_OK ? start_gzip(input, err) : status;
}

enum tp_status tp_trace_input_view(struct tp_trace_input *input,
                                   const char *data, size_t size,
                                   struct tp_error *err)
{
    memset(input, 0, sizeof *input);
    tp_bytes_view(data, size, &input->bytes);
    return start_gzip(input, err);
}

/* The next bytes of the file. A file that shrinks while it is read is cut. */
static enum tp_status take(struct tp_trace_input *input, void *to, size_t room,
                           size_t *got, struct tp_error *err)
{
    uint64_t left = input->bytes.size - input->at;
    *got = left < room ? (size_t)left : room;
    if (*got == 0)
        return TP_OK;
    enum tp_status status =
        tp_bytes_read(&input->bytes, input->at, to, *got, err);
    if (status == TP_E_DAMAGED) {
        input->cut = true;
        *got = 0;
        status = TP_OK;
    }
    input->at += *got;
    return status;
}

static enum tp_status refill(struct tp_trace_input *input, struct tp_error *err)
{
    struct tp_trace_gzip *gzip = input->gzip;
    size_t got;
    enum tp_status status = take(input, gzip->chunk, CHUNK, &got, err);
    gzip->stream.next_in = gzip->chunk;
    gzip->stream.avail_in = (uInt)got;
    return status;
}

/* After a member: another one, or zeros that pad, or bytes of no meaning. */
static void next_member(struct tp_trace_input *input)
{
    z_stream *stream = &input->gzip->stream;
    if (stream->avail_in > 0 && stream->next_in[0] == 0x1f &&
        inflateReset(stream) == Z_OK)
        input->gzip->member = true;
    else
        input->ended = true;
}

/* Ends the stream of a gzip file that goes no further. */
static enum tp_status gzip_breaks_off(struct tp_trace_input *input,
                                      const char *why, struct tp_error *err)
{
    input->ended = input->cut = true;
    if (input->gzip->made > 0)
        return TP_OK;
    return tp_fail(err, TP_E_DAMAGED, (int64_t)input->at,
                   "cannot inflate gzip: %s", why);
}

static enum tp_status read_gzip(struct tp_trace_input *input, char *to,
                                size_t room, size_t *got, struct tp_error *err)
{
    struct tp_trace_gzip *gzip = input->gzip;
    z_stream *stream = &gzip->stream;
    enum tp_status status = TP_OK;
    *got = 0;
    while (*got < room && !input->ended && status == TP_OK) {
        if (stream->avail_in == 0 && (status = refill(input, err)) != TP_OK)
            break;
        if (!gzip->member) {
            next_member(input);
            continue;
        }
        size_t left = room - *got;
        uInt piece = left < (1u << 30) ? (uInt)left : 1u << 30;
        stream->next_out = (Bytef *)to + *got;
        stream->avail_out = piece;
        bool starved = stream->avail_in == 0;
        int code = inflate(stream, Z_NO_FLUSH);
        *got += piece - stream->avail_out;
        gzip->made += piece - stream->avail_out;
        if (code == Z_STREAM_END)
            gzip->member = false;
        else if (code != Z_OK && code != Z_BUF_ERROR)
            status = gzip_breaks_off(
                input, stream->msg ? stream->msg : "broken data", err);
        else if (starved && stream->avail_out > 0)
            status = gzip_breaks_off(input, "it ends too early", err);
    }
    return status;
}

enum tp_status tp_trace_input_read(struct tp_trace_input *input, char *to,
                                   size_t room, size_t *got,
                                   struct tp_error *err)
{
    if (input->gzip)
        return read_gzip(input, to, room, got, err);
    enum tp_status status = take(input, to, room, got, err);
    if (*got < room)
        input->ended = true;
    return status;
}

void tp_trace_input_close(struct tp_trace_input *input)
{
    if (input->gzip)
        inflateEnd(&input->gzip->stream);
    free(input->gzip);
    tp_bytes_close(&input->bytes);
    memset(input, 0, sizeof *input);
}
