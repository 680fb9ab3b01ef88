/* SPDX-License-Identifier: MIT */
/*
 * The file of a state. HDF5 so that other programs can look into it: each part
 * is a dataset, parts of words are compound rows with the members' names. They
 * are contiguous and not deflated: a merge reads 10^6 rows a second, more than
 * deflate gives, and what is written is read once or twice. HDF5 has no digest
 * of contiguous data, and the library trusts what it finds, so the whole file
 * is checked first, by length and CRC-32 in a user block of text before it.
 *
 * Alternative: a file format of our own, mapped, which nothing else can read.
 * Cost: two passes over the file to read it, one of them in memory by then.
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
#include "base/memory.h"

enum { BLOCK = 512, CHUNK = 1 << 20, WORD = 8 };

static const char *const part_names[TP_STATE_PARTS] = {
    [TP_STATE_WORDS] = "words",       [TP_STATE_NAMES] = "names",
    [TP_STATE_FILES] = "files",       [TP_STATE_TIES] = "ties",
    [TP_STATE_ROWS] = "rows",         [TP_STATE_SKIPPED] = "skipped",
    [TP_STATE_NUMBERS] = "numbers",   [TP_STATE_MEMO] = "memo",
    [TP_STATE_PROBLEMS] = "problems", [TP_STATE_RESULTS] = "results",
};

void tp_state_image_clear(struct tp_state_image *image)
{
    for (int i = 0; i < TP_STATE_PARTS; i++)
        free(image->parts[i].data);
    free(image->options);
    free(image->roots);
    memset(image, 0, sizeof *image);
}

size_t tp_state_room(size_t size)
{
    return (size + WORD - 1) / WORD * WORD;
}

enum tp_status tp_state_bytes_add(struct tp_state_bytes *part,
                                  const void *bytes, size_t size, uint64_t *at,
                                  struct tp_error *err)
{
    const size_t room = tp_state_room(size);
    if (tp_grow(&part->data, &part->capacity, part->size + room, 1, err) !=
        TP_OK)
        return TP_E_MEMORY;
    if (size)
        memcpy(part->data + part->size, bytes, size);
    if (room > size)
        memset(part->data + part->size + size, 0, room - size);
    if (at)
        *at = part->size;
    part->size += room;
    return TP_OK;
}

/* Bytes of a unit of a part: a row of words, a word, or a byte. */
static size_t unit_of(int part)
{
    const struct tp_state_members *members = tp_state_members_of(part);
    if (members)
        return members->count * WORD;
    return part == TP_STATE_TIES || part == TP_STATE_PROBLEMS ? WORD : 1;
}

static hid_t type_of(int part)
{
    const struct tp_state_members *members = tp_state_members_of(part);
    if (!members)
        return H5Tcopy(unit_of(part) == 1 ? H5T_NATIVE_UINT8
                                          : H5T_NATIVE_UINT64);
    hid_t type = H5Tcreate(H5T_COMPOUND, members->count * WORD);
    for (size_t i = 0; type >= 0 && i < members->count; i++) {
        const struct tp_state_member *m = &members->members[i];
        const hid_t its = m->kind == TP_STATE_REAL    ? H5T_NATIVE_DOUBLE
                          : m->kind == TP_STATE_INT64 ? H5T_NATIVE_INT64
                                                      : H5T_NATIVE_UINT64;
        if (H5Tinsert(type, m->name, i * WORD, its) < 0) {
            H5Tclose(type);
            return -1;
        }
    }
    return type;
}

/* --- writing -------------------------------------------------------------- */

static bool write_part(hid_t file, int part, const struct tp_state_bytes *bytes)
{
    const hsize_t count = bytes->size / unit_of(part);
    const hid_t type = type_of(part);
    const hid_t space = H5Screate_simple(1, &count, NULL);
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    hid_t set = -1;
    if (type >= 0 && space >= 0 && properties >= 0 &&
        H5Pset_obj_track_times(properties, false) >= 0)
        set = H5Dcreate2(file, part_names[part], type, space, H5P_DEFAULT,
                         properties, H5P_DEFAULT);
    bool done =
        set >= 0 && (count == 0 || H5Dwrite(set, type, H5S_ALL, H5S_ALL,
                                            H5P_DEFAULT, bytes->data) >= 0);
    if (set >= 0)
        done = H5Dclose(set) >= 0 && done;
    if (properties >= 0)
        H5Pclose(properties);
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    return done;
}

/* A text as bytes, which an attribute cannot have 64 KiB of. */
static bool write_text(hid_t file, const char *name, const char *text)
{
    const hsize_t count = strlen(text) + 1;
    const hid_t space = H5Screate_simple(1, &count, NULL);
    hid_t set = -1;
    if (space >= 0)
        set = H5Dcreate2(file, name, H5T_NATIVE_UINT8, space, H5P_DEFAULT,
                         H5P_DEFAULT, H5P_DEFAULT);
    bool done = set >= 0 && H5Dwrite(set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL,
                                     H5P_DEFAULT, text) >= 0;
    if (set >= 0)
        H5Dclose(set);
    if (space >= 0)
        H5Sclose(space);
    return done;
}

static bool write_hdf5(const char *path, const struct tp_state_image *image)
{
    const hid_t properties = H5Pcreate(H5P_FILE_CREATE);
    hid_t file = -1;
    if (properties >= 0 && H5Pset_userblock(properties, BLOCK) >= 0)
        file = H5Fcreate(path, H5F_ACC_TRUNC, properties, H5P_DEFAULT);
    bool done = file >= 0 && write_text(file, "options", image->options) &&
                write_text(file, "roots", image->roots) &&
                write_text(file, "whole", image->whole ? "yes" : "no");
    for (int i = 0; i < TP_STATE_PARTS && done; i++)
        done = write_part(file, i, &image->parts[i]);
    if (file >= 0)
        done = H5Fclose(file) >= 0 && done;
    if (properties >= 0)
        H5Pclose(properties);
    return done;
}

/* Length and CRC-32 of what is behind the user block. */
static bool check_rest(int fd, uint64_t *length, uint32_t *crc)
{
    unsigned char *buffer = malloc(CHUNK);
    ssize_t got = -1;
    *length = 0;
    *crc = libdeflate_crc32(0, NULL, 0);
    while (buffer &&
           (got = pread(fd, buffer, CHUNK, (off_t)(BLOCK + *length))) > 0) {
        *crc = libdeflate_crc32(*crc, buffer, (size_t)got);
        *length += (uint64_t)got;
    }
    free(buffer);
    return got == 0;
}

static bool write_block(const char *path)
{
    char block[BLOCK] = "", layout[TP_STATE_LAYOUT_BYTES];
    uint64_t length;
    uint32_t crc;
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool done = check_rest(fd, &length, &crc);
    tp_state_layout(layout);
    snprintf(block, sizeof block,
             "tprof-analyze state\nschema %d\nlayout %s\nbytes %" PRIu64
             "\ncrc32 %08" PRIx32 "\n",
             TP_STATE_SCHEMA, layout, length, crc);
    done = done && pwrite(fd, block, sizeof block, 0) == (ssize_t)sizeof block;
    return close(fd) == 0 && done;
}

/* The library prints its own account of what fails otherwise. */
static void be_quiet(void)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

enum tp_status tp_state_image_write(const char *path,
                                    const struct tp_state_image *image,
                                    struct tp_error *err)
{
    char *aside = tp_file_aside(path);
    if (!aside)
        return tp_fail_memory(err);
    be_quiet();
    errno = 0;
    enum tp_status status = TP_OK;
    if (write_hdf5(aside, image) && write_block(aside)) {
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

static enum tp_status check_block(const char *block, struct tp_error *err)
{
    char schema[64], layout[64], ours[TP_STATE_LAYOUT_BYTES];
    if (strncmp(block, "tprof-analyze state\n", 20) != 0)
        return tp_fail(err, TP_E_UNSUPPORTED, 0,
                       "no state of this program: it does not begin with "
                       "\"tprof-analyze state\"");
    line_of(block, "schema", schema);
    line_of(block, "layout", layout);
    tp_state_layout(ours);
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

/* Whether the file is as it was written. */
static enum tp_status check_file(const char *path, struct tp_error *err)
{
    char block[BLOCK + 1] = "", bytes[64], crc[64];
    uint64_t length;
    uint32_t its;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT
                   ? tp_fail(err, TP_E_NOT_FOUND, -1, "no such file")
                   : tp_fail_errno(err, "cannot read it");
    const ssize_t got = pread(fd, block, BLOCK, 0);
    enum tp_status status = TP_OK;
    if (got < 0 || !check_rest(fd, &length, &its))
        status = tp_fail_errno(err, "cannot read it");
    close(fd);
    if (status == TP_OK)
        status = check_block(block, err);
    if (status != TP_OK)
        return status;
    line_of(block, "bytes", bytes);
    line_of(block, "crc32", crc);
    const uint64_t all = strtoull(bytes, NULL, 10);
    if (length < all)
        return tp_fail(err, TP_E_DAMAGED, (int64_t)(BLOCK + length),
                       "a state that is cut off: %" PRIu64 " of %" PRIu64
                       " bytes are there",
                       length, all);
    if (!*crc || length != all || its != strtoul(crc, NULL, 16))
        return tp_fail(err, TP_E_DAMAGED, -1,
                       "a damaged state: its bytes are not those that were "
                       "written");
    return TP_OK;
}

static enum tp_status read_set(hid_t file, const char *name, hid_t type,
                               size_t unit, struct tp_state_bytes *bytes,
                               struct tp_error *err)
{
    const hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
    const hid_t space = set >= 0 ? H5Dget_space(set) : -1;
    const hssize_t count =
        space >= 0 ? H5Sget_simple_extent_npoints(space) : -1;
    enum tp_status status = TP_OK;
    if (count < 0 || (uint64_t)count > SIZE_MAX / 2 / unit)
        status = tp_fail(err, TP_E_DAMAGED, -1, "a state without %s", name);
    else if (!(bytes->data = malloc((size_t)count * unit + 1)))
        status = tp_fail_memory(err);
    else if (count &&
             H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes->data) < 0)
        status = tp_fail(err, TP_E_DAMAGED, -1,
                         "a state whose %s cannot be read", name);
    else
        bytes->size = bytes->capacity = (size_t)count * unit;
    if (space >= 0)
        H5Sclose(space);
    if (set >= 0)
        H5Dclose(set);
    return status;
}

static enum tp_status read_part(hid_t file, int part,
                                struct tp_state_bytes *bytes,
                                struct tp_error *err)
{
    const hid_t type = type_of(part);
    if (type < 0)
        return tp_fail_memory(err);
    enum tp_status status =
        read_set(file, part_names[part], type, unit_of(part), bytes, err);
    H5Tclose(type);
    return status;
}

static enum tp_status read_text(hid_t file, const char *name, char **text,
                                struct tp_error *err)
{
    struct tp_state_bytes bytes = {0};
    enum tp_status status =
        read_set(file, name, H5T_NATIVE_UINT8, 1, &bytes, err);
    if (status == TP_OK) /* there is a byte more, of zero */
        bytes.data[bytes.size] = '\0';
    *text = (char *)bytes.data;
    return status;
}

enum tp_status tp_state_image_read(const char *path,
                                   struct tp_state_image *image,
                                   struct tp_error *err)
{
    enum tp_status status = check_file(path, err);
    if (status != TP_OK)
        return status;
    be_quiet();
    char *whole = NULL;
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0)
        return tp_fail(err, TP_E_DAMAGED, -1, "a state that HDF5 cannot read");
    status = read_text(file, "options", &image->options, err);
    if (status == TP_OK)
        status = read_text(file, "roots", &image->roots, err);
    if (status == TP_OK)
        status = read_text(file, "whole", &whole, err);
    image->whole = whole && strcmp(whole, "yes") == 0;
    free(whole);
    for (int i = 0; i < TP_STATE_PARTS && status == TP_OK; i++)
        status = read_part(file, i, &image->parts[i], err);
    H5Fclose(file);
    return status;
}
