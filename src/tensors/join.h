/* SPDX-License-Identifier: MIT */
#ifndef TP_TENSORS_JOIN_H
#define TP_TENSORS_JOIN_H

#include "tensors/record.h"

/*
 * Joins records, by path, to the rows of a run, in their order: places of rows,
 * what is missing between files, and the labels that follow from all of them.
 * run->files has a file for each record; run->plan and run->parts are set. The
 * records are empty of rows afterwards. TP_E_MEMORY only.
 */
enum tp_status tp_records_join(struct tp_records *records, bool dims,
                               struct tp_run *run, struct tp_error *err);

#endif
