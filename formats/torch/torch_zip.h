/* SPDX-License-Identifier: MIT */
#ifndef TP_TORCH_TORCH_ZIP_H
#define TP_TORCH_TORCH_ZIP_H

#include "data/tensor_file.h"
#include "formats/torch/zip_archive.h"

/* Zip archives of torch inside other files. */

/*
 * What stays open with a file that has zip archives: file->state of the formats
 * that use the functions below is the list of them.
 */
struct tp_torch_zips {
    struct tp_zip *zip;            /* NULL: not needed any more            */
    struct tp_zip_content content; /* memory of a deflated pickle          */
    struct tp_torch_zips *next;
};

/* Adds an archive to file->state, opened or to be opened by the caller. NULL:
 * out of memory. */
struct tp_torch_zips *tp_torch_zips_add(struct tp_tensor_file *file);

/* Adds the one that the whole file is, and opens it; *zip is the list's. Fails
 * as tp_zip_open_only does. */
enum tp_status tp_torch_zips_open(struct tp_tensor_file *file,
                                  struct tp_zip **zip, struct tp_error *err);

/* Closes them all; the `close` of these formats. */
void tp_torch_zips_close(struct tp_tensor_file *file);

/*
 * As tp_zip_load, of the record named so; *record is what was found. One that
 * is packed tighter than any honest pickle or JSON is refused with TP_E_LIMIT.
 * TP_E_NOT_FOUND.
 */
enum tp_status tp_torch_zip_load(struct tp_zip *zip, const char *name,
                                 uint64_t limit, struct tp_zip_content *content,
                                 struct tp_zip_record *record,
                                 struct tp_error *err);

/* Sets *big by the record byteorder of the folder `top`, which ends in '/' or
 * is ""; without one the order is little. TP_E_DAMAGED when it says neither. */
enum tp_status tp_torch_zip_byteorder(struct tp_zip *zip, const char *top,
                                      bool *big, struct tp_error *err);

/*
 * Sets file->tensors, skips and metadata to those of the last archive in bytes
 * [start, end) of the file, which torch.save has written. Fails as the `open`
 * of a format does.
 */
enum tp_status tp_torch_zip_inside(struct tp_tensor_file *file, uint64_t start,
                                   uint64_t end, struct tp_error *err);

#endif
