/* SPDX-License-Identifier: MIT */
/*
 * A file of tensors that was packed by gzip as a whole. Its bytes are unpacked
 * once, into memory while they are few, else into a temporary file without a
 * name, and what is unpacked is opened as if it had been the file. A stream
 * would need no file, but an archive is read from its end, and its tensors are
 * split over threads and read twice where quantiles need it: each of these
 * would unpack from the start again. Before all of it is unpacked its first
 * bytes must be those of a format, so that other people's .gz cost nothing.
 * Cost: one pass of zlib at some 300 MB/s, and disk for what is unpacked.
 */
#include "formats/gzip.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/limits.h"
#include "base/memory.h"
#include "base/spill.h"
#include "data/tensor_file.h"

enum {
    PIECE = 256 << 10,   /* bytes read and unpacked at a time           */
    GZIP_BITS = 15 + 16, /* zlib: the largest window, gzip's own head   */
};

/* Room of a temporary file is asked for in steps of this. */
#define ROOM_STEP ((uint64_t)256 << 20)

/* What is being unpacked. */
struct unpacking {
    const struct tp_bytes *packed;
    uint64_t taken; /* bytes of them that zlib was given                   */
    z_stream z;
    unsigned char *in, *out; /* PIECE bytes each                           */
    struct tp_bytes to;      /* a temporary file, or memory in the making  */
    size_t capacity;         /* of the memory                              */
    uint64_t room;           /* bytes of the file that there is room for   */
    bool done;
};

static enum tp_status begin(struct unpacking *u, const struct tp_bytes *packed,
                            struct tp_error *err)
{
    memset(u, 0, sizeof *u);
    u->packed = packed;
    u->to.fd = -1;
    u->in = malloc(PIECE);
    u->out = malloc(PIECE);
    if (!u->in || !u->out || inflateInit2(&u->z, GZIP_BITS) != Z_OK)
        return tp_fail_memory(err);
    return TP_OK;
}

static void end(struct unpacking *u)
{
    inflateEnd(&u->z);
    free(u->in);
    free(u->out);
    tp_bytes_close(&u->to);
}

/* Gives zlib more bytes when it has none left. */
static enum tp_status feed(struct unpacking *u, struct tp_error *err)
{
    uint64_t left = u->packed->size - u->taken;
    size_t n = left < PIECE ? (size_t)left : PIECE;
    if (u->z.avail_in > 0)
        return TP_OK;
    if (n == 0)
        return tp_fail(err, TP_E_DAMAGED, (int64_t)u->taken,
                       "the data packed by gzip end in the middle, after "
                       "%" PRIu64 " unpacked bytes",
                       u->to.size);
    enum tp_status status = tp_bytes_read(u->packed, u->taken, u->in, n, err);
    u->taken += n;
    u->z.next_in = u->in;
    u->z.avail_in = (uInt)n;
    return status;
}

/* Behind one stream of gzip another may follow, which continues it, or zeros
 * that fill a block of tape. */
static enum tp_status go_on(struct unpacking *u, struct tp_error *err)
{
    while (u->z.avail_in > 0 || u->taken < u->packed->size) {
        enum tp_status status = feed(u, err);
        if (status != TP_OK)
            return status;
        if (*u->z.next_in == 0x1f)
            return inflateReset(&u->z) == Z_OK ? TP_OK : tp_fail_memory(err);
        if (*u->z.next_in != 0)
            return tp_fail(err, TP_E_DAMAGED,
                           (int64_t)(u->taken - u->z.avail_in),
                           "something else follows the data packed by gzip");
        u->z.next_in++;
        u->z.avail_in--;
    }
    u->done = true;
    return TP_OK;
}

/* Unpacks up to `most` bytes to u->out; *got 0: at the end. */
static enum tp_status unpack_some(struct unpacking *u, size_t most, size_t *got,
                                  struct tp_error *err)
{
    enum tp_status status = TP_OK;
    *got = 0;
    u->z.next_out = u->out;
    u->z.avail_out = (uInt)most;
    while (status == TP_OK && !u->done && u->z.avail_out > 0) {
        status = feed(u, err);
        if (status != TP_OK)
            return status;
        int result = inflate(&u->z, Z_NO_FLUSH);
        if (result == Z_STREAM_END)
            status = go_on(u, err);
        else if (result == Z_MEM_ERROR)
            return tp_fail_memory(err);
        else if (result != Z_OK)
            return tp_fail(err, TP_E_DAMAGED,
                           (int64_t)(u->taken - u->z.avail_in),
                           "the data packed by gzip are damaged%s%s",
                           u->z.msg ? ": " : "", u->z.msg ? u->z.msg : "");
    }
    *got = most - u->z.avail_out;
    return status;
}

/* Puts what memory holds into a temporary file. */
static enum tp_status move_to_file(struct unpacking *u, struct tp_error *err)
{
    struct tp_bytes file;
    enum tp_status status = tp_spill_open(&file, err);
    if (status != TP_OK)
        return status;
    status = tp_spill_write(&file, 0, u->to.owned, (size_t)u->to.size, err);
    file.size = u->to.size;
    tp_bytes_close(&u->to);
    u->to = file;
    return status;
}

static enum tp_status keep_in_file(struct unpacking *u, size_t n,
                                   struct tp_error *err)
{
    enum tp_status status = TP_OK;
    if (u->to.size + n > u->room) {
        status = tp_spill_room(&u->to, ROOM_STEP, err);
        u->room = u->to.size + ROOM_STEP;
    }
    if (status == TP_OK)
        status = tp_spill_write(&u->to, u->to.size, u->out, n, err);
    u->to.size += n;
    return status;
}

/* Adds the n bytes at u->out to what was unpacked. */
static enum tp_status keep(struct unpacking *u, size_t n, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    if (u->to.size > TP_LIMIT_THIN_BYTES &&
        u->to.size / TP_LIMIT_THIN_RATIO > u->taken)
        return tp_fail(err, TP_E_LIMIT, (int64_t)u->taken,
                       "over %d MiB packed by gzip more than %d : 1; unpack "
                       "it first",
                       (int)(TP_LIMIT_THIN_BYTES >> 20), TP_LIMIT_THIN_RATIO);
    if (u->to.fd < 0 && u->to.size + n > TP_LIMIT_INFLATE_MEMORY)
        status = move_to_file(u, err);
    if (status != TP_OK || u->to.fd >= 0)
        return status == TP_OK ? keep_in_file(u, n, err) : status;
    status =
        tp_grow(&u->to.owned, &u->capacity, (size_t)u->to.size + n, 1, err);
    if (status != TP_OK)
        return status;
    memcpy(u->to.owned + u->to.size, u->out, n);
    u->to.size += n;
    return TP_OK;
}

static enum tp_status unpack(struct unpacking *u, tp_gzip_judge *judge,
                             struct tp_error *err)
{
    size_t n;
    enum tp_status status = unpack_some(u, TP_FORMAT_HEAD, &n, err);
    if (status == TP_OK)
        status = judge(u->out, n, err);
    while (status == TP_OK && n > 0) {
        status = keep(u, n, err);
        if (status == TP_OK)
            status = unpack_some(u, PIECE, &n, err);
    }
    return status;
}

enum tp_status tp_gzip_unpack(struct tp_bytes *bytes, tp_gzip_judge *judge,
                              struct tp_error *err)
{
    struct unpacking u;
    enum tp_status status = begin(&u, bytes, err);
    if (status == TP_OK)
        status = unpack(&u, judge, err);
    if (status == TP_OK) {
        tp_bytes_close(bytes);
        *bytes = u.to;
        if (u.to.fd < 0)
            bytes->memory = u.to.owned;
        u.to = (struct tp_bytes){.fd = -1};
    }
    end(&u);
    return status;
}

bool tp_gzip_is(const unsigned char *head, size_t length)
{
    return length >= 3 && memcmp(head, "\x1f\x8b\x08", 3) == 0;
}
