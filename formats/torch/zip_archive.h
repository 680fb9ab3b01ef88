/* SPDX-License-Identifier: MIT */
#ifndef TP_TORCH_ZIP_ARCHIVE_H
#define TP_TORCH_ZIP_ARCHIVE_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "data/tensor.h"
#include "formats/torch/zip_range.h"

/*
 * A zip archive over an input, read by libzip. Records that are stored are
 * found in the input and then read without libzip; records that are deflated
 * are inflated when they are first read.
 */
struct tp_zip;

/* Opens the last archive of the input, normally its only one; as tp_zip_open.
 */
enum tp_status tp_zip_open_only(const struct tp_bytes *bytes,
                                struct tp_zip **zip, struct tp_error *err);

/* One record, as the central directory tells. */
struct tp_zip_record {
    uint64_t index;
    uint64_t size;     /* bytes, inflated                                 */
    uint64_t packed;   /* bytes in the archive                            */
    uint32_t crc32;
    bool deflated;
    uint64_t start;    /* of a stored record's content in the input       */
};

/*
 * Opens the archive; the input stays open until it is closed. Fails with
 * TP_E_DAMAGED or TP_E_IO. Released with tp_zip_close.
 */
enum tp_status tp_zip_open(const struct tp_bytes *bytes,
                           const struct tp_zip_range *range,
                           struct tp_zip **zip, struct tp_error *err);
void tp_zip_close(struct tp_zip *zip);

/*
 * Number of records, and their names; NULL where there is none. In archives
 * that libzip refuses for their names, what is not ASCII is '?' in them.
 */
uint64_t tp_zip_count(const struct tp_zip *zip);
const char *tp_zip_name(struct tp_zip *zip, uint64_t index);

/*
 * Finds a record by its full name. Checks that it is stored or deflated, not
 * encrypted, that its size is possible, and that the records asked for
 * together (each once) are not larger than the input. Fails with
 * TP_E_NOT_FOUND, TP_E_UNSUPPORTED or TP_E_DAMAGED.
 */
enum tp_status tp_zip_find(struct tp_zip *zip, const char *name,
                           struct tp_zip_record *record, struct tp_error *err);

/* The same of the record of a number, where several have one name. */
enum tp_status tp_zip_at(struct tp_zip *zip, uint64_t index, const char *name,
                         struct tp_zip_record *record, struct tp_error *err);

/* Where the content of a record is. */
struct tp_zip_content {
    struct tp_bytes bytes; /* the input, or memory of its own              */
    uint64_t start;        /* of the content in them                       */
};

/*
 * Gives the whole content of a record, its CRC-32 checked: where it lies in
 * the input when it is stored, in memory when it is deflated. Released with
 * tp_zip_unload. Records beyond `limit` bytes are refused with TP_E_LIMIT.
 */
enum tp_status tp_zip_load(struct tp_zip *zip,
                           const struct tp_zip_record *record, uint64_t limit,
                           struct tp_zip_content *content,
                           struct tp_error *err);

/*
 * Copies the first `length` bytes of a record's content, or all of a shorter
 * one; *got is how many. Their CRC-32 is not checked. TP_E_DAMAGED, TP_E_IO.
 */
enum tp_status tp_zip_peek(struct tp_zip *zip,
                           const struct tp_zip_record *record,
                           unsigned char *buffer, size_t length, size_t *got,
                           struct tp_error *err);

/* Releases content->bytes if they are its own. */
void tp_zip_unload(struct tp_zip_content *content);

/*
 * The storage of a record, made in `arena` when it is asked for first, so that
 * all calls for an archive must name one arena. It is read from any number of
 * threads until the archive is closed. A deflated record needs the archive
 * to stay open: tp_zip_needed tells whether there is one.
 */
enum tp_status tp_zip_storage(struct tp_zip *zip,
                              const struct tp_zip_record *record,
                              struct tp_arena *arena,
                              struct tp_storage **storage,
                              struct tp_error *err);
bool tp_zip_needed(const struct tp_zip *zip);

#endif
