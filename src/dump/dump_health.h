/* SPDX-License-Identifier: MIT */
#ifndef TP_DUMP_DUMP_HEALTH_H
#define TP_DUMP_DUMP_HEALTH_H

#include "dump/dump_call.h"

/* What of NaN and Inf the statistics of a tensor tell, and which of it is
 * meant to be there. */

/* Bits; 0: all of the tensor is finite. */
enum {
    TP_HEALTH_NAN = 1,
    TP_HEALTH_ABOVE = 2,  /* +Inf                                          */
    TP_HEALTH_BELOW = 4,  /* -Inf                                          */
    TP_HEALTH_UNKNOWN = 8 /* there are no statistics                       */
};

/*
 * What a tensor holds. Max and Min show Inf, and NaN where the device's
 * maximum does; else Mean and Norm are NaN. Mean or Norm of Inf beside a
 * finite Max and Min are an overflow of the sum only. Of what is no tensor: 0.
 */
unsigned tp_health_of(const struct tp_dump_item *item);

/* Whether what an item holds does not matter: memory that the call overwrites,
 * such as the buffers of recv. */
bool tp_health_ignores(const struct tp_dump_call *call,
                       const struct tp_dump_item *item);

/* Whether the outputs of a call are memory that nobody has written, as those
 * of torch.empty. */
bool tp_health_is_raw(const struct tp_dump_call *call);

/*
 * The infinities (bits) that a call is told to put into its result: of
 * masked_fill, where, full and their like, with an infinite value or a tensor
 * of nothing else. `items` are the call's. 0: none.
 */
unsigned tp_health_fills(const struct tp_dump_call *call,
                         const struct tp_dump_item *items);

/* Whether infinities of one sign in this input are most likely those of a mask
 * that was made elsewhere: added to scores, given to a softmax or an attention,
 * or called a mask. */
bool tp_health_takes_mask(const struct tp_dump_call *call,
                          const struct tp_dump_item *item);

/* What a mask's infinities may be in the outputs of a call: the same and, where
 * it changes signs, the others. */
unsigned tp_health_after(const struct tp_dump_call *call, unsigned mask);

/* Whether an input is as low as its dtype goes: masks of that value that are
 * added up become -Inf. */
bool tp_health_is_lowest(const struct tp_dump_item *item);

/* The largest norm of the inputs of a call, or of its results; -1: none is
 * known. */
double tp_health_norm(const struct tp_dump_place *place,
                      const struct tp_dump_call *call, bool results);

/* "NaN", "Inf", "-Inf" or several; "finite" of 0. */
const char *tp_health_words(unsigned health);

/* Whether a forward call may give a far larger norm than its inputs have, by
 * what it computes: a root, a reciprocal, a logarithm, an exponential. `items`
 * are those of the call. */
bool tp_health_may_grow(const struct tp_dump_call *call,
                        const struct tp_dump_item *items);

#endif
