/* SPDX-License-Identifier: MIT */
#include "verdict/trace_rank_notes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void note_imbalance(struct tp_trace_judged *judged)
{
    const struct tp_rank_row *least = NULL, *most = NULL;
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < judged->ranks.count; i++) {
        const struct tp_rank_row *row = &judged->ranks.rows[i];
        if (row->rank < 0 || !(row->step_us > 0)) {
            continue;
        }
        least = !least || row->step_us < least->step_us ? row : least;
        most = !most || row->step_us > most->step_us ? row : most;
        sum += row->step_us;
        count++;
    }
    if (count < 2 || least->rank == most->rank) {
        return;
    }
    const double mean = sum / (double)count;
    tp_judge_note(judged,
                  "steps take %.2f ms on rank %" PRId64 " to %.2f ms on rank "
                  "%" PRId64 ": imbalance %.1f %% ((longest - shortest) / "
                  "mean)",
                  least->step_us / 1e3, least->rank, most->step_us / 1e3,
                  most->rank,
                  100 * (most->step_us - least->step_us) / mean);
}

/* One row of /collectives with the trace it is of. */
struct shared {
    const struct tp_comm_row *row;
    int64_t rank;
};

static int by_collective(const void *a, const void *b)
{
    const struct tp_comm_row *x = ((const struct shared *)a)->row;
    const struct tp_comm_row *y = ((const struct shared *)b)->row;
    int order = strcmp(x->kernel, y->kernel);
    if (!order) {
        order = strcmp(x->collective, y->collective);
    }
    if (!order) {
        order = strcmp(x->group, y->group);
    }
    return order ? order : strcmp(x->dtype, y->dtype);
}

/* A run of rows about one collective. */
struct collective {
    const struct shared *first;
    size_t count;
    double us;
};

static struct collective find_slowest(const struct shared *items, size_t count)
{
    struct collective slowest = {0};
    for (size_t first = 0, end; first < count; first = end) {
        double us = 0;
        for (end = first;
             end < count && by_collective(&items[first], &items[end]) == 0;
             end++) {
            us += items[end].row->total_us;
        }
        if (us > slowest.us) {
            slowest = (struct collective){items + first, end - first, us};
        }
    }
    return slowest;
}

static void say_slowest(struct tp_trace_judged *judged,
                        const struct collective *slowest)
{
    const struct shared *least = slowest->first, *most = slowest->first;
    for (size_t i = 1; i < slowest->count; i++) {
        const struct shared *item = &slowest->first[i];
        least = item->row->total_us < least->row->total_us ? item : least;
        most = item->row->total_us > most->row->total_us ? item : most;
    }
    const struct tp_comm_row *row = slowest->first->row;
    if (least == most) {
        return; /* as slow everywhere */
    }
    tp_judge_note(judged,
                  "the slowest collective is %s (%.60s): %.2f ms on rank "
                  "%" PRId64 " to %.2f ms on rank %" PRId64 "; what is more "
                  "than the shortest is waiting for others",
                  *row->collective ? row->collective : "a kernel", row->kernel,
                  least->row->total_us / 1e3, least->rank,
                  most->row->total_us / 1e3, most->rank);
}

static enum tp_status note_slowest(const struct tp_trace_run *run,
                                   struct tp_trace_judged *judged,
                                   struct tp_error *err)
{
    size_t count = 0;
    for (size_t i = 0; i < run->trace_count; i++) {
        count += run->traces[i].comms.count;
    }
    struct shared *items = malloc((count + 1) * sizeof *items);
    if (!items) {
        return tp_fail_memory(err);
    }
    count = 0;
    for (size_t i = 0; i < run->trace_count; i++) {
        for (size_t k = 0; k < run->traces[i].comms.count; k++) {
            items[count++] = (struct shared){&run->traces[i].comms.rows[k],
                                             run->traces[i].rank};
        }
    }
    if (count > 1) {
        qsort(items, count, sizeof *items, by_collective);
    }
    const struct collective slowest = find_slowest(items, count);
    if (slowest.count > 1) {
        say_slowest(judged, &slowest);
    }
    free(items);
    return TP_OK;
}

enum tp_status tp_trace_rank_notes_make(const struct tp_trace_run *run,
                                        struct tp_trace_judged *judged,
                                        struct tp_error *err)
{
    note_imbalance(judged);
    return note_slowest(run, judged, err);
}
