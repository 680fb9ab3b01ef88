/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_H
#define TP_TRACE_TRACE_H

#include <stdbool.h>

#include "base/file.h"
#include "base/notes.h"
#include "base/pool.h"
#include "data/events.h"
#include "trace/trace_device.h"
#include "trace/trace_index.h"
#include "trace/trace_place_rows.h"
#include "trace/trace_rows.h"
#include "trace/trace_track_rows.h"

/*
 * Profiler traces: what is known of one trace, and of all of a run.
 *
 *   path -> events (formats/trace/trace_reader.h)
 *        -> index (nesting, launch links, steps)
 *        -> rows of numbers (one function per table)
 *
 * What follows from the rows of all traces is not here: verdict/judged.h.
 *
 * Times are integer nanoseconds while they are computed and microseconds in
 * rows. The *window* W of a trace reaches from the start of its first to the
 * end of its last ProfilerStep (without steps: of its device events; without
 * those: of its host events). Rows that use another window say so.
 */

struct tp_trace {
    const char *path;
    const char *worker;      /* "" unless the name has one                 */
    int64_t span;            /* number in the file name; -1                */
    int64_t rank;            /* of the file, else -1                       */
    struct tp_roof_choice roofs; /* what the user says of the device     */
    struct tp_device_roof device; /* the roofs of the device, of its driver's
                                name and of `roofs`                        */
    struct tp_events events;
    struct tp_trace_index index;
    struct tp_op_list ops, op_groups;
    struct tp_group_choice group_by; /* what op_groups are told apart by   */
    TP_ROWS(tp_kernel_row) kernels;
    TP_ROWS(tp_op_kernel_row) op_kernels;
    TP_ROWS(tp_tree_row) tree;
    TP_ROWS(tp_annotation_row) annotations;
    TP_ROWS(tp_step_row) steps;
    TP_ROWS(tp_busy_row) busy;
    TP_ROWS(tp_launch_row) launches;
    TP_ROWS(tp_stream_row) streams;
    TP_ROWS(tp_copy_row) copies;
    TP_ROWS(tp_sync_row) syncs;
    TP_ROWS(tp_memory_row) memory;
    TP_ROWS(tp_memory_peak_row) memory_peaks;
    TP_ROWS(tp_comm_row) comms;
    TP_ROWS(tp_path_row) paths;
    TP_ROWS(tp_what_if_row) what_if,
        lone_what_if;        /* of a kept trace: as if it were alone       */
    TP_ROWS(tp_segment_row) segments;
    struct tp_played played, lone_played;
    bool alone;              /* no other file: no ranks to compare         */
    bool kept;               /* it is not known yet whether it is alone    */
    size_t place;            /* of its file among those of the run         */
    TP_ROWS(tp_frame_row) frames;
    TP_ROWS(tp_roof_row) roofline;
    TP_ROWS(tp_fusion_row) fusions;
    TP_ROWS(tp_optimizer_row) optimizers;
    TP_ROWS(tp_arrival_row) arrivals;
    bool compared;           /* spent is wanted; set before rows are made  */
    TP_ROWS(tp_spent_row) spent;
    int64_t spent_steps;     /* typical steps that it is of; 0: it is of W */
    bool annotated;          /* the next ones are wanted; set before, too  */
    TP_ROWS(tp_step_span_row) step_spans;
    TP_ROWS(tp_stretch_row) stretches;
    TP_ROWS(tp_piece_row) pieces;
    TP_ROWS(tp_arrow_row) arrows;
    TP_ROWS(tp_level_row) levels;
    struct tp_pool *pool;    /* whose threads make rows, borrowed while they
                                are made; NULL: the one that asks           */
    struct tp_idle_row idle;
    /* Kernels only: how many, and how much time, per bin of duration.     */
    uint64_t kernel_count[TP_KERNEL_BINS];
    double kernel_us[TP_KERNEL_BINS];
    double median_kernel_us; /* NaN without kernels                        */
    double short_share;      /* of kernel time, in kernels below 10 us     */
    double mean_queue;       /* of all streams, weighted by time           */
    struct tp_curve utilisation;    /* 0 to 1, of equal pieces of W        */
    struct tp_curve queue;
    struct tp_curve allocated, reserved; /* bytes of the first device      */
    struct tp_trace_facts facts;
    struct tp_setting settings[TP_SETTING_COUNT]; /* source: "trace",
                                "metadata", or the file that says so       */
};

/* --- the run ----------------------------------------------------------- */

struct tp_trace_skipped {
    const char *file, *reason;
    int64_t offset;
    bool damage;
};

struct tp_trace_run {
    struct tp_arena arena;    /* owns every text of rows and notes         */
    struct tp_found_list files;
    struct tp_trace *traces;  /* by rank, worker, span, path               */
    size_t trace_count, trace_capacity;
    TP_ROWS(tp_trace_skipped) skipped;
    struct tp_notes notes;
    uint64_t bytes_read;
};

#endif
