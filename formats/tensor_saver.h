/* SPDX-License-Identifier: MIT */
#ifndef TP_FORMATS_TENSOR_SAVER_H
#define TP_FORMATS_TENSOR_SAVER_H

#include <stdbool.h>

#include "base/memory.h"
#include "data/label.h"
#include "data/tensor_file.h"

/*
 * Labels of the files that tensor_saver and its relatives write: what the
 * tensor is, from the metadata in the payload and from the file's name.
 * See formats/file_name.h for the names.
 */

/*
 * Reads what `path` says: first what follows from a convention of names,
 * then, for what that leaves absent, what words and directories hint at. A
 * file that follows no convention gets its stem as tensor_name. The phase or
 * component "unknown" (the saver's default) counts as absent. Texts are
 * owned by `arena`. Fails only with TP_E_MEMORY. Any thread.
 */
enum tp_status tp_label_from_name(const char *path, struct tp_arena *arena,
                                  struct tp_label *label, struct tp_error *err);

/*
 * What to ask a payload for its label: fills in names, and answers that say
 * "not there". Returns their number, at most TP_METADATA_MAX.
 */
size_t tp_label_ask(struct tp_metadata metadata[TP_METADATA_MAX]);

/*
 * Makes a label of the answers. A checkpoint's step (global_step, iteration,
 * iter_num, step in the payload itself) is its iteration. Numbers may be texts
 * of digits; what was not answered is absent, and so is the phase or component
 * "unknown". counter and timestamp stay absent: only names have them. Texts are
 * borrowed from the answers. Any thread.
 */
void tp_label_from_metadata(const struct tp_metadata *metadata, size_t count,
                            struct tp_label *label);

/* The payload's own epoch, which stands for a step where nothing says one. */
int64_t tp_label_epoch(const struct tp_metadata *metadata, size_t count);

/*
 * Completes a label that came from metadata by what `path` says. Where both
 * speak the metadata holds, and *conflict becomes one sentence that names the
 * fields and both values; else it becomes "". What only a directory says never
 * conflicts: files are moved, and savers mix directories up. *labelled: the
 * metadata or a convention of names says what a tensor of the file is. Sets
 * direction and roles. Texts are owned by `arena`. Fails only with
 * TP_E_MEMORY. Any thread.
 */
enum tp_status tp_label_complete(struct tp_label *label, const char *path,
                                 struct tp_arena *arena, const char **conflict,
                                 bool *labelled, struct tp_error *err);

#endif
