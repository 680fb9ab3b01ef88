/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_PLOT_SCRIPT_H
#define TP_REPORT_PLOT_SCRIPT_H

#include "base/text.h"
#include "data/figure.h"

/*
 * A figure as text: its table and the gnuplot script that draws it. Pure
 * functions of the figure; no thread limits.
 */

/* A gnuplot fragment of plots/, embedded. It draws one kind of panel from
 * variables that the script sets before it. */
struct tp_template {
    const char *name;
    const char *text;
};

/* The templates, ended by a row whose name is NULL; "style" is among them. */
extern const struct tp_template tp_templates[];

/*
 * Appends the script. Run in the folder of the table it draws NAME.<format>,
 * or what the variable `output` names, in the format that `format` does where
 * that is set; it needs no other file. Names that
 * come from the input appear only inside single-quoted gnuplot strings, as
 * printable ASCII, so nothing in them is ever executed. `format` is "png",
 * "svg" or "pdf".
 */
void tp_plot_script(const struct tp_figure *figure, const char *format,
                    struct tp_text *out);

#endif
