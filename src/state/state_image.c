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
#include <hdf5.h>
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

enum { BLOCK = 1024, CHUNK = 1 << 18, WORD = 8 };

static const char *const part_names[TP_STATE_PARTS] = {
    [TP_STATE_WORDS] = "words",     [TP_STATE_NAMES] = "names",
    [TP_STATE_FILES] = "files",     [TP_STATE_TIES] = "ties",
    [TP_STATE_ROWS] = "rows",       [TP_STATE_SKIPPED] = "skipped",
    [TP_STATE_NUMBERS] = "numbers", [TP_STATE_AXES] = "axes",
    [TP_STATE_MEMO] = "memo",       [TP_STATE_PROBLEMS] = "problems",
    [TP_STATE_RESULTS] = "results", [TP_STATE_OPTIONS] = "options",
    [TP_STATE_ROOTS] = "roots"};

/* Bytes of a unit of a part: a row of words, a word, or a byte. */
static size_t unit_of(int part)
{
    const struct tp_state_members *members = tp_state_members_of(part);
    if (members)
        return members->count * WORD;
    return part == TP_STATE_TIES || part == TP_STATE_PROBLEMS ? WORD : 1;
}

static hid_t base_of(enum tp_state_kind kind)
{
    return kind == TP_STATE_REAL    ? H5T_NATIVE_DOUBLE
           : kind == TP_STATE_INT64 ? H5T_NATIVE_INT64
                                    : H5T_NATIVE_UINT64;
}

/* What a part of words is one of: an array for each member. */
static hid_t columns_of(const struct tp_state_members *members, hsize_t count)
{
    const size_t size = (size_t)count * WORD;
    hid_t type = H5Tcreate(H5T_COMPOUND, members->count * size);
    for (size_t i = 0; type >= 0 && i < members->count; i++) {
        const struct tp_state_member *m = &members->members[i];
        const hid_t its = H5Tarray_create2(base_of(m->kind), 1, &count);
        const bool done =
            its >= 0 && H5Tinsert(type, m->name, i * size, its) >= 0;
        if (its >= 0)
            H5Tclose(its);
        if (!done) {
            H5Tclose(type);
            type = -1;
        }
    }
    return type;
}

/* The type of a part, and how many of it there are. A type of HDF5 ends at 4
 * GiB; words beyond that have no names. */
static hid_t type_of(int part, size_t size, hsize_t *count)
{
    const struct tp_state_members *members = tp_state_members_of(part);
    const bool words = unit_of(part) > 1;
    *count = members && size <= UINT32_MAX ? size / unit_of(part) : 0;
    if (*count == 0) {
        *count = words ? size / WORD : size;
        return H5Tcopy(words ? H5T_NATIVE_UINT64 : H5T_NATIVE_UINT8);
    }
    const hid_t type = columns_of(members, *count);
    *count = 1;
    return type;
}

/* Where a part lies in the file; it is deflated where that made it smaller. */
struct place {
    uint64_t offset, size;
    uint64_t full; /* bytes of the part itself                             */
};

/* --- writing -------------------------------------------------------------- */

/* A part as it is written. */
struct stored {
    void *deflated; /* NULL: as it is                                      */
    const void *bytes;
    size_t size;
};

/* Larger parts stay as they are: a chunk of HDF5 ends at 4 GiB. */
enum { DEFLATE_MOST = 1 << 30, DEFLATE_LEVEL = 1 };

static void deflate_part(int part, const struct tp_state_bytes *bytes,
                         struct stored *stored)
{
    *stored = (struct stored){NULL, bytes->data, bytes->size};
    if (part == TP_STATE_NUMBERS || part == TP_STATE_AXES ||
        bytes->size < BLOCK || bytes->size > DEFLATE_MOST)
        return;
    struct libdeflate_compressor *compressor =
        libdeflate_alloc_compressor(DEFLATE_LEVEL);
    void *room = malloc(bytes->size);
    const size_t size =
        compressor && room
            ? libdeflate_zlib_compress(compressor, bytes->data, bytes->size,
                                       room, bytes->size - 1)
            : 0;
    libdeflate_free_compressor(compressor);
    if (size)
        *stored = (struct stored){room, room, size};
    else
        free(room);
}

/* The dataset of a part, without its bytes. */
static hid_t make_set(hid_t file, int part, hid_t type, hsize_t count,
                      bool deflated)
{
    const hid_t space = H5Screate_simple(1, &count, NULL);
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    const unsigned level = DEFLATE_LEVEL;
    bool done = space >= 0 && properties >= 0 &&
                H5Pset_obj_track_times(properties, false) >= 0;
    if (done && deflated)
        done = H5Pset_chunk(properties, 1, &count) >= 0 &&
               H5Pset_filter(properties, H5Z_FILTER_DEFLATE, H5Z_FLAG_MANDATORY,
                             1, &level) >= 0;
    const hid_t set = done ? H5Dcreate2(file, part_names[part], type, space,
                                        H5P_DEFAULT, properties, H5P_DEFAULT)
                           : -1;
    if (properties >= 0)
        H5Pclose(properties);
    if (space >= 0)
        H5Sclose(space);
    return set;
}

/* Where the library put the bytes; some of its versions leave the user block
 * out. */
static uint64_t place_of(hid_t set, bool deflated)
{
    hsize_t first, size;
    haddr_t at = HADDR_UNDEF;
    unsigned mask;
    if (!deflated)
        return H5Dget_offset(set);
    const hid_t space = H5Dget_space(set);
    if (space < 0 ||
        H5Dget_chunk_info(set, space, 0, &first, &mask, &at, &size) < 0)
        at = HADDR_UNDEF;
    if (space >= 0)
        H5Sclose(space);
    return at;
}

static bool write_part(hid_t file, int part, const struct tp_state_bytes *bytes,
                       const struct stored *stored, struct place *place)
{
    const hsize_t first = 0;
    hsize_t count;
    const hid_t type = type_of(part, bytes->size, &count);
    const bool deflated = stored->deflated != NULL;
    const hid_t set =
        type >= 0 ? make_set(file, part, type, count, deflated) : -1;
    bool done = set >= 0;
    if (done && deflated)
        done = H5Dwrite_chunk(set, H5P_DEFAULT, 0, &first, stored->size,
                              stored->bytes) >= 0;
    else if (done && count)
        done = H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                        stored->bytes) >= 0;
    *place = (struct place){BLOCK, stored->size, bytes->size};
    if (done && count)
        place->offset = place_of(set, deflated);
    if (set >= 0)
        done = H5Dclose(set) >= 0 && done;
    if (type >= 0)
        H5Tclose(type);
    return done && place->offset != HADDR_UNDEF;
}

/* Whether these bytes stand there. */
static bool is_at(int fd, uint64_t offset, const struct stored *stored)
{
    unsigned char bytes[4096];
    size_t done = 0;
    while (done < stored->size) {
        const size_t left = stored->size - done;
        const ssize_t got =
            pread(fd, bytes, left < sizeof bytes ? left : sizeof bytes,
                  (off_t)(offset + done));
        if (got <= 0 ||
            memcmp(bytes, (const char *)stored->bytes + done, (size_t)got) != 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

/* Makes places count from the begin of the file. */
static bool find_parts(int fd, const struct stored *stored,
                       struct place places[TP_STATE_PARTS])
{
    for (int i = 0; i < TP_STATE_PARTS; i++) {
        if (is_at(fd, places[i].offset, &stored[i]))
            continue;
        places[i].offset += BLOCK;
        if (!is_at(fd, places[i].offset, &stored[i]))
            return false;
    }
    return true;
}

static bool write_hdf5(const char *path, const struct tp_state_image *image,
                       const struct stored *stored,
                       struct place places[TP_STATE_PARTS])
{
    const hid_t properties = H5Pcreate(H5P_FILE_CREATE);
    hid_t file = -1;
    if (properties >= 0 && H5Pset_userblock(properties, BLOCK) >= 0)
        file = H5Fcreate(path, H5F_ACC_TRUNC, properties, H5P_DEFAULT);
    bool done = file >= 0;
    for (int i = 0; i < TP_STATE_PARTS && done; i++)
        done = write_part(file, i, &image->parts[i], &stored[i], &places[i]);
    if (file >= 0)
        done = H5Fclose(file) >= 0 && done;
    if (properties >= 0)
        H5Pclose(properties);
    return done;
}

/* Adds to a CRC-32 what is behind the user block. */
static bool add_rest(int fd, uint32_t *crc)
{
    unsigned char *buffer = malloc(CHUNK);
    off_t at = BLOCK;
    ssize_t got = -1;
    while (buffer && (got = pread(fd, buffer, CHUNK, at)) > 0) {
        *crc = libdeflate_crc32(*crc, buffer, (size_t)got);
        at += got;
    }
    free(buffer);
    return got == 0;
}

/* The lines before the HDF5 file. */
static bool write_block(const char *path, const struct tp_state_image *image,
                        const struct stored *stored,
                        struct place places[TP_STATE_PARTS])
{
    char block[BLOCK] = "", layout[TP_STATE_LAYOUT_BYTES];
    struct stat info;
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool done = fstat(fd, &info) == 0 && find_parts(fd, stored, places);
    tp_state_layout(image->traces, layout);
    size_t used = (size_t)snprintf(
        block, sizeof block,
        "tprof-analyze state\nschema %d\nlayout %s\n%swhole %s\nbytes "
        "%" PRIu64 "\n",
        TP_STATE_SCHEMA, layout, image->traces ? "holds traces\n" : "",
        image->whole ? "yes" : "no", done ? (uint64_t)info.st_size : 0);
    for (int i = 0; i < TP_STATE_PARTS; i++)
        used += (size_t)snprintf(
            block + used, sizeof block - used,
            "part %s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", part_names[i],
            places[i].offset, places[i].size, places[i].full);
    uint32_t crc = libdeflate_crc32(0, block, used);
    done = done && add_rest(fd, &crc);
    snprintf(block + used, sizeof block - used, "crc32 %08" PRIx32 "\n", crc);
    done = done && pwrite(fd, block, sizeof block, 0) == (ssize_t)sizeof block;
    return close(fd) == 0 && done;
}

/* A line is of a name of 8 and three numbers of at most 14 digits, 100 TB. */
_Static_assert(TP_STATE_PARTS *(sizeof "part 12345678   \n" + 42) + 200 <=
                   BLOCK,
               "the lines fit");

static bool write_file(const char *path, const struct tp_state_image *image)
{
    struct stored stored[TP_STATE_PARTS];
    struct place places[TP_STATE_PARTS];
    for (int i = 0; i < TP_STATE_PARTS; i++)
        deflate_part(i, &image->parts[i], &stored[i]);
    const bool done = write_hdf5(path, image, stored, places) &&
                      write_block(path, image, stored, places);
    for (int i = 0; i < TP_STATE_PARTS; i++)
        free(stored[i].deflated);
    return done;
}

enum tp_status tp_state_image_write(const char *path,
                                    const struct tp_state_image *image,
                                    struct tp_error *err)
{
    char *aside = tp_file_aside(path);
    if (!aside)
        return tp_fail_memory(err);
    /* its exit handler crashes on a file that could not be written, and it
     * prints its own account of what fails */
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    errno = 0;
    enum tp_status status = TP_OK;
    if (write_file(aside, image)) {
        status = tp_file_commit(aside, path, err);
    } else {
        status = errno ? tp_fail_errno(err, "cannot write %s", path)
                       : tp_fail(err, TP_E_IO, -1, "cannot write %s", path);
        unlink(aside);
    }
    free(aside);
    return status;
}

/* --- reading -------------------------------------------------------------- */

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
static enum tp_status inflate_next(struct input *in, const struct place *place,
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
                                const struct place *place,
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
                     const struct place *place)
{
    return place->offset >= BLOCK && place->offset <= in->end &&
           place->size <= in->end - place->offset &&
           place->size <= place->full &&
           place->full / TP_LIMIT_DEFLATE_RATIO <= place->size &&
           place->full % unit_of(part) == 0;
}

/* What the lines say of a part; false: it cannot lie there. */
static bool find_place(const char *block, const struct input *in, int part,
                       struct place *place)
{
    char name[32], value[64], *end;
    snprintf(name, sizeof name, "part %s", part_names[part]);
    line_of(block, name, value);
    place->offset = strtoull(value, &end, 10);
    place->size = strtoull(end, &end, 10);
    place->full = strtoull(end, NULL, 10);
    return is_place(in, part, place);
}

/* The parts in the order of their places, which are within the file and do not
 * overlap; false: they are not. */
static bool order_parts(const char *block, const struct input *in,
                        struct place places[TP_STATE_PARTS],
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
        const struct place *before = &places[order[i - 1]];
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
    while (rest < block + BLOCK && !*rest)
        rest++;
    return *end == '\n' && rest == block + BLOCK;
}

/* Everything behind the user block. */
static enum tp_status read_parts(struct input *in, const char *block,
                                 struct tp_state_image *image)
{
    struct place places[TP_STATE_PARTS];
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
    char block[BLOCK + 1] = "", bytes[64];
    struct stat info;
    const ssize_t got = pread(in->fd, block, BLOCK, 0);
    if (got < 0 || fstat(in->fd, &info) != 0)
        return tp_fail_errno(in->err, "cannot read it");
    if (got == 0) /* as mktemp makes it */
        return tp_fail(in->err, TP_E_NOT_FOUND, 0, "an empty file: no state");
    enum tp_status status = check_block(block, image->traces, in->err);
    if (status != TP_OK)
        return status;
    line_of(block, "bytes", bytes);
    in->at = BLOCK;
    in->end = strtoull(bytes, NULL, 10);
    if ((uint64_t)info.st_size < in->end || got < BLOCK)
        return tp_fail(in->err, TP_E_DAMAGED, (int64_t)info.st_size,
                       "a state that is cut off: %" PRIu64 " of %" PRIu64
                       " bytes are there",
                       (uint64_t)info.st_size, in->end);
    if ((uint64_t)info.st_size > in->end || in->end < BLOCK)
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
static bool peek(const char *path, char block[BLOCK + 1], uint64_t *size)
{
    struct stat info;
    const int fd = tp_file_open(path);
    memset(block, 0, BLOCK + 1);
    if (fd < 0)
        return false;
    const bool begins = fstat(fd, &info) == 0 &&
                        pread(fd, block, BLOCK, 0) > 0 &&
                        strncmp(block, first_line, strlen(first_line)) == 0;
    *size = begins ? (uint64_t)info.st_size : 0;
    close(fd);
    return begins;
}

bool tp_state_image_holds_traces(const char *path)
{
    char block[BLOCK + 1], holds[64];
    uint64_t size;
    if (!peek(path, block, &size))
        return false;
    line_of(block, "holds", holds);
    return strcmp(holds, "traces") == 0;
}

void tp_state_image_counts(const char *path, size_t *rows, size_t *files)
{
    char block[BLOCK + 1];
    struct input in = {.fd = -1};
    struct place place;
    *rows = *files = 0;
    if (!peek(path, block, &in.end))
        return;
    if (find_place(block, &in, TP_STATE_ROWS, &place))
        *rows = (size_t)(place.full / unit_of(TP_STATE_ROWS));
    if (find_place(block, &in, TP_STATE_FILES, &place))
        *files = (size_t)(place.full / unit_of(TP_STATE_FILES));
}
