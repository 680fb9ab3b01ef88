/* SPDX-License-Identifier: MIT */
#ifndef TP_FORMATS_TENSOR_SAVER_H
#define TP_FORMATS_TENSOR_SAVER_H

#include "base/memory.h"
#include "data/label.h"
#include "formats/torch/pickle.h"

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
 * Reads the dict "metadata" of a payload into *label; everything is absent
 * when the root is no dict or holds none. Numbers may be Python or numpy
 * integers or texts of digits; None, negative numbers and values of another
 * type are absent, and so are texts beyond TP_LIMIT_LABEL_BYTES and the phase
 * or component "unknown". counter and timestamp stay absent: only names have
 * them. Texts are owned by `arena`. Fails only with TP_E_MEMORY. Any thread.
 */
enum tp_status tp_label_from_metadata(const struct tp_pickle *payload,
                                      struct tp_arena *arena,
                                      struct tp_label *label,
                                      struct tp_error *err);

/*
 * Completes a label that came from metadata by what `path` says. Where both
 * speak the metadata holds, and *conflict becomes one sentence that names the
 * fields and both values; else it becomes "". What only a directory says
 * never conflicts: files are moved, and savers mix directories up. Texts are
 * owned by `arena`. Fails only with TP_E_MEMORY. Any thread.
 */
enum tp_status tp_label_complete(struct tp_label *label, const char *path,
                                 struct tp_arena *arena, const char **conflict,
                                 struct tp_error *err);

#endif
