/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_CHECK_WORDS_H
#define TP_CHECK_CHECK_WORDS_H

#include "base/text.h"
#include "check/check.h"

/* Findings in words, and as JSON. */

/* The findings as text: per file "File: ...", per finding "Line N: ...". */
void tp_check_text(const struct tp_check *check, struct tp_text *text);

/* The findings and the files that could not be read whole as JSON. */
void tp_check_json(const struct tp_check *check, struct tp_text *text);

/* A text of a rule, with what was found for '%'. */
void tp_check_words(const char *words, const char *what, struct tp_text *text);

#endif
