/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_HTML_WRITE_H
#define TP_REPORT_HTML_WRITE_H

#include "base/text.h"

/* What an HTML page is written with. */

/* Appends a text as character data, also for an attribute in double quotes:
 * markup is escaped, and what is no printable UTF-8 (control characters, those
 * of the writing direction among them) written as \xNN. */
void tp_html_text(struct tp_text *html, const char *text);

/* The same for a text of several lines, whose line breaks stay. */
void tp_html_lines(struct tp_text *html, const char *text);

/* Appends bytes as base64 without line breaks (RFC 4648). */
void tp_html_base64(struct tp_text *html, const void *bytes, size_t length);

#endif
