/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_CHECK_USES_H
#define TP_CHECK_CHECK_USES_H

#include "check/check_place.h"

/* What becomes of a value, by what the source writes behind it. */

/* Whether no gradient goes through what a node gives: it is compared, turned
 * into a number, shown, or kept under a name that is only used so. */
bool tp_flow_only_shows(const struct tp_flow *flow, uint32_t node);

/* Notes a call, if it is made where autocast is off or nothing is trained. */
void tp_flow_spare(struct tp_flow *flow, const struct tp_call *call);

/* Whether what the statement at hand makes and keeps, if it keeps it, is used
 * elsewhere in the script, but by calls that are spared. */
bool tp_flow_uses_made(const struct tp_flow *flow);

#endif
