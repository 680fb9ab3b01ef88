/* SPDX-License-Identifier: MIT */
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

void tp_trace_clear(struct tp_trace *trace)
{
    tp_trace_index_clear(&trace->index);
    tp_events_clear(&trace->events);
    free(trace->ops.rows);
    free(trace->kernels.rows);
    free(trace->op_kernels.rows);
    free(trace->annotations.rows);
    free(trace->steps.rows);
    free(trace->busy.rows);
    free(trace->launches.rows);
    free(trace->streams.rows);
    free(trace->copies.rows);
    free(trace->syncs.rows);
    free(trace->memory.rows);
    free(trace->comms.rows);
    free(trace->paths.rows);
    free(trace->arrivals.rows);
    free(trace->utilisation.rows);
    free(trace->queue.rows);
    free(trace->allocated.rows);
    free(trace->reserved.rows);
    memset(trace, 0, sizeof *trace);
}

void tp_trace_run_clear(struct tp_trace_run *run)
{
    for (size_t i = 0; i < run->trace_count; i++)
        tp_trace_clear(&run->traces[i]);
    free(run->traces);
    free(run->skipped.rows);
    tp_notes_clear(&run->notes);
    tp_found_clear(&run->files);
    tp_arena_clear(&run->arena);
    memset(run, 0, sizeof *run);
}
