/* SPDX-License-Identifier: MIT */
#ifndef TP_DISTCP_UNIT_H
#define TP_DISTCP_UNIT_H

#include "base/file_set.h"
#include "data/tensor_file.h"
#include "data/tensor_parts.h"

/*
 * A unit: tensors that several files of a folder hold, as one open file. It is
 * opened by the name of what describes it, an index or a pattern of names; the
 * files it reads become its members, so that nobody reads them once more.
 */
struct tp_unit {
    struct tp_tensor_file *file;
    struct tp_file_set *set;     /* the members                            */
    struct tp_tensor *tensors;
    size_t count, room;
    struct tp_tensor_file item;  /* the archive at hand                    */
};

/* Makes the unit of a file that is being opened, which owns it from then on:
 * its format's close is tp_unit_close. NULL: out of memory. */
struct tp_unit *tp_unit_new(struct tp_tensor_file *file);
void tp_unit_close(struct tp_tensor_file *file);

/* What the formats of units have as `unchanged`. */
enum tp_status tp_unit_unchanged(const struct tp_tensor_file *file,
                                 struct tp_error *err);

/* Adds a copy of a tensor. */
enum tp_status tp_unit_add(struct tp_unit *unit,
                           const struct tp_tensor *tensor,
                           struct tp_error *err);

/*
 * Adds the tensor that parts make: path, dtype, ndim and shape are set. What is
 * wrong with them becomes a skip, and then, or where parts are wanted, each
 * part with a storage is added as a tensor of its own, named by its indices:
 * "w[0:3,0:12]". *missing: what else is known to be wrong, code
 * TP_OK: nothing.
 */
enum tp_status tp_unit_join(struct tp_unit *unit, struct tp_tensor *tensor,
                            const struct tp_tensor_part *parts, size_t count,
                            const struct tp_error *missing,
                            struct tp_error *err);

/* Hands tensors and members to the file. */
enum tp_status tp_unit_finish(struct tp_unit *unit, struct tp_error *err);

/*
 * Opens the archive of torch.save at bytes [start, start + length) of a member
 * as unit->item; length UINT64_MAX: all of the file. Released with
 * tp_unit_item_close, also after a failure.
 */
enum tp_status tp_unit_item_open(struct tp_unit *unit, size_t member,
                                 uint64_t start, uint64_t length,
                                 struct tp_error *err);
void tp_unit_item_close(struct tp_unit *unit, size_t member);

/* Makes the storage of a tensor of unit->item one of the member's, which stays
 * when the item is closed. TP_E_UNSUPPORTED: it is packed. */
enum tp_status tp_unit_keep_storage(struct tp_unit *unit, size_t member,
                                    struct tp_tensor *tensor,
                                    struct tp_error *err);

/* The same for a tensor that has to be dense and begin at byte 0. */
enum tp_status tp_unit_keep_dense(struct tp_unit *unit, size_t member,
                                  struct tp_tensor *tensor,
                                  struct tp_error *err);

/* Formats of units. */
extern const struct tp_format tp_format_weight_map;
extern const struct tp_format tp_format_distcp;
extern const struct tp_format tp_format_distcp_safetensors;
extern const struct tp_format tp_format_megatron;

/* Of a file of a rank of Megatron-LM's legacy layout, the bytes of its path
 * before the folder of its rank, where the unit "mp_rank_*" is; 0: another
 * file, or one without a folder above. */
size_t tp_megatron_folder(const char *path);

/* The pattern that stands for a file and its like, for those that have no
 * index: NULL, or in `pattern` of `room` bytes. */
const char *tp_unit_pattern(const char *name, char *pattern, size_t room);

#endif
