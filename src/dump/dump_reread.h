/* SPDX-License-Identifier: MIT */
#ifndef TP_DUMP_DUMP_REREAD_H
#define TP_DUMP_DUMP_REREAD_H

#include "data/tensor_file.h"
#include "dump/dump.h"

/*
 * A tensor of a dump while its file is read once more; all-zero before it is
 * first opened. May be opened again once it is closed.
 */
struct tp_dump_reread {
    const struct tp_dump_item *item; /* borrowed                           */
    struct tp_tensor_file file;
    const struct tp_tensor *tensor; /* NULL: the item has no file, or it
                                       could not be opened                 */
    enum tp_status status;
    struct tp_error why; /* unless it is TP_OK                             */
};

/* Opens the file of an item, if it has one. Whoever reads sets `status` and
 * `why` of what fails. Fails as tp_tensor_file_open_found, and with
 * TP_E_DAMAGED when the tensor is not there. */
enum tp_status tp_dump_reread_open(struct tp_dump_reread *reading,
                                   const struct tp_dump_item *item);

/* Closes it, if it was opened, as tp_tensor_file_end_found: what was read
 * counts if this is TP_OK. */
enum tp_status tp_dump_reread_close(struct tp_dump_reread *reading);

/* Releases what a closed one keeps for the next. */
void tp_dump_reread_clear(struct tp_dump_reread *reading);

#endif
