/* SPDX-License-Identifier: MIT */
#include "cuda/session.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cuda/device.h"
#include "cuda/kernels.h"
#include "stats/codes.h"
#include "stats/select.h"

namespace {

/* Room for a histogram of codes, or of the top digits of values. */
constexpr size_t CODE_ROOM = TP_CODES, TOP_ROOM = TP_SELECT_TOP;
constexpr size_t TOTALS = TOP_ROOM > CODE_ROOM ? TOP_ROOM : CODE_ROOM;

/* What comes back of a range, as it lies on the device and in pinned memory.
 * Only the parts that were counted are cleared and copied. */
struct Back {
    uint64_t totals[TOTALS];
    uint64_t bins[TP_SUMMARY_BINS];
    tp_block_counts blocks;
};
enum { CODES = 1, VALUES = 2, BINS = 4, BLOCKS = 8 };

struct Lane {
    tp_kernel_place place;
    unsigned char *host, *codes; /* the buffer, and it on the device        */
    Back *host_back, *back;
    tp_values *host_calls, *calls, *scratch;
    tp_block_plan *host_plan, *plan;
    size_t code_bytes;           /* of one code of the last histogram       */
    size_t call_count;
    unsigned what;               /* was counted in this range               */
};

}

struct tp_device_session {
    tp_device_options options;
    Lane *lanes;
    unsigned lane_count;
    std::atomic<int> failed;
    char failure[TP_DEVICE_REASON_MAX];
};

namespace {

/* Keeps the first failure; false when there was one. */
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

bool is_lost(const tp_device_session *session)
{
    return session->failed.load() != 0;
}

size_t calls_of(const tp_device_options &options)
{
    return options.range / options.call + 1;
}

size_t blocks_of(const tp_device_options &options)
{
    /* codes have 4 bytes at least; each call's last block may be short */
    return options.range / 4 / TP_VALUE_BLOCK + calls_of(options) + 1;
}

/* Bytes of one lane on the device. */
uint64_t lane_bytes(const tp_device_options &options)
{
    return options.range + sizeof(Back) + sizeof(tp_block_plan) +
           (calls_of(options) + blocks_of(options)) * sizeof(tp_values);
}

int allocate(void **device, void **host, size_t bytes)
{
    int status = cudaMalloc(device, bytes);
    if (status == cudaSuccess && host)
        status = cudaMallocHost(host, bytes);
    return status;
}

template <typename T>
void **address(T **pointer)
{
    return reinterpret_cast<void **>(pointer);
}

int lane_open(const tp_device_options &options, Lane *lane)
{
    size_t calls = calls_of(options) * sizeof(tp_values);
    cudaStream_t stream = nullptr;
    int status = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    lane->place.stream = stream;
    if (status == cudaSuccess)
        status = tp_kernel_place_init(&lane->place, stream);
    if (status == cudaSuccess)
        status = allocate(address(&lane->codes), address(&lane->host),
                          options.range);
    if (status == cudaSuccess)
        status = allocate(address(&lane->back), address(&lane->host_back),
                          sizeof(Back));
    if (status == cudaSuccess)
        status =
            allocate(address(&lane->calls), address(&lane->host_calls), calls);
    if (status == cudaSuccess)
        status = allocate(address(&lane->scratch), nullptr,
                          blocks_of(options) * sizeof(tp_values));
    if (status == cudaSuccess)
        status = allocate(address(&lane->plan), address(&lane->host_plan),
                          sizeof(tp_block_plan));
    return status;
}

void lane_close(Lane *lane)
{
    if (lane->place.stream) {
        cudaStreamSynchronize(lane->place.stream);
        cudaStreamDestroy(lane->place.stream);
    }
    cudaFree(lane->codes);
    cudaFree(lane->back);
    cudaFree(lane->calls);
    cudaFree(lane->scratch);
    cudaFree(lane->plan);
    cudaFreeHost(lane->host);
    cudaFreeHost(lane->host_back);
    cudaFreeHost(lane->host_calls);
    cudaFreeHost(lane->host_plan);
}

/* The same codes on the device. */
const void *there(const Lane *lane, const void *codes)
{
    return lane->codes + (static_cast<const unsigned char *>(codes) -
                          lane->host);
}

int send(Lane *lane, void *to, const void *from, size_t bytes)
{
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice,
                           lane->place.stream);
}

int fetch(Lane *lane, void *to, const void *from, size_t bytes)
{
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost,
                           lane->place.stream);
}

int clear(Lane *lane, void *what, size_t bytes)
{
    return cudaMemsetAsync(what, 0, bytes, lane->place.stream);
}

void add(uint64_t *into, const uint64_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        into[i] += from[i];
}

size_t totals_of(const Lane *lane)
{
    return lane->what & VALUES         ? static_cast<size_t>(TP_SELECT_TOP)
           : lane->code_bytes == 1     ? 256
                                       : static_cast<size_t>(TP_CODES);
}

}

tp_device_session *tp_device_open(const tp_device_options *options,
                                  char *reason)
{
    if (tp_device_count(reason) <= options->index) {
        if (!*reason)
            snprintf(reason, TP_DEVICE_REASON_MAX, "there is no device %d",
                     options->index);
        return nullptr;
    }
    auto *session =
        static_cast<tp_device_session *>(calloc(1, sizeof(tp_device_session)));
    Lane *lanes = static_cast<Lane *>(calloc(options->lanes + 1, sizeof(Lane)));
    if (!session || !lanes) {
        free(session);
        free(lanes);
        snprintf(reason, TP_DEVICE_REASON_MAX, "out of memory");
        return nullptr;
    }
    session->options = *options;
    session->lanes = lanes;
    size_t available = 0, all = 0;
    int status = cudaSetDevice(options->index);
    if (status == cudaSuccess)
        status = cudaMemGetInfo(&available, &all);
    uint64_t most = options->memory ? options->memory : available / 2;
    uint64_t fit = most / lane_bytes(*options);
    unsigned count = fit < options->lanes ? static_cast<unsigned>(fit)
                                          : options->lanes;
    while (status == cudaSuccess && session->lane_count < count)
        status = lane_open(*options, &lanes[session->lane_count++]);
    if (status == cudaSuccess && count > 0)
        return session;
    if (status != cudaSuccess)
        snprintf(reason, TP_DEVICE_REASON_MAX, "%s",
                 cudaGetErrorString(static_cast<cudaError_t>(status)));
    else
        snprintf(reason, TP_DEVICE_REASON_MAX,
                 "%.1f MB of device memory are less than the %.1f MB needed",
                 static_cast<double>(most) * 1e-6,
                 static_cast<double>(lane_bytes(*options)) * 1e-6);
    tp_device_close(session);
    return nullptr;
}

void tp_device_close(tp_device_session *session)
{
    if (!session)
        return;
    cudaSetDevice(session->options.index);
    for (unsigned i = 0; i < session->lane_count; i++)
        lane_close(&session->lanes[i]);
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

void *tp_device_buffer(tp_device_session *session, unsigned lane)
{
    return session->lanes[lane].host;
}

bool tp_device_begin(tp_device_session *session, unsigned number, size_t bytes)
{
    Lane *lane = &session->lanes[number];
    lane->what = 0;
    lane->call_count = 0;
    return !is_lost(session) &&
           check(session, cudaSetDevice(session->options.index)) &&
           check(session, send(lane, lane->codes, lane->host, bytes));
}

bool tp_device_codes(tp_device_session *session, unsigned number,
                     const tp_span *span)
{
    Lane *lane = &session->lanes[number];
    tp_span device = *span;
    device.codes = there(lane, span->codes);
    lane->what |= CODES;
    lane->code_bytes = tp_dtype_info(span->dtype)->size;
    return !is_lost(session) &&
           check(session, clear(lane, lane->back->totals,
                                totals_of(lane) * sizeof(uint64_t))) &&
           check(session,
                 tp_kernel_codes(&lane->place, &device, lane->back->totals));
}

bool tp_device_values(tp_device_session *session, unsigned number,
                      const tp_span *span, const tp_judge *judge, bool bins)
{
    Lane *lane = &session->lanes[number];
    size_t size = tp_dtype_info(span->dtype)->size;
    struct tp_kernel_values job = {};
    job.span = *span;
    job.span.codes = there(lane, span->codes);
    job.judge = *judge;
    job.per_call = session->options.call / size;
    job.blocks = lane->scratch;
    job.calls = lane->calls;
    lane->what |= VALUES | (bins ? BINS : 0);
    lane->call_count = (span->n + job.per_call - 1) / job.per_call;
    if (is_lost(session) ||
        !check(session, clear(lane, lane->back->totals,
                              TP_SELECT_TOP * sizeof(uint64_t))) ||
        !check(session, tp_kernel_values(&lane->place, &job)) ||
        !check(session,
               tp_kernel_top(&lane->place, &job.span, lane->back->totals)))
        return false;
    return !bins ||
           (check(session, clear(lane, lane->back->bins,
                                 sizeof lane->back->bins)) &&
            check(session, tp_kernel_bins(&lane->place, &job.span,
                                          lane->back->bins)));
}

bool tp_device_blocks(tp_device_session *session, unsigned number,
                      const tp_block_plan *plan, const void *codes,
                      const uint64_t shape[3])
{
    Lane *lane = &session->lanes[number];
    struct tp_kernel_blocks job = {};
    bool first = !(lane->what & BLOCKS);
    job.plan = lane->plan;
    job.code_size = plan->code_size;
    job.block = plan->block;
    job.codes = there(lane, codes);
    job.rows = shape[0];
    job.row_length = shape[1];
    job.columns = shape[2];
    job.counts = &lane->back->blocks;
    lane->what |= BLOCKS;
    if (is_lost(session))
        return false;
    if (first) { /* the plan is that of the whole range */
        *lane->host_plan = *plan;
        if (!check(session, send(lane, lane->plan, lane->host_plan,
                                 sizeof *lane->plan)) ||
            !check(session, clear(lane, &lane->back->blocks,
                                  sizeof lane->back->blocks)))
            return false;
    }
    return check(session, tp_kernel_blocks(&lane->place, &job));
}

bool tp_device_end(tp_device_session *session, unsigned number)
{
    Lane *lane = &session->lanes[number];
    Back *back = lane->back, *host = lane->host_back;
    bool ok = !is_lost(session);
    if (ok && lane->what & (CODES | VALUES))
        ok = check(session, fetch(lane, host->totals, back->totals,
                                  totals_of(lane) * sizeof(uint64_t)));
    if (ok && lane->what & BINS)
        ok = check(session,
                   fetch(lane, host->bins, back->bins, sizeof host->bins));
    if (ok && lane->what & BLOCKS)
        ok = check(session, fetch(lane, &host->blocks, &back->blocks,
                                  sizeof host->blocks));
    if (ok && lane->call_count)
        ok = check(session, fetch(lane, lane->host_calls, lane->calls,
                                  lane->call_count * sizeof(tp_values)));
    /* always: the buffer must not be written while it is read from */
    return check(session, cudaStreamSynchronize(lane->place.stream)) && ok;
}

void tp_device_take(const tp_device_session *session, unsigned number,
                    const tp_device_results *results)
{
    const Lane *lane = &session->lanes[number];
    const Back *host = lane->host_back;
    if (lane->what & (CODES | VALUES) && results->totals)
        add(results->totals, host->totals, totals_of(lane));
    if (lane->what & BINS && results->bins)
        add(results->bins, host->bins, TP_SUMMARY_BINS);
    if (lane->what & BLOCKS && results->blocks)
        tp_block_counts_merge(results->blocks, &host->blocks, 1);
    for (size_t i = 0; i < lane->call_count && results->values; i++)
        tp_values_merge(results->values, &lane->host_calls[i]);
}
