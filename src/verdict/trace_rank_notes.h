/* SPDX-License-Identifier: MIT */
#ifndef TP_VERDICT_TRACE_RANK_NOTES_H
#define TP_VERDICT_TRACE_RANK_NOTES_H

#include "verdict/judged.h"

/* Notes how uneven the steps of several ranks are, and which collective takes
 * most time. judged->ranks has been filled. TP_E_MEMORY only. */
enum tp_status tp_trace_rank_notes_make(const struct tp_trace_run *run,
                                        struct tp_trace_judged *judged,
                                        struct tp_error *err);

#endif
