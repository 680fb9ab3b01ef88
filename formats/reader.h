/* SPDX-License-Identifier: MIT */
#ifndef TP_FORMATS_READER_H
#define TP_FORMATS_READER_H

#include "base/file.h"
#include "base/text.h"
#include "data/tensor_file.h"

/*
 * Which format reads a file. What a format is and what it fills in stands in
 * data/tensor_file.h; the labels are completed here, from the file's name.
 */

/* The rows, ended by NULL. */
extern const struct tp_format *const tp_formats[];

/* The format that bids highest for these first bytes; NULL: none bids. */
const struct tp_format *tp_format_by_content(const unsigned char *head,
                                             size_t length);

/* Whether the name ends as those of some format do. */
bool tp_format_has_suffix(const char *path);

/* Whether a format claims the file by its name: it describes tensors that lie
 * in other files of its folder. */
enum tp_name_claim tp_format_claims(const char *path);

/* The pattern of a unit without an index that the file belongs to, in its
 * folder: "dir/shard-*-model.safetensors", or false. It opens as a file. */
bool tp_format_pattern(const char *path, struct tp_text *pattern);

/* Adds the suffixes of all formats, each once, joined by ' '. */
void tp_format_suffixes(struct tp_text *text);

/*
 * Opens a file of any known format. `name` is the path as the user gave it:
 * its last component is parsed for labels. Fails with TP_E_UNSUPPORTED when
 * no format bids, TP_E_IO when it cannot be read, TP_E_DAMAGED when nothing
 * of it can be used; single tensors that cannot be used are in file->skips.
 * `file` is zeroed or was closed before (its arena is reused). Close it with
 * tp_tensor_file_close, also after a failure.
 */
enum tp_status tp_tensor_file_open(const char *name,
                                   struct tp_tensor_file *file,
                                   struct tp_error *err);

/* As above, on bytes in memory that outlive the file (tests, fuzzing). */
enum tp_status tp_tensor_file_open_memory(const char *name, const void *data,
                                          size_t size,
                                          struct tp_tensor_file *file,
                                          struct tp_error *err);

/*
 * The label of a tensor of an open file, by its number: what metadata and the
 * file's name say, completed by its key (formats/param_name.h), which speaks
 * where these do not say what the tensor is. Texts are the file's. Fails only
 * with TP_E_MEMORY.
 */
enum tp_status tp_tensor_file_label(struct tp_tensor_file *file, size_t place,
                                    struct tp_label *label,
                                    struct tp_error *err);

/*
 * Whether the open file, and those it reads beside it, are as they were when
 * they were opened, to be asked when all has been read: TP_E_CHANGED says what
 * changed, and that what was read of it may be of two files. TP_E_IO.
 */
enum tp_status tp_tensor_file_unchanged(const struct tp_tensor_file *file,
                                        struct tp_error *err);

/*
 * A file that was found and is read now, maybe not for the first time: opens
 * it as tp_tensor_file_open does. TP_E_CHANGED: it is another than it was the
 * first time.
 */
enum tp_status tp_tensor_file_open_found(struct tp_found *found,
                                         struct tp_tensor_file *file,
                                         struct tp_error *err);

/*
 * Closes one that tp_tensor_file_open_found opened, or could not, and from
 * which something was read with `status`, which *err words if it failed:
 * whether what was read counts. Why not is a problem of `found`, about `path`
 * in it. TP_E_CHANGED also where reading failed since the file changed.
 */
enum tp_status tp_tensor_file_end_found(struct tp_found *found,
                                        const char *path,
                                        struct tp_tensor_file *file,
                                        enum tp_status status,
                                        struct tp_error *err);

/*
 * Closes the file; its tensors, labels and skips are gone. The arena keeps
 * one block for the next open; tp_arena_clear(&file->arena) releases it.
 */
void tp_tensor_file_close(struct tp_tensor_file *file);

#endif
