/* SPDX-License-Identifier: MIT */
/* Nesting, launch links, steps and the window. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/support/cpu_limit.h"
#include "tests/unit/support/trace_files.h"
#include "trace/trace_names.h"
#include "trace/trace_order.h"

/* --- a trace by hand ----------------------------------------------------- */

struct event {
    int category;
    const char *name;
    int lane;
    int64_t start, duration, correlation;
};

static void add(struct tp_events *events, struct event event)
{
    char lane[16];
    snprintf(lane, sizeof lane, "%d", event.lane);
    cr_assert_eq(tp_events_reserve(events, 1, NULL), TP_OK);
    const size_t i = events->count++;
    const uint32_t tid = tp_events_text(events, lane, strlen(lane));
    events->start[i] = event.start;
    events->duration[i] = event.duration;
    events->correlation[i] = event.correlation;
    events->category[i] = (uint8_t)event.category;
    events->name[i] = tp_events_text(events, event.name, strlen(event.name));
    events->lane[i] = tp_events_lane(events, tid, tid);
    events->detail[i] = TP_NO_DETAIL;
    if (event.category == TP_EVENT_KERNEL) {
        cr_assert_eq(tp_grow(&events->gpu, &events->gpu_capacity,
                             events->gpu_count + 1, sizeof *events->gpu, NULL),
                     TP_OK);
        events->detail[i] = (uint32_t)events->gpu_count;
        events->gpu[events->gpu_count++] =
            (struct tp_gpu_detail){.stream = event.lane};
    }
}

static void make(struct tp_trace *trace, const struct event *list, size_t count)
{
    *trace = (struct tp_trace){.path = ""};
    for (size_t i = 0; i < count; i++) {
        add(&trace->events, list[i]);
    }
    cr_assert_eq(tp_trace_index_make(&trace->events, &trace->index, NULL),
                 TP_OK);
}

#define MAKE(trace, list) make(trace, list, sizeof(list) / sizeof *(list))

enum {
    OP = TP_EVENT_CPU_OP,
    NOTE = TP_EVENT_ANNOTATION,
    CALL = TP_EVENT_RUNTIME,
    KERNEL = TP_EVENT_KERNEL
};

/* What has no time is at 0: no part of a trace that begins much later. */
Test(trace_index, time_zero)
{
    enum { HOUR_S = 3600 };
    for (int later = 0; later <= 1; later++) {
        const int64_t at = (later ? 2 : 0) * HOUR_S * INT64_C(1000000000) + 50;
        const struct event list[] = {
            {OP, "lost", 1, 0, 0, -1},
            {KERNEL, "lost", 9, 0, 0, -1},
            {OP, "aten::mm", 1, at, 100, -1},
            {KERNEL, "k", 9, at + 10, 5, -1},
        };
        struct tp_trace trace;
        MAKE(&trace, list);
        cr_expect_eq(trace.index.zero_events, later ? 2 : 0);
        cr_expect_eq(trace.index.device_count, later ? 1 : 2);
        cr_expect_eq(trace.index.host_count, later ? 1 : 2);
        cr_expect_eq(trace.index.from, later ? at + 10 : 0);
        trace_file_close(&trace);
    }
}

Test(trace_index, launches)
{
    const struct event list[] = {
        {OP, "outer", 1, 0, 100, -1},
        {NOTE, "note", 1, 10, 50, -1},
        {CALL, "cudaGraphLaunch", 1, 20, 5, 7},
        {KERNEL, "second", 9, 300, 5, 7},
        {KERNEL, "first", 9, 200, 5, 7},
        {KERNEL, "of none", 9, 100, 5, 8},
        {CALL, "cudaLaunchKernel", 2, 20, 5, 9},
        {KERNEL, "of no operator", 9, 400, 5, 9},
        {KERNEL, "without", 9, 500, 5, -1},
        {CALL, "cudaLaunchKernel", 2, 40, 5, 9},
        {TP_EVENT_PYTHON, "no host event", 1, 0, 1000, -1},
    };
    struct tp_trace trace;
    MAKE(&trace, list);
    const struct tp_trace_index *index = &trace.index;
    cr_expect_eq(index->host_count, 5);
    cr_expect_eq(index->device_count, 5);
    cr_expect_eq(index->device[0], 5);
    cr_expect_eq(index->parent[2], 1);
    cr_expect_eq(index->op[2], 0); /* not the annotation */
    cr_expect_eq(index->call[3], 2);
    cr_expect_eq(index->op[3], 0);
    cr_expect_eq(index->launched[2], 4); /* the earlier, not the first */
    cr_expect_eq(index->call[5], TP_NO_EVENT);
    cr_expect_eq(index->call[7], 6); /* the earlier of two */
    cr_expect_eq(index->op[7], TP_NO_EVENT);
    cr_expect_eq(index->launched[9], TP_NO_EVENT);
    cr_expect_eq(index->call[8], TP_NO_EVENT);
    cr_expect_eq(index->from, 100); /* without steps: the device */
    cr_expect_eq(index->to, 505);
    trace_file_close(&trace);
}

Test(trace_index, steps)
{
    const struct event list[] = {
        {TP_EVENT_GPU_ANNOTATION, "ProfilerStep#3", 9, 0, 5000, -1},
        {NOTE, "ProfilerStep#4", 1, 200, 100, -1},
        {OP, "ProfilerStep#3", 1, 100, 90, -1}, /* of old traces */
        {NOTE, "ProfilerStep#9", 1, 210, 20, -1},
        {NOTE, "ProfilerStep#9", 2, 0, 20, -1},
        {NOTE, "ProfilerStep#x", 1, 400, 20, -1},
        {NOTE, "ProfilerStep#1234567890123456789012", 1, 440, 2, -1},
        {OP, "busier lane", 2, 30, 1, -1},
        {OP, "busier lane", 2, 40, 1, -1},
        {OP, "busier lane", 2, 50, 1, -1},
        {OP, "busier lane", 2, 60, 1, -1},
        {OP, "busier lane", 2, 70, 1, -1},
        {OP, "busier lane", 2, 80, 1, -1},
    };
    struct tp_trace trace;
    MAKE(&trace, list);
    const struct tp_trace_index *index = &trace.index;
    cr_assert_eq(index->step_count, 2);
    cr_expect_eq(index->steps[0].number, 3);
    cr_expect_eq(index->steps[1].number, 4);
    cr_expect_eq(index->steps[1].to, 300);
    cr_expect_eq(index->from, 100);
    cr_expect_eq(index->to, 300);
    cr_expect_eq(index->main_lane, trace.events.lane[1]);
    trace_file_close(&trace);
}

Test(trace_index, nothing)
{
    struct tp_trace trace = {.path = ""};
    cr_assert_eq(tp_trace_index_make(&trace.events, &trace.index, NULL), TP_OK);
    cr_expect_eq(trace.index.host_count, 0);
    cr_expect_eq(trace.index.main_lane, TP_NO_EVENT);
    cr_expect_eq(trace.index.from, trace.index.to);
    trace_file_close(&trace);
}

/* --- nesting against its definition -------------------------------------- */

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Whether a comes before b: by start, longest first, calls last, as added. */
static bool before(const struct tp_events *events, uint32_t a, uint32_t b)
{
    if (events->start[a] != events->start[b]) {
        return events->start[a] < events->start[b];
    }
    if (events->duration[a] != events->duration[b]) {
        return events->duration[a] > events->duration[b];
    }
    const bool call_a = events->category[a] == CALL;
    const bool call_b = events->category[b] == CALL;
    return call_a != call_b ? call_b : a < b;
}

/* The parent is the last of those before it that hold all of it. */
static uint32_t slow_parent(const struct tp_events *events, uint32_t event)
{
    const int64_t from = events->start[event];
    const int64_t to = from + events->duration[event];
    uint32_t parent = TP_NO_EVENT;
    for (uint32_t i = 0; i < events->count; i++) {
        const int64_t end = events->start[i] + events->duration[i];
        if (i != event && events->lane[i] == events->lane[event] &&
            before(events, i, event) && from < end && to <= end &&
            (parent == TP_NO_EVENT || before(events, parent, i))) {
            parent = i;
        }
    }
    return parent;
}

Test(trace_index, nesting_of_overlapping_events)
{
    struct tp_trace trace = {.path = ""};
    uint32_t random = 1;
    for (int i = 0; i < 1500; i++) {
        const int64_t start = next_random(&random) % 400;
        const int64_t longest = i % 5 ? 12 : 200;
        const int64_t duration = next_random(&random) % longest;
        add(&trace.events, (struct event){i % 3 ? OP : CALL, "e", (int)(i % 2),
                                          start, duration, -1});
    }
    cr_assert_eq(tp_trace_index_make(&trace.events, &trace.index, NULL), TP_OK);
    for (uint32_t i = 0; i < trace.events.count; i++) {
        cr_expect_eq(trace.index.parent[i], slow_parent(&trace.events, i),
                     "event %u", i);
    }
    trace_file_close(&trace);
}

/* --- hostile shapes ------------------------------------------------------ */

/* All in each other; all overlapping; all the same; one correlation: a time
 * that grows with the square would take hours. */
Test(trace_index, no_shape_is_slow)
{
    limit_cpu(30);
    enum { COUNT = 400000 };
    for (int shape = 0; shape < 4; shape++) {
        struct tp_trace trace = {.path = ""};
        for (int64_t i = 0; i < COUNT; i++) {
            const int64_t from = shape == 3 ? 5 : i;
            const int64_t to = shape == 0   ? 2 * COUNT - i
                               : shape == 1 ? COUNT + i
                                            : i + 1;
            add(&trace.events,
                (struct event){i % 2 ? CALL : KERNEL, "e", 1, from,
                               shape == 3 ? 0 : to - from, 7});
        }
        cr_assert_eq(tp_trace_index_make(&trace.events, &trace.index, NULL),
                     TP_OK);
        cr_expect_eq(trace.index.host_count, COUNT / 2);
        trace_file_close(&trace);
    }
}

Test(trace_index, sorting_against_qsort)
{
    enum { COUNT = 5000 };
    static struct tp_ordered items[COUNT], scratch[COUNT];
    uint32_t random = 3;
    for (int round = 0; round < 6; round++) {
        const size_t count = round == 0 ? 3 : round == 1 ? 64 : COUNT;
        for (size_t i = 0; i < count; i++) {
            const uint64_t high = next_random(&random) % 3;
            items[i].key = round % 2 ? high << 62 | next_random(&random) % 50
                                     : next_random(&random) % 700;
            items[i].event = (uint32_t)i;
        }
        tp_order_sort(items, scratch, count);
        for (size_t i = 1; i < count; i++) { /* stable */
            cr_assert(items[i - 1].key < items[i].key ||
                      (items[i - 1].key == items[i].key &&
                       items[i - 1].event < items[i].event));
        }
    }
    cr_expect(tp_time_key(-1) < tp_time_key(0));
    cr_expect(tp_time_key(INT64_MIN) < tp_time_key(-1));
}

/* --- names --------------------------------------------------------------- */

Test(trace_index, names)
{
    static const struct {
        const char *name;
        uint32_t kinds;
    } names[] = {
        {"", 0},
        {"ProfilerStep#17", TP_NAME_STEP | TP_NAME_ANY_STEP},
        {"ProfilerStep#", TP_NAME_ANY_STEP},
        {"ProfilerStep*", 0},
        {"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
         TP_NAME_DATALOADER | TP_NAME_NO_WORKERS},
        {"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
         TP_NAME_DATALOADER | TP_NAME_WORKERS},
        {"Optimizer.zero_grad#SGD.zero_grad", TP_NAME_OPTIMIZER},
        {"aten::is_leaf", TP_NAME_DROPPED},
        {"cudaMallocAsync", TP_NAME_DRIVER_ALLOC},
        {"hipFree", TP_NAME_DRIVER_ALLOC},
        {"cuMemMap", TP_NAME_DRIVER_ALLOC},
        {"cudaStreamSynchronize", TP_NAME_BLOCKING},
        {"cudaMemcpy", TP_NAME_BLOCKING | TP_NAME_COPY_CALL},
        {"cudaMemcpyAsync", TP_NAME_COPY_CALL},
        {"hipMemcpyWithStream", TP_NAME_BLOCKING | TP_NAME_COPY_CALL},
        {"cudaMemsetAsync", TP_NAME_COPY_CALL},
        {"cudaLaunchKernelExC", TP_NAME_LAUNCH},
        {"cuLaunchKernel", TP_NAME_LAUNCH},
        {"hipExtModuleLaunchKernel", TP_NAME_LAUNCH},
        {"cudaGraphLaunch", TP_NAME_LAUNCH},
        {"urEnqueueKernelLaunchWithArgsExp", TP_NAME_LAUNCH},
        {"zeCommandListAppendLaunchKernel", TP_NAME_LAUNCH},
        {"urEnqueueUSMMemcpy", TP_NAME_COPY_CALL},
        {"zeCommandListAppendMemoryCopy", TP_NAME_COPY_CALL},
        {"urQueueFinish", TP_NAME_BLOCKING},
        {"urQueueFlush", 0},
        {"urUSMDeviceAlloc", TP_NAME_DRIVER_ALLOC},
        {"gloo:all_to_all", TP_NAME_COLLECTIVE},
        {"nccl:all_to_all", TP_NAME_COMM},
        {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", TP_NAME_COMM},
        {"void vllm::cross_device_reduce_1stage<half, 2>(x)",
         TP_NAME_COMM | TP_NAME_HALF},
        {"void deep_ep::intranode::dispatch<8, 768, 0>(int4*)", TP_NAME_COMM},
        {"void internode::combine<false, int>(int4*)", TP_NAME_COMM},
        {"void deep_ep::internode_ll::notify(int*)", TP_NAME_COMM},
        {"void tensorrt_llm::oneShotAllReduceKernel<half>(x)",
         TP_NAME_COMM | TP_NAME_HALF},
        {"oneccl_allreduce_small", TP_NAME_COMM},
        {"void moe::dispatch(int4*)", 0},
        {"ampere_bf16_s16816gemm_bf16_64x64_nn", TP_NAME_HALF},
        {"volta_h884gemm_64x64_ldg8_nn", TP_NAME_HALF},
        {"triton_poi_fused_add_0", TP_NAME_COMPILED},
        {"aten::linear", TP_NAME_LAYER},
        {"aten::linear_backward", 0},
        {"aten::nll_loss_nd", TP_NAME_LOSS},
        {"aten::to", TP_NAME_COPY_OP | TP_NAME_CAST},
        {"aten::_amp_update_scale_", TP_NAME_SCALER},
        {"autograd::engine::evaluate_function: MmBackward0", TP_NAME_BACKWARD},
        {"volta_sgemm_128x64_nn", 0},
        {"aten::_local_scalar_dense", TP_NAME_ITEM},
        {"aten::copy_", TP_NAME_COPY_OP},
        {"aten::empty_strided", TP_NAME_EMPTY_OP},
        {"dma_request", TP_NAME_MOVES},
        {"gloo:all_reduce", TP_NAME_COLLECTIVE},
        {"torch/optim/adam.py(1): _single_tensor_adam", TP_NAME_SINGLE_TENSOR},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cr_expect_eq(tp_name_kinds(names[i].name), names[i].kinds, "%s: %x",
                     names[i].name, tp_name_kinds(names[i].name));
    }
    int64_t number = 0;
    cr_expect(tp_name_step("ProfilerStep#00012", &number));
    cr_expect_eq(number, 12);
}

/* --- real traces ---------------------------------------------------------- */

/* Counted by others: see tests/oracle/trace_signals.py rows; of the public ones
 * traces/README.md and reference/trace.md. -1: not said. */
static const struct {
    const char *file;
    int64_t first, last;
    size_t steps;
    int device, unlinked;
} real[] = {
    {"own/train.json.gz", 5, 9, 5, 65 + 20 + 20, 0},
    {"own/loader.json.gz", 5, 8, 4, 40 + 16 + 12, 0},
    {"own/fractions.json.gz", 5, 8, 4, 64 + 16 + 20, 0},
    {"own/ranks/rank1.json.gz", 10, 10, 1, 13 + 4 + 3, 0},
    {"cpu-torch2.15.0/none.1.pt.trace.json.gz", 2, 4, 3, 0, 0},
    {"01_resnet50_nw0/worker0.1623143089861.pt.trace.json.gz", 5, 10, 6,
     8772 + 12 + 312, 0},
    {"03_resnet50_nw0_list/worker0.pt.trace.json.gz", 5, 10, 6, 9538 + 12 + 377,
     -1},
    {"04_gpu_metrics_input/gpu_metrics_input.json", 2, 2, 1, 32, 0},
    {"08_ns_resolution/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz", 101, 105,
     5, 4350 + 1600 + 145, -1},
    {"09_negative_queue/rank0.json.gz", 550, 554, 5, 7747, 872},
    {"11_cpu_only/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz", 551, 555, 5,
     0, 0},
    {"12_mi250_minitoy/mi250_minitoy_train_ROCm6_2_kineto.json.gz", 1, 2, 2, 16,
     0},
    {"14_mtia_rank_0/mtia_rank_0.json.gz", 1, 1, 1, 25814 - 137,
     22361 - 137} /* 137 are on no stream */,
    {"19_b200_eager/eager_trace.json.gz", -1, -1, 0, 768 + 161, -1},
    {"23_dlrm_8rank/worker0_step_12.1694128201545.pt.trace.json", 10, 10, 1, -1,
     0},
    {"23_dlrm_8rank/worker1_step_12.1694128201556.pt.trace.json", 10, 10, 1, -1,
     64},
    {"23_dlrm_8rank/worker3_step_12.1694128201557.pt.trace.json", 10, 10, 1, -1,
     64},
};

Test(trace_index, real_traces)
{
    for (size_t i = 0; i < sizeof real / sizeof *real; i++) {
        struct tp_trace trace;
        if (!trace_data_there(real[i].file))
            continue;
        trace_file_read(real[i].file, &trace);
        const struct tp_trace_index *index = &trace.index;
        cr_expect_eq(index->step_count, real[i].steps, "%s", real[i].file);
        if (index->step_count > 0) {
            cr_expect_eq(index->steps[0].number, real[i].first);
            cr_expect_eq(index->steps[index->step_count - 1].number,
                         real[i].last);
        }
        int unlinked = 0;
        for (size_t j = 0; j < index->device_count; j++) {
            unlinked += index->call[index->device[j]] == TP_NO_EVENT;
        }
        cr_expect(real[i].device < 0 ||
                      index->device_count == (size_t)real[i].device,
                  "%s: %zu", real[i].file, index->device_count);
        cr_expect(real[i].unlinked < 0 || unlinked == real[i].unlinked,
                  "%s: %d", real[i].file, unlinked);
        trace_file_close(&trace);
    }
}
