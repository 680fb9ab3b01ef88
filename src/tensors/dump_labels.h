/* SPDX-License-Identifier: MIT */
#ifndef TP_TENSORS_DUMP_LABELS_H
#define TP_TENSORS_DUMP_LABELS_H

#include "tensors/run.h"

/*
 * Completes the labels of rows that are from dumps of msprobe, by the files
 * beside them: dump.json gives the order in which tensors were saved (the
 * counter), construct.json the layer of a call. Processes that are known by
 * their number only (procPID) become ranks where a step has several. What is
 * damaged there is a note. TP_E_MEMORY only.
 */
enum tp_status tp_dump_label(struct tp_run *run, struct tp_error *err);

#endif
