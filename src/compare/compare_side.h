/* SPDX-License-Identifier: MIT */
#ifndef TP_COMPARE_COMPARE_SIDE_H
#define TP_COMPARE_COMPARE_SIDE_H

#include "dump/dump_read.h"

/*
 * One side of a comparison: a dump of msprobe, or any other directory or file
 * with tensors, told as one. Of these a call is a file without its phase and
 * tensor name: "attention.L2.FA.0.forward", where 0 is the ordinal of the
 * tensor; an item is the tensor: ".input.query". A tensor of a file with
 * several is called by its path in the file: "model.layers.0.weight".
 */
struct tp_compare_side {
    struct tp_dump dump;
    bool msprobe;
    size_t damaged; /* files that could not be read                        */
};

/*
 * Reads `options->wish.roots`. `side` is zeroed by the caller and released with
 * tp_compare_side_clear, also after a failure: those of tp_dump_read, and
 * TP_E_UNSUPPORTED where a dump is of another framework than torch or of level
 * L2. Tensors of other directories are read once, for their statistics.
 */
enum tp_status tp_compare_side_open(const struct tp_dump_read_options *options,
                                    struct tp_compare_side *side,
                                    struct tp_error *err);

/* Releases everything; empty afterwards. */
void tp_compare_side_clear(struct tp_compare_side *side);

#endif
