/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_HTML_LINK_H
#define TP_REPORT_HTML_LINK_H

#include "base/text.h"
#include "data/table.h"

/* Links of a page to files that are on the same machine. */

/*
 * Appends the address of `file` as seen from `folder`, both absolute and
 * without "." and "..": "../logs/a%3Cb.pt". It begins with "./" or "../", so
 * that no name is a scheme, and all but letters, digits and "-._~/" is written
 * as %XX, so that none is markup.
 */
void tp_html_relative(struct tp_text *html, const char *folder,
                      const char *file);

/* Appends a file's name as text, as a link where a page in `folder` (NULL:
 * none) can lead to it: where it is there. */
void tp_html_file(struct tp_text *html, const char *folder, const char *file);

/* Appends the files of a finding, each with what it is: rows of a table with
 * the columns finding, what and file, which has its rows by finding; *row is
 * the first that may be of this one, then of the next. */
void tp_html_files(struct tp_text *html, const char *folder,
                   const struct tp_table *files, int64_t finding, size_t *row);

#endif
