/* SPDX-License-Identifier: MIT */
/*
 * NVFP4 casts of 8-bit and 16-bit codes from counts. A block's largest
 * magnitude gives its scale, and each of its elements is one increment in the
 * row of that scale; at the end each pair of scale and magnitude is multiplied
 * and rounded as hardware does it, with how often it occurs for a weight.
 *
 * Alternative: rounding every element (quantize_blocks.c), ten nanoseconds
 * each; it is left for blocks with a NaN or an infinity, and for wider dtypes.
 *
 * Cost: about a nanosecond an element; at the end some 100 000 pairs.
 */
#include "stats/nvfp4_tally.h"

#include <assert.h>
#include <string.h>

#include "data/dtype_math.h"
#include "stats/blocks_plan.h"
#include "stats/magnitudes.h"
#include "stats/quantize_lanes.h"

bool tp_nvfp4_tally_applies(const struct tp_quant_spec *spec,
                            enum tp_dtype dtype)
{
    const struct tp_dtype_info *info = tp_dtype_info(dtype);
    return spec->number->kind == TP_NUMBER_NVFP4 && info->code_size <= 2 &&
           info->kind == TP_CLASS_FLOAT;
}

void tp_nvfp4_plan_init(struct tp_nvfp4_plan *plan,
                        const struct tp_quant_spec *spec, enum tp_dtype dtype,
                        double tensor_amax)
{
    const struct tp_block_rules rules = {spec->rule, spec->nonfinite};
    assert(tp_nvfp4_tally_applies(spec, dtype));
    plan->spec = *spec;
    plan->tensor_amax = tensor_amax;
    tp_block_plan_init(&plan->blocks, spec->number, rules, dtype, tensor_amax);
}

/* --- counting ------------------------------------------------------------- */

/* Where blocks are added to, and how. */
struct to {
    const struct tp_nvfp4_plan *plan;
    struct tp_nvfp4_tally *tally;
    struct tp_quant_error *special;
};

static void add_special(const struct to *to, const unsigned char *codes,
                        size_t n)
{
    const struct tp_nvfp4_plan *plan = to->plan;
    tp_quant_blocks(&plan->spec,
                    &(struct tp_quant_rows){.dtype = plan->blocks.dtype,
                                            .tensor_amax = plan->tensor_amax,
                                            .codes = codes,
                                            .rows = 1,
                                            .row_length = n,
                                            .isa = plan->blocks.isa},
                    to->special);
}

static inline void count_overflow(const uint16_t *codes, unsigned finite,
                                  struct tp_quant_error *counts)
{
    const struct tp_above above = tp_magnitudes_above(codes, finite);
    counts->upper_overflow += above.all - above.lower;
    counts->lower_overflow += above.lower;
    counts->saturated_blocks += above.all != 0;
}

static void see_scale(unsigned scale, struct tp_quant_error *counts)
{
    const uint16_t least = (uint16_t)(256 - scale);
    const uint16_t largest = (uint16_t)(scale + 1);
    if (least > counts->scale_least)
        counts->scale_least = least;
    if (largest > counts->scale_largest)
        counts->scale_largest = largest;
}

/* The E4M3 code of a block's scale, found once for each largest magnitude. */
static inline unsigned scale_of(const struct tp_block_plan *plan,
                                unsigned largest, uint8_t *scale)
{
    if (*scale == 0)
        *scale =
            (uint8_t)(1 + tp_nvfp4_scale_code(
                              plan->encode, tp_to_binary32(tp_block_code_value(
                                                plan, largest))));
    return *scale - 1u;
}

/* Four codes are one load. */
static inline __attribute__((always_inline)) void count_codes(
    const uint16_t *codes, size_t n, uint32_t *count)
{
    uint64_t four;
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        memcpy(&four, codes + i, sizeof four);
        count[four & 0x7fff]++;
        count[four >> 16 & 0x7fff]++;
        count[four >> 32 & 0x7fff]++;
        count[four >> 48 & 0x7fff]++;
    }
    for (; i < n; i++)
        count[codes[i] & 0x7fff]++;
}

/* A block of codes of 16 bits, padded with 0, which lies at `at` in its
 * dtype. */
static inline __attribute__((always_inline)) void add_block(
    const struct to *to, const uint16_t *codes, size_t n,
    const unsigned char *at)
{
    const struct tp_block_plan *plan = &to->plan->blocks;
    struct tp_nvfp4_tally *tally = to->tally;
    const unsigned largest = tp_largest_magnitude(codes, 16);
    if (largest >= plan->infinity) {
        add_special(to, at, n);
        return;
    }
    const unsigned scale = scale_of(plan, largest, &tally->scale[largest]);
    uint32_t *count = tally->count[scale];
    tally->used[scale] = true;
    count_codes(codes, n, count);
    tally->counts.blocks++;
    if (largest == 0)
        tally->counts.zero_blocks++;
    else
        see_scale(scale, &tally->counts);
    count_overflow(codes, (unsigned)plan->limits[scale].finite,
                   &tally->counts);
}

/* Codes that are widened together: a vector of codes each stored alone a
 * moment ago would wait for all of them. */
enum { WIDENED = 256 };

static void add_widened(const struct to *to, const unsigned char *at,
                        size_t length)
{
    uint16_t codes[WIDENED] = {0};
    for (size_t i = 0; i < length; i++)
        codes[i] = to->plan->blocks.widened[at[i]];
    for (size_t i = 0; i < length; i += 16)
        add_block(to, codes + i, length - i < 16 ? length - i : 16, at + i);
}

static void add_row(const struct to *to, const unsigned char *at,
                    size_t length)
{
    uint16_t codes[16] = {0};
    size_t i = 0;
    if (to->plan->blocks.code_size == 1) {
        for (; i < length; i += WIDENED)
            add_widened(to, at + i,
                        length - i < WIDENED ? length - i : WIDENED);
        return;
    }
    for (; i + 16 <= length; i += 16, at += 32)
        add_block(to, (const uint16_t *)(const void *)at, 16, at);
    if (i == length)
        return;
    memcpy(codes, at, 2 * (length - i));
    add_block(to, codes, length - i, at);
}

void tp_nvfp4_tally_rows(const struct tp_nvfp4_plan *plan,
                         const struct tp_block_rows *rows,
                         struct tp_nvfp4_tally *tally,
                         struct tp_quant_error *special)
{
    const struct to to = {plan, tally, special};
    const size_t pitch = rows->row_length * (size_t)plan->blocks.code_size;
    const unsigned char *at = rows->codes;
    assert(rows->columns == 0);
    for (size_t row = 0; row < rows->rows; row++)
        add_row(&to, at + row * pitch, rows->row_length);
}

static void flush_line(uint32_t *from, uint64_t *into, uint8_t *used)
{
    uint32_t some = 0;
    for (int i = 0; i < TP_NVFP4_LINE; i++)
        some |= from[i];
    if (!some)
        return;
    for (int i = 0; i < TP_NVFP4_LINE; i++)
        into[i] += from[i];
    memset(from, 0, TP_NVFP4_LINE * sizeof *from);
    *used = 1;
}

void tp_nvfp4_tally_flush(struct tp_nvfp4_tally *from,
                          struct tp_nvfp4_total *into)
{
    tp_quant_merge(&into->counts, &from->counts, 1);
    memset(&from->counts, 0, sizeof from->counts);
    memset(from->scale, 0, sizeof from->scale);
    for (int scale = 0; scale < TP_NVFP4_SCALES; scale++) {
        if (!from->used[scale])
            continue;
        for (size_t line = 0; line < TP_NVFP4_LINES; line++)
            flush_line(&from->count[scale][line * TP_NVFP4_LINE],
                       &into->count[scale][line * TP_NVFP4_LINE],
                       &into->used[scale][line]);
        from->used[scale] = false;
    }
}

/* --- the outcome ---------------------------------------------------------- */

static void send(const struct tp_nvfp4_plan *plan,
                 struct tp_quant_nvfp4 *values, struct tp_quant_error *error)
{
    tp_quant_nvfp4_add(&plan->spec, values, error);
    values->n = 0;
}

void tp_nvfp4_tally_finish(const struct tp_nvfp4_plan *plan,
                           const struct tp_nvfp4_total *total,
                           struct tp_quant_error *error)
{
    struct tp_quant_nvfp4 values = {.tensor_amax = plan->tensor_amax};
    for (unsigned scale = 0; scale < TP_NVFP4_SCALES; scale++) {
        values.byte = scale;
        for (size_t i = 0; i < TP_NVFP4_MAGNITUDES; i++) {
            if (!total->used[scale][i / TP_NVFP4_LINE]) {
                i += TP_NVFP4_LINE - 1;
                continue;
            }
            if (total->count[scale][i] == 0)
                continue;
            values.x[values.n] = tp_block_code_value(&plan->blocks, i);
            values.count[values.n++] = total->count[scale][i];
            if (values.n == TP_QUANT_BATCH)
                send(plan, &values, error);
        }
        send(plan, &values, error);
    }
    tp_quant_merge(error, &total->counts, 1);
}
