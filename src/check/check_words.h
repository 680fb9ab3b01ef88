/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_CHECK_WORDS_H
#define TP_CHECK_CHECK_WORDS_H

#include "base/text.h"
#include "check/check.h"

/* Findings in words, and as JSON. */

/* The findings as text: per file "File: ...", per finding "Line N: ...". */
void tp_check_text(const struct tp_check *check, enum tp_check_lang lang,
                   struct tp_text *text);

/* The findings and the files that could not be read whole as JSON. */
void tp_check_json(const struct tp_check *check, enum tp_check_lang lang,
                   struct tp_text *text);

#endif
