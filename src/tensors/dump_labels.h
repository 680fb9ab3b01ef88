/* SPDX-License-Identifier: MIT */
#ifndef TP_TENSORS_DUMP_LABELS_H
#define TP_TENSORS_DUMP_LABELS_H

#include "tensors/record.h"

/*
 * Labels of rows that are from dumps of msprobe, by what stands beside their
 * files.
 */

/*
 * Completes the labels of records: dump.json gives the order in which tensors
 * were saved (the counter), construct.json the layer of a call. What is damaged
 * there is kept in the records. TP_E_MEMORY only.
 */
enum tp_status tp_dump_label(struct tp_records *records, struct tp_error *err);

/*
 * Processes that are known by their number only (procPID) become ranks where a
 * step has several. Says that, and what was damaged, in notes. The rows of the
 * run are those of the records. TP_E_MEMORY only.
 */
enum tp_status tp_dump_ranks(struct tp_run *run,
                             const struct tp_records *records,
                             struct tp_error *err);

#endif
