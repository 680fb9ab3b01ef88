/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_PLOT_QUOTE_H
#define TP_REPORT_PLOT_QUOTE_H

#include "base/text.h"

/*
 * Texts that come from the input, as gnuplot may see them. Pure functions; no
 * thread limits.
 */

/*
 * Appends at most `most` bytes of a text as printable ASCII for a comment:
 * other bytes, single quotes and backticks become \xNN.
 */
void tp_plot_escape(struct tp_text *out, const char *text, size_t most);

/*
 * Appends a text as a single-quoted gnuplot string of printable ASCII: other
 * bytes, single quotes and backticks become \xNN. Of a text that takes more
 * than `limit` bytes then, its end stays, up to `tail` bytes, and its
 * beginning, up to the rest of the limit, with three dots between.
 */
void tp_plot_quote(struct tp_text *out, const char *text, size_t limit,
                   size_t tail);

#endif
