/* SPDX-License-Identifier: MIT */
#include "report/report_dump_audits.h"

#include <inttypes.h>
#include <math.h>

#include "report/report_parts.h"

/* --- numbers -----------------------------------------------------------------
 */

/* A number that may not be known, in a column. */
static void add_number(int64_t number, int width, struct tp_text *text)
{
    if (number < 0)
        tp_text_add(text, " %*s", width, "-");
    else
        tp_text_add(text, " %*" PRId64, width, number);
}

static void add_place(int64_t step, int64_t rank, int64_t order,
                      struct tp_text *text)
{
    tp_text_add(text, " ");
    add_number(step, 5, text);
    add_number(rank, 5, text);
    add_number(order, 7, text);
    tp_text_add(text, "  ");
}

/* --- first anomaly
 * ------------------------------------------------------------ */

static void add_anomaly(const struct tp_dump_anomaly *row, struct tp_text *text)
{
    add_place(row->step, row->rank, row->order, text);
    tp_text_add(text, "%-9s ", row->first ? "origin" : row->level);
    tp_text_printable(text, row->api_name);
    tp_text_add(text, "  ");
    tp_text_printable(text, row->value);
    tp_text_add(text, "\n");
}

static void add_silent(const struct tp_dump_anomalies *anomalies,
                       struct tp_text *text)
{
    if (anomalies->masks)
        tp_text_add(text,
                    "  %zu call%s only infinities that are meant: masks, "
                    "and memory to be overwritten\n",
                    anomalies->masks,
                    anomalies->masks == 1 ? " has" : "s have");
    if (anomalies->grown) {
        const bool one = anomalies->grown == 1;
        tp_text_add(text,
                    "  %zu call%s gave a norm over 100 times that of %s "
                    "inputs%s",
                    anomalies->grown, one ? "" : "s", one ? "its" : "their",
                    one ? ": " : ", the first is ");
        tp_text_printable(text, anomalies->first_grown);
        tp_text_add(text, "\n");
    }
    if (anomalies->unknown)
        tp_text_add(text,
                    "  tensors without statistics, in which NaN and Inf are "
                    "not seen: %zu of %zu\n",
                    anomalies->unknown, anomalies->tensors);
}

/* Adds the rows that are origins, or those that are not, from row `shown` of
 * the table on. */
static void add_anomalies(const struct tp_dump_anomalies *anomalies,
                          bool origins, size_t most, size_t *shown,
                          struct tp_text *text)
{
    for (size_t i = 0; i < anomalies->count; i++) {
        const struct tp_dump_anomaly *row = &anomalies->rows[i];
        if (row->origin == TP_NO_ORIGIN || (row->first != 0) != origins)
            continue;
        if (*shown == 0)
            tp_text_add(text, "  %5s %5s %7s  %-9s %s\n", "step", "rank",
                        "call", "level", "name, and what it holds");
        if (!most || *shown < most)
            add_anomaly(row, text);
        ++*shown;
    }
}

void tp_report_anomalies(const struct tp_dump_anomalies *anomalies, size_t most,
                         struct tp_text *text)
{
    size_t bad = 0;
    if (!anomalies->tensors)
        return;
    tp_text_add(text, "\nFirst anomaly\n");
    add_anomalies(anomalies, true, most, &bad, text);
    add_anomalies(anomalies, false, most, &bad, text);
    tp_report_more(bad, most, text);
    if (!bad)
        tp_text_add(text, anomalies->unknown < anomalies->tensors
                              ? "  no call has NaN or Inf but where it is "
                                "meant\n"
                              : "  not known\n");
    add_silent(anomalies, text);
}

/* --- data flow
 * ---------------------------------------------------------------- */

static void add_flow(const struct tp_dump_flow_row *row, struct tp_text *text)
{
    add_place(row->step, row->rank, row->consumer_order, text);
    tp_text_add(text, "%-9s ", row->kind);
    tp_text_printable(text, row->consumer);
    tp_text_add(text, ", made as ");
    tp_text_printable(text, row->producer);
    if (row->differing >= 0)
        tp_text_add(text,
                    ": %" PRId64 " of %" PRId64 " elements, %" PRId64
                    " to %" PRId64,
                    row->differing, row->numel, row->first, row->last);
    tp_text_add(text, "\n");
}

/* What an audit did not see. */
static void add_unread(const struct tp_dump_unread *unread,
                       struct tp_text *text)
{
    if (!unread->count)
        return;
    tp_text_add(text,
                "  tensors that could not be read for it: %zu, the first ",
                unread->count);
    tp_text_printable(text, unread->first);
    tp_text_add(text, "\n");
}

void tp_report_flow(const struct tp_dump_flow *flow, size_t most,
                    struct tp_text *text)
{
    if (!flow->inputs && !flow->unread.count)
        return;
    tp_text_add(text,
                "\nData flow\n  inputs that hold what a call before them gave "
                "or was given: %zu of %zu\n",
                flow->matched, flow->inputs);
    add_unread(&flow->unread, text);
    if (flow->count)
        tp_text_add(text, "  %5s %5s %7s  %-9s %s\n", "step", "rank", "call",
                    "kind", "input, and what it should be");
    for (size_t i = 0; i < flow->count && (!most || i < most); i++)
        add_flow(&flow->rows[i], text);
    tp_report_more(flow->count, most, text);
}

/* --- copies
 * ------------------------------------------------------------------- */

static void add_share(double share, struct tp_text *text)
{
    if (isnan(share))
        tp_text_add(text, " %9s", "-");
    else
        tp_text_add(text, " %9.3g", 100 * share);
}

static void add_copy(const struct tp_dump_copy_row *row, struct tp_text *text)
{
    tp_text_add(text, " ");
    add_number(row->step, 5, text);
    add_number(row->rank, 5, text);
    add_number(row->reference, 7, text);
    add_share(row->share, text);
    add_share(row->norm, text);
    tp_text_add(text, "  %-10s ", row->kind);
    tp_text_printable(text, row->name);
    tp_text_add(text, "\n");
}

void tp_report_copies(const struct tp_dump_copies *copies, size_t most,
                      struct tp_text *text)
{
    if (!copies->compared)
        return;
    tp_text_add(text, "\nCopies on ranks\n  ");
    tp_report_count(text, copies->compared, "tensor");
    tp_text_add(text,
                " that several ranks have: %zu equal on all, %zu not meant to "
                "be, as far as the others of their kind tell\n",
                copies->equal, copies->sharded);
    add_unread(&copies->unread, text);
    if (copies->count)
        tp_text_add(text, "  %5s %5s %7s %9s %9s  %-10s %s\n", "step", "rank",
                    "against", "elements%", "norm%", "kind", "tensor");
    for (size_t i = 0; i < copies->count && (!most || i < most); i++)
        add_copy(&copies->rows[i], text);
    tp_report_more(copies->count, most, text);
}
