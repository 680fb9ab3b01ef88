/* SPDX-License-Identifier: MIT */
#include "report/report_trace_what_if.h"

#include <inttypes.h>
#include <stdlib.h>

#include "report/report_parts.h"
#include "report/report_trace_label.h"
#include "trace/trace_facts.h"

enum {
    WIDTH = 60, /* bytes of a name that are shown */
    SHORT = 5   /* rows of a short report         */
};

/* In short what wins less is left out. */
static const double least_won = 0.01;

static const char *words_of(enum tp_what_if_change change)
{
    static const char *const words[TP_WHAT_IF_CHANGES] = {
        [TP_WHAT_IF_NOTHING] =
            "nothing were changed: what the replay is off by",
        [TP_WHAT_IF_ALLOC] = "the driver's allocations took no time",
        [TP_WHAT_IF_LOADER] = "the DataLoader took no time",
        [TP_WHAT_IF_BLOCKING] = "no call waited for the GPU",
        [TP_WHAT_IF_LAUNCH] = "launch calls took no time",
        [TP_WHAT_IF_LOAD] = "no code had to be loaded",
        [TP_WHAT_IF_OPS] = "operators took no time on the host",
        [TP_WHAT_IF_OUTSIDE] =
            "the host took no time between operators and calls",
        [TP_WHAT_IF_QUEUED] = "launched work began once nothing recorded is "
                              "in its way",
        [TP_WHAT_IF_HOST] = "the host did nothing but load data and code, "
                            "allocate and wait",
        [TP_WHAT_IF_COMMUNICATION] = "communication took no time",
        [TP_WHAT_IF_OPERATOR] = ", with its kernels, were twice as fast"};
    return words[change];
}

static void add_row(const struct tp_what_if_row *row, struct tp_text *text)
{
    tp_text_add(text, "  %12.3f %8.1f %%  ", row->new_step_us / 1e3,
                100 * row->won);
    tp_text_printable_cut(text, row->name, WIDTH);
    tp_text_add(text, "%s", words_of(row->changed));
    tp_text_add(text, "\n");
}

/* "step 7", "steps 3 to 6" */
static void add_steps(const struct tp_trace *trace, struct tp_text *text)
{
    const struct tp_what_if_row *row = trace->what_if.rows;
    int64_t last = row->first_step;
    for (size_t i = 0; i + (size_t)row->steps <= trace->steps.count; i++)
        if (trace->steps.rows[i].step == row->first_step)
            last = trace->steps.rows[i + (size_t)row->steps - 1].step;
    tp_text_add(text, "step%s %" PRId64, row->steps > 1 ? "s" : "",
                row->first_step);
    if (row->steps > 1)
        tp_text_add(text, " to %" PRId64, last);
}

/* What typical steps take, where only some of them are replayed. */
static void add_typical(const struct tp_trace *trace, int64_t replayed,
                        struct tp_text *text)
{
    double us = 0;
    int64_t count = 0;
    for (size_t i = 0; i < trace->steps.count; i++) {
        us += trace->steps.rows[i].typical ? trace->steps.rows[i].window_us : 0;
        count += trace->steps.rows[i].typical != 0;
    }
    if (count > replayed)
        tp_text_add(text, ", the mean of %" PRId64 " typical ones %.3f", count,
                    us / 1e3 / (double)count);
}

static void add_heading(const struct tp_trace_run *run, size_t trace,
                        struct tp_text *text)
{
    const struct tp_what_if_row *row = run->traces[trace].what_if.rows;
    const bool steps = tp_trace_has_steps(&run->traces[trace]);
    tp_text_add(text, "\nWhat if, of ");
    tp_report_trace_label(run, trace, 0, text);
    tp_text_add(text, ": ");
    if (steps)
        add_steps(&run->traces[trace], text);
    else
        tp_text_add(text, "the whole trace");
    tp_text_add(text, " replayed, all else as recorded (%.3f ms%s",
                row->step_us / 1e3, steps && row->steps > 1 ? " a step" : "");
    if (steps)
        add_typical(&run->traces[trace], row->steps, text);
    tp_text_add(text, "): estimates\n  %12s %10s  if\n", "ms", "won");
}

static int by_won(const void *left, const void *right)
{
    const struct tp_what_if_row *const *a = left, *const *b = right;
    if ((*a)->won_us != (*b)->won_us)
        return (*a)->won_us > (*b)->won_us ? -1 : 1;
    return (*a > *b) - (*a < *b);
}

static void add_trace(const struct tp_trace_run *run, size_t trace,
                      bool in_short, struct tp_text *text)
{
    const struct tp_trace *it = &run->traces[trace];
    const size_t count = it->what_if.count;
    const struct tp_what_if_row **rows = calloc(count + 1, sizeof(void *));
    size_t shown = 0;
    text->failed |= !rows;
    for (size_t i = 0; rows && i < count; i++)
        rows[i] = &it->what_if.rows[i];
    if (rows)
        qsort(rows, count, sizeof(void *), by_won);
    for (size_t i = 0; rows && i < count; i++) {
        if (in_short && (shown == SHORT || !(rows[i]->won >= least_won)))
            break;
        if (shown++ == 0)
            add_heading(run, trace, text);
        add_row(rows[i], text);
    }
    free(rows);
}

void tp_report_what_if(const struct tp_trace_run *run, bool in_short,
                       struct tp_text *text)
{
    if (in_short && run->trace_count > 1)
        return;
    for (size_t i = 0; i < run->trace_count; i++) {
        if (run->traces[i].what_if.count > 0)
            add_trace(run, i, in_short, text);
    }
}

static void add_straggling(const struct tp_straggling_row *row,
                           struct tp_text *text)
{
    tp_text_add(text, "  %12.3f %8.1f %%  ", row->new_step_us / 1e3,
                100 * row->won);
    if (row->rank < 0)
        tp_text_add(text, "no rank straggled\n");
    else
        tp_text_add(text, "rank %" PRId64 " did not straggle\n", row->rank);
}

void tp_report_straggling(const struct tp_trace_judged *judged, bool in_short,
                          struct tp_text *text)
{
    const struct tp_straggling_row *rows = judged->straggling.rows;
    const size_t count = judged->straggling.count;
    if (count == 0 || (in_short && !(rows->won >= least_won)))
        return;
    tp_text_add(text,
                "\nWhat if, over ranks: %" PRId64
                " step%s replayed together, all else as recorded (%.3f ms, "
                "replayed %.3f): estimates\n",
                rows->steps, rows->steps > 1 ? "s" : "", rows->step_us / 1e3,
                rows->replayed_us / 1e3);
    tp_text_add(text, "  %12s %10s  if\n", "ms", "won");
    for (size_t i = 0; i < count; i++) {
        if (!in_short || i == 0 || rows[i].won >= least_won)
            add_straggling(&rows[i], text);
    }
}
