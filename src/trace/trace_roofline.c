/* SPDX-License-Identifier: MIT */
/*
 * What operators do against what the device can: for each name and inputs the
 * time of their kernels, FLOP and bytes (trace_flops.h), and the share of the
 * roof, which is the longer of computing at the device's peak and moving at
 * its bandwidth (Williams, Waterman, Patterson 2009).
 *
 * Device events get their operator (trace_work.h), are sorted by its name and
 * inputs, and added up; so inputs are read once a row, not once an event. Times
 * of one operator's kernels are summed up, as if they did not overlap; rates
 * are those of all of a row's work in all of its time, not means of rates.
 * O(n log n).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "trace/trace_facts.h"
#include "trace/trace_order.h"
#include "trace/trace_work.h"

/* What a row is made from. */
struct roof_sums {
    uint64_t ns, tensor_ns, other_ns; /* kernels with, without tensor cores */
    double sm_ns, sm, occupancy_ns, occupancy; /* weighted by time         */
    uint64_t longest;        /* time of the longest event, and its name   */
    uint32_t kernel;
    bool copies;             /* which is a copy, perhaps of the host's    */
};

struct roofline {
    struct tp_trace *trace;
    struct tp_trace_work work;
    uint32_t *owner;         /* [events.count] of device events           */
    bool *counted;           /* [events.count] operators in their row     */
    uint8_t *cores;          /* [texts.count] 1 + tp_tensor_cores; 0      */
    struct tp_text text;
};

/* --- tensor cores ------------------------------------------------------- */

/*
 * By the names that libraries give their kernels: instruction shapes (884,
 * 1688, 16816), mma and its relatives, and those of which there is no other
 * kind. First those without, as their names hold parts of the others.
 */
static enum tp_tensor_cores cores_of(const char *name)
{
    static const char *const without[] = {"simt", "ffma", "gemv", "_sgemm_",
                                          "_dgemm_", "gemmk1", "dot_kernel",
                                          "splitKreduce", "Memset", "Memcpy"};
    static const char *const with[] = {
        "884", "1688", "16816", "161616", "wmma", "hmma", "imma", "tensorop",
        "wgmma", "xmma", "mfma", "nvjet", "sm90_", "sm100_", "gmma",
        "flash_fwd", "flash_bwd", "fmha", "cudnn_generated_fort_native_sdpa",
        "i8816", "c1688", "_MT", "ck_tile", "umma"};
    for (size_t i = 0; i < sizeof without / sizeof *without; i++) {
        if (strstr(name, without[i]))
            return TP_TENSOR_CORES_NO;
    }
    if (!strncmp(name, "Cijk_", 5)) /* rocBLAS: matrix instructions, or none */
        return strstr(name, "_MI") ? TP_TENSOR_CORES_YES : TP_TENSOR_CORES_NO;
    for (size_t i = 0; i < sizeof with / sizeof *with; i++) {
        if (strstr(name, with[i]))
            return TP_TENSOR_CORES_YES;
    }
    return strstr(name, "gemm") || strstr(name, "conv")
               ? TP_TENSOR_CORES_UNKNOWN
               : TP_TENSOR_CORES_NO;
}

static enum tp_tensor_cores cores_of_event(struct roofline *r, uint32_t event)
{
    const uint32_t name = r->trace->events.name[event];
    if (!r->cores[name])
        r->cores[name] = (uint8_t)(
            1 + cores_of(tp_events_get(&r->trace->events, name)));
    return (enum tp_tensor_cores)(r->cores[name] - 1);
}

/* --- rows --------------------------------------------------------------- */

/* What an operator was given, for people; NULL when memory ran out. */
static const char *inputs_text(struct roofline *r,
                               const struct tp_op_args *args)
{
    struct tp_text *text = &r->text;
    text->length = 0;
    tp_op_args_write(args, text);
    return text->failed ? NULL
                        : tp_arena_text(&r->trace->events.arena,
                                        tp_text_get(text), text->length);
}

/* The begin of a kernel's name: /op_kernels has all of it. */
static const char *kernel_text(struct tp_trace *trace, uint32_t name)
{
    enum { SHOWN = 64 };
    const char *text = tp_events_get(&trace->events, name);
    const size_t length = tp_utf8_cut(text, SHOWN);
    return text[length] ? tp_arena_format(&trace->events.arena, "%.*s...",
                                          (int)length, text)
                        : text;
}

static int64_t alignment_of(const struct tp_work *work)
{
    int64_t power = 64;
    if (work->kind != TP_WORK_GEMM || !(work->n > 0) || !(work->k > 0))
        return -1;
    while (power > 1 && (fmod(work->n, (double)power) != 0 ||
                         fmod(work->k, (double)power) != 0))
        power /= 2;
    return power;
}

/*
 * Why a row is faster than the roof, beyond what clocks and rounding do: 5 %.
 * Winograd's and Fourier transforms compute with fewer FLOP. What is bound by
 * memory and no larger than the largest cache of the devices known (256 MB,
 * MI300X) may have found its inputs there. Nothing else can be.
 */
static const char *doubt_of(const struct tp_roof_row *row, const char *kernel)
{
    static const double most = 1.05, cache_bytes = 256e6;
    if (!(row->roof > most))
        return "";
    if (strstr(kernel, "inograd") || strstr(kernel, "fft"))
        return "algorithm";
    return !strcmp(row->bound, "memory") && row->bytes <= cache_bytes
               ? "cache"
               : "inputs";
}

/* What the device can do of a row's work, and how much of it the row does. */
static void hold_against(struct tp_roof_row *row,
                         const struct tp_device_roof *device, bool matrix)
{
    enum tp_precision precision = (enum tp_precision)row->type;
    const bool tensor = row->cores == TP_TENSOR_CORES_YES;
    if (matrix && precision == TP_PRECISION_FP32 && tensor &&
        device->tflops[TP_PRECISION_TF32] > 0)
        precision = TP_PRECISION_TF32;
    row->precision = tp_precision_word(precision);
    const double peak =
        matrix ? device->tflops[precision] : device->vector_tflops;
    const double computing =
        row->flops > 0 ? row->flops / (peak * 1e6) : 0; /* us */
    const double moving = row->bytes / (device->gbps * 1e3);
    row->roof_us = row->roof = row->above_us = NAN;
    row->bound = "";
    if (!(device->gbps > 0) || !(peak > 0 || !(row->flops > 0)) ||
        !(row->bytes > 0))
        return;
    row->bound = computing > moving ? "compute" : "memory";
    row->roof_us = computing > moving ? computing : moving;
    row->roof = row->mean_us > 0 ? row->roof_us / row->mean_us : NAN;
    row->above_us =
        fmax(row->device_us - row->roof_us * (double)row->count, 0);
}

static void finish_row(const struct roofline *r, struct tp_roof_row *row,
                       const struct tp_work *work,
                       const struct roof_sums *sums)
{
    static const char *const words[] = {"", "no", "yes"};
    const double us = (double)sums->ns / 1e3, count = (double)row->count;
    row->kind = tp_work_word(work->kind);
    row->device_us = us;
    row->mean_us = us / count;
    row->flops = work->flops;
    row->bytes = work->bytes;
    row->intensity = work->bytes > 0 ? work->flops / work->bytes : NAN;
    row->tflops = us > 0 ? work->flops * count / us / 1e6 : NAN;
    row->gbps = us > 0 ? work->bytes * count / us / 1e3 : NAN;
    row->cores = !work->matrix ? TP_TENSOR_CORES_UNKNOWN
                 : sums->tensor_ns > sums->other_ns ? TP_TENSOR_CORES_YES
                 : sums->other_ns > 0 ? TP_TENSOR_CORES_NO
                                      : TP_TENSOR_CORES_UNKNOWN;
    row->tensor_cores = words[row->cores];
    row->alignment = alignment_of(work);
    row->sm_efficiency =
        sums->sm_ns > 0 ? 100 * sums->sm / sums->sm_ns : NAN;
    row->occupancy =
        sums->occupancy_ns > 0 ? sums->occupancy / sums->occupancy_ns : NAN;
    row->what = (int)work->kind;
    row->type = (int)work->precision;
    row->batch = work->batch;
    row->m = work->m;
    row->n = work->n;
    row->k = work->k;
    row->result = work->result;
    if (sums->copies) /* the link has another roof than the memory */
        row->bytes = NAN;
    hold_against(row, &r->trace->device, work->matrix);
    row->bytes = work->bytes;
}

static void add_cores(struct roofline *r, uint32_t event,
                      struct roof_sums *sums)
{
    const struct tp_events *events = &r->trace->events;
    const uint64_t ns = (uint64_t)events->duration[event];
    const enum tp_tensor_cores cores = cores_of_event(r, event);
    if (cores == TP_TENSOR_CORES_YES)
        sums->tensor_ns += ns;
    else if (cores == TP_TENSOR_CORES_NO &&
             events->category[event] == TP_EVENT_KERNEL)
        sums->other_ns += ns;
}

static void add_event(struct roofline *r, uint32_t event,
                      struct tp_roof_row *row, struct roof_sums *sums)
{
    const struct tp_events *events = &r->trace->events;
    const uint64_t ns = (uint64_t)events->duration[event];
    const uint32_t owner = r->owner[event];
    row->count += !r->counted[owner];
    r->counted[owner] = true;
    sums->ns += ns;
    if (events->detail[event] != TP_NO_DETAIL) {
        const struct tp_gpu_detail *gpu = &events->gpu[events->detail[event]];
        if (gpu->blocks_per_sm >= 0 && isfinite(gpu->blocks_per_sm)) {
            sums->sm_ns += (double)ns;
            sums->sm += (double)ns * fmin(gpu->blocks_per_sm, 1);
        }
        if (gpu->occupancy >= 0) {
            sums->occupancy_ns += (double)ns;
            sums->occupancy += (double)ns * gpu->occupancy;
        }
    }
    if (ns >= sums->longest) {
        sums->longest = ns;
        sums->kernel = events->name[event];
        sums->copies = events->category[event] != TP_EVENT_KERNEL;
    }
}

static uint64_t key_of(const struct roofline *r, uint32_t event)
{
    const uint32_t owner = r->owner[event];
    return (uint64_t)r->trace->events.name[owner] << 32 |
           r->work.inputs[owner];
}

/* One row for the events [first, last) of one key. */
static enum tp_status add_row(struct roofline *r,
                              const struct tp_ordered *items, size_t count,
                              struct tp_error *err)
{
    struct tp_trace *trace = r->trace;
    const uint32_t owner = r->owner[items[0].event];
    struct roof_sums sums = {0};
    struct tp_op_args args;
    tp_trace_work_args(&r->work, owner, &args);
    struct tp_roof_row row = {
        .op = tp_events_get(&trace->events, trace->events.name[owner]),
        .inputs = inputs_text(r, &args)};
    const struct tp_work work = tp_trace_work_of(&r->work, owner, &args);
    for (size_t i = 0; i < count; i++) {
        add_event(r, items[i].event, &row, &sums);
        if (work.matrix)
            add_cores(r, items[i].event, &sums);
    }
    finish_row(r, &row, &work, &sums);
    row.kernel = kernel_text(trace, sums.kernel);
    row.doubt = doubt_of(&row, tp_events_get(&trace->events, sums.kernel));
    if (!row.inputs || !row.kernel)
        return tp_fail_memory(err);
    if (tp_grow(&trace->roofline.rows, &trace->roofline.capacity,
                trace->roofline.count + 1, sizeof row, err) != TP_OK)
        return TP_E_MEMORY;
    trace->roofline.rows[trace->roofline.count++] = row;
    return TP_OK;
}

static int by_time(const void *a, const void *b)
{
    const struct tp_roof_row *x = a, *y = b;
    if (x->device_us != y->device_us)
        return x->device_us > y->device_us ? -1 : 1;
    int order = strcmp(x->op, y->op);
    if (!order)
        order = strcmp(x->inputs, y->inputs);
    return order ? order : tp_order_int64(x->count, y->count);
}

static enum tp_status add_rows(struct roofline *r, struct tp_ordered *items,
                               struct tp_error *err)
{
    struct tp_trace *trace = r->trace;
    const struct tp_trace_index *index = &trace->index;
    enum tp_status status = TP_OK;
    double all_us = 0;
    size_t count = 0;
    for (size_t i = 0; i < index->device_count; i++) {
        const uint32_t event = index->device[i];
        all_us += (double)trace->events.duration[event] / 1e3;
        r->owner[event] = tp_trace_work_owner(&r->work, event);
        if (r->owner[event] != TP_NO_EVENT)
            items[count++] = (struct tp_ordered){key_of(r, event), event};
    }
    tp_order_sort(items, items + index->device_count + 1, count);
    for (size_t i = 0, next; i < count && status == TP_OK; i = next) {
        for (next = i; next < count && items[next].key == items[i].key;)
            next++;
        status = add_row(r, items + i, next - i, err);
    }
    for (size_t i = 0; i < trace->roofline.count; i++)
        trace->roofline.rows[i].share =
            all_us > 0 ? trace->roofline.rows[i].device_us / all_us : NAN;
    if (status == TP_OK && trace->roofline.count > 1)
        qsort(trace->roofline.rows, trace->roofline.count,
              sizeof *trace->roofline.rows, by_time);
    return status;
}

enum tp_status tp_trace_roofline(struct tp_trace *trace, struct tp_error *err)
{
    const size_t count = trace->events.count + 1;
    const size_t device = trace->index.device_count + 1;
    const struct tp_device_properties *properties = tp_trace_device(trace);
    trace->device = tp_roof_of(
        properties && properties->name ? properties->name : "", &trace->roofs);
    if (trace->index.device_count == 0)
        return TP_OK;
    struct roofline r = {
        .trace = trace,
        .owner = malloc(count * sizeof *r.owner),
        .counted = calloc(count, sizeof *r.counted),
        .cores = calloc(trace->events.texts.count + 1, sizeof *r.cores)};
    struct tp_ordered *items = malloc(device * 2 * sizeof *items);
    enum tp_status status = r.owner && r.counted && r.cores && items
                                ? tp_trace_work_init(&r.work, trace, err)
                                : tp_fail_memory(err);
    if (status == TP_OK)
        status = add_rows(&r, items, err);
    if (status == TP_OK)
        status = tp_trace_fusions(trace, &r.work, r.owner, err);
    tp_trace_work_clear(&r.work);
    free(r.owner);
    free(r.counted);
    free(r.cores);
    tp_text_clear(&r.text);
    free(items);
    return status;
}
