/* SPDX-License-Identifier: MIT */
#ifndef TP_TORCH_PICKLE_H
#define TP_TORCH_PICKLE_H

#include "base/bytes.h"
#include "formats/torch/pickle_value.h"

/*
 * Python's pickle, protocols 0 to 5, as a tree of values. The machine is
 * inert: where Python would import a name it keeps the name, where it would
 * call something it keeps the callable and the arguments. Nothing recurses,
 * so nesting costs memory only, within TP_LIMIT_PICKLE_VALUES.
 */

/*
 * Reads one pickle that starts at *position and ends before `end`; on
 * success *position is the byte after it. Earlier values in `pickle` are
 * dropped, its memory is reused. Texts point into bytes->memory where there
 * is one. Fails with TP_E_DAMAGED, TP_E_UNSUPPORTED (a newer protocol,
 * buffers outside the pickle), TP_E_LIMIT, TP_E_IO or TP_E_MEMORY; messages
 * name the opcode and its byte in the file. Numbers of Python's extension
 * registry become globals "copyreg.extension.N".
 */
enum tp_status tp_pickle_read(const struct tp_bytes *bytes,
                              uint64_t *position, uint64_t end,
                              struct tp_pickle *pickle, struct tp_error *err);

/* Releases the values; the object is empty afterwards and may be reused. */
void tp_pickle_clear(struct tp_pickle *pickle);

#endif
