/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_BESIDE_H
#define TP_TRACE_TRACE_BESIDE_H

#include "trace/trace.h"

/*
 * Files of metrics (formats/trace/trace_metrics.h) that belong to traces: in
 * the folder of a trace, and in the two folders above if they name the trace's
 * folder as trace_dir. What they say of a setting holds over what the trace
 * shows.
 */

/* What one of them says of the traces of a folder. Texts are an arena's. */
struct tp_trace_said {
    const char *folder, *path;
    struct tp_setting settings[TP_SETTING_COUNT]; /* source: NULL          */
};

struct tp_trace_said_list {
    struct tp_trace_said *rows;
    size_t count, capacity;
};

/* Whether two say the same of the same folder, in the same file. */
bool tp_trace_said_same(const struct tp_trace_said *a,
                        const struct tp_trace_said *b);

/* The folder that the file of a trace lies in; in the arena. NULL: no memory.
 */
const char *tp_trace_folder_of(struct tp_arena *arena, const char *path);

/* Looks beside the traces of a folder, and adds what is said there. What cannot
 * be read is left aside. TP_E_MEMORY only. */
enum tp_status tp_trace_beside_find(const char *folder, struct tp_arena *arena,
                                    struct tp_trace_said_list *said,
                                    struct tp_error *err);

/*
 * Lets what is said hold for the traces of a run; that it contradicts a trace,
 * or that two files disagree, is noted. Files so used are no longer among
 * run->skipped. TP_E_MEMORY only.
 */
enum tp_status tp_trace_beside_add(struct tp_trace_run *run,
                                   const struct tp_trace_said_list *said,
                                   struct tp_error *err);

#endif
