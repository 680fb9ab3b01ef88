/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_PATH_GRAPH_H
#define TP_TRACE_TRACE_PATH_GRAPH_H

#include "trace/trace_path_maker.h"

/* How many host events start in [from, to], ns, and from when to when there
 * are any, as step 0. */
size_t tp_path_events(const struct tp_path_base *base, int64_t from,
                      int64_t to);
struct tp_step tp_path_extent(const struct tp_path_base *base);

/* Builds the graph of [from, to] into maker->event and maker->arcs, arcs in
 * the order in which they are linked; where they are its already, they stay.
 * TP_E_MEMORY only. */
enum tp_status tp_path_graph(struct tp_path_maker *maker, int64_t from,
                             int64_t to, struct tp_error *err);

#endif
