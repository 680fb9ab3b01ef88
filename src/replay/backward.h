/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_BACKWARD_H
#define TP_REPLAY_BACKWARD_H

#include "replay/replay_call.h"

struct tp_operator;

/*
 * A backward call: the gradients of an operator's arguments from those of its
 * results. An entry X.N.backward of a dump is a hook on the node that autograd
 * made for the result of X.N.forward: its input are the gradients of the
 * results, its output those of the node's arguments, in the order of the node
 * and with null where none is wanted (reference/msprobe.md 1.5). The arguments
 * themselves are those of the forward call, which the dump must have.
 *
 * To add the backward of an operator: write TP_BACKWARD(tp_back_x) beside its
 * kernel, declare it in operators.h and name it in the row (member back). For
 * what is elementwise a slope in the row is enough (point_slope.h). It takes
 *
 *     tp_backward_given(backward, k)         gradient of result k; NULL: zero
 *     tp_arg_...(backward->forward, name)    arguments, by the row's signature
 *     tp_backward_result(backward, k, ...)   what the forward call gave
 *     tp_backward_make(backward, dims, shape, &gradient, err)
 *
 * and makes the gradients in the order of the node's arguments, each with
 * values in fp64 and bounds, which mean what those of results do (operators.h).
 * Who judges finds out which of them were dumped, by position where there are
 * as many, else by their shapes in order; where that is ambiguous the call is
 * not judged. A node that is not that of the whole operator (the view behind a
 * product, the no-op of a conversion) is the kernel's to know: it makes what
 * that node gives, or fails with TP_E_UNSUPPORTED and a reason.
 */
struct tp_backward {
    struct tp_replay_call *call;    /* the backward call, and its outputs   */
    struct tp_replay_call *forward; /* its arguments, loaded, and its results
                                       as far as they were asked for        */
    const struct tp_operator *row;
    struct tp_array *made; /* gradients, in the order of the node  */
    size_t made_count, made_capacity;
};

/* The gradient of result k; NULL: none came, it counts as zero. */
const struct tp_array *tp_backward_given(const struct tp_backward *backward,
                                         size_t k);

/* The only gradient that an operator of one result gets; TP_E_UNSUPPORTED
 * without one. */
enum tp_status tp_backward_single(const struct tp_backward *backward,
                                  const struct tp_array **given,
                                  struct tp_error *err);

/*
 * Result k of the forward call: what the dump has, as the device kept it too;
 * computed again without being rounded if call->anew, but for indices, of which
 * several are right. TP_E_UNSUPPORTED: there is none; else as tp_array_read
 * fails.
 */
enum tp_status tp_backward_result(struct tp_backward *backward, size_t k,
                                  const struct tp_array **result,
                                  struct tp_error *err);

/* How many gradients the node has that was dumped, null among them; and number
 * k of these, NULL: it has fewer. */
const struct tp_dump_item *tp_backward_item(const struct tp_backward *backward,
                                            size_t k);
size_t tp_backward_arity(const struct tp_backward *backward);

/* Whether gradient number k of `arity` is worth the work: it was dumped, or
 * the node is another. */
bool tp_backward_needs(const struct tp_backward *backward, size_t arity,
                       size_t k);

/* The next gradient, zero, with bounds; of an argument, of its shape. It is
 * valid until the next one is made. */
enum tp_status tp_backward_make(struct tp_backward *backward, int dims,
                                const int64_t *shape,
                                struct tp_array **gradient,
                                struct tp_error *err);
enum tp_status tp_backward_make_like(struct tp_backward *backward,
                                     const struct tp_array *argument,
                                     struct tp_array **gradient,
                                     struct tp_error *err);

/*
 * The next gradient are the values of `given` in the shape of dumped gradient
 * `number`: what the node of a view gives. TP_E_UNSUPPORTED if that has another
 * number of elements, or was not dumped.
 */
enum tp_status tp_backward_view(struct tp_backward *backward,
                                const struct tp_array *given, size_t number,
                                struct tp_error *err);

/*
 * The next gradient is `full`, summed over the axes along which an argument of
 * `dims` axes was repeated (what broadcasting's backward does). `full` has
 * bounds; its elements are rounded to the tensors' dtype before they are
 * summed, as they are a tensor of their own on the device.
 */
enum tp_status tp_backward_sum_to(struct tp_backward *backward,
                                  const struct tp_array *full, int dims,
                                  const int64_t *shape, struct tp_error *err);

/* Whether an argument takes part: a tensor of a floating dtype. */
bool tp_backward_wants(const struct tp_array *argument);

/* Computes the gradients that were dumped, into call->outputs. As
 * tp_replay_run. */
enum tp_status tp_backward_run(struct tp_replay_call *call,
                               const struct tp_operator *row,
                               struct tp_error *err);

#endif
