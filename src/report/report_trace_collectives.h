/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_REPORT_TRACE_COLLECTIVES_H
#define TP_REPORT_REPORT_TRACE_COLLECTIVES_H

#include "base/text.h"
#include "verdict/judged.h"

/* The collectives of several ranks by kind, group and size, `most` of them at
 * most, 0: all; nothing without any. */
void tp_report_collectives(const struct tp_trace_judged *judged, size_t most,
                           struct tp_text *text);

#endif
