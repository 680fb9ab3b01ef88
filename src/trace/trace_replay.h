/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_REPLAY_H
#define TP_TRACE_TRACE_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * A window of a trace as a graph that can be played again with other times.
 *
 * Nodes are those of the critical path (trace_path.h), with one before all and
 * one after all. Each arc says that its end comes no sooner than `ns` after its
 * begin, and into each node one arc is exact: played unchanged, every node is
 * where it was recorded. What an arc stands for:
 *
 * - the host along a thread: in an operator, a call, or outside of both. A call
 *   that waited lasts as long as it took to return once the device was done;
 * - a device event: its duration. It begins after its launch, in the order of
 *   its stream, and, where it begins later than both allow, after the event of
 *   another stream that ended last before it;
 * - a thread that records nothing waits for what ended last on threads that it
 *   takes turns with, which hardly ever record anything at the same time (the
 *   autograd engine's, and back). Other threads go on as they did (those that
 *   watch collectives), and no step waits for their end.
 *
 * Not known, and so assumed: what else waits for what, as CUDA events that are
 * not recorded; that work takes as long whatever runs beside it; and that
 * threads and ranks which nothing connects go on as they did.
 */

/* What the time of an arc is spent on. */
enum tp_play_part {
    TP_PLAY_OPERATOR,
    TP_PLAY_ALLOC,   /* calls of the driver that allocate or free  */
    TP_PLAY_LAUNCH,  /* calls that start work, ...                 */
    TP_PLAY_LOAD,    /* ... in which the driver loads code         */
    TP_PLAY_CALL,    /* other calls                                */
    TP_PLAY_WAIT,    /* calls that wait                            */
    TP_PLAY_RETURN,  /* from a device event to the end of these    */
    TP_PLAY_OUTSIDE, /* the host outside of operators and calls    */
    TP_PLAY_KERNEL,
    TP_PLAY_COPY,
    TP_PLAY_COMMUNICATION,
    TP_PLAY_ORDER, /* between launch and begin, or two events    */
    TP_PLAY_PARTS
};

/* What is told of an arc when it is added. */
struct tp_trace_replay_arc {
    uint32_t from, to; /* nodes */
    uint32_t op;       /* text: the operator it is part of; 0: of none   */
    uint32_t part;     /* enum tp_play_part                              */
    int64_t ns;        /* below 0 where the recording contradicts itself */
    int64_t loader_ns; /* of it in the DataLoader                        */
    int64_t queued_ns; /* of it nothing recorded explains                */
};

/* What of its time few arcs have. */
struct tp_play_spare {
    int64_t loader_ns, queued_ns;
};

/* An arc as it is kept: a step may have millions. */
struct tp_play_arc {
    uint32_t from, to, op;
    uint32_t part : 4, spare : 28; /* spare: in spares                     */
    int64_t ns;
};

struct tp_play_link {
    uint32_t from : 31, ends : 1; /* the end of all waits for that node     */
    uint32_t to : 31, first : 1;  /* of those into that node                */
};

struct tp_trace_replay {
    struct tp_play_arc *arcs; /* in an order in which they can be played   */
    size_t arc_count, arc_capacity;
    struct tp_play_spare *spares; /* [0]: of arcs that have no such time   */
    size_t spare_count, spare_capacity;
    struct tp_play_link *links; /* [arcs]: what playing reads of them      */
    int64_t *base;       /* [nodes] ns since the begin, of those into which
                            there is no arc; far below 0 of others         */
    int64_t *at;         /* [nodes] ns since the begin, as recorded         */
    bool *beside;        /* [nodes] of a thread that goes on by itself     */
    size_t node_count;   /* the last one is after all others               */
    int64_t fixed_ns;    /* the last of those into which there is no arc   */
    uint32_t parts;      /* those of which more than the DataLoader is      */
    bool loader, queued; /* some arc has such time                         */
    int64_t origin_ns;   /* when the device is done with what was launched
                            before, ns since the begin                     */
    int64_t recorded_ns; /* from there to the last end                     */
};

static inline const struct tp_play_spare *
tp_play_spare(const struct tp_trace_replay *replay,
              const struct tp_play_arc *arc)
{
    return &replay->spares[arc->spare];
}

/* Puts the arcs in an order in which they can be played; fills links, base,
 * fixed_ns, parts, loader and queued. arcs, at, beside, node_count and
 * origin_ns are there. TP_E_MEMORY
 * only. */
enum tp_status tp_trace_replay_order(struct tp_trace_replay *replay,
                                     struct tp_error *err);

/* Releases everything; empty afterwards. */
void tp_trace_replay_clear(struct tp_trace_replay *replay);

/* Plays it with `ns` [arcs] in place of the arcs' own, TP_PLAY_GONE: no such
 * arc, but each node keeps one; how long it lasts then, from origin_ns on. `at`
 * [nodes] begins as a copy of replay->at, and may be played in again. */
int64_t tp_trace_replay_play(const struct tp_trace_replay *replay,
                             const int64_t *ns, int64_t *at);
#define TP_PLAY_GONE (INT64_MIN / 4)

#endif
