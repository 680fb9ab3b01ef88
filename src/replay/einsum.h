/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_EINSUM_H
#define TP_REPLAY_EINSUM_H

#include "replay/array.h"
#include "replay/contract.h"

/*
 * Sums of products by an equation as torch.einsum has them: "bik,bkj->bij";
 * without "->", letters that occur once, in their order; "..." are axes that
 * are matched from the last, and lengths of 1 repeat.
 */
enum { TP_EINSUM_OPERANDS = 16, TP_EINSUM_LABELS = 52 + TP_LIMIT_DIMS };

/* What the axes of a tensor are: letters, then axes of "..." from the last. */
struct tp_einsum_labels {
    int count;
    unsigned char label[TP_LIMIT_DIMS];
};

struct tp_einsum {
    int count;
    const struct tp_array *arrays[TP_EINSUM_OPERANDS];
    struct tp_einsum_labels operands[TP_EINSUM_OPERANDS], output;
    int64_t lengths[TP_EINSUM_LABELS];
    double unit; /* of a rounding of the device that accumulates            */
    double own;  /* of what is between two products                         */
};

/* Takes an equation for its operands, which stay the caller's. unit and own
 * are for the caller to set. TP_E_UNSUPPORTED: it does not fit them. */
enum tp_status tp_einsum_init(struct tp_einsum *einsum, const char *equation,
                              const struct tp_array *const *arrays,
                              size_t count, struct tp_error *err);

/* The shape of the result; returns its axes. */
int tp_einsum_shape(const struct tp_einsum *einsum, int64_t *shape);

/* Fills in values and bounds of an output of that shape. */
enum tp_status tp_einsum_run(const struct tp_einsum *einsum,
                             struct tp_array *output, struct tp_error *err);

/* The equation of two operands as a contraction into an output of its shape. */
enum tp_status tp_einsum_contraction(const struct tp_einsum *einsum,
                                     struct tp_array *output,
                                     struct tp_contraction *contraction,
                                     struct tp_error *err);

/* The equation of the gradient of operand `which`, from that of the result. */
struct tp_einsum tp_einsum_turned(const struct tp_einsum *einsum,
                                  const struct tp_array *gradient, int which);

/* That gradient, of the operand's shape, zero before. */
enum tp_status tp_einsum_gradient(const struct tp_einsum *einsum,
                                  const struct tp_array *gradient, int which,
                                  struct tp_array *output,
                                  struct tp_error *err);

#endif
