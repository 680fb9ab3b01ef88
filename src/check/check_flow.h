/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_CHECK_FLOW_H
#define TP_CHECK_CHECK_FLOW_H

#include "check/check_place.h"

/* What is known at a place of a script. */

/* Tags of an expression, as the names stand. */
uint32_t tp_flow_value(const struct tp_flow *flow, uint32_t node);

/* The tensor that a function or a method works on; 0: none. */
uint32_t tp_flow_operand(const struct tp_flow *flow,
                         const struct tp_call *call);

/* Whether a call names a dtype, or may do so by "*" or "**"; `place`: number
 * of the argument when it has no name, SIZE_MAX: none. */
bool tp_flow_has_dtype(const struct tp_flow *flow, const struct tp_call *call,
                       size_t place);

/* The dtype of a call of autocast: TP_TAG_FP16, TP_TAG_BF16, or 0: unknown. */
uint32_t tp_flow_autocast_dtype(const struct tp_flow *flow,
                                const struct tp_call *call);

/* Whether an expression is a call of autocast that says enabled=False, or
 * float32, which is none. */
bool tp_flow_is_off(const struct tp_flow *flow, uint32_t node);

/* Whether it is only on where the caller of the function says so: its enabled
 * is a parameter that is False by default. */
bool tp_flow_is_off_by_default(const struct tp_flow *flow, uint32_t node);

/* Whether an object is a network: by what made it, or by its name. */
bool tp_flow_is_network(const struct tp_flow *flow, uint32_t node);

/* Whether an object is an optimiser: by what made it, or by its name. */
bool tp_flow_is_optimizer(const struct tp_flow *flow, uint32_t node);

#endif
