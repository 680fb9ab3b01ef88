/* SPDX-License-Identifier: MIT */
#include "formats/torch/zip_range.h"

#include <stdlib.h>
#include <string.h>

/*
 * Where an archive ends and starts. It ends with
 *
 *     the directory     one entry for each record
 *     zip64 end         of 56 bytes, if the zip64 locator follows
 *     zip64 locator     of 20 bytes, may be absent
 *     end record        of 22 bytes
 *     comment           up to 65535 bytes, normally none
 *
 * and the end records tell how large the directory is and how far from the
 * archive's start it is. So the last end record is looked for backwards, as far
 * as a comment may reach; a candidate holds only if a directory stands where it
 * says. To walk the records from the front would have to believe their sizes,
 * which may be zero there. Cost: 64 KiB of reading for each archive.
 */

enum {
    END_BYTES = 22,
    LOCATOR_BYTES = 20,
    END64_BYTES = 56,
    COMMENT_MAX = 65535
};

static const unsigned char END[] = {'P', 'K', 5, 6};
static const unsigned char LOCATOR[] = {'P', 'K', 6, 7};
static const unsigned char END64[] = {'P', 'K', 6, 6};
static const unsigned char ENTRY[] = {'P', 'K', 1, 2};
static const unsigned char RECORD[] = {'P', 'K', 3, 4};

static bool is_mark(const unsigned char *p, const unsigned char mark[4])
{
    return memcmp(p, mark, 4) == 0;
}

static uint64_t number(const unsigned char *p, int bytes)
{
    uint64_t value = 0;
    while (bytes-- > 0)
        value = value << 8 | p[bytes];
    return value;
}

/*
 * Finds the end record in `tail`, the `length` bytes before `end`: the one
 * whose comment reaches to `end`, else the last one that is whole. Returns
 * its place in tail, `length` for none.
 */
static size_t find_end(const unsigned char *tail, size_t length)
{
    size_t last = length;
    for (size_t at = length < END_BYTES ? 0 : length - END_BYTES + 1; at > 0;) {
        at--;
        if (!is_mark(tail + at, END))
            continue;
        size_t past = at + END_BYTES + (size_t)number(tail + at + 20, 2);
        if (past == length)
            return at;
        if (past < length && last == length)
            last = at;
    }
    return last;
}

/*
 * Finds where the archive starts whose end record is `record`, at byte `at`:
 * 0 when the directory is not where it says.
 */
static enum tp_status find_start(const struct tp_bytes *bytes, uint64_t at,
                                 const unsigned char *record,
                                 struct tp_zip_range *range,
                                 struct tp_error *err)
{
    unsigned char extra[END64_BYTES + LOCATOR_BYTES], mark[4];
    uint64_t size = number(record + 12, 4), offset = number(record + 16, 4);
    enum tp_status status = TP_OK;
    range->start = range->directory = range->directory_end = 0;
    if (at >= sizeof extra) {
        status =
            tp_bytes_read(bytes, at - sizeof extra, extra, sizeof extra, err);
        if (status != TP_OK)
            return status;
        if (is_mark(extra, END64) && is_mark(extra + END64_BYTES, LOCATOR)) {
            at -= sizeof extra;
            size = number(extra + 40, 8);
            offset = number(extra + 48, 8);
        }
    }
    if (size > at || offset > at - size)
        return TP_OK;
    range->directory = at - size;
    range->directory_end = at;
    if (at - size - offset == 0)
        return TP_OK;
    /* A start that is not the file's is believed when both are there. */
    uint64_t first = at - size - offset;
    status = tp_bytes_read(bytes, at - size, mark, sizeof mark, err);
    if (status != TP_OK || (size > 0 && !is_mark(mark, ENTRY)))
        return status;
    status = tp_bytes_read(bytes, first, mark, sizeof mark, err);
    if (status == TP_OK &&
        (is_mark(mark, RECORD) || (offset == 0 && size == 0)))
        range->start = first;
    return status;
}

static enum tp_status find_in_tail(const struct tp_bytes *bytes, uint64_t end,
                                   size_t length, struct tp_zip_range *range,
                                   struct tp_error *err)
{
    unsigned char *tail = malloc(length + 1);
    if (!tail)
        return tp_fail_memory(err);
    enum tp_status status =
        tp_bytes_read(bytes, end - length, tail, length, err);
    size_t at = status == TP_OK ? find_end(tail, length) : length;
    if (status == TP_OK && at == length)
        status = tp_fail(err, TP_E_NOT_FOUND, (int64_t)end,
                         "no zip archive ends here");
    if (status == TP_OK) {
        range->end = end - length + at + END_BYTES + number(tail + at + 20, 2);
        status = find_start(bytes, end - length + at, tail + at, range, err);
    }
    free(tail);
    return status;
}

enum tp_status tp_zip_last(const struct tp_bytes *bytes, uint64_t end,
                           struct tp_zip_range *range, struct tp_error *err)
{
    size_t most = END_BYTES + COMMENT_MAX;
    size_t length = end < END_BYTES ? (size_t)end : END_BYTES;
    enum tp_status status = find_in_tail(bytes, end, length, range, err);
    if (status != TP_E_NOT_FOUND)
        return status;
    return find_in_tail(bytes, end, end < most ? (size_t)end : most, range,
                        err);
}

bool tp_zip_is(const unsigned char *head, size_t length)
{
    return length >= sizeof RECORD &&
           (is_mark(head, RECORD) || is_mark(head, END));
}

void tp_zip_names_plain(unsigned char *directory, size_t size)
{
    enum { ENTRY_BYTES = 46, LENGTHS = 28 };
    unsigned char *p = directory;
    while (size >= ENTRY_BYTES && is_mark(p, ENTRY)) {
        size_t lengths[3]; /* of name, extra field and comment */
        for (size_t i = 0; i < 3; i++)
            lengths[i] = (size_t)number(p + LENGTHS + 2 * i, 2);
        const size_t step = ENTRY_BYTES + lengths[0] + lengths[1] + lengths[2];
        if (step > size)
            return;
        for (size_t i = ENTRY_BYTES; i < ENTRY_BYTES + lengths[0]; i++) {
            if (p[i] < ' ' || p[i] > '~')
                p[i] = '?';
        }
        p += step;
        size -= step;
    }
}
