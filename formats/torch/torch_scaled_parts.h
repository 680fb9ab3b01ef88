/* SPDX-License-Identifier: MIT */
#ifndef TP_TORCH_TORCH_SCALED_PARTS_H
#define TP_TORCH_TORCH_SCALED_PARTS_H

#include "data/scaled.h"
#include "formats/torch/torch_rebuild.h"

/*
 * What makers of quantised tensors have in common: parts of an object as
 * tensors, views of them, and the row of values. A failing call says why in
 * err; TP_E_MEMORY where there is no other reason.
 */

/* An object in the course of becoming tensors. */
struct tp_maker {
    struct tp_torch_builder *builder;
    const char *name; /* of the layout, for tables and messages           */
    struct tp_torch_object object;
    const char *path;
    struct tp_tensor *tensors; /* [*count]; room for all parts            */
    size_t *count;
};

/* A shape given as an argument: torch.Size, tuple or list. */
struct tp_part_shape {
    int ndim;
    int64_t size[TP_LIMIT_DIMS];
    int64_t rows, columns; /* all but the last axis, and that             */
};

/* The argument at a place; TP_REF_NONE beyond the last one. */
tp_ref tp_part_argument(struct tp_maker *m, size_t i);

/* Whether a value is True, or a number but 0. */
bool tp_part_is_true(struct tp_maker *m, tp_ref ref);

/* TP_E_DAMAGED, "NAME without WHAT", where the part is NULL. */
enum tp_status tp_part_need(struct tp_maker *m, const void *part,
                            const char *what, struct tp_error *err);

/* A part that gets a row of its own, at the object's path and the suffix:
 * *part is among m->tensors; NULL where the value is None. */
enum tp_status tp_part_add(struct tp_maker *m, tp_ref ref, const char *suffix,
                           const struct tp_tensor **part, struct tp_error *err);

/* A part whose row is made by who walks the attributes; as above. */
enum tp_status tp_part_hidden(struct tp_maker *m, tp_ref ref,
                              const struct tp_tensor **part,
                              struct tp_error *err);

/* A copy, to be turned; NULL without memory. */
struct tp_tensor *tp_part_copy(struct tp_maker *m,
                               const struct tp_tensor *tensor,
                               struct tp_error *err);

/* A view with the first axis as the last one: [K, ...] as [..., K]; NULL
 * without memory. */
const struct tp_tensor *tp_part_turned(struct tp_maker *m,
                                       const struct tp_tensor *tensor,
                                       struct tp_error *err);

/*
 * Scales in the tiles that cuBLAS wants: of a matrix of `rows` by `columns`,
 * padded to 128 by 4, each tile of 512 holds row r, column c at
 * r % 32 * 16 + r % 128 / 32 * 4 + c % 4. As axes that is [rows / 128, 4, 32,
 * columns / 4, 4]; their ordered walk is that of the padded matrix, whose
 * lines have *columns then. NULL: too few, no dense array, or no memory.
 */
const struct tp_tensor *tp_part_untiled(struct tp_maker *m,
                                        const struct tp_tensor *tensor,
                                        int64_t rows, int64_t *columns,
                                        struct tp_error *err);

/* Reads a shape. TP_E_DAMAGED where it is none. */
enum tp_status tp_part_shape(struct tp_maker *m, tp_ref ref,
                             struct tp_part_shape *shape, struct tp_error *err);

/* A description with scale 1: of codes of a number format, or of integers
 * (NULL). NULL without memory. */
struct tp_scaled *tp_part_scaled(struct tp_maker *m,
                                 const struct tp_tensor *codes,
                                 const struct tp_number *number,
                                 struct tp_error *err);

/* Describes the values as lines of the last axis. TP_E_DAMAGED where there
 * are not as many codes as the shape asks for. */
enum tp_status tp_part_lines(struct tp_scaled *s,
                             const struct tp_part_shape *shape,
                             struct tp_error *err);

/* Blocks of lines, `down` by `across`; pitches as of struct tp_block_scale. */
void tp_part_blocks(struct tp_block_scale *scale, int64_t down, int64_t across,
                    int64_t pitch_down, int64_t pitch_across);

/* Checks a description, and adds the row of its values with that shape. */
enum tp_status tp_part_value(struct tp_maker *m, struct tp_scaled *s,
                             const struct tp_part_shape *shape,
                             const char *suffix, struct tp_error *err);

#endif
