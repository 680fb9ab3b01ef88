/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_ANNOTATE_TRACKS_H
#define TP_REPORT_ANNOTATE_TRACKS_H

#include "base/text.h"
#include "verdict/judged.h"

/* Who takes what is written: some events, each ended by ",\n". */
struct tp_annotate_sink {
    enum tp_status (*take)(void *context, const struct tp_text *text,
                           struct tp_error *err);
    void *context;
};

/* Writes the events of all tracks of a trace of the run. TP_E_MEMORY, and as
 * the sink fails. */
enum tp_status tp_annotate_tracks(const struct tp_trace_run *run,
                                  const struct tp_trace_judged *judged,
                                  size_t trace,
                                  const struct tp_annotate_sink *sink,
                                  struct tp_error *err);

#endif
