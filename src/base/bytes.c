/* SPDX-License-Identifier: MIT */
#include "base/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

/* One read instead of a dozen small ones; most dumped tensors are smaller. */
enum { WHOLE_FILE_BYTES = 128 << 10 };

static enum tp_status read_fd(int fd, uint64_t offset, void *buffer,
                              size_t length, struct tp_error *err)
{
    size_t done = 0;
    while (done < length) {
        ssize_t got = pread(fd, (char *)buffer + done, length - done,
                            (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return tp_fail_errno(err, "cannot read at byte %" PRIu64,
                                 offset + done);
        if (got == 0)
            return tp_fail(err, TP_E_CHANGED, (int64_t)(offset + done),
                           "the file became shorter while it was read");
        done += (size_t)got;
    }
    return TP_OK;
}

enum tp_status tp_bytes_unchanged(const struct tp_bytes *bytes,
                                  struct tp_error *err)
{
    struct stat info;
    if (bytes->fd < 0)
        return TP_OK;
    if (fstat(bytes->fd, &info) < 0)
        return tp_fail_errno(err, "cannot stat");
    const uint64_t size = (uint64_t)info.st_size;
    if (size != bytes->size)
        return tp_fail(err, TP_E_CHANGED,
                       (int64_t)(size < bytes->size ? size : bytes->size),
                       "the file became %s while it was read, %" PRIu64
                       " bytes instead of %" PRIu64,
                       size < bytes->size ? "shorter" : "longer", size,
                       bytes->size);
    if (tp_file_modified(&info) != bytes->modified)
        return tp_fail(err, TP_E_CHANGED, -1,
                       "the file was written to while it was read");
    return info.st_nlink > 0
               ? TP_OK
               : tp_fail(err, TP_E_CHANGED, -1,
                         "the file was removed or replaced while it was read");
}

enum tp_status tp_bytes_take(int fd, struct tp_bytes *bytes,
                             struct tp_error *err)
{
    struct stat info;
    *bytes = (struct tp_bytes){.fd = fd};
    if (fstat(fd, &info) < 0)
        return tp_fail_errno(err, "cannot stat");
    if (!S_ISREG(info.st_mode))
        return tp_fail(err, TP_E_IO, -1, "not a regular file");
    bytes->size = (uint64_t)info.st_size;
    bytes->modified = tp_file_modified(&info);
    return TP_OK;
}

static enum tp_status load_whole(struct tp_bytes *bytes, struct tp_error *err)
{
    bytes->owned = malloc(bytes->size ? bytes->size : 1);
    if (!bytes->owned)
        return tp_fail_memory(err);
    enum tp_status status =
        read_fd(bytes->fd, 0, bytes->owned, bytes->size, err);
    if (status == TP_OK)
        status = tp_bytes_unchanged(bytes, err);
    if (status == TP_OK)
        bytes->memory = bytes->owned;
    close(bytes->fd);
    bytes->fd = -1;
    return status;
}

enum tp_status tp_bytes_open(const char *path, struct tp_bytes *bytes,
                             struct tp_error *err)
{
    memset(bytes, 0, sizeof *bytes);
    /* O_NONBLOCK: a named pipe must not hang the run. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return tp_fail_errno(err, "cannot open");
    enum tp_status status = tp_bytes_take(fd, bytes, err);
    if (status == TP_OK && bytes->size <= WHOLE_FILE_BYTES)
        status = load_whole(bytes, err);
    if (status != TP_OK)
        tp_bytes_close(bytes);
    return status;
}

void tp_bytes_view(const void *memory, size_t size, struct tp_bytes *bytes)
{
    memset(bytes, 0, sizeof *bytes);
    bytes->fd = -1;
    bytes->size = size;
    bytes->memory = memory ? memory : (const void *)"";
}

void tp_bytes_close(struct tp_bytes *bytes)
{
    /* fd 0 belongs to a zeroed object unless memory says otherwise */
    if (bytes->fd > 0)
        close(bytes->fd);
    free(bytes->owned);
    memset(bytes, 0, sizeof *bytes);
    bytes->fd = -1;
}

enum tp_status tp_bytes_read(const struct tp_bytes *bytes, uint64_t offset,
                             void *buffer, size_t length, struct tp_error *err)
{
    if (offset > bytes->size || length > bytes->size - offset)
        return tp_fail(err, TP_E_DAMAGED, (int64_t)bytes->size,
                       "the file ends at byte %" PRIu64 ", but %zu bytes from "
                       "byte %" PRIu64 " are needed",
                       bytes->size, length, offset);
    if (bytes->memory) {
        if (length)
            memcpy(buffer, bytes->memory + offset, length);
        return TP_OK;
    }
    return read_fd(bytes->fd, offset, buffer, length, err);
}

enum tp_status tp_bytes_load(const char *path, const char *what, size_t limit,
                             char **text, size_t *length, struct tp_error *err)
{
    struct tp_bytes bytes;
    *text = NULL;
    enum tp_status status = tp_bytes_open(path, &bytes, err);
    if (status == TP_OK && bytes.size > limit)
        status =
            tp_fail(err, TP_E_LIMIT, -1,
                    "%s has at most %zu bytes, this has more", what, limit);
    *length = (size_t)bytes.size;
    if (status == TP_OK && !(*text = malloc(*length + 1)))
        status = tp_fail_memory(err);
    if (status == TP_OK)
        status = tp_bytes_read(&bytes, 0, *text, *length, err);
    if (status != TP_OK) {
        tp_error_in_file(err, path);
        free(*text);
        *text = NULL;
    }
    tp_bytes_close(&bytes);
    return status;
}
