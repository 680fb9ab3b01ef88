/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_HTML_TOLD_H
#define TP_REPORT_HTML_TOLD_H

#include "base/text.h"

/* Sentences of findings and reports as markup. `lang` is the language of a part
 * of them that is not English; NULL: all is. */

/* A text, the part in another language marked. */
void tp_html_told(struct tp_text *html, const char *lang, const char *text);

/* The first statements of a finding's evidence, none of them cut: what stands
 * in the list. */
void tp_html_gist(struct tp_text *html, const char *lang, const char *evidence);

#endif
