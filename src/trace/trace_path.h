/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_PATH_H
#define TP_TRACE_TRACE_PATH_H

#include "trace/trace_path_maker.h"

/*
 * The critical path of a window: the longest chain of work in which each piece
 * had to wait for the one before. The graph is that of Holistic Trace
 * Analysis (hta/analyzers/critical_path_analysis.py):
 *
 * Nodes are starts and ends of operators and calls that start in the window
 * and of the device events that such calls launched; what lasts no time is
 * left out. Work that outlasts the window counts to its end, so the paths of
 * consecutive steps may overlap. Edges, with their weights:
 *
 * - along a thread through the nesting of its operators and calls: the time
 *   between; 0 within calls that wait for the device, and 0 from one operator
 *   of the outermost level to the next;
 * - of a device event: its duration;
 * - to a device event, if its stream had nothing left to do when it was
 *   launched, from the start of its call: the launch delay; if not, from the
 *   event before on its stream: the gap, and from the start of its call with
 *   weight 0. (The other analysis asks for counted queues to be empty, too,
 *   which they seem not to be where calls are missing from a trace);
 * - from a device event to the end of a call that waited for it: 0. Which one
 *   is said by cuda_sync events: the last one of the stream, or of every
 *   stream. A trace that has none of these leaves it open; then it is the last
 *   one that ended within the call. Waiting for CUDA events of other streams
 *   is not followed.
 *
 * The longest path by weight is found in the order of a topological sort; what
 * lies on cycles, as broken clocks make them, is left out, and negative weights
 * count 0. Of equal predecessors the one that was linked first is taken.
 */

/* "operator", "call", ... */
const char *tp_path_kind_name(enum tp_path_kind kind);

struct tp_path {
    struct tp_path_edge *edges;
    size_t count;
    size_t nodes, events;   /* on the path; events: different ones        */
    int64_t from, to;       /* ns, of its first and its last node         */
};

/* The path of [from, to], ns; path->edges is the maker's until its next use. A
 * window without nodes has an empty path. TP_E_MEMORY only. */
enum tp_status tp_path_find(struct tp_path_maker *maker, int64_t from,
                            int64_t to, struct tp_path *path,
                            struct tp_error *err);

#endif
