/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_HTML_REPORT_H
#define TP_REPORT_HTML_REPORT_H

#include <stdbool.h>

#include "base/text.h"

/* Characters of a report's text in a page: twenty times what a run of 10^4
 * tensors has. Lines for each file that was skipped could fill any page. */
enum { TP_HTML_REPORT = 1 << 20 };

/*
 * Appends the report as text, which can be opened; in `lang` (BCP 47; NULL: in
 * English) where it is not in English. Of a longer one than the above whole
 * lines up to there, and how many more there are, unless it is to be whole:
 * where no file beside the page has it.
 */
void tp_html_report(struct tp_text *html, const char *lang, const char *report,
                    bool whole);

#endif
