/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_CHECK_CASTS_H
#define TP_CHECK_CHECK_CASTS_H

#include "check/check_place.h"

/* Whether a cast to 16 bits does no harm: nothing is trained here or by what is
 * cast, it rounds what was computed in fp32, what is cast is made here or is
 * data, or it is what the function or the class is for. */
bool tp_cast_is_meant(const struct tp_flow *flow, const struct tp_call *call);

#endif
