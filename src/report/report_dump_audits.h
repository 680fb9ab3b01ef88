/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_REPORT_DUMP_AUDITS_H
#define TP_REPORT_REPORT_DUMP_AUDITS_H

#include "base/text.h"
#include "dump/dump_anomaly.h"
#include "dump/dump_copies.h"
#include "dump/dump_flow.h"

/* Sections of the report on a dump; `most` limits lists, 0: no limit. What has
 * nothing to say adds nothing. */

/* Where NaN and Inf began, and which calls have them. */
void tp_report_anomalies(const struct tp_dump_anomalies *anomalies, size_t most,
                         struct tp_text *text);

/* What is not what it was made. */
void tp_report_flow(const struct tp_dump_flow *flow, size_t most,
                    struct tp_text *text);

/* Which ranks' copies differ. */
void tp_report_copies(const struct tp_dump_copies *copies, size_t most,
                      struct tp_text *text);

#endif
