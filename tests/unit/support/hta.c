/* SPDX-License-Identifier: MIT */
#include "tests/unit/support/hta.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/support/trace_files.h"
#include "trace/interval.h"

/* HTA computes with microseconds in doubles, which for times since the epoch
 * are multiples of a quarter. */
static double microseconds(int64_t ns)
{
    return (double)(ns / 1000) + (double)(ns % 1000) / 1000.0;
}

static int64_t start_of(const struct tp_trace *trace, uint32_t event)
{
    return (int64_t)ceil(microseconds(trace->events.start[event]));
}

static int64_t end_of(const struct tp_trace *trace, uint32_t event)
{
    return (int64_t)floor(microseconds(trace->events.start[event]) +
                          microseconds(trace->events.duration[event]));
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static const char *name_of(const struct tp_trace *trace, uint32_t event)
{
    return tp_events_get(&trace->events, trace->events.name[event]);
}

static int kind_of(const struct tp_trace *trace, uint32_t event)
{
    const char *name = name_of(trace, event);
    if (trace->events.category[event] == TP_EVENT_SYNC) {
        return 0;
    }
    if (begins(name, "nccl") || begins(name, "hccl") ||
        strstr(name, "ncclKernel")) {
        return HTA_COMMUNICATION;
    }
    return begins(name, "Memcpy") || begins(name, "Memset") ||
                   begins(name, "dma")
               ? HTA_MEMORY
               : HTA_COMPUTATION;
}

static struct hta_row row_of(const struct tp_trace *trace, uint32_t event)
{
    const uint32_t detail = trace->events.detail[event];
    const uint32_t call = trace->index.call[event];
    struct hta_row row = {
        .ts = start_of(trace, event),
        .end = end_of(trace, event),
        .event = event,
        .kind = kind_of(trace, event),
        .stream = -1,
        .linked = call != TP_NO_EVENT,
        .dated = trace->events.correlation[event] >= 0,
        .is_work = trace->events.category[event] != TP_EVENT_SYNC,
    };
    if (row.is_work && detail != TP_NO_DETAIL) {
        row.stream = trace->events.gpu[detail].stream;
    }
    /* To HTA, a call that is not in the file is the first event of all. */
    row.launch = start_of(trace, row.linked ? call : 0);
    row.call_end = end_of(trace, row.linked ? call : 0);
    row.queued = row.linked && !strstr(name_of(trace, call), "GraphLaunch");
    return row;
}

/* With two steps and more, only what was launched before the last begins, or
 * ends if it is to be kept. */
static bool is_kept(const struct tp_trace *trace, const struct hta_row *row,
                    bool include_last)
{
    const size_t steps = trace->index.step_count;
    if (steps < 2) {
        return true;
    }
    const uint32_t last = trace->index.steps[steps - 1].event;
    if (!row->linked) {
        return trace->events.correlation[row->event] < 0;
    }
    return include_last ? row->launch <= end_of(trace, last)
                        : row->launch < start_of(trace, last);
}

static int by_start(const void *a, const void *b)
{
    const struct hta_row *x = a;
    const struct hta_row *y = b;
    if (x->ts != y->ts) {
        return x->ts < y->ts ? -1 : 1;
    }
    return (x->event > y->event) - (x->event < y->event);
}

struct hta hta_open(const struct tp_trace *trace, bool include_last)
{
    const struct tp_events *events = &trace->events;
    struct hta hta = {.rows = malloc((events->count + 1) * sizeof *hta.rows)};
    cr_assert_not_null(hta.rows);
    for (size_t i = 0; i < trace->index.device_count; i++) {
        const struct hta_row row = row_of(trace, trace->index.device[i]);
        if (is_kept(trace, &row, include_last)) {
            hta.rows[hta.count++] = row;
        }
    }
    for (uint32_t i = 0; i < events->count; i++) {
        if (events->category[i] == TP_EVENT_SYNC) {
            const struct hta_row row = row_of(trace, i);
            if (is_kept(trace, &row, include_last)) {
                hta.rows[hta.count++] = row;
            }
        }
    }
    qsort(hta.rows, hta.count, sizeof *hta.rows, by_start);
    return hta;
}

void hta_close(struct hta *hta)
{
    free(hta->rows);
    *hta = (struct hta){0};
}

/* The merged intervals of rows of some kinds (-1: of all). A row may end
 * before it starts; then, alone, it is an interval of negative length. */
static struct tp_interval *merge(const struct hta *hta, int kinds,
                                 size_t *count)
{
    struct tp_interval *out = malloc((hta->count + 1) * sizeof *out);
    cr_assert_not_null(out);
    int64_t latest = INT64_MIN;
    *count = 0;
    for (size_t i = 0; i < hta->count; i++) {
        const struct hta_row *row = &hta->rows[i];
        if (kinds != -1 && !(row->kind & kinds)) {
            continue;
        }
        if (*count == 0 || row->ts > latest) {
            out[(*count)++] = (struct tp_interval){row->ts, row->end};
        } else if (row->end > out[*count - 1].to) {
            out[*count - 1].to = row->end;
        }
        latest = row->end > latest ? row->end : latest;
    }
    return out;
}

static int64_t merged_length(const struct hta *hta, int kinds, int64_t *span)
{
    size_t count = 0;
    struct tp_interval *list = merge(hta, kinds, &count);
    int64_t length = 0;
    for (size_t i = 0; i < count; i++) {
        length += list[i].to - list[i].from;
    }
    if (span) {
        *span = count > 0 ? list[count - 1].to - list[0].from : 0;
    }
    free(list);
    return length;
}

struct hta_temporal hta_temporal(const struct hta *hta)
{
    struct hta_temporal out = {0};
    out.idle = -merged_length(hta, -1, &out.kernel);
    out.idle += out.kernel;
    out.compute = merged_length(hta, HTA_COMPUTATION, NULL);
    out.non_compute = out.kernel - out.idle - out.compute;
    return out;
}

struct change {
    int64_t at;
    int by;
};

static int by_time(const void *a, const void *b)
{
    const struct change *x = a;
    const struct change *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

struct hta_kinds hta_kinds(const struct hta *hta, int which)
{
    struct hta_kinds out = {{0}};
    struct change *changes = malloc((6 * hta->count + 1) * sizeof *changes);
    size_t count = 0;
    cr_assert_not_null(changes);
    for (int kind = HTA_COMPUTATION; kind <= HTA_MEMORY; kind *= 2) {
        size_t merged = 0;
        struct tp_interval *list = merge(hta, kind & which, &merged);
        for (size_t i = 0; i < merged; i++) {
            changes[count++] = (struct change){list[i].from, kind};
            changes[count++] = (struct change){list[i].to, -kind};
        }
        free(list);
    }
    qsort(changes, count, sizeof *changes, by_time);
    int running = 0;
    for (size_t i = 0; i + 1 < count; i++) {
        running += changes[i].by;
        if (running > 0 && running < 8) {
            out.times[running] += changes[i + 1].at - changes[i].at;
        }
    }
    free(changes);
    return out;
}

double hta_overlap(const struct hta *hta)
{
    const int64_t all = merged_length(hta, HTA_COMMUNICATION, NULL);
    const struct hta_kinds kinds =
        hta_kinds(hta, HTA_COMPUTATION | HTA_COMMUNICATION);
    return all > 0
               ? 100 *
                     (double)kinds.times[HTA_COMPUTATION | HTA_COMMUNICATION] /
                     (double)all
               : NAN;
}

struct hta_gaps hta_gaps(const struct hta *hta, int stream)
{
    struct hta_gaps gaps = {0};
    const struct hta_row *before = NULL;
    for (size_t i = 0; i < hta->count; i++) {
        const struct hta_row *row = &hta->rows[i];
        if (!row->is_work || row->stream != stream) {
            continue;
        }
        if (before) {
            const int64_t gap = row->ts - before->end;
            if (row->dated && row->launch > before->end) {
                gaps.host_wait += gap;
            } else if (gap < 30) {
                gaps.kernel_wait += gap;
            } else {
                gaps.other += gap;
            }
        }
        before = row;
    }
    return gaps;
}

static int by_time_up_first(const void *a, const void *b)
{
    const int order = by_time(a, b);
    return order ? order
                 : ((const struct change *)b)->by -
                       ((const struct change *)a)->by;
}

static int by_time_down_first(const void *a, const void *b)
{
    const int order = by_time(a, b);
    return order ? order
                 : ((const struct change *)a)->by -
                       ((const struct change *)b)->by;
}

static double mean_length(const struct change *changes, int64_t count)
{
    int64_t length = 0;
    int64_t sum = 0;
    for (int64_t i = 0; i < count; i++) {
        length += changes[i].by;
        sum += length;
    }
    return (double)sum / (double)count;
}

struct hta_queue hta_queue(const struct hta *hta, int stream, int64_t full)
{
    struct hta_queue out = {.min = INT64_MAX};
    struct change *changes = malloc((2 * hta->count + 1) * sizeof *changes);
    int64_t length = 0;
    cr_assert_not_null(changes);
    for (size_t i = 0; i < hta->count; i++) {
        const struct hta_row *row = &hta->rows[i];
        if (row->is_work && row->queued && row->stream == stream) {
            changes[out.count++] = (struct change){row->launch, 1};
            changes[out.count++] = (struct change){row->ts, -1};
        }
    }
    const size_t count = (size_t)out.count;
    qsort(changes, count, sizeof *changes, by_time_down_first);
    out.mean_low = mean_length(changes, out.count);
    qsort(changes, count, sizeof *changes, by_time_up_first);
    out.mean_high = mean_length(changes, out.count);
    for (size_t i = 0; i < count; i++) {
        length += changes[i].by;
        out.min = length < out.min ? length : out.min;
        out.max = length > out.max ? length : out.max;
        if (length >= full && i + 1 < count) {
            out.blocked += changes[i + 1].at - changes[i].at;
        }
    }
    free(changes);
    return out;
}

static void read_section(struct hta_line *line)
{
    const char *last = strstr(line->text, "include_last");
    line->include_last = last && strstr(last, "True");
    line->section[0] = line->block[0] = '\0';
    if (begins(line->text, "=====")) {
        sscanf(line->text, "===== %255s", line->section);
    }
}

bool hta_next(struct hta_line *line)
{
    while (fgets(line->text, sizeof line->text, line->file)) {
        if (begins(line->text, "=====") || begins(line->text, "include_last")) {
            read_section(line);
            continue;
        }
        if (begins(line->text, "-- ")) {
            sscanf(line->text, "-- %31s", line->block);
            continue;
        }
        line->count = 0;
        for (char *word = strtok(line->text, " \n");
             word && line->count < HTA_WORDS; word = strtok(NULL, " \n")) {
            line->words[line->count++] = word;
        }
        if (line->count > 0) {
            return true;
        }
    }
    fclose(line->file);
    return false;
}

int hta_ranks(const struct hta_line *line)
{
    return !line->section[0]                     ? 8
           : strstr(line->section, "own/ranks") ? 4
                                                : 1;
}

/* Sections without a path are about all eight ranks. */
static const struct {
    const char *section;
    int rank;
    const char *name;
} known[HTA_TRACES] = {
    {"own/train", 0, "own/train.json.gz"},
    {"own/loader", 0, "own/loader.json.gz"},
    {"own/long", 0, "own/long.json.gz"},
    {"own/busy", 0, "own/busy.json.gz"},
    {"own/one_step", 0, "own/one_step.json.gz"},
    {"own/fractions", 0, "own/fractions.json.gz"},
    {"own/ranks", 0, "own/ranks/rank0.json.gz"},
    {"own/ranks", 1, "own/ranks/rank1.json.gz"},
    {"own/ranks", 2, "own/ranks/rank2.json.gz"},
    {"own/ranks", 3, "own/ranks/rank3.json.gz"},
    {"nccl_parser_config", 0, "06_nccl_data/nccl_data.json.gz"},
    {"ns_resolution_trace", 0,
     "08_ns_resolution/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz"},
    {"negative_queue", 0, "09_negative_queue/rank0.json.gz"},
    {"mi250_minitoy", 0,
     "12_mi250_minitoy/mi250_minitoy_train_ROCm6_2_kineto.json.gz"},
    {"simple_add", 0,
     "13_simple_add/benchmark_result_493459_1694039959_trace.json.gz"},
    {"gaunernst_bert", 0,
     "15_bert_h100/gaunernst_bert-small-uncased__1016001.json.gz"},
    {"google_owlv2", 0,
     "16_owlv2_h100/google_owlv2-large-patch14-ensemble__1016001.json.gz"},
    {"num_workers_0", 0,
     "01_resnet50_nw0/worker0.1623143089861.pt.trace.json.gz"},
    {"num_workers_4", 0,
     "02_resnet50_nw4/worker0.1623212756351.pt.trace.json.gz"},
    {"mtia_rank_0", 0, "14_mtia_rank_0/mtia_rank_0.json.gz"},
    {"", 0, "23_dlrm_8rank/worker0_step_12.1694128201545.pt.trace.json"},
    {"", 1, "23_dlrm_8rank/worker1_step_12.1694128201556.pt.trace.json"},
    {"", 2, "23_dlrm_8rank/worker2_step_12.1694128201554.pt.trace.json"},
    {"", 3, "23_dlrm_8rank/worker3_step_12.1694128201557.pt.trace.json"},
    {"", 4, "23_dlrm_8rank/worker4_step_12.1694128201547.pt.trace.json"},
    {"", 5, "23_dlrm_8rank/worker5_step_12.1694128201549.pt.trace.json"},
    {"", 6, "23_dlrm_8rank/worker6_step_12.1694128201553.pt.trace.json"},
    {"", 7, "23_dlrm_8rank/worker7_step_12.1694128201553.pt.trace.json"},
};

static const char *file_of(const struct hta_line *line, int rank)
{
    for (int i = 0; i < HTA_TRACES; i++) {
        const char *part = known[i].section;
        if (known[i].rank == rank &&
            (*part ? strstr(line->section, part) != NULL
                   : line->section[0] == '\0')) {
            return known[i].name;
        }
    }
    return NULL;
}

const struct hta *hta_find(struct hta_traces *traces,
                           const struct hta_line *line, int rank)
{
    const char *name = file_of(line, rank);
    int i = 0;
    if (!name) {
        return NULL;
    }
    while (i < traces->count && traces->slots[i].name != name) {
        i++;
    }
    if (i == traces->count) {
        struct tp_trace *trace = &traces->slots[i].trace;
        trace_file_read(name, trace);
        traces->slots[i].name = name;
        traces->slots[i].without_last = hta_open(trace, false);
        traces->slots[i].with_last = hta_open(trace, true);
        traces->count++;
    }
    return line->include_last ? &traces->slots[i].with_last
                              : &traces->slots[i].without_last;
}

void hta_traces_close(struct hta_traces *traces)
{
    for (int i = 0; i < traces->count; i++) {
        hta_close(&traces->slots[i].without_last);
        hta_close(&traces->slots[i].with_last);
        trace_file_close(&traces->slots[i].trace);
    }
    traces->count = 0;
}
