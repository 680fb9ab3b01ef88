/* SPDX-License-Identifier: MIT */
#ifndef TP_TENSORS_ROW_FILE_H
#define TP_TENSORS_ROW_FILE_H

#include "data/tensor_file.h"
#include "tensors/run.h"

/* The tensor of a row once more, for stages that need its values. */

/*
 * Opens the file a row is of, without its labels. `file` is zeroed or was
 * closed; close it with tp_tensor_file_close, also after a failure, which names
 * the file: as of tp_tensor_file_open, and TP_E_CHANGED where it is another by
 * now.
 */
enum tp_status tp_row_file_open(const struct tp_run *run,
                                const struct tp_row *row,
                                struct tp_tensor_file *file,
                                struct tp_error *err);

/* The row's tensor in its open file, which has it. TP_E_CHANGED: it is another
 * file by now; or why the tensor could not be read this time. */
enum tp_status tp_row_file_tensor(const struct tp_row *row,
                                  const struct tp_tensor_file *file,
                                  const struct tp_tensor **tensor,
                                  struct tp_error *err);

/* Whether the open file is what the row was made of, to be asked when values
 * have been read: TP_E_CHANGED, TP_E_IO, with its name. */
enum tp_status tp_row_file_unchanged(const struct tp_run *run,
                                     const struct tp_row *row,
                                     const struct tp_tensor_file *file,
                                     struct tp_error *err);

/*
 * Keeps why the tensor of a row could not be read again, as a problem of its
 * file, which becomes a skipped row; of joined runs not that the file is not
 * here, but where it was read. Any number of threads. TP_E_MEMORY.
 */
enum tp_status tp_row_file_failed(const struct tp_run *run,
                                  const struct tp_row *row,
                                  const struct tp_error *why,
                                  struct tp_error *err);

#endif
