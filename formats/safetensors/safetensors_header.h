/* SPDX-License-Identifier: MIT */
#ifndef TP_SAFETENSORS_SAFETENSORS_HEADER_H
#define TP_SAFETENSORS_SAFETENSORS_HEADER_H

#include "formats/safetensors/safetensors_check.h"

/*
 * Safetensors:
 *
 *     8 bytes    length N of the header, little-endian, at most 100 000 000
 *     N bytes    JSON: {"NAME": {"dtype": "F32", "shape": [2, 3],
 *                "data_offsets": [BEGIN, END]}, ..., "__metadata__": {...}}
 *     the rest   tensors, row-major, little-endian, at [BEGIN, END) of it
 *
 * The tensors cover the rest without a gap. What is refused, and in which
 * order, is as in the reference implementation (safetensors 0.8), which reads
 * all of a file or nothing. Two things differ: a name that is there twice is
 * refused here and there kept once; of a file that was cut, or goes on behind
 * its tensors, those that are whole are read here. Its README and
 * safetensors/src/tensor.rs define this.
 */

/*
 * Reads and checks the header of an input, and answers `count` questions from
 * its metadata. TP_E_DAMAGED names the tensor and the byte.
 */
enum tp_status tp_safetensors_read(const struct tp_bytes *bytes,
                                   struct tp_metadata *metadata, size_t count,
                                   struct tp_arena *arena,
                                   struct tp_safetensors_header *header,
                                   struct tp_error *err);

#endif
