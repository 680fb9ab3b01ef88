/* SPDX-License-Identifier: MIT */
/*
 * device MEBIBYTES ROUNDS: how fast the kernels are, with the data on the
 * first device. Each line is
 *
 *     SECONDS BYTES WANTED WHAT
 *
 * the median of the rounds, the bytes that are read (of copies: read and
 * written), and the share of the first line's rate that is wanted (0: none).
 * Whether results are right is for tests/unit/real_*.
 */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "cuda/kernels.h"
#include "stats/codes.h"

namespace {

void must(int status)
{
    if (status == cudaSuccess)
        return;
    std::fprintf(stderr, "device: %s\n",
                 cudaGetErrorString(static_cast<cudaError_t>(status)));
    std::exit(1);
}

/* What all measurements share. */
struct bench {
    struct tp_kernel_place place;
    cudaEvent_t begin, end;
    size_t bytes; /* of the data, which no cache holds                      */
    int rounds;
    unsigned char *data, *other;
    uint64_t *totals;
};

template <typename T>
T *allocate(size_t count)
{
    void *memory = nullptr;
    must(cudaMalloc(&memory, count * sizeof(T)));
    must(cudaMemset(memory, 0, count * sizeof(T)));
    return static_cast<T *>(memory);
}

/* A copy of something on the device. */
template <typename T>
T *put(const T &value)
{
    T *made = allocate<T>(1);
    must(cudaMemcpy(made, &value, sizeof value, cudaMemcpyHostToDevice));
    return made;
}

/* Times `work`, which puts something into the stream. */
template <typename WORK>
void measure(const bench &b, const char *what, size_t bytes, double wanted,
             WORK work)
{
    std::vector<float> times;
    /* what it reads comes by the default stream, which ours does not await */
    must(cudaDeviceSynchronize());
    must(work()); /* warm */
    for (int i = 0; i < b.rounds; i++) {
        float milliseconds = 0;
        must(cudaEventRecord(b.begin, b.place.stream));
        must(work());
        must(cudaEventRecord(b.end, b.place.stream));
        must(cudaEventSynchronize(b.end));
        must(cudaEventElapsedTime(&milliseconds, b.begin, b.end));
        times.push_back(milliseconds);
    }
    std::sort(times.begin(), times.end());
    std::printf("%.9f %zu %g %s\n", double(times[times.size() / 2]) * 1e-3,
                bytes, wanted, what);
}

/* --- data ----------------------------------------------------------------- */

/* Fills the data with copies of some, which make() gives as 16-bit codes. */
template <typename MAKE>
void fill(const bench &b, MAKE make)
{
    std::vector<uint16_t> some((16 << 20) / 2);
    for (uint16_t &code : some)
        code = static_cast<uint16_t>(make());
    for (size_t at = 0; at < b.bytes; at += some.size() * 2)
        must(cudaMemcpy(b.data + at, some.data(),
                        std::min(some.size() * 2, b.bytes - at),
                        cudaMemcpyHostToDevice));
}

/* As weights and activations are: binary32 values, cut to bfloat16. */
struct normal {
    std::mt19937 random;
    std::normal_distribution<float> of{0, 0.02f};
    uint32_t operator()()
    {
        const float value = of(random);
        uint32_t code;
        std::memcpy(&code, &value, sizeof code);
        return code >> 16;
    }
};

/* The same binary32 values, a half after the other. */
struct halves {
    std::mt19937 random;
    std::normal_distribution<float> of{0, 0.02f};
    uint32_t code;
    bool second;
    uint32_t operator()()
    {
        const float value = second ? 0 : of(random);
        if (!second)
            std::memcpy(&code, &value, sizeof code);
        second = !second;
        return second ? code & 0xffff : code >> 16;
    }
};

/* --- kernels -------------------------------------------------------------- */

void copies(const bench &b)
{
    const size_t half = b.bytes / 2;
    void *pinned = nullptr;
    measure(b, "copy on the device", 2 * half, 0, [&] {
        return cudaMemcpyAsync(b.data + half, b.data, half,
                               cudaMemcpyDeviceToDevice, b.place.stream);
    });
    must(cudaMallocHost(&pinned, half));
    std::memset(pinned, 1, half);
    measure(b, "copy from pinned memory", half, 0, [&] {
        return cudaMemcpyAsync(b.data, pinned, half, cudaMemcpyHostToDevice,
                               b.place.stream);
    });
    must(cudaFreeHost(pinned));
}

void count_codes(const bench &b, const char *what, enum tp_dtype dtype,
                 double wanted)
{
    const size_t size = tp_dtype_info(dtype)->size;
    const struct tp_span span = {dtype, b.data, b.bytes / size};
    measure(b, what, b.bytes, wanted,
            [&] { return tp_kernel_codes(&b.place, &span, b.totals); });
}

void histograms(const bench &b)
{
    std::mt19937 random;
    count_codes(b, "codes: bfloat16, normal", TP_BFLOAT16, 0.7);
    count_codes(b, "codes: float8_e4m3fn, bytes of these", TP_FLOAT8_E4M3FN,
                0);
    fill(b, [] { return 0u; });
    count_codes(b, "codes: bfloat16, zeros", TP_BFLOAT16, 0.7);
    normal values;
    fill(b, [&] { return random() % 2 ? values() : 0u; });
    count_codes(b, "codes: bfloat16, half of them zeros", TP_BFLOAT16, 0.7);
    fill(b, [&] { return random(); });
    count_codes(b, "codes: 16 bits, all as often", TP_INT16, 0);
    fill(b, normal());
}

void blocks(const bench &b)
{
    static struct tp_block_plan plan;
    const uint64_t columns = 4096, rows = b.bytes / 2 / columns;
    struct tp_kernel_blocks job = {};
    tp_block_plan_init(&plan, tp_number_by_id("mxfp8_e4m3"),
                       {TP_SCALE_FLOOR, TP_NONFINITE_BLOCK}, TP_BFLOAT16, 0);
    job.plan = put(plan);
    job.code_size = 2;
    job.block = plan.block;
    job.codes = b.data;
    job.rows = rows;
    job.row_length = columns;
    job.counts = allocate<struct tp_block_counts>(1);
    measure(b, "MX blocks: bfloat16, along rows", b.bytes, 0.5,
            [&] { return tp_kernel_blocks(&b.place, &job); });
    job.rows = 1;
    job.row_length = rows;
    job.columns = columns;
    measure(b, "MX blocks: bfloat16, down columns", rows * columns * 2, 0.5,
            [&] { return tp_kernel_blocks(&b.place, &job); });
}

/* Rows of 4096 codes of a dtype, and a plan on the device. */
struct tp_kernel_tally_rows tally_rows(const bench &b, const char *format,
                                       enum tp_dtype dtype)
{
    static struct tp_tally_plan plan;
    struct tp_quant_spec spec = {};
    spec.number = tp_number_by_id(format);
    tp_tally_plan_init(&plan, &spec, dtype);
    const size_t size = tp_dtype_info(dtype)->size;
    return {put(plan), b.data, b.bytes / size / 4096, 4096, 0};
}

void tallies(const bench &b, const char *what, const char *format)
{
    const auto rows = tally_rows(b, format, TP_BFLOAT16);
    auto *tally = allocate<struct tp_tally>(1);
    measure(b, what, b.bytes, 0,
            [&] { return tp_kernel_tally(&b.place, &rows, 2, tally); });
}

void float_tallies(const bench &b, const char *what, const char *format)
{
    const auto rows = tally_rows(b, format, TP_FLOAT32);
    auto *tally = allocate<struct tp_float_tally>(1);
    measure(b, what, b.bytes, 0,
            [&] { return tp_kernel_float_tally(&b.place, &rows, tally); });
}

void float_bins(const bench &b, const char *what)
{
    const struct tp_span span = {TP_FLOAT32, b.data, b.bytes / 4};
    auto *bins = allocate<struct tp_float_bin>(TP_FLOAT_BINS);
    measure(b, what, b.bytes, 0,
            [&] { return tp_kernel_float_bins(&b.place, &span, bins); });
}

/* Sums by leading bits; the values are left as they are. */
void floats(const bench &b)
{
    const auto zeros = [] { return 0u; };
    fill(b, zeros);
    float_bins(b, "sums by leading bits: float32, zeros");
    fill(b, halves());
    float_bins(b, "sums by leading bits: float32, normal");
    float_tallies(b, "MX tally: float32 to mxfp8_e4m3", "mxfp8_e4m3");
    float_tallies(b, "MX tally: float32 to mxfp4", "mxfp4");
}

void wide(const bench &b)
{
    const struct tp_span span = {TP_FLOAT32, b.data, b.bytes / 4};
    struct tp_kernel_values job = {};
    job.span = span;
    job.judge = tp_judge_of(nullptr);
    job.per_call = (256 << 10) / 4;
    job.blocks =
        allocate<struct tp_values>(span.n / TP_VALUE_BLOCK + 1);
    job.calls = allocate<struct tp_values>(span.n / job.per_call + 1);
    measure(b, "values: float32, counts and moments", b.bytes, 0,
            [&] { return tp_kernel_values(&b.place, &job); });
    measure(b, "top digits: float32", b.bytes, 0,
            [&] { return tp_kernel_top(&b.place, &span, b.totals); });
    measure(b, "bins: float32", b.bytes, 0,
            [&] { return tp_kernel_bins(&b.place, &span, b.totals); });
    must(cudaFree(job.blocks));
}

void dims(const bench &b)
{
    const uint64_t columns = 4096, rows = b.bytes / 2 / columns;
    struct tp_kernel_dims job = {};
    job.matrix.dtype = TP_BFLOAT16;
    job.matrix.finite = true;
    job.matrix.codes = b.data;
    job.matrix.rows = rows;
    job.matrix.columns = columns;
    job.height = TP_DIM_ROWS;
    tp_dim_cells_place(&job.columns, columns,
                       allocate<double>(tp_dim_cells_room(columns)));
    job.rows = allocate<struct tp_dim_cell>(rows);
    job.scratch = allocate<struct tp_dim_cell>(tp_kernel_dims_room(&job));
    measure(b, "statistics by index: bfloat16", rows * columns * 2, 0,
            [&] { return tp_kernel_dims(&b.place, &job); });
    must(cudaFree(job.scratch));
}

void gathers(const bench &b)
{
    struct tp_kernel_view view = {};
    view.codes = b.data;
    view.size = 2;
    view.ndim = 2;
    view.shape[0] = b.bytes / 2 / 4096;
    view.shape[1] = 2048;
    view.stride[0] = 4096;
    view.stride[1] = 1;
    const uint64_t n = view.shape[0] * view.shape[1];
    measure(b, "gather: half of each row", 4 * n, 0, [&] {
        return tp_kernel_gather(&b.place, &view, 0, n, b.other);
    });
}

} // namespace

int main(int argc, char **argv)
{
    struct bench b = {};
    if (argc != 3)
        return 2;
    b.bytes = std::strtoull(argv[1], nullptr, 10) << 20;
    b.rounds = std::atoi(argv[2]);
    cudaStream_t stream = nullptr;
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    must(tp_kernel_place_init(&b.place, stream));
    must(cudaEventCreateWithFlags(&b.begin, 0));
    must(cudaEventCreateWithFlags(&b.end, 0));
    b.data = allocate<unsigned char>(b.bytes);
    b.other = allocate<unsigned char>(b.bytes);
    b.totals = allocate<uint64_t>(TP_SELECT_ROOM);
    fill(b, normal());
    copies(b);
    fill(b, normal());
    histograms(b);
    blocks(b);
    tallies(b, "MX tally: bfloat16 to mxfp8_e4m3", "mxfp8_e4m3");
    tallies(b, "MX tally: bfloat16 to mxfp4", "mxfp4");
    floats(b);
    wide(b);
    dims(b);
    gathers(b);
    return 0;
}
