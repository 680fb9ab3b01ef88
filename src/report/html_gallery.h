/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_HTML_GALLERY_H
#define TP_REPORT_HTML_GALLERY_H

#include "base/error.h"
#include "base/text.h"
#include "report/report_parts.h"

/* The figures of a page. */

enum { TP_HTML_GALLERY = 5 << 20 /* characters at most                     */ };

/* How many were drawn. */
size_t tp_html_gallery_drawn(const struct tp_report_figure *figures,
                             size_t count);

/* Appends the heading and those figures of `folder` that a browser shows, as
 * many as have room, and how many have not; nothing if none was drawn.
 * TP_E_MEMORY, and what tp_bytes_open and tp_bytes_read fail with, after the
 * figure's name. */
enum tp_status tp_html_gallery(struct tp_text *html, const char *folder,
                               const struct tp_report_figure *figures,
                               size_t count, struct tp_error *err);

#endif
