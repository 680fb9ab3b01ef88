/* SPDX-License-Identifier: MIT */
#ifndef TP_TORCH_ZIP_RANGE_H
#define TP_TORCH_ZIP_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"

/*
 * An archive's place in the input: bytes [start, end). Its directory is at
 * [directory, directory_end), an empty range when that is not known.
 */
struct tp_zip_range {
    uint64_t start, end;
    uint64_t directory, directory_end;
};

/*
 * Finds the last archive in the first `end` bytes of the input: archives may
 * follow one another in a file, and the directory at the end of each tells
 * how long it is. Bytes [range->end, end) are behind it and part of none; as
 * many as an archive's comment may have are searched through. Fails with
 * TP_E_NOT_FOUND or TP_E_IO.
 */
enum tp_status tp_zip_last(const struct tp_bytes *bytes, uint64_t end,
                           struct tp_zip_range *range, struct tp_error *err);

/* Whether an archive may start here. */
bool tp_zip_is(const unsigned char *head, size_t length);

/*
 * Makes the names of all entries of a directory plain: libzip calls an archive
 * inconsistent when a name holds a control character and is said to be UTF-8,
 * but torch names the top folder after the file, whatever that is called.
 */
void tp_zip_names_plain(unsigned char *directory, size_t size);

#endif
