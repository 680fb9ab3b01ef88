/* SPDX-License-Identifier: MIT */
#include "tests/unit/support/kernel_data.h"

#include <algorithm>
#include <memory>

extern "C" {
#include "stats/select.h"
}

/*
 * The readings of a selection on the emulated device: each against
 * tp_select_count and tp_select_flush, and what is selected in the end against
 * sorted values.
 */
namespace {

typedef std::vector<uint64_t> totals_t;

std::unique_ptr<tp_select_tables> empty_tables()
{
    auto tables = std::make_unique<tp_select_tables>();
    std::memset(tables.get(), 0, sizeof *tables);
    return tables;
}

/* Adds `times` readings of the codes, `skip` of them behind an aligned
 * address, to the totals. */
template <typename T>
totals_t run(const tp_select &select, const std::vector<T> &codes, size_t skip,
             int times, const totals_t &before)
{
    const std::vector<tp_select> host(1, select);
    on_device<tp_select> device(host);
    on_device<T> from(codes, skip);
    on_device<uint64_t> totals(before);
    const struct tp_kernel_select job = {
        device.get(), host.data(), {select.dtype, from.get(), codes.size()},
        totals.get()};
    tp_kernel_place at = place();
    for (int i = 0; i < times; i++)
        cr_assert_eq(tp_kernel_select(&at, &job), 0);
    return totals.read();
}

template <typename T>
totals_t run_on_host(const tp_select &select, const std::vector<T> &codes)
{
    totals_t totals(TP_SELECT_ROOM);
    auto tables = empty_tables();
    const tp_span span = {select.dtype, codes.data(), codes.size()};
    tp_select_count(&select, &span, tables.get());
    tp_select_flush(&select, tables.get(), totals.data());
    return totals;
}

template <typename T>
void check_digit(tp_select select, const std::vector<T> &codes, size_t skip)
{
    select.next = TP_SELECT_DIGIT;
    const totals_t got =
        run(select, codes, skip, 1, totals_t(TP_SELECT_ROOM, beyond));
    const totals_t want = run_on_host(select, codes);
    for (size_t i = 0; i < want.size(); i++)
        cr_assert_eq(got[i], want[i] + beyond,
                     "dtype %d, %zu codes: %llu of digit %zu, not %llu",
                     int(select.dtype), codes.size(),
                     (unsigned long long)(got[i] - beyond), i,
                     (unsigned long long)want[i]);
}

/* The keys of groups, ascending: as many codes at a time as fit. */
template <typename T>
totals_t keys_on_host(const tp_select &select, const std::vector<T> &codes)
{
    totals_t keys;
    for (size_t first = 0; first < codes.size(); first += TP_SELECT_SMALL) {
        const size_t end =
            std::min<size_t>(first + TP_SELECT_SMALL, codes.size());
        const totals_t some = run_on_host(
            select, std::vector<T>(codes.begin() + long(first),
                                   codes.begin() + long(end)));
        keys.insert(keys.end(), some.begin() + 1,
                    some.begin() + 1 + long(some[0]));
    }
    std::sort(keys.begin(), keys.end());
    return keys;
}

/* Two readings of the same, so that keys are put behind others. */
template <typename T>
void check_gather(tp_select select, const std::vector<T> &codes, size_t skip)
{
    select.next = TP_SELECT_GATHER;
    const totals_t totals =
        run(select, codes, skip, 2, totals_t(TP_SELECT_ROOM));
    const totals_t once = keys_on_host(select, codes);
    totals_t want;
    std::merge(once.begin(), once.end(), once.begin(), once.end(),
               std::back_inserter(want));
    const size_t most = TP_SELECT_SMALL;
    cr_assert_eq(totals[0], std::min(want.size(), most),
                 "dtype %d, %zu codes: %llu keys, not %zu", int(select.dtype),
                 codes.size(), (unsigned long long)totals[0], want.size());
    totals_t got(totals.begin() + 1, totals.begin() + 1 + long(totals[0]));
    std::sort(got.begin(), got.end());
    cr_assert(std::includes(want.begin(), want.end(), got.begin(),
                            got.end()));
    for (size_t i = 1 + most; i < totals.size(); i++)
        cr_assert_eq(totals[i], 0, "behind the keys");
}

/* Ranks and top digits of the codes; whether one is finite. */
template <typename T>
bool begin_select(enum tp_dtype dtype, const std::vector<T> &codes,
                  tp_select *select, tp_ranks *ranks)
{
    const tp_span span = {dtype, codes.data(), codes.size()};
    const tp_judge judge = tp_judge_of(nullptr);
    tp_values values = {};
    tp_values_add(&span, &judge, TP_ISA_UNKNOWN, &values, nullptr);
    tp_ranks_of(values.moments.n, 1, ranks);
    auto tables = empty_tables();
    totals_t top(TP_SELECT_TOP);
    tp_select_count_top(&span, tables.get());
    tp_select_flush_top(tables.get(), top.data());
    if (values.moments.n > 0)
        tp_select_begin(select, dtype, &values, ranks, top.data());
    return values.moments.n > 0;
}

template <typename T>
void check_selected(const tp_select &select, const tp_ranks &ranks,
                    const std::vector<T> &codes)
{
    std::vector<double> values(codes.size());
    tp_dtype_decode(select.dtype, codes.data(), codes.size(), values.data());
    values.erase(std::remove_if(values.begin(), values.end(),
                                [](double v) { return !std::isfinite(v); }),
                 values.end());
    std::sort(values.begin(), values.end());
    double ordered[TP_RANKS];
    tp_select_values(&select, ordered);
    for (int i = 0; i < TP_RANKS; i++)
        cr_assert_eq(ordered[i], values[ranks.rank[i]],
                     "dtype %d, %zu codes: %a, not %a", int(select.dtype),
                     codes.size(), ordered[i], values[ranks.rank[i]]);
}

/* A whole selection by the device; at each reading, both things that may be
 * wanted of it. */
template <typename T>
void check_select(enum tp_dtype dtype, const std::vector<T> &codes,
                  size_t skip)
{
    auto select = std::make_unique<tp_select>();
    tp_ranks ranks;
    if (!begin_select(dtype, codes, select.get(), &ranks))
        return;
    while (select->next != TP_SELECT_DONE) {
        check_digit(*select, codes, skip);
        check_gather(*select, codes, skip);
        totals_t totals =
            run(*select, codes, skip, 1, totals_t(TP_SELECT_ROOM));
        tp_select_learn(select.get(), totals.data());
    }
    check_selected(*select, ranks, codes);
}

template <typename T>
void check_kinds(enum tp_dtype dtype)
{
    for (size_t n : {size_t{1}, size_t{31}, size_t{32768}, size_t{70001}})
        for (int which = 0; which < KINDS; which++)
            check_select(dtype, make<T>(kind(which), n),
                         size_t(which) % (16 / sizeof(T)));
}

/* Parts of a tensor, from each address a code may have. */
template <typename T>
void check_parts(enum tp_dtype dtype)
{
    const std::vector<T> codes = make<T>(SPARSE, 70001);
    auto select = std::make_unique<tp_select>();
    tp_ranks ranks;
    cr_assert(begin_select(dtype, codes, select.get(), &ranks));
    for (long n : {0, 1, 2, 5, 31, 32, 33, 4097}) {
        const std::vector<T> part(codes.begin(), codes.begin() + n);
        for (size_t skip = 0; skip < 16 / sizeof(T); skip++) {
            check_digit(*select, part, skip);
            check_gather(*select, part, skip);
        }
    }
}

/* More values than counters that a block keeps, all of them frequent: of the
 * bits that the second reading is for, the lowest. */
template <typename T>
void check_repeated(enum tp_dtype dtype, T code, unsigned values)
{
    std::vector<T> codes(70001);
    std::mt19937_64 random(values);
    for (T &each : codes)
        each = static_cast<T>(code + random() % values);
    check_select(dtype, codes, 1);
}

} // namespace

Test(kernels_select, of_32_bits)
{
    begin();
    check_kinds<uint32_t>(TP_FLOAT32);
    check_kinds<uint32_t>(TP_INT32);
    check_kinds<uint32_t>(TP_UINT32);
    cr_assert_eq(tp_emulator_leaks(), 0);
}

Test(kernels_select, of_64_bits)
{
    begin();
    check_kinds<uint64_t>(TP_FLOAT64);
    check_kinds<uint64_t>(TP_INT64);
    check_kinds<uint64_t>(TP_UINT64);
}

Test(kernels_select, parts)
{
    begin(48 << 10);
    for (enum tp_dtype dtype : wide) {
        if (tp_dtype_info(dtype)->size == 4)
            check_parts<uint32_t>(dtype);
        else
            check_parts<uint64_t>(dtype);
    }
}

Test(kernels_select, repeated_values)
{
    begin();
    for (unsigned values : {2, 3, 5, 1000, 3000}) {
        check_repeated<uint32_t>(TP_FLOAT32, 0x3f800000, values);
        check_repeated<uint64_t>(TP_INT64, uint64_t{0} - 1000, values);
    }
}
