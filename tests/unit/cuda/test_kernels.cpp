/* SPDX-License-Identifier: MIT */
#include "tests/unit/support/kernel_data.h"

#include <algorithm>
#include <memory>

extern "C" {
#include "stats/codes.h"
#include "stats/select.h"
}

/*
 * Every kernel against the function of src/stats it stands for, bit for bit,
 * on the emulated device.
 */
namespace {

/* --- codes ---------------------------------------------------------------- */

template <typename T>
std::vector<uint64_t> count_on_host(const std::vector<T> &codes)
{
    std::vector<uint64_t> totals(size_t{1} << (8 * sizeof(T)));
    for (T code : codes)
        totals[code]++;
    return totals;
}

template <typename T>
void check_codes(enum tp_dtype dtype, const std::vector<T> &codes,
                 size_t skip)
{
    on_device<T> from(codes, skip);
    std::vector<uint64_t> none(size_t{1} << (8 * sizeof(T)), beyond);
    on_device<uint64_t> totals(none);
    tp_span span = {dtype, from.get(), codes.size()};
    tp_kernel_place at = place();
    cr_assert_eq(tp_kernel_codes(&at, &span, totals.get()), 0);
    std::vector<uint64_t> got = totals.read();
    std::vector<uint64_t> want = count_on_host(codes);
    for (size_t i = 0; i < want.size(); i++)
        cr_assert_eq(got[i], want[i] + beyond,
                     "code %zu of %zu: %llu, not %llu", i, codes.size(),
                     (unsigned long long)(got[i] - beyond),
                     (unsigned long long)want[i]);
}

template <typename T>
void check_all_codes(enum tp_dtype dtype)
{
    for (size_t n : sizes)
        for (int which = 0; which < KINDS; which++)
            check_codes(dtype, make<T>(static_cast<kind>(which), n),
                        n % 16 / sizeof(T));
}

/* --- wide codes ----------------------------------------------------------- */

template <typename T>
void check_top(enum tp_dtype dtype, const std::vector<T> &codes, size_t skip)
{
    on_device<T> from(codes, skip);
    std::vector<uint64_t> want(TP_SELECT_TOP, beyond);
    on_device<uint64_t> totals(want);
    tp_span span = {dtype, from.get(), codes.size()};
    tp_kernel_place at = place();
    cr_assert_eq(tp_kernel_top(&at, &span, totals.get()), 0);
    auto tables = std::make_unique<tp_select_tables>();
    std::memset(tables.get(), 0, sizeof *tables);
    span.codes = codes.data();
    tp_select_count_top(&span, tables.get());
    tp_select_flush_top(tables.get(), want.data());
    cr_assert(totals.read() == want, "dtype %d, %zu codes", int(dtype),
              codes.size());
}

template <typename T>
void check_bins(enum tp_dtype dtype, const std::vector<T> &codes, size_t skip)
{
    on_device<T> from(codes, skip);
    std::vector<uint64_t> want(TP_SUMMARY_BINS, beyond);
    on_device<uint64_t> totals(want);
    tp_span span = {dtype, from.get(), codes.size()};
    tp_kernel_place at = place();
    cr_assert_eq(tp_kernel_bins(&at, &span, totals.get()), 0);
    std::vector<uint32_t> bins(TP_SUMMARY_BINS);
    tp_values values = {};
    tp_judge judge = tp_judge_of(nullptr);
    span.codes = codes.data();
    tp_values_add(&span, &judge, TP_ISA_UNKNOWN, &values, bins.data());
    tp_bins_flush(bins.data(), want.data());
    cr_assert(totals.read() == want, "dtype %d, %zu codes", int(dtype),
              codes.size());
}

/* The bytes of both, so that the signs of zeros count. */
void check_call(const struct tp_values &got, const struct tp_values &want,
                enum tp_dtype dtype, size_t n)
{
    cr_assert(std::memcmp(&got.counts, &want.counts, sizeof got.counts) == 0,
              "dtype %d, %zu codes: counts", int(dtype), n);
    cr_assert(std::memcmp(&got.extrema, &want.extrema,
                          sizeof got.extrema) == 0,
              "dtype %d, %zu codes: extrema", int(dtype), n);
    cr_assert(std::memcmp(&got, &want, sizeof got) == 0,
              "dtype %d, %zu codes: mean %a, not %a; m4 %a, not %a",
              int(dtype), n, got.moments.mean, want.moments.mean,
              got.moments.m4, want.moments.m4);
}

template <typename T>
void check_values(enum tp_dtype dtype, const std::vector<T> &codes,
                  size_t skip)
{
    const size_t n = codes.size(), per_call = 3 * TP_VALUE_BLOCK;
    const size_t calls = (n + per_call - 1) / per_call;
    on_device<T> from(codes, skip);
    typedef std::vector<struct tp_values> list;
    on_device<struct tp_values> blocks{
        list((n + TP_VALUE_BLOCK - 1) / TP_VALUE_BLOCK)};
    on_device<struct tp_values> results{list(calls)};
    const bool judged = tp_dtype_info(dtype)->kind == TP_CLASS_FLOAT;
    const tp_judge judge =
        tp_judge_of(judged ? tp_number_by_id("e5m2") : nullptr);
    struct tp_kernel_values job = {{dtype, from.get(), n}, judge, per_call,
                                   blocks.get(), results.get()};
    tp_kernel_place at = place();
    cr_assert_eq(tp_kernel_values(&at, &job), 0);
    const list got = results.read();
    for (size_t i = 0; i < calls; i++) {
        const size_t first = i * per_call;
        const size_t left = n - first < per_call ? n - first : per_call;
        struct tp_values want;
        std::memset(&want, 0, sizeof want);
        const tp_span span = {dtype, codes.data() + first, left};
        tp_values_add(&span, &judge, TP_ISA_UNKNOWN, &want, nullptr);
        check_call(got[i], want, dtype, n);
    }
}

/* --- blocks --------------------------------------------------------------- */

const enum tp_dtype floating[] = {
    TP_FLOAT64,       TP_FLOAT32,     TP_FLOAT16,         TP_BFLOAT16,
    TP_FLOAT8_E4M3FN, TP_FLOAT8_E5M2, TP_FLOAT8_E4M3FNUZ,
};

struct shape {
    size_t rows, length, columns, skip;
};

const shape shapes[] = {
    {1, 1, 0, 0},   {3, 31, 0, 0},  {2, 33, 0, 1},    {5, 512, 0, 0},
    {7, 48, 0, 2},  {3, 96, 0, 1},  {1, 20011, 0, 0}, {0, 5, 0, 0},
    {1, 1, 1, 0},   {1, 31, 3, 0},  {1, 33, 40, 1},   {1, 16, 700, 0},
    {1, 97, 65, 2}, {1, 0, 7, 0},   {1, 320, 33, 0},
};

double amax_of(enum tp_dtype dtype, const void *codes, size_t n)
{
    std::vector<double> values(n);
    tp_dtype_decode(dtype, codes, n, values.data());
    double most = 0;
    for (double v : values)
        most = std::isfinite(v) && std::fabs(v) > most ? std::fabs(v) : most;
    return most;
}

template <typename T>
void check_blocks(const tp_number *number, enum tp_dtype dtype,
                  const shape &of, kind which)
{
    const size_t n = of.columns ? of.length * of.columns : of.rows * of.length;
    const std::vector<T> codes = make<T>(which, n);
    std::vector<tp_block_plan> plans(1);
    const struct tp_block_rules rules = {
        static_cast<enum tp_scale_rule>((n + which) % TP_SCALE_COUNT),
        static_cast<enum tp_nonfinite>((n / 2 + which) % TP_NONFINITE_COUNT)};
    tp_block_plan_init(plans.data(), number, rules, dtype,
                       amax_of(dtype, codes.data(), n));
    on_device<T> from(codes, of.skip);
    on_device<tp_block_plan> plan(plans);
    tp_block_counts want = {beyond, beyond, beyond, beyond, beyond, beyond};
    on_device<tp_block_counts> counts(std::vector<tp_block_counts>(1, want));
    struct tp_kernel_blocks job = {
        plan.get(), plans[0].code_size, plans[0].block, from.get(),
        of.rows,    of.length,          of.columns,     counts.get()};
    tp_kernel_place at = place();
    cr_assert_eq(tp_kernel_blocks(&at, &job), 0);
    if (of.columns)
        tp_blocks_count_across(plans.data(), codes.data(), of.length,
                               of.columns, &want);
    else
        tp_blocks_count(plans.data(), codes.data(), of.rows, of.length,
                        &want);
    tp_block_counts got = counts.read()[0];
    cr_assert(std::memcmp(&got, &want, sizeof got) == 0,
              "%s of %s, %zu x %zu x %zu: %llu saturated, not %llu",
              number->id, tp_dtype_info(dtype)->name, of.rows, of.length,
              of.columns, (unsigned long long)(got.saturated - beyond),
              (unsigned long long)(want.saturated - beyond));
}

void check_shapes(const tp_number *number, enum tp_dtype dtype)
{
    int which = 0;
    for (const shape &of : shapes) {
        for (int times = 0; times < 2; times++, which++) {
            const kind data = static_cast<kind>(which % KINDS);
            switch (tp_dtype_info(dtype)->size) {
            case 1: check_blocks<uint8_t>(number, dtype, of, data); break;
            case 2: check_blocks<uint16_t>(number, dtype, of, data); break;
            case 4: check_blocks<uint32_t>(number, dtype, of, data); break;
            default: check_blocks<uint64_t>(number, dtype, of, data);
            }
        }
    }
}

/* --- tallies -------------------------------------------------------------- */

/* The transpose of codes[length][columns]. */
template <typename T>
std::vector<T> turn(const std::vector<T> &codes, size_t length, size_t columns)
{
    std::vector<T> turned(codes.size());
    for (size_t i = 0; i < length; i++)
        for (size_t j = 0; j < columns; j++)
            turned[j * length + i] = codes[i * columns + j];
    return turned;
}

/* What a kernel and a function of the host make of the same rows. */
int tally(const tp_kernel_tally_rows &rows, int size, tp_tally *to)
{
    tp_kernel_place at = place();
    return tp_kernel_tally(&at, &rows, size, to);
}

int tally(const tp_kernel_tally_rows &rows, int, tp_float_tally *to)
{
    tp_kernel_place at = place();
    return tp_kernel_float_tally(&at, &rows, to);
}

void tally_here(const tp_tally_plan &plan, const void *codes, size_t rows,
                size_t length, tp_tally *to)
{
    tp_tally_rows(&plan, codes, rows, length, to);
}

void tally_here(const tp_tally_plan &plan, const void *codes, size_t rows,
                size_t length, tp_float_tally *to)
{
    tp_float_tally_rows(&plan, codes, rows, length, to);
}

int move(tp_tally *from, tp_tally *to)
{
    tp_kernel_place at = place();
    return tp_kernel_tally_move(&at, from, to);
}

int move(tp_float_tally *from, tp_float_tally *to)
{
    tp_kernel_place at = place();
    return tp_kernel_float_tally_move(&at, from, to);
}

/* Something that is there before. */
void begin_with(tp_tally *tally)
{
    tally->counts.upper_overflow = tally->count[0][5] = beyond;
    tally->used[0][0] = 1;
}

void begin_with(tp_float_tally *tally)
{
    tally->counts.upper_overflow = tally->bin[0][5].squares = beyond;
    tally->used[0][0] = 1;
}

template <typename T, typename TALLY>
void check_tally(const tp_quant_spec &spec, enum tp_dtype dtype,
                 const shape &of, kind which)
{
    const size_t n = of.columns ? of.length * of.columns : of.rows * of.length;
    const std::vector<T> codes = make<T>(which, n);
    std::vector<tp_tally_plan> plans(1);
    tp_tally_plan_init(plans.data(), &spec, dtype);
    std::vector<TALLY> want(1);
    on_device<TALLY> moved(want);
    begin_with(want.data());
    on_device<T> from(codes, of.skip);
    on_device<tp_tally_plan> plan(plans);
    on_device<TALLY> made(want);
    const tp_kernel_tally_rows rows = {plan.get(), from.get(), of.rows,
                                       of.length, of.columns};
    for (int times = 0; times < 2; times++)
        cr_assert_eq(tally(rows, int(sizeof(T)), made.get()), 0);
    for (int times = 0; times < 2; times++) {
        if (of.columns)
            tally_here(plans[0], turn(codes, of.length, of.columns).data(),
                       of.columns, of.length, want.data());
        else
            tally_here(plans[0], codes.data(), of.rows, of.length,
                       want.data());
    }
    cr_assert_eq(move(made.get(), moved.get()), 0);
    const std::vector<TALLY> got = moved.read(), left = made.read();
    cr_assert(std::memcmp(&got[0].counts, &want[0].counts,
                          sizeof got[0].counts) == 0,
              "%s of %s, %zu x %zu x %zu: counts", spec.number->id,
              tp_dtype_info(dtype)->name, of.rows, of.length, of.columns);
    cr_assert(std::memcmp(got.data(), want.data(), sizeof got[0]) == 0,
              "%s of %s, %zu x %zu x %zu: codes", spec.number->id,
              tp_dtype_info(dtype)->name, of.rows, of.length, of.columns);
    std::memset(static_cast<void *>(want.data()), 0, sizeof want[0]);
    cr_assert(std::memcmp(left.data(), want.data(), sizeof left[0]) == 0,
              "%s of %s: something is left", spec.number->id,
              tp_dtype_info(dtype)->name);
}

/* Of codes that are NaN and infinite, and many others, too. */
void check_float_bins(const std::vector<uint32_t> &codes, size_t skip)
{
    on_device<uint32_t> from(codes, skip);
    std::vector<tp_float_bin> want(TP_FLOAT_BINS);
    on_device<tp_float_bin> made(want);
    tp_span span = {TP_FLOAT32, from.get(), codes.size()};
    tp_kernel_place at = place();
    for (int times = 0; times < 2; times++)
        cr_assert_eq(tp_kernel_float_bins(&at, &span, made.get()), 0);
    span.codes = codes.data();
    for (int times = 0; times < 2; times++)
        tp_float_bins_add(&span, TP_ISA_UNKNOWN, want.data());
    const std::vector<tp_float_bin> got = made.read();
    for (size_t i = 0; i < want.size(); i++)
        cr_assert(std::memcmp(&got[i], &want[i], sizeof want[i]) == 0,
                  "bin %zu of %zu codes", i, codes.size());
}

void check_tallies(tp_quant_spec spec, enum tp_dtype dtype)
{
    int which = 0;
    for (const shape &of : shapes) {
        const kind data = static_cast<kind>(which % KINDS);
        spec.nonfinite =
            static_cast<enum tp_nonfinite>(which / 2 % TP_NONFINITE_COUNT);
        spec.rule =
            static_cast<enum tp_scale_rule>(which % TP_SCALE_COUNT);
        switch (tp_dtype_info(dtype)->size) {
        case 1: check_tally<uint8_t, tp_tally>(spec, dtype, of, data); break;
        case 2: check_tally<uint16_t, tp_tally>(spec, dtype, of, data); break;
        default:
            check_tally<uint32_t, tp_float_tally>(spec, dtype, of, data);
        }
        which++;
    }
    for (int policy = 0; policy < TP_NONFINITE_COUNT; policy++) {
        const shape of = {40, 500, 0, 0};
        spec.nonfinite = static_cast<enum tp_nonfinite>(policy);
        if (dtype == TP_FLOAT32)
            check_tally<uint32_t, tp_float_tally>(spec, dtype, of, SPECIAL);
        else
            check_tally<uint16_t, tp_tally>(spec, TP_BFLOAT16, of, SPECIAL);
    }
}

/* --- views ---------------------------------------------------------------- */

template <typename T>
void check_gather(const std::vector<uint64_t> &shape,
                  const std::vector<int64_t> &stride)
{
    struct tp_kernel_view view = {};
    uint64_t n = 1, extent = 1;
    view.size = sizeof(T);
    view.ndim = static_cast<int>(shape.size());
    for (size_t i = 0; i < shape.size(); i++) {
        view.shape[i] = shape[i];
        view.stride[i] = stride[i];
        n *= shape[i];
        extent += (shape[i] - 1) * static_cast<uint64_t>(stride[i]);
    }
    std::vector<T> codes(extent);
    std::mt19937_64 random(n);
    for (T &code : codes) {
        uint64_t bits[2] = {random(), random()};
        std::memcpy(&code, bits, sizeof code);
    }
    on_device<T> from(codes), to(std::vector<T>(n / 2 + 1));
    view.codes = from.get();
    const uint64_t first = n / 3, count = n / 2 + 1;
    tp_kernel_place at = place();
    cr_assert_eq(tp_kernel_gather(&at, &view, first, count, to.get()), 0);
    const std::vector<T> got = to.read();
    for (uint64_t i = 0; i < count; i++) {
        uint64_t rest = first + i, where = 0;
        for (size_t axis = shape.size(); axis-- > 0;) {
            where += rest % shape[axis] * static_cast<uint64_t>(stride[axis]);
            rest /= shape[axis];
        }
        cr_assert(std::memcmp(&got[i], &codes[where], sizeof(T)) == 0,
                  "element %llu", (unsigned long long)(first + i));
    }
}

template <typename T>
void check_views()
{
    check_gather<T>({}, {});
    check_gather<T>({1000}, {1});
    check_gather<T>({33, 31}, {31, 1});    /* contiguous                   */
    check_gather<T>({129, 65}, {1, 129});  /* transposed                   */
    check_gather<T>({7, 1, 5, 11}, {200, 3, 40, 3});
    check_gather<T>({9, 8}, {0, 1});       /* expanded                     */
    check_gather<T>({300, 70}, {71, 1});   /* more than one grid           */
}

/* --- statistics by index -------------------------------------------------- */

struct cells {
    explicit cells(size_t length_)
        : length(length_), memory(tp_dim_cells_room(length_)) {}

    struct tp_dim_cells at(double *where) const
    {
        struct tp_dim_cells placed;
        tp_dim_cells_place(&placed, length, where);
        return placed;
    }

    size_t length;
    std::vector<double> memory;
};

struct matrix_shape {
    size_t rows, columns;
    bool across;
};

const matrix_shape matrices[] = {
    {1, 1, false},     {3, 511, false}, {64, 512, false}, {65, 513, false},
    {130, 1030, false}, {200, 3, false}, {5, 1000, true},  {16, 700, true},
    {2, 33, true},     {0, 5, false},
};

template <typename T>
void check_dims(enum tp_dtype dtype, const matrix_shape &of, kind which)
{
    static const size_t heights[] = {TP_DIM_ROWS, 16, 37};
    const size_t height = heights[of.across ? 0 : int(which) % 3];
    const size_t n = of.rows * of.columns, first = 2;
    const std::vector<T> codes = make<T>(which, n);
    std::vector<double> values(n);
    tp_dtype_decode(dtype, codes.data(), n, values.data());
    bool finite = true;
    for (double v : values)
        finite = finite && std::isfinite(v);
    const double most = amax_of(dtype, codes.data(), n);
    struct tp_dim_matrix matrix = {dtype,        tp_moments_scale(most),
                                   finite,       codes.data(),
                                   of.rows,      of.columns,
                                   tp_isa_best(), of.across};
    cells columns(of.columns + first);
    std::vector<struct tp_dim_cell> rows(of.rows);
    on_device<double> device_columns(columns.memory);
    on_device<struct tp_dim_cell> device_rows(rows);
    on_device<T> from(codes, 1);
    struct tp_dim_cells want = columns.at(columns.memory.data());
    struct tp_kernel_dims job = {matrix,  height,
                                 columns.at(device_columns.get()),
                                 first,   device_rows.get(), nullptr};
    job.matrix.codes = from.get();
    on_device<struct tp_dim_cell> scratch{
        std::vector<struct tp_dim_cell>(tp_kernel_dims_room(&job))};
    job.scratch = scratch.get();
    tp_kernel_place at = place();
    for (int times = 0; times < 2; times++) { /* to nothing, to something */
        for (size_t row = 0; row < of.rows; row += height) {
            struct tp_dim_matrix strip = matrix;
            strip.codes = codes.data() + row * of.columns;
            strip.rows = std::min(height, of.rows - row);
            tp_dims_add(&strip, &want, first, rows.data() + row);
        }
        cr_assert_eq(tp_kernel_dims(&at, &job), 0);
    }
    const std::vector<double> got = device_columns.read();
    const std::vector<struct tp_dim_cell> got_rows = device_rows.read();
    for (size_t i = 0; i < got.size(); i++)
        cr_assert(std::memcmp(&got[i], &columns.memory[i], 8) == 0,
                  "dtype %d, %zu x %zu, kind %d: cell %zu, part %zu: %a, "
                  "not %a", int(dtype), of.rows, of.columns, int(which),
                  i % columns.length, i / columns.length, got[i],
                  columns.memory[i]);
    for (size_t i = 0; i < rows.size(); i++)
        cr_assert(std::memcmp(&got_rows[i], &rows[i], sizeof rows[i]) == 0,
                  "dtype %d, %zu x %zu, kind %d: row %zu: mean %a, not %a",
                  int(dtype), of.rows, of.columns, int(which), i,
                  got_rows[i].mean, rows[i].mean);
}

void check_matrices(enum tp_dtype dtype)
{
    int which = 0;
    for (const matrix_shape &of : matrices) {
        for (int times = 0; times < KINDS / 2; times++, which++) {
            const kind data = static_cast<kind>(which % KINDS);
            switch (tp_dtype_info(dtype)->size) {
            case 1: check_dims<uint8_t>(dtype, of, data); break;
            case 2: check_dims<uint16_t>(dtype, of, data); break;
            case 4: check_dims<uint32_t>(dtype, of, data); break;
            default: check_dims<uint64_t>(dtype, of, data);
            }
        }
    }
}

} // namespace

Test(kernels, codes_of_16_bits)
{
    begin();
    check_all_codes<uint16_t>(TP_BFLOAT16);
    check_all_codes<uint16_t>(TP_INT16);
    cr_assert_eq(tp_emulator_leaks(), 0);
}

/* More codes without a counter of their own. */
Test(kernels, codes_of_16_bits_in_less_shared_memory)
{
    for (enum tp_dtype dtype : {TP_FLOAT16, TP_UINT16, TP_INT16}) {
        begin(TP_KERNEL_CODES16_SHARED);
        check_all_codes<uint16_t>(dtype);
    }
}

Test(kernels, codes_of_8_bits)
{
    begin();
    check_all_codes<uint8_t>(TP_FLOAT8_E4M3FN);
}

/* Counters fill up whether few lanes of a warp have a code, many, or all but
 * the first; the codes of both signs share a word. */
Test(kernels, codes_that_fill_their_counters)
{
    static uint16_t (*const of_lane[])(size_t) = {
        [](size_t lane) { return uint16_t(lane % 8 << 13); },
        [](size_t lane) { return uint16_t(lane < 8 ? 0x8013 : 0x12); },
        [](size_t lane) { return uint16_t(lane < 1 ? 7 : 0x8012); },
    };
    for (auto code_of_lane : of_lane) {
        std::vector<uint16_t> codes(1300001); /* for two blocks */
        for (size_t i = 0; i < codes.size(); i++)
            codes[i] = code_of_lane(i / 8 % 32);
        for (uint64_t shared : {227 << 10, 128 << 10}) { /* both kernels */
            begin(shared);
            check_codes(TP_BFLOAT16, codes, 0);
        }
    }
}

/* A device with little shared memory: the codes are split among blocks. */
Test(kernels, codes_in_little_shared_memory)
{
    begin(48 << 10);
    for (size_t n : {size_t{33}, size_t{70001}}) {
        check_codes(TP_FLOAT16, make<uint16_t>(NORMAL, n), 0);
        check_codes(TP_FLOAT16, make<uint16_t>(RANDOM, n), 1);
        check_codes(TP_INT8, make<uint8_t>(RANDOM, n), 3);
        check_top(TP_FLOAT32, make<uint32_t>(RANDOM, n), 1);
    }
}

Test(kernels, top_digits)
{
    begin();
    for_all_wide([](enum tp_dtype dtype, const auto &codes, size_t skip) {
        if (codes.size() % 4 == 1) /* some of them will do */
            check_top(dtype, codes, skip);
    });
}

Test(kernels, bins_of_wide_values)
{
    begin();
    for_all_wide([](enum tp_dtype dtype, const auto &codes, size_t skip) {
        check_bins(dtype, codes, skip);
    });
}

Test(kernels, counts_moments_and_extrema)
{
    begin();
    for_all_wide([](enum tp_dtype dtype, const auto &codes, size_t skip) {
        check_values(dtype, codes, skip);
    });
}

Test(kernels, block_formats)
{
    begin();
    for (const tp_number *number = tp_number_formats; number->id; number++)
        for (enum tp_dtype dtype : floating)
            if (number->kind != TP_NUMBER_ELEMENT)
                check_shapes(number, dtype);
}

Test(kernels, strided_views)
{
    begin();
    check_views<uint8_t>();
    check_views<uint16_t>();
    check_views<uint32_t>();
    check_views<uint64_t>();
    check_views<uint4>();
}

Test(kernels, statistics_by_index)
{
    begin();
    for (int i = 0; i < TP_DTYPE_COUNT; i++) {
        const auto dtype = static_cast<enum tp_dtype>(i);
        if (tp_dtype_info(dtype)->parts == 1)
            check_matrices(dtype);
    }
}

Test(kernels, tallies)
{
    begin();
    for (const tp_number *number = tp_number_formats; number->id; number++) {
        tp_quant_spec spec = {};
        spec.number = number;
        for (enum tp_dtype dtype : floating)
            if (tp_tally_applies(&spec, dtype))
                check_tallies(spec, dtype);
        if (number->kind == TP_NUMBER_MX)
            check_tallies(spec, TP_FLOAT32);
    }
}

Test(kernels, sums_by_leading_bits)
{
    begin();
    for (size_t n : sizes)
        for (int which = 0; which < KINDS; which++)
            check_float_bins(make<uint32_t>(kind(which), n), n % 4);
    std::vector<uint32_t> codes = make<uint32_t>(NORMAL, 5000);
    for (size_t i = 0; i < codes.size(); i += 3)
        codes[i] = i % 2 ? 0xffffffffu : 0x7fffffffu; /* NaN: all bits */
    check_float_bins(codes, 1);
}
