/* SPDX-License-Identifier: MIT */
#ifndef TP_VERDICT_JUDGED_H
#define TP_VERDICT_JUDGED_H

#include "base/notes.h"
#include "data/severity.h"
#include "trace/trace.h"
#include "verdict/trace_limits.h"

/*
 * What follows from the rows of a run of traces: what limits each trace and
 * the run, how its ranks compare, and what costs time.
 */

/* What limits a trace; trace_verdict.h says by which rules, and its table
 * has the words. */
enum tp_verdict {
    TP_VERDICT_CPU_ONLY,
    TP_VERDICT_GPU_BOUND,
    TP_VERDICT_ALLOCATION,
    TP_VERDICT_COLD_START,
    TP_VERDICT_QUEUED,
    TP_VERDICT_DATA_LOADING,
    TP_VERDICT_SYNCHRONISATION,
    TP_VERDICT_COMMUNICATION,
    TP_VERDICT_COPIES,
    TP_VERDICT_TURNS,
    TP_VERDICT_LAUNCH_BOUND,
    TP_VERDICT_HOST_BOUND,
    TP_VERDICT_UNEVEN,
    TP_VERDICT_TINY_OPERATORS,
    TP_VERDICT_CPU_BOUND,
    TP_VERDICT_NO_LIMIT,
    TP_VERDICT_UNKNOWN,
    TP_VERDICTS
};

/* The verdict on one trace, or on the run. */
struct tp_trace_verdict {
    enum tp_verdict verdict;
    const char *sentence; /* with the figures                              */
    const char *scenario; /* one word for programs: "dataloader"           */
    double share;         /* of W                                          */
};

/* /ranks: one row per trace, trace_ranks.c */
struct tp_rank_row {
    int64_t rank, world_size;
    const char *file;
    double start_us;         /* of W against the earliest trace; NaN: their
                                clocks have no common zero                 */
    double step_us, data_wait_us; /* means over steady steps               */
    double busy, communication, exposed_communication; /* of W             */
    double late;             /* starts of collectives after the median rank's,
                                sum of a step, of the step                 */
    int64_t straggler;       /* 1: a straggler                             */
    double clock_us;         /* its clock is ahead by; 0 where that is little */
    double wait_us;          /* from its start of collectives to the last
                                rank's, sum over all matched; NaN: none    */
    double last;             /* collectives that it is the last to begin, of
                                those it is in; NaN: none                  */
    double held_us;          /* how long after the last but one it begins
                                these, sum: what the others would win      */
};

/* /matched_collectives: one collective, over the ranks that are there.
 * trace_collectives.h */
struct tp_collective_row {
    const char *collective, *group, *dtype;
    const char *matched_by;  /* "Seq", "order"                             */
    int64_t group_size;      /* -1: not recorded                           */
    int64_t ranks, sequence, step, bytes;
    double start_us;         /* of the first, since the first window       */
    double latency_us;       /* NaN of kinds in which ranks need not wait  */
    double skew_us, end_skew_us; /* of the starts, of the ends             */
    double wait_us;          /* from each start to the last, sum           */
    int64_t first_rank, last_rank;
    double held_us;          /* from the last start but one to the last,
                                less what that rank also ends later        */
    double algorithm_gbps, bus_gbps;
    int64_t number;          /* 1 to collectives.count; not a column       */
};

/* A kernel of a collective that waits, and which; those of one stand together.
 */
struct tp_collective_member {
    int64_t collective;      /* its number                                 */
    size_t trace;
    int64_t start_ns, stream; /* as the file has them                      */
};

/* /straggling: an estimate of the step time if ranks did not straggle.
 * trace_straggling.h */
struct tp_straggling_row {
    int64_t rank;            /* that does not; -1: none does               */
    int64_t first_step, steps;
    double step_us;          /* as recorded, mean over ranks               */
    double replayed_us;      /* played with nothing changed                */
    double new_step_us, won_us, won; /* of replayed_us                     */
};

/* /collective_sizes: those of one kind, group, type and size. Means over the
 * collectives. */
struct tp_collective_size_row {
    const char *collective, *group, *dtype, *matched_by;
    int64_t group_size, ranks, bytes, count;
    double latency_us, min_latency_us, max_latency_us, total_latency_us;
    double skew_us, max_skew_us, end_skew_us, wait_us;
    double algorithm_gbps, bus_gbps;
};

struct tp_trace_rule;

/* One finding about a trace. Absent numbers are -1 or NaN, texts "". */
struct tp_trace_finding {
    enum tp_severity level;
    const struct tp_trace_rule *rule;
    double won;              /* % of the window (of a step) that is won where
                                what it tells of is gone; sorts. 0: not known */
    double excess;           /* value over the limit; sorts after that     */
    int64_t rank;
    int64_t step;            /* first step it holds for; -1: all           */
    const char *metric, *window;
    double value, limit;
    const char *evidence, *suggestion, *file;
    bool leads;              /* it is more than half of what the verdict says
                                is lost: the headline begins with it       */
};

struct tp_trace_judged {
    struct tp_arena arena;   /* owns the texts that are not the run's      */
    struct tp_trace_limits limits;
    struct tp_trace_verdict *verdicts; /* [run.trace_count]                */
    struct tp_trace_verdict verdict;   /* of the whole run                 */
    TP_ROWS(tp_rank_row) ranks;           /* [run.trace_count]             */
    TP_ROWS(tp_collective_row) collectives; /* by kind, group, size, start */
    TP_ROWS(tp_collective_size_row) collective_sizes; /* longest first     */
    TP_ROWS(tp_collective_member) members;
    TP_ROWS(tp_straggling_row) straggling; /* of all, then by rank         */
    TP_ROWS(tp_trace_finding) findings;   /* worst first                   */
    struct tp_notes notes;   /* what cannot be told, and of what to beware */
};

/* The worst severity among the findings; 0 when there are none. */
int tp_trace_judged_worst(const struct tp_trace_judged *judged);

/* Whether a text of it was lost for want of memory. */
bool tp_trace_judged_lost(const struct tp_trace_judged *judged);

/* Releases everything; empty afterwards. */
void tp_trace_judged_clear(struct tp_trace_judged *judged);

/* A text of the arena, worded as printf does; "" when out of memory. */
const char *tp_judge_text(struct tp_trace_judged *judged, const char *format,
                          ...) TP_PRINTF(2, 3);

/* Adds a note, worded as printf does; dropped when out of memory. */
void tp_judge_note(struct tp_trace_judged *judged, const char *format, ...)
    TP_PRINTF(2, 3);

/* A kernel's name in a sentence: names of templates are cut. */
const char *tp_judge_kernel(struct tp_trace_judged *judged, const char *name);

#endif
