/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_REPORT_PARTS_H
#define TP_REPORT_REPORT_PARTS_H

#include <stdint.h>

#include "base/notes.h"
#include "base/text.h"
#include "data/severity.h"

/* What the reports about dumps and about traces say alike. */

/* A figure that was wanted: drawn, or why not. */
struct tp_report_figure {
    const char *path;   /* below the output directory: "heatmaps/x.png"   */
    const char *reason; /* why it was not drawn; "" when it was           */
    const char *title;  /* what it shows                                  */
};

/* How many figures were drawn, and which not. */
void tp_report_figures(const struct tp_report_figure *figures, size_t count,
                       struct tp_text *text);

/* Lines of prose, wrapped, with lines that go on indented. */
void tp_report_prose(const char *lines, size_t indent, struct tp_text *text);

/* A note, which may name some of `paths` (NULL ends them; may be NULL): those
 * stay whole where it is wrapped. */
void tp_report_note(const char *note, const char *const *paths,
                    struct tp_text *text);

/* "Written to DIR: NAMES". */
void tp_report_written(const char *output_dir, const char *names,
                       struct tp_text *text);

/* How many findings there are, [enum tp_severity]. */
void tp_report_finding_counts(const size_t counts[TP_SEVERITY_HIGH + 1],
                              struct tp_text *text);

/* The sections of the guide that a report has named already; all-zero bytes:
 * none. More than there are are never remembered, only named again. */
enum { TP_REPORT_SECTIONS = 32 };

struct tp_report_told {
    const char *sections[TP_REPORT_SECTIONS];
    size_t count;
};

/* Where man/tprof-guide.7 explains a finding: a line the first time that
 * `section`, which must stay valid, is named. */
void tp_report_guide(struct tp_report_told *told, const char *section,
                     struct tp_text *text);

/* How a finding begins: "  high  ", coloured. */
void tp_report_level(enum tp_severity level, bool color, struct tp_text *text);

/* "... and 3 more" where a list is cut; `most` of 0: it never is. */
void tp_report_more(size_t count, size_t most, struct tp_text *text);

/* "1 tensor", "3 tensors". */
void tp_report_count(struct tp_text *text, uint64_t count, const char *noun);

/* Of a sentence its end, where parts of the input could not be read. */
void tp_report_not_all(bool damaged, struct tp_text *text);

#endif
