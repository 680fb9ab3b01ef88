/* SPDX-License-Identifier: MIT */
/*
 * The file of a state. HDF5 so that other programs can look into it: each part
 * is a dataset, parts of words are an array for each member, with its name. The
 * packed numbers and axes of rows, nearly all of it, are contiguous, and read
 * to where they stay; the rest, which says the same again and again, is one
 * deflated chunk each. Where a part lies is known, so that a file is read in
 * one pass, with the CRC-32 of all of it, a state by each thread.
 *
 * Reading by HDF5 took three passes, one for a checksum, which the library does
 * not have of contiguous data, one of its own, and a copy, in one thread. A
 * mapped file would need none, but ends the process when it is cut.
 */
#include "state/state_image.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/limits.h"
#include "base/memory.h"

enum { CHUNK = 1 << 18 };

/* A file under way. */
struct input {
    int fd;
    uint64_t at;  /* what was read, with the user block                    */
    uint64_t end; /* what there is to be                                   */
    uint32_t crc; /* of what was read                                      */
    struct tp_arena *arena;
    struct tp_error *err;
};

/* The value of a line "name value" of the user block; "": there is none. */
static void line_of(const char *block, const char *name, char value[64])
{
    const size_t length = strlen(name);
    value[0] = '\0';
    for (const char *at = block; at; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, name, length) == 0 && at[length] == ' ') {
            snprintf(value, 64, "%.*s", (int)strcspn(at + length + 1, "\n"),
                     at + length + 1);
            return;
        }
    }
}

static const char first_line[] = "tprof-analyze state\n";

static enum tp_status check_holds(const char *block, bool traces,
                                  struct tp_error *err)
{
    char holds[64];
    line_of(block, "holds", holds);
    if ((strcmp(holds, "traces") == 0) == traces)
        return TP_OK;
    return tp_fail(err, TP_E_UNSUPPORTED, 0,
                   traces ? "a state of tensors, not of traces"
                          : "a state of traces, not of tensors");
}

static enum tp_status check_block(const char *block, bool traces,
                                  struct tp_error *err)
{
    char schema[64], layout[64], ours[TP_STATE_LAYOUT_BYTES];
    if (strncmp(block, first_line, strlen(first_line)) != 0)
        return tp_fail(err, TP_E_UNSUPPORTED, 0,
                       "no state of this program: it does not begin with "
                       "\"tprof-analyze state\"");
    if (check_holds(block, traces, err) != TP_OK)
        return TP_E_UNSUPPORTED;
    line_of(block, "schema", schema);
    line_of(block, "layout", layout);
    tp_state_layout(traces, ours);
    if (strtol(schema, NULL, 10) != TP_STATE_SCHEMA)
        return tp_fail(err, TP_E_UNSUPPORTED, 0,
                       "a state of schema %s; this program reads and writes "
                       "schema %d",
                       schema, TP_STATE_SCHEMA);
    if (strcmp(layout, ours) != 0)
        return tp_fail(err, TP_E_UNSUPPORTED, 0,
                       "a state of another machine or build: its numbers are "
                       "laid out as %s, not %s",
                       layout, ours);
    return TP_OK;
}

static enum tp_status fail_changed(struct tp_error *err)
{
    return tp_fail(err, TP_E_DAMAGED, -1,
                   "a damaged state: its bytes are not those that were "
                   "written");
}

/* The next bytes of the file. */
static enum tp_status read_next(struct input *in, unsigned char *into,
                                uint64_t size)
{
    while (size > 0) {
        const size_t most = size < CHUNK ? (size_t)size : CHUNK;
        tp_memory_ready(into, most);
        const ssize_t got = pread(in->fd, into, most, (off_t)in->at);
        if (got < 0)
            return tp_fail_errno(in->err, "cannot read it");
        if (got == 0)
            return fail_changed(in->err);
        in->crc = libdeflate_crc32(in->crc, into, (size_t)got);
        in->at += (uint64_t)got;
        into += got;
        size -= (uint64_t)got;
    }
    return TP_OK;
}

/* What lies between parts. */
static enum tp_status skip_to(struct input *in, uint64_t offset)
{
    enum { ROOM = 4096 };
    unsigned char bytes[ROOM];
    enum tp_status status = TP_OK;
    while (in->at < offset && status == TP_OK)
        status = read_next(in, bytes,
                           offset - in->at < ROOM ? offset - in->at : ROOM);
    return status;
}

/* A part that was deflated, by way of `room`. */
static enum tp_status inflate_next(struct input *in,
                                   const struct tp_state_place *place,
                                   struct tp_state_bytes *room,
                                   unsigned char *into)
{
    const size_t size = (size_t)place->size;
    enum tp_status status = tp_state_bytes_room(room, size, in->err);
    if (status == TP_OK)
        status = read_next(in, room->data, size);
    if (status != TP_OK)
        return status;
    struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
    if (!inflater)
        return tp_fail_memory(in->err);
    if (libdeflate_zlib_decompress(inflater, room->data, size, into,
                                   (size_t)place->full,
                                   NULL) != LIBDEFLATE_SUCCESS)
        status = fail_changed(in->err);
    libdeflate_free_decompressor(inflater);
    return status;
}

static enum tp_status read_part(struct input *in, int part,
                                const struct tp_state_place *place,
                                struct tp_state_image *image)
{
    const size_t size = (size_t)place->full;
    enum tp_status status = skip_to(in, place->offset);
    if (status == TP_OK)
        status = tp_state_part_make(image, part, size, in->arena, in->err);
    if (status != TP_OK)
        return status;
    unsigned char *data = image->parts[part].data;
    return place->size == place->full
               ? read_next(in, data, size)
               : inflate_next(in, place, &image->deflated, data);
}

/* Whether a part may lie there, deflated or not. */
static bool is_place(const struct input *in, int part,
                     const struct tp_state_place *place)
{
    return place->offset >= TP_STATE_BLOCK && place->offset <= in->end &&
           place->size <= in->end - place->offset &&
           place->size <= place->full &&
           place->full / TP_LIMIT_DEFLATE_RATIO <= place->size &&
           place->full % tp_state_part_unit(part) == 0;
}

/* What the lines say of a part; false: it cannot lie there. */
static bool find_place(const char *block, const struct input *in, int part,
                       struct tp_state_place *place)
{
    char name[32], value[64], *end;
    snprintf(name, sizeof name, "part %s", tp_state_part_name(part));
    line_of(block, name, value);
    place->offset = strtoull(value, &end, 10);
    place->size = strtoull(end, &end, 10);
    place->full = strtoull(end, NULL, 10);
    return is_place(in, part, place);
}

/* The parts in the order of their places, which are within the file and do not
 * overlap; false: they are not. */
static bool order_parts(const char *block, const struct input *in,
                        struct tp_state_place places[TP_STATE_PARTS],
                        int order[TP_STATE_PARTS])
{
    for (int i = 0; i < TP_STATE_PARTS; i++) {
        int k = i;
        if (!find_place(block, in, i, &places[i]))
            return false;
        for (;
             k > 0 && places[order[k - 1]].offset + places[order[k - 1]].size >
                          places[i].offset;
             k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    for (int i = 1; i < TP_STATE_PARTS; i++) {
        const struct tp_state_place *before = &places[order[i - 1]];
        if (before->offset + before->size > places[order[i]].offset)
            return false;
    }
    return true;
}

/* The lines before that of the CRC-32, which is the last; behind it there is
 * nothing. */
static bool find_crc(const char *block, size_t *length, uint32_t *crc)
{
    const char *line = strstr(block, "\ncrc32 ");
    char *end;
    if (!line)
        return false;
    *length = (size_t)(line + 1 - block);
    *crc = (uint32_t)strtoul(line + strlen("\ncrc32 "), &end, 16);
    const char *rest = end + (*end == '\n');
    while (rest < block + TP_STATE_BLOCK && !*rest)
        rest++;
    return *end == '\n' && rest == block + TP_STATE_BLOCK;
}

/* Everything behind the user block. */
static enum tp_status read_parts(struct input *in, const char *block,
                                 struct tp_state_image *image)
{
    struct tp_state_place places[TP_STATE_PARTS];
    int order[TP_STATE_PARTS];
    char whole[64];
    size_t length;
    uint32_t crc;
    if (!find_crc(block, &length, &crc) ||
        !order_parts(block, in, places, order))
        return fail_changed(in->err);
    enum tp_status status = TP_OK;
    in->crc = libdeflate_crc32(0, block, length);
    for (int i = 0; i < TP_STATE_PARTS && status == TP_OK; i++)
        status = read_part(in, order[i], &places[order[i]], image);
    if (status == TP_OK)
        status = skip_to(in, in->end);
    if (status == TP_OK && in->crc != crc)
        status = fail_changed(in->err);
    line_of(block, "whole", whole);
    image->whole = strcmp(whole, "yes") == 0;
    return status;
}

static enum tp_status read_file(struct input *in, struct tp_state_image *image)
{
    char block[TP_STATE_BLOCK + 1] = "", bytes[64];
    struct stat info;
    const ssize_t got = pread(in->fd, block, TP_STATE_BLOCK, 0);
    if (got < 0 || fstat(in->fd, &info) != 0)
        return tp_fail_errno(in->err, "cannot read it");
    if (got == 0) /* as mktemp makes it */
        return tp_fail(in->err, TP_E_NOT_FOUND, 0, "an empty file: no state");
    enum tp_status status = check_block(block, image->traces, in->err);
    if (status != TP_OK)
        return status;
    line_of(block, "bytes", bytes);
    in->at = TP_STATE_BLOCK;
    in->end = strtoull(bytes, NULL, 10);
    if ((uint64_t)info.st_size < in->end || got < TP_STATE_BLOCK)
        return tp_fail(in->err, TP_E_DAMAGED, (int64_t)info.st_size,
                       "a state that is cut off: %" PRIu64 " of %" PRIu64
                       " bytes are there",
                       (uint64_t)info.st_size, in->end);
    if ((uint64_t)info.st_size > in->end || in->end < TP_STATE_BLOCK)
        return fail_changed(in->err);
    return read_parts(in, block, image);
}

enum tp_status tp_state_image_read(const char *path, struct tp_arena *arena,
                                   struct tp_state_image *image,
                                   struct tp_error *err)
{
    struct input in = {.fd = tp_file_open(path), .arena = arena, .err = err};
    if (in.fd < 0)
        return errno == ENOENT
                   ? tp_fail(err, TP_E_NOT_FOUND, -1, "no such file")
               : errno == EINVAL
                   ? tp_fail(err, TP_E_IO, -1, "not a regular file")
                   : tp_fail_errno(err, "cannot read it");
    enum tp_status status = read_file(&in, image);
    close(in.fd);
    return status;
}

/* The first lines of what begins as a state does; false: nothing does. */
static bool peek(const char *path, char block[TP_STATE_BLOCK + 1],
                 uint64_t *size)
{
    struct stat info;
    const int fd = tp_file_open(path);
    memset(block, 0, TP_STATE_BLOCK + 1);
    if (fd < 0)
        return false;
    const bool begins = fstat(fd, &info) == 0 &&
                        pread(fd, block, TP_STATE_BLOCK, 0) > 0 &&
                        strncmp(block, first_line, strlen(first_line)) == 0;
    *size = begins ? (uint64_t)info.st_size : 0;
    close(fd);
    return begins;
}

bool tp_state_image_holds_traces(const char *path)
{
    char block[TP_STATE_BLOCK + 1], holds[64];
    uint64_t size;
    if (!peek(path, block, &size))
        return false;
    line_of(block, "holds", holds);
    return strcmp(holds, "traces") == 0;
}

void tp_state_image_counts(const char *path, size_t *rows, size_t *files)
{
    char block[TP_STATE_BLOCK + 1];
    struct input in = {.fd = -1};
    struct tp_state_place place;
    *rows = *files = 0;
    if (!peek(path, block, &in.end))
        return;
    if (find_place(block, &in, TP_STATE_ROWS, &place))
        *rows = (size_t)(place.full / tp_state_part_unit(TP_STATE_ROWS));
    if (find_place(block, &in, TP_STATE_FILES, &place))
        *files = (size_t)(place.full / tp_state_part_unit(TP_STATE_FILES));
}
