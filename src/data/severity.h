/* SPDX-License-Identifier: MIT */
#ifndef TP_DATA_SEVERITY_H
#define TP_DATA_SEVERITY_H

/* How bad a finding is, about a dump or about a trace. */
enum tp_severity { TP_SEVERITY_LOW = 1, TP_SEVERITY_MEDIUM, TP_SEVERITY_HIGH };

/* "none" for 0, "low", "medium", "high", then NULL. */
extern const char *const tp_severity_words[];

/* The word of one severity. */
const char *tp_severity_name(enum tp_severity severity);

#endif
