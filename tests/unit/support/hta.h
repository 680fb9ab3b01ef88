/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_HTA_H
#define TP_TESTS_HTA_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "trace/trace.h"

/*
 * Holistic Trace Analysis, as far as its published numbers can be followed:
 * whole microseconds (starts rounded up, ends down), rows of the last step
 * left out, kinds of kernels by its own patterns. The product does none of
 * this; here it shows that events and links are those HTA sees.
 */

/* Kinds of device rows; bits, in HTA's order. Others are in no sum. */
enum { HTA_COMPUTATION = 1, HTA_COMMUNICATION = 2, HTA_MEMORY = 4 };

struct hta_row {
    int64_t ts, end;  /* us; the end may lie before the start */
    int64_t launch;   /* start of the call, us                 */
    int64_t call_end; /* us                                    */
    uint32_t event;
    int kind;
    int stream;
    bool linked;  /* the call is known                     */
    bool queued;  /* linked, by a call that HTA counts     */
    bool dated;   /* launch is known, or what HTA takes    */
    bool is_work; /* kernel, copy or set; not a sync event */
};

/* The device rows HTA keeps of a trace, by start. */
struct hta {
    struct hta_row *rows;
    size_t count;
};

/* Fails the test when memory runs out. */
struct hta hta_open(const struct tp_trace *trace, bool include_last);
void hta_close(struct hta *hta);

/* idle, compute, non-compute and all of kernel time, us. */
struct hta_temporal {
    int64_t idle, compute, non_compute, kernel;
};
struct hta_temporal hta_temporal(const struct hta *hta);

/* Time in which exactly the kinds of `times`' index run, us. */
struct hta_kinds {
    int64_t times[8];
};
struct hta_kinds hta_kinds(const struct hta *hta, int which);

/* Communication under computation, percent; NaN without communication. */
double hta_overlap(const struct hta *hta);

/* Gaps of a stream, us. */
struct hta_gaps {
    int64_t host_wait, kernel_wait, other;
};
struct hta_gaps hta_gaps(const struct hta *hta, int stream);

/* Queue length of a stream over its change points. Launches and starts in the
 * same microsecond are in no order: the mean lies between these two. */
struct hta_queue {
    int64_t count, min, max;
    double mean_low, mean_high;
    int64_t blocked; /* us at `full` and more */
};
struct hta_queue hta_queue(const struct hta *hta, int stream, int64_t full);

/* One line of a file of HTA's tables, cut at blanks. */
enum { HTA_WORDS = 16 };
struct hta_line {
    FILE *file;
    char text[512];
    char section[256]; /* "hta/.../x.json.gz"; "" before the first */
    bool include_last;
    char block[32]; /* "temporal", "idle", ...                  */
    char *words[HTA_WORDS];
    int count;
};

/* The next line with words of a table; false at the end (file closed). */
bool hta_next(struct hta_line *line);

/* How many ranks a section is about. */
int hta_ranks(const struct hta_line *line);

/* The traces such a file is about, each read once. */
enum { HTA_TRACES = 28 };
struct hta_traces {
    struct {
        const char *name;
        struct tp_trace trace;
        struct hta without_last, with_last;
    } slots[HTA_TRACES];
    int count;
};

/* What HTA saw of the trace (of `rank`, where the section has several) that
 * the line is about; NULL if it is none we know. Skips the test without
 * traces. */
const struct hta *hta_find(struct hta_traces *traces,
                           const struct hta_line *line, int rank);
void hta_traces_close(struct hta_traces *traces);

#endif
