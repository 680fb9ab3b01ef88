/* SPDX-License-Identifier: MIT */
#ifndef TP_BASE_TEXT_WRAP_H
#define TP_BASE_TEXT_WRAP_H

#include "base/text.h"

/* Prose of a width that people can read. */

/* Columns of prose where no terminal tells its own. */
enum { TP_TEXT_COLUMNS = 100 };

/*
 * Breaks the lines of what was added from byte `from` on, so that none is
 * wider than text->columns as far as words allow; lines that go on begin with
 * `indent` spaces. What stands before `from` in its line counts but stays as
 * it is. No break is made next to a sign that stands alone ("1 \u00b1 2",
 * "5 %"), between a number and its unit ("9.5 ms"), in brackets ("[4, 8]") and
 * in the texts of `whole`, which NULL ends (paths with spaces; may be NULL).
 */
void tp_text_wrap(struct tp_text *text, size_t from, size_t indent,
                  const char *const *whole);

/* Columns that valid UTF-8 of so many bytes takes on a terminal: 2 for wide
 * characters, 0 for combining ones and for ANSI colours. */
size_t tp_utf8_columns(const char *bytes, size_t length);

#endif
