/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_REPORT_FINDINGS_H
#define TP_REPORT_REPORT_FINDINGS_H

#include "base/text.h"
#include "dump/dump_findings.h"
#include "report/report_parts.h"

/* Findings about dumps, their replay and their comparison, as text. */

/* How many there are of each severity. */
void tp_report_findings_count(const struct tp_dump_findings *findings,
                              struct tp_text *text);

/* "high  nonfinite: NAME step 0 rank 1", without the end of the line. */
void tp_report_finding_head(const struct tp_dump_finding *finding, bool color,
                            struct tp_text *text);

/* The end of that line and, below it, the evidence, `more` (a sentence; "":
 * none), the suggestion and where the guide explains it. */
void tp_report_finding_prose(const struct tp_dump_finding *finding,
                             const char *more, struct tp_report_told *told,
                             struct tp_text *text);

#endif
