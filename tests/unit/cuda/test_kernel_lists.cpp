/* SPDX-License-Identifier: MIT */
#include "tests/unit/support/kernel_data.h"

extern "C" {
#include "stats/codes.h"
}

/*
 * Lists of the codes of many small tensors on the emulated device, against
 * counting them one by one and against tp_codes_list_flush.
 */
namespace {

const enum tp_dtype narrow[] = {
    TP_FLOAT16,         TP_BFLOAT16,        TP_FLOAT8_E4M3FN,
    TP_FLOAT8_E5M2,     TP_FLOAT8_E4M3FNUZ, TP_FLOAT8_E5M2FNUZ,
    TP_FLOAT8_E8M0FNU,  TP_UINT8,           TP_UINT16,
    TP_INT8,            TP_INT16,           TP_BOOL};

/* Tensors one after the other in a buffer. */
struct batch {
    std::vector<uint8_t> bytes;
    std::vector<struct tp_kernel_list> lists;
    std::vector<enum tp_dtype> dtypes;
    size_t room = 1; /* entries */
};

template <typename T>
void append(batch *to, enum tp_dtype dtype, const std::vector<T> &codes,
            size_t skip)
{
    size_t begin = to->bytes.size() + skip;
    begin += begin % sizeof(T);
    to->bytes.resize(begin + codes.size() * sizeof(T), 0x11);
    if (!codes.empty())
        std::memcpy(&to->bytes[begin], codes.data(),
                    codes.size() * sizeof(T));
    const auto n = static_cast<uint32_t>(codes.size());
    to->lists.push_back({begin, n, sizeof(T), ~0u, ~0u});
    to->dtypes.push_back(dtype);
    to->room += sizeof(T) == 1 && n > 256 ? 256 : n;
}

void append_any(batch *to, enum tp_dtype dtype, kind which, size_t n,
                size_t skip)
{
    if (tp_dtype_info(dtype)->size == 1)
        append(to, dtype, make<uint8_t>(which, n), skip);
    else
        append(to, dtype, make<uint16_t>(which, n), skip);
}

/* The entries of a tensor, by counting. */
std::vector<uint32_t> entries_of(const batch &of, size_t tensor)
{
    const struct tp_kernel_list &list = of.lists[tensor];
    std::vector<uint32_t> times(TP_CODES), entries;
    for (size_t i = 0; i < list.n; i++) {
        const uint8_t *at = &of.bytes[list.offset + i * list.code_size];
        times[list.code_size == 1 ? at[0] : at[0] | at[1] << 8]++;
    }
    for (uint32_t code = 0; code < TP_CODES; code++)
        if (times[code] > 0)
            entries.push_back(code << 16 | (times[code] - 1));
    return entries;
}

struct list_room {
    std::vector<double> value;
    std::vector<uint64_t> count;
    struct tp_code_list list = {};

    list_room() : value(TP_CODES), count(TP_CODES)
    {
        list.value = value.data();
        list.count = count.data();
    }
};

/* The list of what the device made is that of the host. */
void check_list(const batch &of, size_t tensor,
                const std::vector<uint32_t> &entries)
{
    static tp_code_tables tables;
    const struct tp_kernel_list &list = of.lists[tensor];
    const void *codes = of.bytes.data() + list.offset;
    list_room got, want;
    if (list.code_size == 1)
        tp_codes_count8(&tables, codes, list.n);
    else
        tp_codes_count16(&tables, codes, list.n);
    tp_codes_list_flush(of.dtypes[tensor], &tables, &want.list);
    tp_codes_list_entries(of.dtypes[tensor], entries.data(), entries.size(),
                          &got.list);
    cr_assert_eq(got.list.length, want.list.length);
    cr_assert_eq(got.list.finite, want.list.finite);
    cr_assert_eq(got.list.nan, want.list.nan);
    cr_assert_eq(got.list.pos_inf, want.list.pos_inf);
    cr_assert_eq(got.list.neg_inf, want.list.neg_inf);
    for (size_t i = 0; i < got.list.length; i++) {
        cr_assert_eq(got.value[i], want.value[i]);
        cr_assert_eq(got.count[i], want.count[i]);
    }
}

/* All tensors in one launch, into no more room than is promised. */
void check_batch(const batch &of)
{
    on_device<uint8_t> bytes(of.bytes);
    on_device<struct tp_kernel_list> lists(of.lists);
    on_device<uint32_t> entries(std::vector<uint32_t>(of.room, 0xeeeeeeee));
    const struct tp_kernel_lists job = {
        bytes.get(), lists.get(), uint32_t(of.lists.size()), entries.get()};
    tp_kernel_place at = place();
    const uint64_t launches = tp_emulator_launches();
    cr_assert_eq(tp_kernel_lists(&at, &job), 0);
    cr_assert(tp_emulator_launches() - launches == !of.lists.empty() ||
              !tp_emulator_present());
    const auto made = lists.read();
    const std::vector<uint32_t> all = entries.read();
    std::vector<bool> taken(all.size());
    cr_assert_lt(all[0], of.room);
    for (size_t i = 0; i < made.size(); i++) {
        const std::vector<uint32_t> want = entries_of(of, i);
        cr_assert_eq(made[i].length, want.size(),
                     "tensor %zu of %u codes: %u entries, not %zu", i,
                     made[i].n, made[i].length, want.size());
        cr_assert_geq(made[i].first, 1);
        cr_assert_leq(made[i].first + made[i].length, 1 + all[0]);
        for (size_t k = 0; k < want.size(); k++) {
            const size_t where = made[i].first + k;
            cr_assert_eq(all[where], want[k], "tensor %zu, entry %zu: %x, "
                         "not %x", i, k, all[where], want[k]);
            cr_assert(!taken[where], "two tensors at %zu", where);
            taken[where] = true;
        }
        check_list(of, i, want);
    }
}

/* Data of each dtype, of the kinds and at the addresses in turn. */
batch many(std::initializer_list<size_t> lengths, size_t skip)
{
    batch made;
    made.bytes.resize(skip);
    for (enum tp_dtype dtype : narrow)
        for (size_t n : lengths)
            append_any(&made, dtype, kind(made.lists.size() % KINDS), n,
                       made.lists.size() % 19);
    return made;
}

} // namespace

Test(kernels_lists, small)
{
    begin();
    check_batch(batch());
    for (size_t skip : {0, 1, 7})
        check_batch(many({0, 1, 2, 15, 31, 33, 300}, skip));
    cr_assert_eq(tp_emulator_leaks(), 0);
}

Test(kernels_lists, large)
{
    begin();
    batch made;
    for (enum tp_dtype dtype : narrow)
        append_any(&made, dtype, kind(made.lists.size() % KINDS), 32768, 3);
    check_batch(made);
}

/* The largest count and the most entries. */
Test(kernels_lists, full)
{
    batch made;
    std::vector<uint16_t> all(32768), equal(32768, 0xffff);
    for (size_t i = 0; i < all.size(); i++)
        all[i] = static_cast<uint16_t>(65535 - 2 * i);
    std::vector<uint8_t> bytes(32768), zeros(32768);
    for (size_t i = 0; i < bytes.size(); i++)
        bytes[i] = static_cast<uint8_t>(i * 7);
    append(&made, TP_UINT16, all, 1);
    append(&made, TP_INT16, equal, 0);
    append(&made, TP_INT8, bytes, 5);
    append(&made, TP_BOOL, zeros, 2);
    append(&made, TP_BFLOAT16, equal, 0);
    for (uint64_t shared : {227 << 10, 99 << 10, 48 << 10}) {
        begin(shared);
        check_batch(made);
    }
}

/* Several ranges of codes, one after the other. */
Test(kernels_lists, in_little_shared_memory)
{
    for (uint64_t shared : {99 << 10, 48 << 10, 20 << 10}) {
        begin(shared);
        check_batch(many({0, 1, 31, 300, 4097}, 2));
    }
}
