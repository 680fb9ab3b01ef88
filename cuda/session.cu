/* SPDX-License-Identifier: MIT */
/*
 * Memory, streams and failures of a session. All memory that every range needs
 * is allocated when the session opens, for as many lanes as are wanted and fit
 * into the limit; tallies and room for small tensors come when they are first
 * asked for. A lane has two stages and two streams. Events order them: the host
 * waits until a stage was sent before it fills it again, the copying stream
 * until it was counted, and the counting stream until it was sent.
 *
 * Allocating for each range would need less memory between ranges, but
 * cudaMalloc may wait for the device, all lanes of it. The first failure is
 * kept for the whole session, and everything after it returns false. Each stage
 * costs one copy, two events and two waits of streams; the host blocks only
 * while the stage it is to fill is still being copied.
 */
#include "cuda/session_state.cuh"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tp_session {

bool check(tp_device_session *session, int status)
{
    if (status == cudaSuccess)
        return true;
    int expected = 0;
    if (session->failed.compare_exchange_strong(expected, 2)) {
        snprintf(session->failure, sizeof session->failure, "%s",
                 cudaGetErrorString(static_cast<cudaError_t>(status)));
        session->failed.store(1);
    }
    return false;
}

/* --- memory --------------------------------------------------------------- */

size_t calls_room(const tp_device_options &options)
{
    return options.range / options.call + 1;
}

/* Cells have 5 doubles; those of a range are half of it at most. */
size_t cells_room(const tp_device_options &options)
{
    return options.range / 2 / sizeof(double);
}

/* As many as codes of 16 bits, or as there are of 8 bits; and their number. */
size_t entries_room(const tp_device_options &options)
{
    return options.stage / 2 + size_t{TP_DEVICE_LISTS} * 256 + 1;
}

size_t scratch_room(const tp_device_options &options)
{
    /* codes have 4 bytes at least; each call's last block may be short */
    const size_t blocks = options.stage / 4 / TP_VALUE_BLOCK +
                          options.stage / options.call + 2;
    const size_t moments = blocks * sizeof(tp_values);
    const size_t entries = entries_room(options) * sizeof(uint32_t);
    return moments > entries ? moments : entries;
}

namespace {

/* Bytes of one lane on the device, with tallies, provided or not. */
uint64_t lane_bytes(const tp_device_options &options)
{
    return (STAGES + 1) * options.stage + sizeof(Back) + sizeof(Plans) +
           calls_room(options) * sizeof(tp_values) +
           cells_room(options) * sizeof(double) + scratch_room(options) +
           TP_DEVICE_LISTS * sizeof(tp_kernel_list) +
           options.tallies * sizeof(Planned<tp_tally>);
}

}

int provide(tp_device_session *session, void **device, void **host,
            size_t bytes)
{
    if (session->used.fetch_add(bytes) + bytes > session->options.memory) {
        session->used -= bytes;
        return OVER_LIMIT;
    }
    int status = cudaMalloc(device, bytes);
    if (status == cudaSuccess && host)
        status = cudaMallocHost(host, bytes);
    if (status == cudaSuccess)
        return status;
    cudaGetLastError(); /* so that no launch is blamed for it */
    session->used -= bytes;
    cudaFree(*device);
    *device = nullptr;
    if (host)
        *host = nullptr;
    return status;
}

namespace {

int provide_device(tp_device_session *session, unsigned char **device,
                  size_t bytes)
{
    return provide(session, reinterpret_cast<void **>(device), nullptr, bytes);
}

template <class T>
void give_back(Pair<T> *pair)
{
    cudaFree(pair->device);
    cudaFreeHost(pair->host);
}

template <class T>
void give_back(Tallies<T> *tallies)
{
    for (Pair<Planned<T>> &tally : tallies->of)
        give_back(&tally);
}

/* --- lanes ---------------------------------------------------------------- */

int open_stage(tp_device_session *session, Stage *stage)
{
    int status = provide(session, &stage->bytes, session->options.stage);
    if (status == cudaSuccess)
        status = cudaEventCreateWithFlags(&stage->sent,
                                          cudaEventDisableTiming);
    if (status == cudaSuccess)
        status = cudaEventCreateWithFlags(&stage->done,
                                          cudaEventDisableTiming);
    return status;
}

int open_memory(tp_device_session *session, Lane *lane)
{
    const tp_device_options &options = session->options;
    int status = provide_device(session, &lane->gathered, options.stage);
    if (status == cudaSuccess)
        status = provide(session, &lane->back, 1);
    if (status == cudaSuccess)
        status = provide(session, &lane->plans, 1);
    if (status == cudaSuccess)
        status = provide(session, &lane->calls, calls_room(options));
    if (status == cudaSuccess)
        status = provide(session, &lane->cells, cells_room(options));
    if (status == cudaSuccess)
        status = provide_device(session, &lane->scratch,
                               scratch_room(options));
    if (status == cudaSuccess)
        status = provide(session, &lane->lists, TP_DEVICE_LISTS);
    return status;
}

int open_lane(tp_device_session *session, Lane *lane)
{
    cudaStream_t stream = nullptr;
    int status = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    lane->place.stream = stream;
    if (status == cudaSuccess)
        status = tp_kernel_place_init(&lane->place, stream);
    if (status == cudaSuccess)
        status = cudaStreamCreateWithFlags(&lane->copy, cudaStreamNonBlocking);
    for (int i = 0; i < STAGES && status == cudaSuccess; i++)
        status = open_stage(session, &lane->stages[i]);
    return status == cudaSuccess ? open_memory(session, lane) : status;
}

void close_stream(cudaStream_t stream)
{
    if (!stream)
        return;
    cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
}

void close_lane(Lane *lane)
{
    close_stream(lane->copy);
    close_stream(lane->place.stream);
    for (Stage &stage : lane->stages) {
        if (stage.sent)
            cudaEventDestroy(stage.sent);
        if (stage.done)
            cudaEventDestroy(stage.done);
        give_back(&stage.bytes);
    }
    cudaFree(lane->gathered);
    cudaFree(lane->scratch);
    give_back(&lane->back);
    give_back(&lane->plans);
    give_back(&lane->calls);
    give_back(&lane->cells);
    give_back(&lane->float_bins);
    give_back(&lane->tallies);
    give_back(&lane->float_tallies);
    cudaFreeHost(lane->batch);
    cudaFreeHost(lane->entries);
    give_back(&lane->lists);
    memset(lane, 0, sizeof *lane);
}

/* As many lanes as are wanted and fit; 0 and why not even one. */
int open_lanes(tp_device_session *session)
{
    const tp_device_options &options = session->options;
    const uint64_t fit = options.memory / lane_bytes(options);
    const unsigned most = fit < options.lanes ? static_cast<unsigned>(fit)
                                              : options.lanes;
    int status = cudaErrorMemoryAllocation;
    while (session->lane_count < most) {
        Lane *lane = &session->lanes[session->lane_count];
        status = open_lane(session, lane);
        if (status != cudaSuccess) {
            close_lane(lane);
            cudaGetLastError(); /* so that no launch is blamed for it */
            break;
        }
        session->lane_count++;
    }
    return session->lane_count > 0 ? static_cast<int>(cudaSuccess) : status;
}

tp_device_session *new_session(const tp_device_options *options)
{
    auto *session =
        static_cast<tp_device_session *>(calloc(1, sizeof(tp_device_session)));
    Lane *lanes = static_cast<Lane *>(calloc(options->lanes + 1, sizeof(Lane)));
    if (!session || !lanes) {
        free(session);
        free(lanes);
        return nullptr;
    }
    session->options = *options;
    session->lanes = lanes;
    return session;
}

}

}

using namespace tp_session;

tp_device_session *tp_device_open(const tp_device_options *options,
                                  char *reason)
{
    if (tp_device_count(reason) <= options->index) {
        if (!*reason)
            snprintf(reason, TP_DEVICE_REASON_MAX, "there is no device %d",
                     options->index);
        return nullptr;
    }
    tp_device_session *session = new_session(options);
    if (!session) {
        snprintf(reason, TP_DEVICE_REASON_MAX, "out of memory");
        return nullptr;
    }
    size_t available = 0, all = 0;
    int status = cudaSetDevice(options->index);
    if (status == cudaSuccess)
        status = cudaMemGetInfo(&available, &all);
    if (options->memory == 0)
        session->options.memory = available / 2;
    const uint64_t least = lane_bytes(session->options);
    if (status == cudaSuccess)
        status = open_lanes(session);
    if (status == cudaSuccess)
        return session;
    if (status == cudaErrorMemoryAllocation && session->options.memory < least)
        snprintf(reason, TP_DEVICE_REASON_MAX,
                 "%.1f MB of device memory are less than the %.1f MB needed",
                 static_cast<double>(session->options.memory) * 1e-6,
                 static_cast<double>(least) * 1e-6);
    else
        snprintf(reason, TP_DEVICE_REASON_MAX, "%s",
                 cudaGetErrorString(static_cast<cudaError_t>(status)));
    tp_device_close(session);
    return nullptr;
}

void tp_device_close(tp_device_session *session)
{
    if (!session)
        return;
    cudaSetDevice(session->options.index);
    for (unsigned i = 0; i < session->lane_count; i++)
        close_lane(&session->lanes[i]);
    free(session->lanes);
    free(session);
}

unsigned tp_device_lanes(const tp_device_session *session)
{
    return session->lane_count;
}

const char *tp_device_failure(const tp_device_session *session)
{
    while (session->failed.load() == 2)
        ; /* another thread is writing it */
    return session->failure;
}

/* --- room that is not always needed --------------------------------------- */

namespace {

/* Room of a lane, which a device may not have: true once it is there. */
template <class T>
bool provide_later(const tp_device_lane *at, Pair<T> *pair, size_t count)
{
    if (pair->device)
        return true;
    int status = cudaSetDevice(at->session->options.index);
    if (status == cudaSuccess)
        status = provide(at->session, pair, count);
    return status != OVER_LIMIT && check(at->session, status);
}

template <class T>
bool provide_tallies(const tp_device_lane *at, Tallies<T> *tallies,
                     size_t count)
{
    if (is_lost(at) || count > TALLIES)
        return false;
    for (size_t i = 0; i < count; i++) {
        Pair<Planned<T>> *tally = &tallies->of[i];
        if (tally->device)
            continue;
        if (!provide_later(at, tally, 1))
            return false;
        memset(&tally->host->tally, 0, sizeof tally->host->tally);
        if (!check(at->session,
                   cudaMemsetAsync(&tally->device->tally, 0,
                                   sizeof tally->device->tally,
                                   lane_of(at)->place.stream)))
            return false;
    }
    return true;
}

/* Empties tallies of a range that was given up. */
template <class T>
void begin_tallies(Tallies<T> *tallies)
{
    for (size_t i = 0; i < TALLIES; i++)
        if (tallies->in_use >> i & 1)
            memset(&tallies->of[i].host->tally, 0, sizeof(T));
    tallies->in_use = 0;
}

}

bool tp_device_float_bins_room(const tp_device_lane *at)
{
    return !is_lost(at) &&
           provide_later(at, &lane_of(at)->float_bins, TP_FLOAT_BINS);
}

bool tp_device_tallies(const tp_device_lane *at, size_t count)
{
    return provide_tallies(at, &lane_of(at)->tallies, count);
}

bool tp_device_float_tallies(const tp_device_lane *at, size_t count)
{
    return provide_tallies(at, &lane_of(at)->float_tallies, count);
}

template <class T>
static bool provide_host(T **host, size_t count)
{
    if (*host)
        return true;
    void *made = nullptr;
    if (cudaMallocHost(&made, count * sizeof(T)) != cudaSuccess) {
        cudaGetLastError(); /* so that no launch is blamed for it */
        return false;
    }
    *host = static_cast<T *>(made);
    return true;
}

void *tp_device_batch(const tp_device_lane *at)
{
    const tp_device_options &options = at->session->options;
    Lane *lane = lane_of(at);
    return !is_lost(at) && cudaSetDevice(options.index) == cudaSuccess &&
                   provide_host(&lane->batch, options.stage) &&
                   provide_host(&lane->entries, entries_room(options))
               ? lane->batch
               : nullptr;
}

/* --- stages --------------------------------------------------------------- */

bool tp_device_begin(const tp_device_lane *at)
{
    Lane *lane = lane_of(at);
    begin_tallies(&lane->tallies);
    begin_tallies(&lane->float_tallies);
    lane->what = 0;
    lane->totals = lane->call_count = lane->rows = lane->columns = 0;
    return !is_lost(at) &&
           check(at->session, cudaSetDevice(at->session->options.index));
}

/* What was sent is counted now: it may be overwritten after that. */
static bool finish_stage(const tp_device_lane *at)
{
    Lane *lane = lane_of(at);
    if (!lane->sent)
        return true;
    lane->sent = false;
    return check(at->session, cudaEventRecord(lane->stages[lane->stage].done,
                                              lane->place.stream));
}

void *tp_device_stage(const tp_device_lane *at)
{
    Lane *lane = lane_of(at);
    if (is_lost(at) || !finish_stage(at))
        return nullptr;
    lane->stage = (lane->stage + 1) % STAGES;
    Stage *stage = &lane->stages[lane->stage];
    return check(at->session, cudaEventSynchronize(stage->sent))
               ? stage->bytes.host
               : nullptr;
}

bool tp_device_send(const tp_device_lane *at, size_t bytes)
{
    Lane *lane = lane_of(at);
    Stage *stage = &lane->stages[lane->stage];
    lane->codes = stage->bytes.device;
    lane->sent = true;
    return !is_lost(at) &&
           check(at->session,
                 cudaStreamWaitEvent(lane->copy, stage->done, 0)) &&
           check(at->session,
                 cudaMemcpyAsync(stage->bytes.device, stage->bytes.host, bytes,
                                 cudaMemcpyHostToDevice, lane->copy)) &&
           check(at->session, cudaEventRecord(stage->sent, lane->copy)) &&
           check(at->session,
                 cudaStreamWaitEvent(lane->place.stream, stage->sent, 0));
}
