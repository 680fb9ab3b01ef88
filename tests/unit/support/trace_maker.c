/* SPDX-License-Identifier: MIT */
#include "tests/unit/support/trace_maker.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PID = 4711, TID = 4712, STREAM = 7 };

/* Host calls take at least this long. */
static const double call_us = 4;

static void add_event(struct trace_maker *maker, const char *category,
                      const char *name, double from, double to)
{
    const bool gpu = !strcmp(category, "kernel") ||
                     !strcmp(category, "gpu_memcpy");
    tp_text_add(&maker->json,
                ",\n{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", "
                "\"pid\": %d, \"tid\": %d, \"ts\": %.3f, \"dur\": %.3f",
                category, name, gpu ? 0 : PID,
                gpu ? STREAM : TID + maker->thread, from, to - from);
}

static void end_event(struct trace_maker *maker, const char *arguments)
{
    tp_text_add(&maker->json, ", \"args\": {%s}}", arguments);
}

/* A call of `us` and what it makes the GPU do. */
static void add_call(struct trace_maker *maker, const char *call,
                     const char *work, double us, double work_us)
{
    char arguments[256];
    const bool copy = strncmp(work, "Mem", 3) == 0;
    const double from = maker->host;
    maker->host += us;
    maker->correlation++;
    snprintf(arguments, sizeof arguments, "\"correlation\": %" PRId64,
             maker->correlation);
    add_event(maker, "cuda_runtime", call, from, maker->host);
    end_event(maker, arguments);
    if (!*work)
        return;
    /* work reaches an idle GPU a little after its call has begun */
    const double start = maker->gpu > from + 2 ? maker->gpu : from + 2;
    maker->gpu = start + work_us;
    snprintf(arguments, sizeof arguments,
             "\"device\": 0, \"stream\": %d, \"correlation\": %" PRId64
             ", \"bytes\": 4",
             STREAM, maker->correlation);
    add_event(maker, copy ? "gpu_memcpy" : "kernel", work, start, maker->gpu);
    end_event(maker, arguments);
}

/* A call that returns when the GPU is done, and a little after. */
static void add_wait(struct trace_maker *maker, const char *call,
                     double latency_us)
{
    const double from = maker->host;
    double to = from + call_us;
    if (maker->gpu + latency_us > to)
        to = maker->gpu + latency_us;
    add_event(maker, "cuda_runtime", call, from, to);
    end_event(maker, "\"cbid\": 131");
    maker->host = to;
}

void trace_maker_begin(struct trace_maker *maker, int rank, int world_size)
{
    *maker = (struct trace_maker){.host = 1000, .gpu = 0, .address = 1 << 20};
    tp_text_add(&maker->json,
                "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0, "
                "\"name\": \"Test GPU\", \"totalGlobalMem\": 16000000000, "
                "\"numSms\": 100}],\n");
    if (rank >= 0)
        tp_text_add(&maker->json,
                    "\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": "
                    "%d, \"world_size\": %d},\n",
                    rank, world_size);
    tp_text_add(&maker->json,
                "\"baseTimeNanoseconds\": 1700000000000000000,\n"
                "\"traceEvents\": [\n{\"ph\": \"M\", \"name\": "
                "\"process_name\", \"pid\": %d, \"tid\": 0, \"ts\": 0, "
                "\"args\": {\"name\": \"python\"}}",
                PID);
}

const char *trace_maker_end(struct trace_maker *maker, size_t *size)
{
    tp_text_add(&maker->json, "\n], \"traceName\": \"made.json\"}\n");
    *size = maker->json.length;
    return tp_text_get(&maker->json);
}

void trace_maker_clear(struct trace_maker *maker)
{
    tp_text_clear(&maker->json);
}

void trace_maker_step_begin(struct trace_maker *maker)
{
    maker->step_from = maker->host;
}

void trace_maker_step_end(struct trace_maker *maker)
{
    char name[40];
    snprintf(name, sizeof name, "ProfilerStep#%" PRId64, maker->step++);
    maker->host += 1;
    add_event(maker, "user_annotation", name, maker->step_from, maker->host);
    end_event(maker, "");
    maker->host += 1;
}

void trace_maker_launch(struct trace_maker *maker, const char *kernel,
                        double us)
{
    add_call(maker, "cudaLaunchKernel", kernel, us, 10);
}

void trace_maker_stall(struct trace_maker *maker, double us)
{
    const double from = maker->gpu > maker->host ? maker->gpu : maker->host;
    maker->gpu = from + us;
}

void trace_maker_python(struct trace_maker *maker, double us)
{
    maker->host += us;
}

double trace_maker_frame_begin(const struct trace_maker *maker)
{
    return maker->host;
}

void trace_maker_frame_end(struct trace_maker *maker, const char *name,
                           double begun)
{
    add_event(maker, "python_function", name, begun, maker->host);
    end_event(maker, "\"Python id\": 1");
}

void trace_maker_range(struct trace_maker *maker, const char *name,
                       double begun)
{
    add_event(maker, "user_annotation", name, begun, maker->host);
    end_event(maker, "");
}

void trace_maker_loader(struct trace_maker *maker, double us, bool workers)
{
    const double from = maker->host;
    maker->host += us;
    add_event(maker, "user_annotation",
              workers ? "enumerate(DataLoader)#_MultiProcessingDataLoaderIter"
                        ".__next__"
                      : "enumerate(DataLoader)#_SingleProcessDataLoaderIter"
                        ".__next__",
              from, maker->host);
    end_event(maker, "");
}

/* What lies between is inside an operator of this name. */
static void add_op(struct trace_maker *maker, const char *name, double from)
{
    add_event(maker, "cpu_op", name, from, maker->host);
    end_event(maker, "");
}

void trace_maker_op(struct trace_maker *maker, const char *name, double us,
                    double kernel_us)
{
    const double from = maker->host;
    maker->host += us / 2 - call_us / 2;
    add_call(maker, "cudaLaunchKernel", "void kernel<float>(float*)", call_us,
             kernel_us);
    maker->host = from + us;
    add_op(maker, name, from);
}

void trace_maker_host_op(struct trace_maker *maker, const char *name,
                         double us)
{
    const double from = maker->host;
    maker->host += us;
    add_op(maker, name, from);
}

void trace_maker_item(struct trace_maker *maker, double latency_us)
{
    const double from = maker->host;
    maker->host += 1;
    add_call(maker, "cudaMemcpyAsync", "Memcpy DtoH (Device -> Pinned)",
             call_us, 2);
    add_wait(maker, "cudaStreamSynchronize", latency_us);
    maker->host += 1;
    add_op(maker, "aten::_local_scalar_dense", from + 0.5);
    maker->host += 0.5;
    add_op(maker, "aten::item", from);
}

void trace_maker_item_on_host(struct trace_maker *maker)
{
    const double from = maker->host;
    maker->host += 2;
    add_op(maker, "aten::_local_scalar_dense", from + 0.5);
    maker->host += 0.5;
    add_op(maker, "aten::item", from);
}

void trace_maker_synchronize(struct trace_maker *maker)
{
    add_wait(maker, "cudaDeviceSynchronize", 5);
}

void trace_maker_copy_in(struct trace_maker *maker, double us, bool pageable)
{
    const double from = maker->host;
    maker->host += 1;
    add_call(maker, "cudaMemcpyAsync",
             pageable ? "Memcpy HtoD (Pageable -> Device)"
                      : "Memcpy HtoD (Pinned -> Device)",
             pageable ? us + call_us : call_us, us);
    maker->host += 1;
    add_op(maker, "aten::copy_", from + 0.5);
    maker->host += 0.5;
    add_op(maker, "aten::to", from);
}

void trace_maker_copy_out(struct trace_maker *maker, double us,
                          double latency_us)
{
    const double from = maker->host;
    const double begin = maker->gpu > from ? maker->gpu : from;
    maker->host += 1;
    add_call(maker, "cudaMemcpyAsync", "Memcpy DtoH (Device -> Pageable)",
             begin + us + latency_us - from, us);
    maker->host += 1;
    add_op(maker, "aten::copy_", from + 0.5);
    maker->host += 0.5;
    add_op(maker, "aten::to", from);
}

static void add_memory(struct trace_maker *maker, int64_t bytes,
                       uint64_t address)
{
    maker->allocated += bytes;
    tp_text_add(&maker->json,
                ",\n{\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": "
                "\"t\", \"name\": \"[memory]\", \"pid\": %d, \"tid\": %d, "
                "\"ts\": %.3f, \"args\": {\"Device Type\": %d, \"Device Id\": "
                "%d, \"Bytes\": %" PRId64 ", \"Addr\": %" PRIu64
                ", \"Total Allocated\": %" PRId64
                ", \"Total Reserved\": 4000000000}}",
                PID, TID + maker->thread, maker->host, !maker->on_host,
                -maker->on_host, bytes, address,
                maker->allocated);
}

void trace_maker_allocate(struct trace_maker *maker, int64_t bytes, double us,
                          double driver_us)
{
    const double from = maker->host;
    maker->host += 1;
    if (driver_us > 0)
        add_call(maker, "cudaMalloc", "", driver_us, 0);
    if (maker->memory)
        add_memory(maker, bytes, ++maker->address);
    maker->host = (driver_us > 0 ? maker->host : from) + us;
    add_op(maker, "aten::empty", from);
}

void trace_maker_free(struct trace_maker *maker, int64_t bytes)
{
    maker->host += 0.2;
    if (maker->memory)
        add_memory(maker, -bytes, maker->address);
}

void trace_maker_call(struct trace_maker *maker, const char *name, double us)
{
    add_call(maker, name, "", us, 0);
}

void trace_maker_all_reduce(struct trace_maker *maker, double us)
{
    const double from = maker->host;
    maker->host += 2;
    add_call(maker, "cudaLaunchKernelExC",
             us > 0 ? "ncclDevKernel_AllReduce_Sum_f32_RING_LL("
                      "ncclDevKernelArgsStorage<4096ul>)"
                    : "",
             call_us, us);
    maker->host += 2;
    add_op(maker, "record_param_comms", from + 1);
    maker->host += 1;
    add_op(maker, "nccl:all_reduce", from);
}
