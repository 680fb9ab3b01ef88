/* SPDX-License-Identifier: MIT */
#include "scan/scan_crc.h"

#include <libdeflate.h>
#include <zlib.h>

#include "data/tensor_parts.h"

/*
 * Each range has the CRC-32 of its bytes, and those of neighbours are combined
 * in order by multiplying polynomials (zlib's crc32_combine), which takes a
 * microsecond. So all workers compute the checksum, while the pieces are in
 * their caches (libdeflate); a thread of its own that reads once more would be
 * what a scan waits for. A storage that is read in another order than it lies
 * in the file, a transposed one or a part of a tensor, is read once more.
 */

struct part {
    uint64_t bytes;
    uint32_t crc;
};

static void take_piece(const struct tp_pass *pass, const struct tp_piece *piece,
                       const void *state, void *part, void *scratch)
{
    struct part *its = part;
    const size_t skip = (size_t)(piece->fresh - piece->begin) * pass->size;
    const size_t bytes = (size_t)(piece->end - piece->fresh) * pass->size;
    (void)state, (void)scratch;
    its->crc = libdeflate_crc32(its->crc, piece->codes + skip, bytes);
    its->bytes += bytes;
}

static void merge(void *state, const void *part)
{
    struct tp_crc *crc = state;
    const struct part *its = part;
    crc->crc = (uint32_t)crc32_combine(crc->crc, its->crc, (z_off_t)its->bytes);
}

const struct tp_sink tp_sink_crc = {.part_size = sizeof(struct part),
                                    .light = true,
                                    .piece = take_piece,
                                    .merge = merge};

static bool has_unchecked(const struct tp_storage *storage)
{
    return storage && storage->has_crc32 && !storage->crc_checked;
}

struct tp_crc tp_crc_of(const struct tp_pass *pass)
{
    const struct tp_tensor *tensor = pass->walk.tensor;
    const struct tp_storage *storage = tensor->storage;
    const struct tp_storage *part;
    for (size_t i = 0; (part = tp_joined_part(storage, i)); i++) {
        if (has_unchecked(part))
            return (struct tp_crc){.apart = true};
    }
    if (!has_unchecked(storage))
        return (struct tp_crc){.crc = 0};
    const bool along =
        pass->walk.dense && tensor->offset == 0 && !tensor->conjugated &&
        !tensor->negated && !storage->big_endian &&
        (uint64_t)pass->walk.count * pass->size == storage->size;
    return (struct tp_crc){.along = along, .apart = !along};
}

enum tp_status tp_crc_judge(const struct tp_crc *crc,
                            const struct tp_pass *pass)
{
    struct tp_storage *storage = pass->walk.tensor->storage;
    if (crc->crc != storage->crc32)
        return tp_fail(pass->err, TP_E_DAMAGED, storage->file_offset,
                       "wrong CRC-32%s%s: stored %08x, computed %08x",
                       storage->member ? " in " : "",
                       storage->member ? storage->member : "",
                       (unsigned)storage->crc32, (unsigned)crc->crc);
    storage->crc_checked = true;
    return TP_OK;
}

/* Reads a storage as a tensor of bytes. */
static enum tp_status check_storage(const struct tp_pass *pass,
                                    struct tp_storage *storage)
{
    const int64_t size = (int64_t)storage->size, stride = 1;
    struct tp_tensor bytes = {.path = "",
                              .dtype = TP_UINT8,
                              .ndim = 1,
                              .shape = &size,
                              .stride = &stride,
                              .numel = size,
                              .storage = storage};
    struct tp_pass reading;
    struct tp_crc crc = {.crc = 0};
    const struct tp_sink_use use = {&tp_sink_crc, &crc, 1};
    tp_pass_init(&reading, pass->readers, pass->worker, &bytes, pass->err);
    enum tp_status status = tp_pass_run(&reading, &use, 1);
    return status == TP_OK ? tp_crc_judge(&crc, &reading) : status;
}

enum tp_status tp_crc_check_apart(const struct tp_pass *pass)
{
    struct tp_storage *storage = pass->walk.tensor->storage, *part;
    enum tp_status status = TP_OK;
    if (storage->has_crc32)
        return check_storage(pass, storage);
    for (size_t i = 0;
         status == TP_OK && (part = tp_joined_part(storage, i)); i++) {
        if (has_unchecked(part))
            status = check_storage(pass, part);
    }
    return status;
}
