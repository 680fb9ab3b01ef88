/* SPDX-License-Identifier: MIT */
/*
 * The bytes of a trace's JSON, inflated on the way if they are gzip.
 *
 * zlib inflates, as it can stop anywhere, which libdeflate cannot: that wants
 * whole members in memory. The CRC-32 is libdeflate's, which is many times
 * faster, so zlib is told not to check. Members may follow each other, as
 * bgzip writes them. Memory: one chunk and zlib's window of 32 KB.
 */
#include "formats/trace/trace_input.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Compressed bytes taken at a time; traces shrink by 5 to 30. */
enum { CHUNK = 64 << 10 };

/* 15: the largest window; 16: gzip framing only. */
enum { GZIP_WINDOW = 15 + 16 };

/* A member ends with the CRC-32 and the length of what it inflates to, the
 * length modulo 2^32, little endian (RFC 1952, 2.3.1). */
enum { TRAILER = 8 };

/*
 * zlib spends a third of its time here on the CRC-32, which libdeflate has
 * many times faster. So zlib is told not to check, and the trailer it passed
 * over is checked here: behind it in `bytes`, whose first TRAILER bytes are
 * the end of the chunk before.
 */
struct tp_trace_gzip {
    z_stream stream;
    bool member;  /* inside one: its end was not met yet */
    bool padded;  /* behind the last one */
    uint32_t crc; /* of the member so far */
    uint64_t made;
    unsigned char bytes[TRAILER + CHUNK];
};

/* Begins a member, the first or another one. */
static void start_member(struct tp_trace_gzip *gzip)
{
    gzip->member = true;
    gzip->crc = libdeflate_crc32(0, NULL, 0);
}

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
    z_stream *stream = &input->gzip->stream;
    if (inflateInit2(stream, GZIP_WINDOW) != Z_OK ||
        inflateValidate(stream, 0) != Z_OK) {
        inflateEnd(stream);
        free(input->gzip);
        input->gzip = NULL;
        return tp_fail_memory(err);
    }
    stream->next_in = input->gzip->bytes + TRAILER;
    start_member(input->gzip);
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

/* The next bytes of the file. */
static enum tp_status take(struct tp_trace_input *input, void *to, size_t room,
                           size_t *got, struct tp_error *err)
{
    uint64_t left = input->bytes.size - input->at;
    *got = left < room ? (size_t)left : room;
    if (*got == 0)
        return TP_OK;
    enum tp_status status =
        tp_bytes_read(&input->bytes, input->at, to, *got, err);
    input->at += *got;
    return status;
}

static enum tp_status refill(struct tp_trace_input *input, struct tp_error *err)
{
    struct tp_trace_gzip *gzip = input->gzip;
    unsigned char *chunk = gzip->bytes + TRAILER;
    size_t got;
    memmove(gzip->bytes, gzip->stream.next_in - TRAILER, TRAILER);
    enum tp_status status = take(input, chunk, CHUNK, &got, err);
    gzip->stream.next_in = chunk;
    gzip->stream.avail_in = (uInt)got;
    return status;
}

/* After a member: another one, or zeros that pad, or bytes of no meaning. */
static void next_member(struct tp_trace_input *input)
{
    struct tp_trace_gzip *gzip = input->gzip;
    z_stream *stream = &gzip->stream;
    if (!gzip->padded && stream->avail_in > 0 && stream->next_in[0] == 0x1f &&
        inflateReset(stream) == Z_OK) {
        start_member(gzip);
        return;
    }
    gzip->padded = true;
    while (stream->avail_in > 0 && stream->next_in[0] == 0) {
        stream->next_in++;
        stream->avail_in--;
    }
    input->followed = stream->avail_in > 0;
    input->ended = input->followed || input->at == input->bytes.size ||
                   input->cut;
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

static uint32_t little_endian(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 |
           (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* What is wrong with the member that just ended; NULL: nothing. The words are
 * zlib's. */
static const char *check_member(struct tp_trace_input *input)
{
    const struct tp_trace_gzip *gzip = input->gzip;
    const unsigned char *trailer = gzip->stream.next_in - TRAILER;
    const uint32_t length = (uint32_t)gzip->stream.total_out;
    input->bad_checksum = little_endian(trailer) != gzip->crc;
    input->bad_length =
        !input->bad_checksum && little_endian(trailer + 4) != length;
    input->ended = input->bad_checksum || input->bad_length;
    return input->bad_checksum ? "incorrect data check"
           : input->bad_length ? "incorrect length check"
                               : NULL;
}

/* Inflates up to `room` bytes of a member from the chunk at hand. */
static enum tp_status inflate_some(struct tp_trace_input *input, char *to,
                                   size_t room, size_t *made,
                                   struct tp_error *err)
{
    struct tp_trace_gzip *gzip = input->gzip;
    z_stream *stream = &gzip->stream;
    uInt piece = room < (1u << 30) ? (uInt)room : 1u << 30;
    bool starved = stream->avail_in == 0;
    const char *why = NULL;
    stream->next_out = (Bytef *)to;
    stream->avail_out = piece;
    int code = inflate(stream, Z_NO_FLUSH);
    *made = piece - stream->avail_out;
    gzip->made += *made;
    gzip->crc = libdeflate_crc32(gzip->crc, to, *made);
    if (code == Z_MEM_ERROR)
        return tp_fail_memory(err);
    if (code == Z_STREAM_END) {
        gzip->member = false;
        why = check_member(input);
        if (gzip->made > 0)
            return TP_OK;
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
        why = stream->msg ? stream->msg : "broken data";
    } else if (starved && stream->avail_out > 0) {
        why = "it ends too early";
    }
    return why ? gzip_breaks_off(input, why, err) : TP_OK;
}

static enum tp_status read_gzip(struct tp_trace_input *input, char *to,
                                size_t room, size_t *got, struct tp_error *err)
{
    z_stream *stream = &input->gzip->stream;
    enum tp_status status = TP_OK;
    *got = 0;
    while (*got < room && !input->ended && status == TP_OK) {
        size_t made = 0;
        if (stream->avail_in == 0 && (status = refill(input, err)) != TP_OK)
            break;
        if (input->gzip->member)
            status = inflate_some(input, to + *got, room - *got, &made, err);
        else
            next_member(input);
        *got += made;
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
