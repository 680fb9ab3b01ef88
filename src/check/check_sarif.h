/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_CHECK_SARIF_H
#define TP_CHECK_CHECK_SARIF_H

#include "base/text.h"
#include "check/check.h"

/*
 * The findings as a log of SARIF 2.1.0, as GitHub and editors read it: one
 * run, all rules, one result a finding, and a notification for each file that
 * could not be read whole. Paths are relative as given, those from the root are
 * file URIs. `version` is the program's.
 */
void tp_check_sarif(const struct tp_check *check, const char *version,
                    struct tp_text *text);

#endif
