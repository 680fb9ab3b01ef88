/* SPDX-License-Identifier: MIT */
/*
 * The file of a state, written: what it is, state_image.h and state_image.c
 * say. The library finds places for the parts, which are looked for, as some of
 * its versions tell them otherwise; the lines before them come last.
 */
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

#include "base/apart.h"
#include "base/file.h"
#include "state/state_image.h"

enum { CHUNK = 1 << 18, WORD = 8 };

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
    const bool words = tp_state_part_unit(part) > 1;
    *count =
        members && size <= UINT32_MAX ? size / tp_state_part_unit(part) : 0;
    if (*count == 0) {
        *count = words ? size / WORD : size;
        return H5Tcopy(words ? H5T_NATIVE_UINT64 : H5T_NATIVE_UINT8);
    }
    const hid_t type = columns_of(members, *count);
    *count = 1;
    return type;
}

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
        bytes->size < TP_STATE_BLOCK || bytes->size > DEFLATE_MOST)
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
    const hid_t set =
        done ? H5Dcreate2(file, tp_state_part_name(part), type, space,
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
                       const struct stored *stored,
                       struct tp_state_place *place)
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
    *place = (struct tp_state_place){TP_STATE_BLOCK, stored->size, bytes->size};
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
                       struct tp_state_place places[TP_STATE_PARTS])
{
    for (int i = 0; i < TP_STATE_PARTS; i++) {
        if (is_at(fd, places[i].offset, &stored[i]))
            continue;
        places[i].offset += TP_STATE_BLOCK;
        if (!is_at(fd, places[i].offset, &stored[i]))
            return false;
    }
    return true;
}

static bool write_hdf5(const char *path, const struct tp_state_image *image,
                       const struct stored *stored,
                       struct tp_state_place places[TP_STATE_PARTS])
{
    const hid_t properties = H5Pcreate(H5P_FILE_CREATE);
    hid_t file = -1;
    if (properties >= 0 && H5Pset_userblock(properties, TP_STATE_BLOCK) >= 0)
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
    off_t at = TP_STATE_BLOCK;
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
                        struct tp_state_place places[TP_STATE_PARTS])
{
    char block[TP_STATE_BLOCK] = "", layout[TP_STATE_LAYOUT_BYTES];
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
        used +=
            (size_t)snprintf(block + used, sizeof block - used,
                             "part %s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                             tp_state_part_name(i), places[i].offset,
                             places[i].size, places[i].full);
    uint32_t crc = libdeflate_crc32(0, block, used);
    done = done && add_rest(fd, &crc);
    snprintf(block + used, sizeof block - used, "crc32 %08" PRIx32 "\n", crc);
    done = done && pwrite(fd, block, sizeof block, 0) == (ssize_t)sizeof block;
    return close(fd) == 0 && done;
}

/* A line is of a name of 8 and three numbers of at most 14 digits, 100 TB. */
_Static_assert(TP_STATE_PARTS *(sizeof "part 12345678   \n" + 42) + 200 <=
                   TP_STATE_BLOCK,
               "the lines fit");

static bool write_file(const char *path, const struct tp_state_image *image)
{
    struct stored stored[TP_STATE_PARTS];
    struct tp_state_place places[TP_STATE_PARTS];
    for (int i = 0; i < TP_STATE_PARTS; i++)
        deflate_part(i, &image->parts[i], &stored[i]);
    const bool done = write_hdf5(path, image, stored, places) &&
                      write_block(path, image, stored, places);
    for (int i = 0; i < TP_STATE_PARTS; i++)
        free(stored[i].deflated);
    return done;
}

struct work {
    const char *path, *aside;
    const struct tp_state_image *image;
};

static enum tp_status write_apart(void *context, struct tp_error *err)
{
    const struct work *work = context;
    /* its exit handler crashes on a file that could not be written, and it
     * prints its own account of what fails */
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    errno = 0;
    if (write_file(work->aside, work->image))
        return TP_OK;
    return errno ? tp_fail_errno(err, "cannot write %s", work->path)
                 : tp_fail(err, TP_E_IO, -1, "cannot write %s", work->path);
}

enum tp_status tp_state_image_write(const char *path,
                                    const struct tp_state_image *image,
                                    struct tp_error *err)
{
    char *aside = tp_file_aside(path);
    if (!aside)
        return tp_fail_memory(err);
    struct work work = {path, aside, image};
    enum tp_status status = /* the library may end the process */
        tp_apart(write_apart, &work, "cannot write the state: the HDF5 library",
                 err);
    if (status == TP_OK)
        status = tp_file_commit(aside, path, err);
    else
        unlink(aside);
    free(aside);
    return status;
}
