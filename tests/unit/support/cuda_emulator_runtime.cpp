/* SPDX-License-Identifier: MIT */
#include "tests/unit/support/cuda_emulator.h"

/* Memory, streams, events and errors of the emulated device. */

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>

const struct tp_emulator tp_emulator_default = {
    1, 2, 9, 0, size_t(1) << 30, 227 << 10, 0, 0, 0};

typedef std::function<void()> operation;

struct CUstream_st {
    std::deque<operation> waiting;
    uint64_t put, done;
};

struct CUevent_st {
    cudaStream_t stream;
    uint64_t after; /* operations of the stream */
};

namespace {

const size_t guard = 64, front = 256; /* front: as aligned as CUDA's */

struct state {
    tp_emulator options = tp_emulator_default;
    uint64_t calls = 0, launches = 0;
    std::map<std::string, uint64_t> launches_of;
    cudaError_t sticky = cudaSuccess, last = cudaSuccess;
    size_t used = 0, peak = 0;
    std::map<char *, size_t> device;
    std::set<void *> host;
    std::set<cudaStream_t> streams;
    std::set<cudaEvent_t> events;
    CUstream_st standard = {{}, 0, 0}; /* stream 0 */
};

std::recursive_mutex lock;
typedef std::lock_guard<std::recursive_mutex> hold;

state &now()
{
    static state *one = new state;
    return *one;
}

cudaError_t remember(cudaError_t error)
{
    if (error != cudaSuccess)
        now().last = error;
    return error;
}

/* Begins a call that may fail: says whether it does. */
cudaError_t enter()
{
    state &s = now();
    if (s.sticky != cudaSuccess)
        return remember(s.sticky);
    if (s.options.devices == 0)
        return remember(cudaErrorNoDevice);
    s.calls++;
    if (s.options.fail_call == 0 || s.calls != s.options.fail_call)
        return cudaSuccess;
    cudaError_t error = static_cast<cudaError_t>(s.options.fail_with);
    if (s.options.lost)
        s.sticky = error;
    return remember(error);
}

CUstream_st *stream_of(cudaStream_t stream)
{
    if (stream && !now().streams.count(stream))
        tp_emulate_die("a stream that is not there");
    return stream ? stream : &now().standard;
}

void drain(CUstream_st *stream, uint64_t until)
{
    while (stream->done < until && !stream->waiting.empty()) {
        operation next = std::move(stream->waiting.front());
        stream->waiting.pop_front();
        next();
        stream->done++;
    }
}

void drain_all()
{
    drain(&now().standard, UINT64_MAX);
    for (cudaStream_t stream : now().streams)
        drain(stream, UINT64_MAX);
}

void put(cudaStream_t stream, operation what)
{
    CUstream_st *to = stream_of(stream);
    to->waiting.push_back(std::move(what));
    to->put++;
}

bool is_guard(const char *at)
{
    for (size_t i = 0; i < guard; i++)
        if (at[i] != 0x5a)
            return false;
    return true;
}

void check_guards(const char *memory, size_t size)
{
    if (!is_guard(memory - guard) || !is_guard(memory + size))
        tp_emulate_die("written beside a piece of device memory");
}

/* Whether [at, at + size) lies in one piece of device memory. */
bool on_device(const void *at, size_t size)
{
    const char *first = static_cast<const char *>(at);
    auto next = now().device.upper_bound(const_cast<char *>(first));
    if (next == now().device.begin())
        return false;
    --next;
    return first >= next->first && first + size <= next->first + next->second;
}

void check_copy(const void *to, const void *from, size_t size,
                cudaMemcpyKind kind)
{
    bool to_device = kind == cudaMemcpyHostToDevice ||
                     kind == cudaMemcpyDeviceToDevice;
    bool from_device = kind == cudaMemcpyDeviceToHost ||
                       kind == cudaMemcpyDeviceToDevice;
    if (kind == cudaMemcpyDefault || size == 0)
        return;
    if (on_device(to, size) != to_device ||
        on_device(from, size) != from_device)
        tp_emulate_die("a copy to or from where it says it is not");
}

} // namespace

void tp_emulator_begin(const struct tp_emulator *options)
{
    hold held(lock);
    state &s = now();
    for (auto &piece : s.device)
        std::free(piece.first - front);
    for (void *memory : s.host)
        std::free(memory);
    for (cudaStream_t stream : s.streams)
        delete stream;
    for (cudaEvent_t event : s.events)
        delete event;
    s = state();
    s.options = *options;
}

bool tp_emulator_present(void)
{
    return true;
}

uint64_t tp_emulator_calls(void)
{
    hold held(lock);
    return now().calls;
}

uint64_t tp_emulator_launches(void)
{
    hold held(lock);
    return now().launches;
}

uint64_t tp_emulator_launches_of(const char *file)
{
    hold held(lock);
    return now().launches_of[file];
}

size_t tp_emulator_leaks(void)
{
    hold held(lock);
    const state &s = now();
    return s.device.size() + s.host.size() + s.streams.size() +
           s.events.size();
}

size_t tp_emulator_peak(void)
{
    hold held(lock);
    return now().peak;
}

void tp_emulate_launch(const tp_emulated_launch &launch, operation body)
{
    hold held(lock);
    if (enter() != cudaSuccess)
        return;
    state &s = now();
    if (launch.block.x == 0 || launch.block.x > TP_EMULATED_THREADS ||
        launch.block.y != 1 || launch.grid.x == 0 || launch.grid.y == 0 ||
        launch.grid.y > 65535 || launch.grid.x > 0x7fffffff ||
        launch.shared > s.options.shared) {
        remember(cudaErrorInvalidConfiguration);
        return;
    }
    s.launches++;
    const char *slash = std::strrchr(launch.file, '/');
    s.launches_of[slash ? slash + 1 : launch.file]++;
    put(launch.stream, [=] {
        tp_emulate_grid(launch, body);
        for (auto &piece : now().device)
            check_guards(piece.first, piece.second);
    });
}

cudaError_t cudaGetDeviceCount(int *count)
{
    hold held(lock);
    *count = now().options.devices;
    return *count ? cudaSuccess : remember(cudaErrorNoDevice);
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = 13000;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device)
{
    hold held(lock);
    const tp_emulator &o = now().options;
    if (device < 0 || device >= o.devices)
        return remember(cudaErrorInvalidDevice);
    std::memset(properties, 0, sizeof *properties);
    std::snprintf(properties->name, sizeof properties->name, "emulated");
    properties->totalGlobalMem = o.memory;
    properties->major = o.major;
    properties->minor = o.minor;
    properties->multiProcessorCount = o.multiprocessors;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr which,
                                   int device)
{
    hold held(lock);
    const tp_emulator &o = now().options;
    if (device < 0 || device >= o.devices)
        return remember(cudaErrorInvalidDevice);
    switch (which) {
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        *value = static_cast<int>(o.shared);
        break;
    case cudaDevAttrMultiProcessorCount: *value = o.multiprocessors; break;
    case cudaDevAttrComputeCapabilityMajor: *value = o.major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = o.minor; break;
    default: return remember(cudaErrorInvalidValue);
    }
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    hold held(lock);
    cudaError_t status = enter();
    if (status != cudaSuccess)
        return status;
    return device < 0 || device >= now().options.devices
               ? remember(cudaErrorInvalidDevice)
               : cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize()
{
    hold held(lock);
    cudaError_t status = enter();
    if (status == cudaSuccess)
        drain_all();
    return status;
}

cudaError_t cudaMemGetInfo(size_t *left, size_t *total)
{
    hold held(lock);
    *total = now().options.memory;
    *left = *total - now().used;
    return enter();
}

cudaError_t cudaGetLastError()
{
    hold held(lock);
    cudaError_t last = now().last;
    now().last = now().sticky;
    return last;
}

cudaError_t cudaPeekAtLastError()
{
    hold held(lock);
    return now().last;
}

const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorNoDevice: return "no CUDA-capable device is detected";
    case cudaErrorLaunchFailure: return "unspecified launch failure";
    case cudaErrorNoKernelImageForDevice:
        return "no kernel image is available for execution on the device";
    default: return "emulated error";
    }
}

const char *cudaGetErrorName(cudaError_t error)
{
    return cudaGetErrorString(error);
}

cudaError_t cudaMalloc(void **memory, size_t size)
{
    hold held(lock);
    *memory = nullptr;
    cudaError_t status = enter();
    if (status != cudaSuccess)
        return status;
    state &s = now();
    if (size > s.options.memory - s.used)
        return remember(cudaErrorMemoryAllocation);
    void *made = nullptr;
    if (posix_memalign(&made, front, front + size + guard) != 0)
        return remember(cudaErrorMemoryAllocation);
    char *at = static_cast<char *>(made) + front;
    std::memset(at - guard, 0x5a, guard);
    std::memset(at, 0xa5, size);
    std::memset(at + size, 0x5a, guard);
    s.device[at] = size;
    s.used += size;
    s.peak = s.used > s.peak ? s.used : s.peak;
    *memory = at;
    return cudaSuccess;
}

/* Waits for the whole device, as CUDA's does. */
cudaError_t cudaFree(void *memory)
{
    hold held(lock);
    if (!memory)
        return cudaSuccess;
    state &s = now();
    auto found = s.device.find(static_cast<char *>(memory));
    if (found == s.device.end())
        tp_emulate_die("freed what is not device memory");
    cudaError_t status = enter();
    if (status == cudaSuccess)
        drain_all();
    check_guards(found->first, found->second);
    s.used -= found->second;
    std::free(found->first - front);
    s.device.erase(found);
    return status;
}

cudaError_t cudaMallocHost(void **memory, size_t size)
{
    return cudaHostAlloc(memory, size, 0);
}

cudaError_t cudaHostAlloc(void **memory, size_t size, unsigned)
{
    hold held(lock);
    *memory = nullptr;
    cudaError_t status = enter();
    if (status != cudaSuccess)
        return status;
    *memory = std::malloc(size ? size : 1);
    if (!*memory)
        return remember(cudaErrorMemoryAllocation);
    std::memset(*memory, 0xa5, size);
    now().host.insert(*memory);
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *memory)
{
    hold held(lock);
    if (!memory)
        return cudaSuccess;
    if (!now().host.erase(memory))
        tp_emulate_die("freed what is not pinned memory");
    cudaError_t status = enter();
    if (status == cudaSuccess)
        drain_all();
    std::free(memory);
    return status;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size,
                            cudaMemcpyKind kind, cudaStream_t stream)
{
    hold held(lock);
    cudaError_t status = enter();
    if (status != cudaSuccess)
        return status;
    check_copy(to, from, size, kind);
    put(stream, [=] {
        if (size > 0)
            std::memcpy(to, from, size);
    });
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t size,
                       cudaMemcpyKind kind)
{
    hold held(lock);
    cudaError_t status = cudaMemcpyAsync(to, from, size, kind, nullptr);
    if (status == cudaSuccess)
        drain_all();
    return status;
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t size,
                            cudaStream_t stream)
{
    hold held(lock);
    cudaError_t status = enter();
    if (status != cudaSuccess)
        return status;
    if (!on_device(to, size))
        tp_emulate_die("memset of what is not device memory");
    put(stream, [=] { std::memset(to, value, size); });
    return cudaSuccess;
}

cudaError_t cudaMemset(void *to, int value, size_t size)
{
    hold held(lock);
    cudaError_t status = cudaMemsetAsync(to, value, size, nullptr);
    if (status == cudaSuccess)
        drain_all();
    return status;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned)
{
    hold held(lock);
    *stream = nullptr;
    cudaError_t status = enter();
    if (status != cudaSuccess)
        return status;
    *stream = new CUstream_st{{}, 0, 0};
    now().streams.insert(*stream);
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    hold held(lock);
    CUstream_st *gone = stream_of(stream);
    cudaError_t status = enter();
    if (status == cudaSuccess)
        drain(gone, UINT64_MAX);
    for (cudaEvent_t event : now().events)
        if (event->stream == gone)
            event->stream = nullptr;
    now().streams.erase(stream);
    delete gone;
    return status;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    hold held(lock);
    cudaError_t status = enter();
    if (status == cudaSuccess)
        drain(stream_of(stream), UINT64_MAX);
    return status;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned)
{
    hold held(lock);
    cudaError_t status = enter();
    if (status != cudaSuccess || !event->stream)
        return status;
    CUstream_st *other = event->stream;
    uint64_t after = event->after;
    put(stream, [=] { /* who is gone has nothing left to do */
        if (other == &now().standard || now().streams.count(other))
            drain(other, after);
    });
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned)
{
    hold held(lock);
    *event = nullptr;
    cudaError_t status = enter();
    if (status != cudaSuccess)
        return status;
    *event = new CUevent_st{nullptr, 0};
    now().events.insert(*event);
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    hold held(lock);
    if (!now().events.erase(event))
        tp_emulate_die("an event that is not there");
    delete event;
    return enter();
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    hold held(lock);
    cudaError_t status = enter();
    if (status != cudaSuccess)
        return status;
    event->stream = stream_of(stream);
    event->after = event->stream->put;
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    hold held(lock);
    cudaError_t status = enter();
    if (status == cudaSuccess && event->stream)
        drain(event->stream, event->after);
    return status;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    hold held(lock);
    cudaError_t status = enter();
    if (status != cudaSuccess || !event->stream)
        return status;
    return event->stream->done >= event->after ? cudaSuccess
                                               : cudaErrorNotReady;
}
