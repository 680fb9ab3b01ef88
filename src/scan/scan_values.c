/* SPDX-License-Identifier: MIT */
#include "scan/scan_values.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/session.h"

/*
 * Wide values in one reading: counts, moments and extrema per range, merged in
 * order since moments round; bins and the top 17 bits of the keys as integers.
 * Then the exact order statistics, digit by digit (stats/select.h): each
 * further reading counts the next digits of those keys alone that share the
 * known ones of a wanted key, mostly one reading for 32 bits and two for 64.
 * Sorting would need memory for all values; a sketch would not be exact. Where
 * a sample of a large tensor foresees what the further readings are after, the
 * first one keeps it (stats/candidates.h), and is the only one.
 */

enum {
    /* A tensor of fewer values is read again as fast as it is sampled. */
    FORESEEN_VALUES = 1 << 22,
    /* At least so many are sampled, and one in so many. */
    SAMPLE_LEAST = 1 << 18,
    SAMPLE_PART = 64,
    SAMPLE_PLACES = 256
};

/* Bins first: where no top digits are counted, nothing else is touched. */
struct scratch {
    uint32_t bins[TP_SUMMARY_BINS];
    union tp_select_tables tables;
    struct tp_kept_codes kept;
};

static bool has_bins(const struct tp_value_sum *sum, enum tp_dtype real)
{
    return !sum->totals || real != TP_FLOAT32;
}

static void take_values(const struct tp_pass *pass,
                        const struct tp_piece *piece, const void *state,
                        void *part, void *scratch)
{
    const struct tp_value_sum *sum = state;
    const struct tp_span span = tp_piece_span(pass, piece);
    struct scratch *its = scratch;
    tp_values_add(&span, &sum->judge, pass->readers->isa, part,
                  has_bins(sum, pass->real) ? its->bins : NULL);
    if (sum->totals && !sum->binned)
        tp_select_count_top(&span, &its->tables);
    if (sum->candidates)
        tp_candidates_keep(sum->candidates, &span, pass->readers->isa,
                           &its->kept);
}

/* Adds what a range kept, and empties it. */
static void flush_kept(struct tp_value_sum *sum, struct tp_kept_codes *kept)
{
    const size_t size = (size_t)sum->candidates->bits / 8;
    const bool fits = kept->length <= TP_CANDIDATES_ROOM;
    const size_t length = fits ? (size_t)kept->length : TP_CANDIDATES_ROOM;
    sum->kept_all = sum->kept_all && fits &&
                    length <= sum->kept_room - sum->kept_count;
    if (sum->kept_all) {
        memcpy(sum->kept + sum->kept_count * size, kept->codes, length * size);
        sum->kept_count += length;
    }
    memset(kept, 0, offsetof(struct tp_kept_codes, codes) + length * size + 64);
}

static void flush_values(void *state, void *scratch)
{
    struct tp_value_sum *sum = state;
    struct scratch *its = scratch;
    if (sum->totals && !sum->binned)
        tp_select_flush_top(&its->tables, sum->totals);
    tp_bins_flush(its->bins, sum->bins);
    if (sum->candidates)
        flush_kept(sum, &its->kept);
}

static void merge_values(void *state, const void *part)
{
    struct tp_value_sum *sum = state;
    tp_values_merge(&sum->values, part);
}

static bool can_values(const void *state, const struct tp_device_lane *lane)
{
    const struct tp_value_sum *sum = state;
    (void)lane;
    return sum->totals != NULL;
}

static bool send_values(const struct tp_pass *pass,
                        const struct tp_piece *piece, const void *state,
                        const struct tp_device_lane *lane)
{
    const struct tp_value_sum *sum = state;
    const struct tp_span span = tp_piece_span(pass, piece);
    const unsigned wanted =
        (sum->binned ? 0 : (unsigned)TP_DEVICE_TOP_DIGITS) |
        (has_bins(sum, pass->real) ? (unsigned)TP_DEVICE_SUMMARY_BINS : 0);
    return tp_device_values(lane, &span, &sum->judge, wanted);
}

static void take_device_values(void *state, void *part,
                               const struct tp_device_lane *lane)
{
    const struct tp_value_sum *sum = state;
    const struct tp_device_results results = {
        .totals = sum->totals, .bins = sum->bins, .values = part};
    tp_device_take(lane, &results);
}

static const struct tp_sink_device device_values = {can_values, send_values,
                                                    take_device_values};

const struct tp_sink tp_sink_values = {.scratch_size = sizeof(struct scratch),
                                       .part_size = sizeof(struct tp_values),
                                       .piece = take_values,
                                       .flush = flush_values,
                                       .merge = merge_values,
                                       .device = &device_values};

/* A bin is what one value of the top digits is. */
void tp_values_from_bins(struct tp_value_sum *sum,
                         const struct tp_float_bin_total *bins)
{
    static_assert(32 - TP_FLOAT_BIN_SHIFT == TP_SELECT_TOP_BITS,
                  "bins are top digits");
    for (uint64_t i = 0; i < TP_FLOAT_BINS; i++)
        sum->totals[tp_code_key(TP_ORDER_FLOAT, TP_SELECT_TOP_BITS, i)] =
            tp_float_bin_count(&bins[i]);
}

/* --- candidates ----------------------------------------------------------- */

/* Adds the top digits of values all over the tensor to the totals. False: it
 * cannot be read, which the reading will tell. */
static bool sample(const struct tp_pass *pass, union tp_select_tables *tables,
                   uint64_t *totals)
{
    struct tp_reader *reader = &pass->readers->reader[pass->worker];
    struct tp_error unread = {.code = TP_OK};
    const int64_t stride = pass->walk.count / SAMPLE_PLACES;
    const int64_t fits = (int64_t)(TP_PIECE_BYTES / pass->size);
    int64_t each = pass->walk.count / SAMPLE_PART;
    each = (each > SAMPLE_LEAST ? each : SAMPLE_LEAST) / SAMPLE_PLACES;
    each = each < fits ? each : fits;
    if (tp_reader_prepare(reader, &pass->walk, NULL, &unread) != TP_OK)
        return false;
    for (int64_t i = 0; i < SAMPLE_PLACES; i++) {
        const struct tp_span span = {pass->real, reader->piece,
                                     (size_t)each * pass->parts};
        if (tp_walk_read(&pass->walk, i * stride, (size_t)each, reader->piece,
                         reader->walk, &unread) != TP_OK)
            return false;
        tp_select_count_top(&span, tables);
    }
    tp_select_flush_top(tables, totals);
    return true;
}

static bool is_foreseen(const struct tp_pass *pass)
{
    return !pass->device && pass->walk.count >= FORESEEN_VALUES &&
           pass->walk.dense && !pass->walk.tensor->scaled &&
           (pass->real == TP_FLOAT32 || pass->real == TP_FLOAT64);
}

void tp_values_foresee(const struct tp_pass *pass, struct tp_value_sum *sum)
{
    if (!is_foreseen(pass))
        return;
    union tp_select_tables *tables = calloc(1, sizeof *tables);
    struct tp_candidates *made = malloc(sizeof *made);
    sum->candidates = NULL;
    if (tables && made && sample(pass, tables, sum->totals) &&
        tp_candidates_plan(made, pass->real, sum->totals,
                           (uint64_t)pass->walk.count * pass->parts)) {
        sum->kept_room = TP_CANDIDATES_BYTES / ((size_t)made->bits / 8);
        sum->kept = malloc(TP_CANDIDATES_BYTES);
        sum->kept_all = sum->kept != NULL;
        if (sum->kept) {
            sum->candidates = made;
            made = NULL;
        }
    }
    memset(sum->totals, 0, TP_SELECT_TOP * sizeof *sum->totals);
    free(tables);
    free(made);
}

void tp_values_forget(struct tp_value_sum *sum)
{
    free(sum->candidates);
    free(sum->kept);
    sum->candidates = NULL;
    sum->kept = NULL;
}

/* --- selection ------------------------------------------------------------ */

struct selection {
    struct tp_select select;
    uint64_t *totals; /* [TP_SELECT_ROOM]                                 */
};

static void take_keys(const struct tp_pass *pass, const struct tp_piece *piece,
                      const void *state, void *part, void *scratch)
{
    const struct selection *at = state;
    const struct tp_span span = tp_piece_span(pass, piece);
    (void)part;
    tp_select_count(&at->select, &span, scratch);
}

static void flush_keys(void *state, void *scratch)
{
    const struct selection *at = state;
    tp_select_flush(&at->select, scratch, at->totals);
}

static bool can_keys(const void *state, const struct tp_device_lane *lane)
{
    (void)state, (void)lane;
    return true;
}

static bool send_keys(const struct tp_pass *pass, const struct tp_piece *piece,
                      const void *state, const struct tp_device_lane *lane)
{
    const struct selection *at = state;
    const struct tp_span span = tp_piece_span(pass, piece);
    return tp_device_select(lane, &span, &at->select);
}

static void take_device_keys(void *state, void *part,
                             const struct tp_device_lane *lane)
{
    const struct selection *at = state;
    const struct tp_device_results results = {.totals = at->totals};
    (void)part;
    tp_device_take(lane, &results);
}

static const struct tp_sink_device device_keys = {can_keys, send_keys,
                                                  take_device_keys};

static const struct tp_sink sink_keys = {
    .scratch_size = sizeof(union tp_select_tables),
    .piece = take_keys,
    .flush = flush_keys,
    .device = &device_keys};

/* A reading of what was kept. */
static enum tp_status read_kept(const struct tp_value_sum *sum,
                                struct selection *at, struct tp_error *err)
{
    const struct tp_span span = {sum->candidates->dtype, sum->kept,
                                 sum->kept_count};
    union tp_select_tables *tables = calloc(1, sizeof *tables);
    if (!tables)
        return tp_fail_memory(err);
    tp_select_count(&at->select, &span, tables);
    tp_select_flush(&at->select, tables, at->totals);
    free(tables);
    return TP_OK;
}

enum tp_status tp_values_select(const struct tp_pass *pass,
                                const struct tp_value_sum *sum,
                                const struct tp_ranks *ranks, double *ordered)
{
    struct selection *at = malloc(sizeof *at);
    if (!at)
        return tp_fail_memory(pass->err);
    const struct tp_sink_use use = {&sink_keys, at, 1};
    enum tp_status status = TP_OK;
    at->totals = sum->totals;
    tp_select_begin(&at->select, pass->real, &sum->values, ranks, at->totals);
    at->select.isa = pass->readers->isa;
    const bool kept = sum->candidates && sum->kept_all &&
                      tp_candidates_have(sum->candidates, &at->select);
    while (at->select.next != TP_SELECT_DONE && status == TP_OK) {
        memset(at->totals, 0, TP_SELECT_ROOM * sizeof *at->totals);
        status = kept ? read_kept(sum, at, pass->err)
                      : tp_pass_run(pass, &use, 1);
        if (status == TP_OK)
            tp_select_learn(&at->select, at->totals);
    }
    if (status == TP_OK)
        tp_select_values(&at->select, ordered);
    free(at);
    return status;
}
