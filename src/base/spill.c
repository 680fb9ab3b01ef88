/* SPDX-License-Identifier: MIT */
#include "base/spill.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum tp_status tp_spill_open(struct tp_bytes *spill, struct tp_error *err)
{
    const char *folder = getenv("TMPDIR");
    char name[4096];
    int length = snprintf(name, sizeof name, "%s/tprof-XXXXXX",
                          folder && *folder ? folder : "/tmp");
    *spill = (struct tp_bytes){.fd = -1};
    if (length < 0 || (size_t)length >= sizeof name)
        return tp_fail(err, TP_E_IO, -1, "TMPDIR is too long");
    spill->fd = mkstemp(name);
    if (spill->fd < 0)
        return tp_fail_errno(err, "cannot make the temporary file %s", name);
    unlink(name);
    return TP_OK;
}

enum tp_status tp_spill_room(const struct tp_bytes *spill, uint64_t more,
                             struct tp_error *err)
{
    struct statvfs disk;
    if (fstatvfs(spill->fd, &disk) < 0)
        return tp_fail_errno(err, "cannot ask for the room of a temporary "
                                  "file");
    uint64_t left = (uint64_t)disk.f_bavail * disk.f_frsize;
    if (more > left - left / 8)
        return tp_fail(err, TP_E_LIMIT, -1,
                       "unpacking %" PRIu64 " bytes takes more than the disk "
                       "of temporary files has left, %" PRIu64
                       "; set TMPDIR to a larger one",
                       more, left);
    return TP_OK;
}

/* Whether all bytes are zero: the first is, and each equals the next. */
static bool is_zero(const unsigned char *data, size_t length)
{
    return data[0] == 0 && memcmp(data, data + 1, length - 1) == 0;
}

/* Makes the file reach byte `end`. */
static enum tp_status reach(const struct tp_bytes *spill, uint64_t end,
                            struct tp_error *err)
{
    struct stat stat;
    if (fstat(spill->fd, &stat) < 0 ||
        ((uint64_t)stat.st_size < end && ftruncate(spill->fd, (off_t)end) < 0))
        return tp_fail_errno(err, "cannot write a temporary file");
    return TP_OK;
}

enum tp_status tp_spill_write(const struct tp_bytes *spill, uint64_t offset,
                              const unsigned char *data, size_t length,
                              struct tp_error *err)
{
    if (length == 0)
        return TP_OK;
    if (is_zero(data, length))
        return reach(spill, offset + length, err);
    for (size_t done = 0; done < length;) {
        ssize_t n = pwrite(spill->fd, data + done, length - done,
                           (off_t)(offset + done));
        if (n < 0 && errno != EINTR)
            return tp_fail_errno(err, "cannot write a temporary file");
        done += n > 0 ? (size_t)n : 0;
    }
    return TP_OK;
}
