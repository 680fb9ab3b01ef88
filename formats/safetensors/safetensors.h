/* SPDX-License-Identifier: MIT */
#ifndef TP_SAFETENSORS_SAFETENSORS_H
#define TP_SAFETENSORS_SAFETENSORS_H

#include "formats/safetensors/safetensors_header.h"

extern const struct tp_format tp_format_safetensors;

/* The tensor of an entry, whose bytes are `storage`; NULL is passed on as lack
 * of memory. Path and what is made for it live in `arena`. */
enum tp_status tp_safetensors_tensor(const struct tp_safetensors_entry *entry,
                                     struct tp_storage *storage,
                                     struct tp_arena *arena,
                                     struct tp_tensor *tensor,
                                     struct tp_error *err);

#endif
