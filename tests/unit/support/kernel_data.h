/* SPDX-License-Identifier: MIT */
#ifndef TP_UNIT_KERNEL_DATA_H
#define TP_UNIT_KERNEL_DATA_H

/*
 * What tests of kernels have in common: an emulated device, memory on it, and
 * data of several kinds. C++, for one file of a program.
 */
#include "tests/unit/support/cuda_emulator.h"

#include <criterion/criterion.h>

#include <cfloat>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "cuda/kernels.h"

namespace {

uint64_t shared_limit;

void begin(uint64_t shared = 227 << 10)
{
    tp_emulator options = tp_emulator_default;
    options.shared = shared;
    shared_limit = shared;
    tp_emulator_begin(&options);
}

tp_kernel_place place()
{
    tp_kernel_place made;
    cr_assert_eq(tp_kernel_place_init(&made, nullptr), 0);
    if (made.shared > shared_limit)
        made.shared = shared_limit;
    return made;
}

/* Memory of the device that holds a copy of something, `skip` elements behind
 * an aligned address. */
template <typename T>
class on_device {
public:
    explicit on_device(const std::vector<T> &host, size_t skip_ = 0)
        : n(host.size()), skip(skip_)
    {
        cr_assert_eq(cudaMalloc(&memory, (n + skip) * sizeof(T)),
                     cudaSuccess);
        cr_assert_eq(cudaMemcpy(memory + skip, host.data(), n * sizeof(T),
                                cudaMemcpyHostToDevice),
                     cudaSuccess);
    }
    on_device(const on_device &) = delete;
    on_device &operator=(const on_device &) = delete;
    ~on_device() { cudaFree(memory); }

    T *get() const { return memory + skip; }

    std::vector<T> read() const
    {
        std::vector<T> host(n);
        cr_assert_eq(cudaMemcpy(host.data(), get(), n * sizeof(T),
                                cudaMemcpyDeviceToHost),
                     cudaSuccess);
        return host;
    }

private:
    T *memory = nullptr;
    size_t n, skip;
};

/* Totals begin with this: what is added must not be cut to 32 bits. */
const uint64_t beyond = (uint64_t{1} << 32) - 5;

const size_t sizes[] = {0,   1,   2,    15,   31,    32,   33,
                        511, 512, 513, 4097, 16385, 70001};

/* Bytes of one kind of data for codes of `size` bytes. */
enum kind { RANDOM, NORMAL, CONSTANT, MASK, SPECIAL, SPARSE, KINDS };

/* The first `size` bytes, as numbers have them, of a binary64 or binary32. */
uint64_t cut(double v, size_t size)
{
    uint64_t code = 0;
    float single = static_cast<float>(v);
    if (size == 8)
        std::memcpy(&code, &v, 8);
    else
        std::memcpy(&code, &single, 4);
    return size == 2 ? code >> 16 : size == 1 ? code >> 24 : code;
}

uint64_t special(std::mt19937_64 &random, size_t size)
{
    static const double values[] = {
        0.0,      -0.0,    INFINITY, -INFINITY, NAN,    -NAN,  1e-310,
        -1e-310,  1e-40,   -1e-40,   6e-8,      -6e-8,  1.0,   -1.0,
        DBL_MAX,  -DBL_MAX, FLT_MAX, 1e300,     65504., -1e-300};
    return cut(values[random() % (sizeof values / sizeof *values)], size);
}

uint64_t normal(std::mt19937_64 &random, size_t size)
{
    std::normal_distribution<double> of(0.125, 3);
    return cut(of(random), size);
}

uint64_t code_of(kind which, std::mt19937_64 &random, size_t size)
{
    switch (which) {
    case RANDOM: return random();
    case NORMAL: return normal(random, size);
    case CONSTANT: return 0x3f9dca5200000000u >> (64 - 8 * size);
    case MASK: return random() % 2 ? 0 : size == 1 ? 0xfc : 0xff80;
    case SPECIAL: return special(random, size);
    default: return random() % 4 ? 0 : normal(random, size);
    }
}

template <typename T>
std::vector<T> make(kind which, size_t n)
{
    std::mt19937_64 random(n * KINDS + which);
    std::vector<T> codes(n);
    for (T &code : codes)
        code = static_cast<T>(code_of(which, random, sizeof(T)));
    return codes;
}

const enum tp_dtype wide[] = {TP_FLOAT32, TP_FLOAT64, TP_INT32,
                              TP_UINT32,  TP_INT64,   TP_UINT64};

/* For each kind of data, size and skipped codes: check(dtype, codes, skip). */
template <typename CHECK>
void for_all_wide(CHECK check)
{
    for (enum tp_dtype dtype : wide) {
        for (size_t n : sizes) {
            for (int which = 0; which < KINDS; which++) {
                if (tp_dtype_info(dtype)->size == 4)
                    check(dtype, make<uint32_t>(kind(which), n), n % 4);
                else
                    check(dtype, make<uint64_t>(kind(which), n), n % 2);
            }
        }
    }
}

} // namespace

#endif
