/* SPDX-License-Identifier: MIT */
/*
 * Sections of a report on traces: each is a row of a table that says which
 * rows it shows, with which columns, and what stands above and below; one
 * printer writes them all. The other way, a function per section, repeats the
 * walk over traces and rows a dozen times. Cost: one pass over what is shown.
 */
#include "report/report_trace_sections.h"

#include <string.h>

#include "base/text_wrap.h"
#include "report/report_parts.h"
#include "report/report_rows.h"
#include "report/report_trace_label.h"
#include "trace/trace_lists.h"
#include "verdict/trace_verdict.h"
#include "verdict/verdict_tables.h"

enum { LABEL = 24 };

struct section {
    /* Above; what one trace at a time shows is "\nTITLE of TRACE, WHAT". */
    const char *title, *what;
    enum tp_trace_list list;
    const struct tp_shown *columns;
    const char *tail; /* head of what add_tail adds; "": nothing           */
    bool of_host; /* shown of traces without a device, too                 */
    bool always; /* the heading stands without rows, too                  */
    bool (*is_shown)(const void *row); /* NULL: every row                  */
    void (*add_tail)(const void *row, struct tp_text *text); /* or NULL    */
    const char *legend; /* below; "": nothing                             */
    /* Of one trace: what is below if a row is marked; NULL: no row can be. */
    bool (*is_marked)(const void *row);
    const char *marks;
};

static const void *row_of(const struct tp_table *table, size_t row)
{
    return (const char *)table->rows + row * table->row_size;
}

/* --- rows of all traces ------------------------------------------------- */

static void add_heading(const struct section *section, struct tp_text *text)
{
    tp_text_add(text, "\n");
    tp_report_prose(section->title, 2, text);
    tp_text_add(text, "\n  %-*s", LABEL, "trace");
    tp_report_heads(section->columns, text);
    tp_text_add(text, "%s\n", section->tail);
}

/* One row: a table of just this one. */
static void add_row(const struct section *section,
                    const struct tp_trace_run *run, size_t trace,
                    struct tp_table row, struct tp_text *text)
{
    tp_text_add(text, "  ");
    tp_report_trace_label(run, trace, LABEL, text);
    tp_report_cells(&row, 0, section->columns, text);
    if (section->add_tail)
        section->add_tail(row.rows, text);
    tp_text_add(text, "\n");
}

/* The rows of the first `traces` traces. */
static void add_section(const struct section *section,
                        const struct tp_trace_run *run, size_t traces,
                        struct tp_text *text)
{
    bool any = section->always;
    if (any)
        add_heading(section, text);
    for (size_t i = 0; i < traces; i++) {
        const struct tp_table table =
            tp_trace_list_table(&run->traces[i], section->list);
        for (size_t j = 0; j < table.row_count; j++) {
            if (section->is_shown && !section->is_shown(row_of(&table, j)))
                continue;
            if (!any)
                add_heading(section, text);
            any = true;
            add_row(section, run, i, tp_table_window(&table, j, 1, NULL),
                    text);
        }
    }
    if (any)
        tp_report_prose(section->legend, 4, text);
}

#define IDLE(member, head, width) \
    TP_SHOWN_PERCENT(tp_idle_row, member, head, width, 1)
static const struct tp_shown idle_columns[] = {
    TP_SHOWN_PER(tp_idle_row, window_us, "window ms", 9, 2, 1e3),
    IDLE(busy, "busy", 6), IDLE(queued, "queue", 6),
    IDLE(alloc, "alloc", 6), IDLE(dataloader, "loader", 6),
    IDLE(blocking, "block", 6),
    IDLE(launch, "launch", 6), IDLE(cpu_op, "op", 6), IDLE(none, "none", 6),
    TP_SHOWN_BAR("|"), IDLE(blocked, "blocked", 7),
    IDLE(blocked_busy, "GPU busy", 8), IDLE(refill, "refill", 6), {0}};

/* There are no shares of nothing. */
static bool has_window(const void *row)
{
    return ((const struct tp_idle_row *)row)->window_us > 0;
}

void tp_report_idle(const struct tp_trace_run *run, size_t most,
                    struct tp_text *text)
{
    static const struct section section = {
        .title = "GPU busy and idle, % of the window; each idle moment counts "
                 "once, for the first cause from the left",
        .list = TP_TRACE_IDLE,
        .columns = idle_columns,
        .tail = "",
        .always = true,
        .is_shown = has_window,
        .legend = ""};
    const size_t count = run->trace_count;
    add_section(&section, run, most && most < count ? most : count, text);
    size_t from = text->length;
    tp_text_add(text,
                "  window: %s\n  queue: work that was launched long before "
                "does not begin; block: calls that wait for the GPU; op: "
                "operators; none: nothing recorded but Python\n"
                "  blocked: time in blocking calls, and of it with the GPU "
                "busy (harmless); refill: idle after one, without pending "
                "work, included on the left\n",
                run->traces[0].facts.window);
    tp_text_wrap(text, from, 4, NULL);
}

#define BUSY(member, head) TP_SHOWN_PER(tp_busy_row, member, head, 9, 2, 1e3)
static const struct tp_shown busy_columns[] = {
    TP_SHOWN_TEXT(tp_busy_row, definition, "of", 19), BUSY(total_us, "total"),
    BUSY(busy_us, "busy"), BUSY(idle_us, "idle"), BUSY(compute_us, "compute"),
    BUSY(communication_us, "comm"),
    BUSY(exposed_communication_us, "exposed"), BUSY(memory_us, "copies"),
    BUSY(exposed_memory_us, "exposed"),
    {"overlap", TP_COLUMN(struct tp_busy_row, overlap, ""), 7, 1, 100, 1, " %",
     NULL},
    {0}};

void tp_report_busy(const struct tp_trace_run *run, struct tp_text *text)
{
    static const struct section section = {
        .title = "GPU time, ms; unions, so what runs at once counts once",
        .list = TP_TRACE_BUSY_ROWS,
        .columns = busy_columns,
        .tail = "",
        .legend = "  exposed: what no computation hides; overlap: "
                  "communication under computation, of communication\n"};
    add_section(&section, run, run->trace_count, text);
}

#define COPY_PER(member, head, width, digits, per) \
    TP_SHOWN_PER(tp_copy_row, member, head, width, digits, per)
static const struct tp_shown copy_columns[] = {
    TP_SHOWN_COUNT(tp_copy_row, count, "count", 8),
    COPY_PER(bytes, "MB", 12, 3, 1e6),
    COPY_PER(total_us, "device us", 12, 1, 1),
    COPY_PER(bandwidth_gbps, "GB/s", 10, 3, 1),
    COPY_PER(call_us, "host us", 12, 1, 1), {0}};

static void add_copy(const void *row, struct tp_text *text)
{
    tp_text_add(text, "  ");
    tp_text_printable(text, ((const struct tp_copy_row *)row)->kind);
}

static const struct tp_shown sync_columns[] = {
    TP_SHOWN_COUNT(tp_sync_row, count, "count", 8),
    TP_SHOWN_PER(tp_sync_row, total_us, "us", 12, 1, 1),
    TP_SHOWN_PER(tp_sync_row, idle_us, "GPU idle us", 12, 1, 1),
    TP_SHOWN_BAR(""), TP_SHOWN_TEXT(tp_sync_row, cause, "cause", 10), {0}};

static void add_sync(const void *row, struct tp_text *text)
{
    const struct tp_sync_row *sync = row;
    tp_text_add(text, " ");
    tp_text_printable(text, sync->call);
    tp_text_add(text, "%s", *sync->op ? ", " : "");
    tp_text_printable(text, sync->op);
}

#define MEMORY_PER(member, head, width, digits, per) \
    TP_SHOWN_PER(tp_memory_row, member, head, width, digits, per)
static const struct tp_shown memory_columns[] = {
    TP_SHOWN_TEXT(tp_memory_row, device, "device", 8),
    TP_SHOWN_COUNT(tp_memory_row, allocations, "allocs", 10),
    MEMORY_PER(allocations_per_step, "allocs/step", 12, 1, 1),
    MEMORY_PER(allocated_per_step_b, "GB/step", 12, 4, 1e9),
    MEMORY_PER(peak_allocated_b, "peak GB", 12, 4, 1e9),
    MEMORY_PER(peak_reserved_b, "reserved GB", 12, 4, 1e9),
    MEMORY_PER(turnover, "turnover", 8, 1, 1),
    TP_SHOWN_PERCENT(tp_memory_row, short_lived, "short %", 8, 1), {0}};

#define COMM_PER(member, head, width, digits, per) \
    TP_SHOWN_PER(tp_comm_row, member, head, width, digits, per)
static const struct tp_shown comm_columns[] = {
    TP_SHOWN_COUNT(tp_comm_row, count, "count", 8),
    COMM_PER(out_bytes, "MB out", 12, 3, 1e6),
    COMM_PER(total_us, "total us", 12, 1, 1),
    COMM_PER(exposed_us, "exposed us", 12, 1, 1),
    COMM_PER(max_us, "max us", 10, 1, 1),
    COMM_PER(bus_gbps, "bus GB/s", 8, 2, 1), {0}};

static void add_collective(const void *row, struct tp_text *text)
{
    const struct tp_comm_row *comm = row;
    tp_text_add(text, "  ");
    tp_text_printable(text,
                      *comm->collective ? comm->collective : comm->kernel);
    tp_text_add(text, "%s", *comm->dtype ? " " : "");
    tp_text_printable(text, comm->dtype);
}

static const struct section sections[] = {
    {.title = "Copies",
     .list = TP_TRACE_COPIES,
     .columns = copy_columns,
     .tail = "  kind",
     .add_tail = add_copy,
     .legend = ""},
    {.title = "Blocking calls",
     .list = TP_TRACE_SYNCS,
     .columns = sync_columns,
     .tail = " call, operator",
     .add_tail = add_sync,
     .legend = ""},
    {.title = "Memory",
     .list = TP_TRACE_MEMORY_ROWS,
     .columns = memory_columns,
     .tail = "",
     .of_host = true,
     .legend = "  turnover: bytes of a step over the peak; short: given back "
               "within 1 ms or the same operator\n"},
    {.title = "Collectives, waiting for other ranks included",
     .list = TP_TRACE_COLLECTIVES,
     .columns = comm_columns,
     .tail = "  what",
     .add_tail = add_collective,
     .of_host = true,
     .legend = ""}};

void tp_report_lists(const struct tp_trace_run *run, bool device,
                     struct tp_text *text)
{
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        if (device || sections[i].of_host)
            add_section(&sections[i], run, run->trace_count, text);
    }
}

/* --- steps and ranks ---------------------------------------------------- */

#define STEP(member, head, width) \
    TP_SHOWN_PER(tp_step_row, member, head, width, 3, 1e3)
static const struct tp_shown step_columns[] = {
    {"step", TP_COLUMN(struct tp_step_row, step, ""), 8, 0, 1, 1, NULL,
     "(all)"},
    STEP(host_us, "Profiler", 9), STEP(data_wait_us, "data", 9),
    STEP(compute_us, "without", 9), TP_SHOWN_BAR("|"),
    STEP(kernel_us, "kernel", 8), STEP(memcpy_us, "memcpy", 8),
    STEP(memset_us, "memset", 8), STEP(communication_us, "comm", 8),
    STEP(runtime_us, "runtime", 8), STEP(dataloader_us, "loader", 8),
    STEP(cpu_exec_us, "cpu", 8), STEP(other_us, "other", 8), {0}};

static void add_steadiness(const void *row, struct tp_text *text)
{
    const struct tp_step_row *step = row;
    tp_text_add(text, "%s",
                !step->steady    ? "  not steady"
                : !step->typical ? "  not typical"
                                 : "");
}

void tp_report_steps(const struct tp_trace_run *run, size_t most,
                     struct tp_text *text)
{
    static const struct section section = {
        .title = "Steps, ms; costs of a step's window, each moment once, in "
                 "this order: kernel .. other",
        .columns = step_columns,
        .tail = "",
        .add_tail = add_steadiness};
    size_t shown = 0, count = 0;
    for (size_t i = 0; i < run->trace_count; i++)
        count += run->traces[i].steps.count;
    if (count == 0)
        return;
    add_heading(&section, text);
    for (size_t i = 0; i < run->trace_count; i++) {
        const struct tp_table table =
            tp_trace_list_table(&run->traces[i], TP_TRACE_STEPS);
        for (size_t j = 0; j < table.row_count; j++) {
            if (most && shown == most) {
                tp_text_add(text, "  ... and %zu more in /steps\n",
                            count - shown);
                return;
            }
            add_row(&section, run, i, tp_table_window(&table, j, 1, NULL),
                    text);
            shown++;
        }
    }
}

#define RANK(member, head) TP_SHOWN_PER(tp_rank_row, member, head, 10, 3, 1e3)
#define RANK_PERCENT(member, head, width) \
    TP_SHOWN_PERCENT(tp_rank_row, member, head, width, 1)
static const struct tp_shown rank_columns[] = {
    RANK(start_us, "starts"), RANK(step_us, "step"),
    RANK(data_wait_us, "data wait"), RANK_PERCENT(busy, "busy", 6),
    RANK_PERCENT(communication, "comm", 6),
    RANK_PERCENT(exposed_communication, "exposed", 8),
    RANK_PERCENT(late, "late", 6), {0}};

void tp_report_ranks(const struct tp_trace_report *report, size_t most,
                     struct tp_text *text)
{
    static const struct section section = {
        .title = "Ranks; times in ms, shares in % of the window of each",
        .columns = rank_columns,
        .tail = "  verdict"};
    const struct tp_trace_judged *judged = report->judged;
    struct tp_table tables[TP_JUDGED_TABLES];
    if (judged->ranks.count < 2)
        return;
    tp_judged_tables_make(judged, tables);
    add_heading(&section, text);
    for (size_t i = 0; i < judged->ranks.count; i++) {
        if (most && i == most) {
            tp_text_add(text, "  ... and %zu more in /ranks\n",
                        judged->ranks.count - i);
            break;
        }
        tp_text_add(text, "  ");
        tp_report_trace_label(report->run, i, LABEL, text);
        tp_report_cells(&tables[TP_JUDGED_RANKS], i, rank_columns, text);
        tp_text_add(text, "  %s%s\n",
                    tp_trace_verdict_table[judged->verdicts[i].verdict].id,
                    judged->ranks.rows[i].straggler ? ", straggler" : "");
    }
    tp_report_prose("  late: starts of collectives after the median rank, "
                    "added up, % of a step, as half of the steps have it\n",
                    4, text);
}

/* --- rows of one trace after the other ---------------------------------- */

static const struct tp_shown kernel_columns[] = {
    TP_SHOWN_PER(tp_kernel_row, total_us, "total", 10, 1, 1),
    TP_SHOWN_COUNT(tp_kernel_row, count, "count", 8),
    TP_SHOWN_PER(tp_kernel_row, mean_us, "mean", 10, 2, 1),
    TP_SHOWN_PER(tp_kernel_row, min_us, "min", 10, 2, 1),
    TP_SHOWN_PER(tp_kernel_row, max_us, "max", 10, 2, 1),
    {"share", TP_COLUMN(struct tp_kernel_row, share, ""), 7, 1, 100, 1, " %",
     NULL},
    {0}};

static void add_kernel(const void *row, struct tp_text *text)
{
    tp_text_add(text, "  ");
    tp_text_printable(text, ((const struct tp_kernel_row *)row)->name);
}

static const struct tp_shown op_kernel_columns[] = {
    TP_SHOWN_PER(tp_op_kernel_row, device_us, "total", 10, 1, 1),
    TP_SHOWN_COUNT(tp_op_kernel_row, count, "count", 8),
    TP_SHOWN_PER(tp_op_kernel_row, mean_us, "mean", 10, 2, 1),
    TP_SHOWN_PER(tp_op_kernel_row, launch_delay_us, "to launch", 10, 2, 1),
    TP_SHOWN_PER(tp_op_kernel_row, runtime_delay_us, "to start", 10, 2, 1),
    {0}};

static void add_op_kernel(const void *row, struct tp_text *text)
{
    const struct tp_op_kernel_row *pair = row;
    tp_text_add(text, "  ");
    tp_text_printable(text, *pair->op ? pair->op : "(none)");
    tp_text_add(text, ": ");
    tp_text_printable(text, pair->kernel);
}

static const struct tp_shown annotation_columns[] = {
    TP_SHOWN_COUNT(tp_annotation_row, count, "count", 8),
    TP_SHOWN_PER(tp_annotation_row, total_us, "host", 12, 1, 1),
    TP_SHOWN_PER(tp_annotation_row, mean_us, "mean", 10, 1, 1),
    TP_SHOWN_COUNT(tp_annotation_row, device_events, "kernels", 10),
    TP_SHOWN_PER(tp_annotation_row, device_us, "device", 12, 1, 1),
    TP_SHOWN_PER(tp_annotation_row, self_device_us, "self", 12, 1, 1), {0}};

/* Steps have a table of their own. */
static bool is_host_range(const void *row)
{
    const struct tp_annotation_row *range = row;
    return range->is_host && strncmp(range->name, "ProfilerStep#", 13) != 0;
}

static void add_annotation(const void *row, struct tp_text *text)
{
    tp_text_add(text, "  ");
    tp_text_printable(text, ((const struct tp_annotation_row *)row)->name);
}

#define FRAME(member, head) TP_SHOWN_PER(tp_frame_row, member, head, 12, 1, 1)
static const struct tp_shown frame_columns[] = {
    FRAME(self_idle_us[TP_FRAME_HOST], "self idle"),
    FRAME(idle_us[TP_FRAME_HOST], "idle"),
    FRAME(idle_us[TP_FRAME_LOADER], "loading"),
    FRAME(idle_us[TP_FRAME_BLOCKING], "waiting"),
    FRAME(self_us, "self"), TP_SHOWN_COUNT(tp_frame_row, count, "calls", 8),
    {0}};

static void add_frame(const void *row, struct tp_text *text)
{
    tp_text_add(text, "  ");
    tp_text_printable(text, ((const struct tp_frame_row *)row)->name);
}

static const struct tp_shown roof_columns[] = {
    TP_SHOWN_PER(tp_roof_row, device_us, "total", 10, 1, 1),
    TP_SHOWN_COUNT(tp_roof_row, count, "count", 7),
    TP_SHOWN_PER(tp_roof_row, tflops, "TFLOP/s", 8, 1, 1),
    TP_SHOWN_PER(tp_roof_row, gbps, "GB/s", 7, 0, 1),
    TP_SHOWN_PER(tp_roof_row, intensity, "FLOP/B", 7, 1, 1),
    {"roof", TP_COLUMN(struct tp_roof_row, roof, ""), 7, 0, 100, 1, " %", NULL},
    TP_SHOWN_TEXT(tp_roof_row, bound, "bound by", 8),
    TP_SHOWN_TEXT(tp_roof_row, precision, "peak of", 7),
    TP_SHOWN_TEXT(tp_roof_row, tensor_cores, "tensor", 6),
    TP_SHOWN_PER(tp_roof_row, sm_efficiency, "SM %", 5, 0, 1),
    TP_SHOWN_PER(tp_roof_row, occupancy, "occ %", 5, 0, 1),
    {0}};

static bool is_doubted(const void *row)
{
    return *((const struct tp_roof_row *)row)->doubt != '\0';
}

static void add_roof(const void *row, struct tp_text *text)
{
    const struct tp_roof_row *roof = row;
    tp_text_add(text, "  %s",
                !strcmp(roof->doubt, "cache")       ? "[cache?] "
                : !strcmp(roof->doubt, "algorithm") ? "[fewer FLOP] "
                : !strcmp(roof->doubt, "inputs")    ? "[too fast] "
                                                    : "");
    tp_text_printable(text, roof->op);
    tp_text_add(text, " (");
    tp_text_printable(text, roof->inputs);
    tp_text_add(text, ")");
}

static const struct tp_shown fusion_columns[] = {
    TP_SHOWN_PER(tp_fusion_row, saved_us, "saved", 10, 1, 1),
    TP_SHOWN_PER(tp_fusion_row, device_us, "total", 10, 1, 1),
    TP_SHOWN_COUNT(tp_fusion_row, count, "chains", 8),
    TP_SHOWN_PER(tp_fusion_row, elements, "elements", 12, 0, 1),
    {0}};

static void add_fusion(const void *row, struct tp_text *text)
{
    tp_text_add(text, "  ");
    tp_text_printable(text, ((const struct tp_fusion_row *)row)->ops);
}

/* The first `top` rows of a trace. */
static void add_trace(const struct section *section,
                      const struct tp_trace_run *run, size_t trace, size_t top,
                      struct tp_text *text)
{
    const struct tp_table table =
        tp_trace_list_table(&run->traces[trace], section->list);
    size_t shown = 0;
    bool marked = false;
    for (size_t i = 0; i < table.row_count && shown < top; i++) {
        if (section->is_shown && !section->is_shown(row_of(&table, i)))
            continue;
        if (shown++ == 0) {
            const size_t from = text->length + 1;
            tp_text_add(text, "\n%s of ", section->title);
            tp_report_trace_label(run, trace, 0, text);
            tp_text_add(text, ", %s\n", section->what);
            tp_text_wrap(text, from, 4, NULL);
            tp_text_add(text, " ");
            tp_report_heads(section->columns, text);
            tp_text_add(text, "%s\n", section->tail);
        }
        tp_text_add(text, " ");
        tp_report_cells(&table, i, section->columns, text);
        section->add_tail(row_of(&table, i), text);
        tp_text_add(text, "\n");
        marked |= section->is_marked && section->is_marked(row_of(&table, i));
    }
    if (marked)
        tp_report_prose(section->marks, 4, text);
}

static const struct tp_shown group_columns[] = {
    TP_SHOWN_PER(tp_op_row, self_cuda_us, "self CUDA", 12, 1, 1),
    TP_SHOWN_PER(tp_op_row, cuda_total_us, "CUDA", 12, 1, 1),
    TP_SHOWN_PER(tp_op_row, self_cpu_us, "self CPU", 12, 1, 1),
    TP_SHOWN_PER(tp_op_row, cpu_total_us, "CPU", 12, 1, 1),
    TP_SHOWN_COUNT(tp_op_row, count, "calls", 8), {0}};

static bool is_host_op(const void *row)
{
    return !((const struct tp_op_row *)row)->is_device;
}

static void add_group(const void *row, struct tp_text *text)
{
    enum { SHOWN = 200 };
    const struct tp_op_row *op = row;
    tp_text_add(text, "  ");
    tp_text_printable(text, op->name);
    tp_text_add(text, *op->group ? "  " : "");
    tp_text_printable_cut(text, op->group, SHOWN);
}

void tp_report_groups(const struct tp_trace_run *run, size_t top,
                      struct tp_text *text)
{
    static const struct section section = {
        .title = "Operators by --group_by",
        .what = "us",
        .list = TP_TRACE_OP_GROUPS,
        .columns = group_columns,
        .tail = "  name, group",
        .is_shown = is_host_op,
        .add_tail = add_group};
    for (size_t i = 0; i < run->trace_count; i++)
        add_trace(&section, run, i, top, text);
}

void tp_report_device_work(const struct tp_trace_run *run, size_t top,
                           struct tp_text *text)
{
    static const struct section work[] = {
        {.title = "Device work",
         .what = "by total time; us",
         .list = TP_TRACE_KERNELS,
         .columns = kernel_columns,
         .tail = "  name",
         .add_tail = add_kernel},
        {.title = "Kernels of operators",
         .what = "by total time; us; to launch: from the start of the operator "
                 "to the call, to start: from there to the kernel",
         .list = TP_TRACE_OP_KERNELS,
         .columns = op_kernel_columns,
         .tail = "  operator: kernel",
         .add_tail = add_op_kernel},
        {.title = "Operators against the machine",
         .what = "by time of their kernels; us; roof: the least time that the "
                 "device needs for the FLOP or bytes, of the time taken",
         .list = TP_TRACE_ROOFLINE,
         .columns = roof_columns,
         .tail = "  operator (inputs)",
         .add_tail = add_roof,
         .is_marked = is_doubted,
         .marks = "  above 105 % of the roof: [cache?] bytes that may have "
                  "come from a cache, [fewer FLOP] by Winograd or Fourier "
                  "transforms, [too fast] inputs that are not what the "
                  "kernels did, or another device\n"},
        {.title = "Kernels that one could replace",
         .what = "chains on one stream, by what a fused kernel saves at most; "
                 "us",
         .list = TP_TRACE_FUSIONS,
         .columns = fusion_columns,
         .tail = "  operators",
         .add_tail = add_fusion},
        {.title = "Named ranges",
         .what = "by time of the device work their threads start in them; us",
         .list = TP_TRACE_ANNOTATIONS,
         .columns = annotation_columns,
         .tail = "  name",
         .is_shown = is_host_range,
         .add_tail = add_annotation},
        {.title = "Python functions",
         .what = "by time of their own with the GPU idle; us; idle: behind the "
                 "host, loading: behind the DataLoader, waiting: behind calls "
                 "that wait",
         .list = TP_TRACE_FRAMES,
         .columns = frame_columns,
         .tail = "  function",
         .add_tail = add_frame}};
    for (size_t s = 0; s < sizeof work / sizeof *work; s++) {
        for (size_t i = 0; i < run->trace_count; i++)
            add_trace(&work[s], run, i, top, text);
    }
}
