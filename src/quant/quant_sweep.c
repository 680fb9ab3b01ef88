/* SPDX-License-Identifier: MIT */
/*
 * SQNR against the scale of a tensor, for the tensors that lose most. Errors
 * of other scales do not follow from what is kept of a tensor, so its file is
 * opened again and it is cast with 40 power-of-two scales to three formats, in
 * one reading a format. Tensors are ranked by the SQNR of the format that
 * their file names or, where that is exact, of HiF8 or E4M3.
 *
 * A search for the best scale would need fewer casts, but the figure shows the
 * whole curve: how wide its plateau is says how much care the scale needs.
 * Cost: 120 casts an element, of at most six tensors of at most 2^22 elements.
 */
#include "quant/quant_sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "formats/reader.h"
#include "scan/scan.h"
#include "tensors/memo.h"
#include "tensors/row_file.h"

const char *const tp_quant_sweep_formats[3] = {"hif8", "e4m3", "e5m2"};

enum {
    /* From amax at 2^-22, where nothing of HiF8 is left, to 2^17, where
     * everything overflows. */
    LOWEST = -22,
    EXPONENTS = 40,
    /* Wider values are cast one by one, 120 times. */
    VALUES_MAX = 1 << 22
};

/* A row, and how bad its own format is for it. */
struct candidate {
    size_t row;
    int order; /* of the format: the tensor's own comes first */
    double sqnr;
};

static int compare_candidates(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (a->order != b->order)
        return a->order - b->order;
    if (a->sqnr != b->sqnr)
        return a->sqnr < b->sqnr ? -1 : 1;
    return tp_order_size(a->row, b->row);
}

/* SQNR in the format that the file names or, if that is exact, in HiF8 or
 * E4M3. False when all are. */
static bool rate(const struct tp_run *run, struct candidate *candidate)
{
    const struct tp_row *row = &run->rows[candidate->row];
    const struct tp_quant_plan *plan = &run->plan;
    const struct tp_number *const formats[] = {row->target,
                                               tp_number_by_id("hif8"),
                                               tp_number_by_id("e4m3")};
    struct tp_quant_metrics metrics;
    for (int i = 0; i < 3; i++) {
        size_t cast = tp_quant_plan_find(plan, formats[i]);
        if (cast == plan->count ||
            !tp_quant_unpack_metrics(row->quant, cast, &metrics) ||
            !isfinite(metrics.sqnr_db))
            continue;
        candidate->order = i;
        candidate->sqnr = metrics.sqnr_db;
        return true;
    }
    return false;
}

/* Moments would come before all else: they are far below any format's range. */
static bool fits(const struct tp_row *row)
{
    return row->quant && !(row->label.roles & TP_ROLES_OF_MOMENTS) &&
           row->counts.numel <= VALUES_MAX &&
           isfinite(row->numbers.abs_max) && row->numbers.abs_max > 0;
}

/* Another tensor of a place, or the same under another quant type, says
 * little new. */
static bool is_new_place(const struct tp_quant *quant, size_t row)
{
    struct tp_quant_place place =
        tp_quant_place_of(&quant->run->rows[row], TP_QUANT_BY_PLACE);
    for (size_t i = 0; i < quant->sweep_count; i++) {
        place.quant_type = quant->sweeps[i].place.quant_type;
        if (tp_quant_same_place(&quant->sweeps[i].place, &place))
            return false;
    }
    return true;
}

/* Casts an open tensor with every scale. */
static enum tp_status sweep_tensor(struct tp_scanner *scanner,
                                   struct tp_tensor *tensor,
                                   struct tp_scan_result *result,
                                   struct tp_quant_sweep *sweep,
                                   struct tp_error *err)
{
    struct tp_quant_spec specs[EXPONENTS];
    struct tp_quant_error errors[EXPONENTS];
    const struct tp_scan_request request = {
        .specs = specs, .spec_count = EXPONENTS, .errors = errors};
    for (int f = 0; f < 3; f++) {
        for (int i = 0; i < EXPONENTS; i++)
            specs[i] = (struct tp_quant_spec){
                .number = tp_number_by_id(tp_quant_sweep_formats[f]),
                .scaled = TP_SCALED_FIXED,
                .exponent = sweep->first + i};
        memset(errors, 0, sizeof errors);
        enum tp_status status = tp_scan(scanner, tensor, &request, result, err);
        if (status != TP_OK)
            return status;
        for (int i = 0; i < EXPONENTS; i++) {
            struct tp_quant_metrics metrics;
            tp_quant_metrics_of(&errors[i], &metrics);
            sweep->sqnr[f][i] =
                errors[i].nonfinite_out ? NAN : metrics.sqnr_db;
        }
    }
    return TP_OK;
}

/* Reads the tensor of a row, unless it is known what that gave: `numbers` has
 * those of all formats. */
static enum tp_status sweep_row(const struct tp_run *run,
                                struct tp_scanner *scanner,
                                struct tp_scan_result *result,
                                struct tp_quant_sweep *sweep, double *numbers,
                                struct tp_error *err)
{
    const struct tp_row *row = &run->rows[sweep->row];
    const size_t bytes = 3 * EXPONENTS * sizeof *numbers;
    struct tp_tensor_file file = {.tensors = NULL};
    const struct tp_tensor *tensor;
    struct tp_digest key = tp_memo_key(run, "sweep", row, NULL);
    tp_digest_number(&key, (uint64_t)sweep->first);
    if (tp_memo_get(run, &key, numbers, bytes))
        return TP_OK;
    enum tp_status status = tp_row_file_open(run, row, &file, err);
    if (status == TP_OK)
        status = tp_row_file_tensor(row, &file, &tensor, err);
    if (status == TP_OK)
        status = sweep_tensor(scanner, &file.tensors[row->place], result, sweep,
                              err);
    if (status == TP_OK)
        status = tp_row_file_unchanged(run, row, &file, err);
    if (status == TP_OK)
        tp_memo_put(run, &key, numbers, bytes);
    tp_tensor_file_close(&file);
    tp_arena_clear(&file.arena);
    return status;
}

/* Adds a sweep of a row; false when out of memory. */
static bool add_sweep(struct tp_quant *quant, struct tp_run *run,
                      struct tp_scanner *scanner,
                      struct tp_scan_result *result, size_t row)
{
    struct tp_error why = {.code = TP_OK};
    struct tp_quant_sweep *sweep = &quant->sweeps[quant->sweep_count];
    *sweep = (struct tp_quant_sweep){
        .row = row,
        .place = tp_quant_place_of(&run->rows[row], TP_QUANT_BY_PLACE),
        .count = EXPONENTS,
        .first = LOWEST - ilogb(run->rows[row].numbers.abs_max),
    };
    double *numbers = malloc(3 * EXPONENTS * sizeof *numbers);
    if (!numbers)
        return false;
    for (int f = 0; f < 3; f++)
        sweep->sqnr[f] = numbers + f * EXPONENTS;
    enum tp_status status =
        sweep_row(run, scanner, result, sweep, numbers, &why);
    if (status == TP_OK) {
        quant->sweep_count++;
        return true;
    }
    free(numbers);
    if (status == TP_E_MEMORY || status == TP_E_INTERRUPTED)
        return status != TP_E_MEMORY;
    tp_run_note(run, "%s: what other scales would do to it is not known: %s",
                run->rows[row].file, why.message);
    return tp_row_file_failed(run, &run->rows[row], &why, NULL) == TP_OK;
}

enum tp_status tp_quant_sweeps_make(struct tp_quant *quant, struct tp_run *run,
                                    struct tp_pool *pool, struct tp_error *err)
{
    struct candidate *worst = calloc(run->row_count + 1, sizeof *worst);
    struct tp_scan_result *result = malloc(sizeof *result);
    struct tp_scanner *scanner = NULL;
    size_t count = 0, tries = 0;
    quant->sweeps = calloc(TP_QUANT_SWEEPS, sizeof *quant->sweeps);
    enum tp_status status = TP_OK;
    if (!worst || !result || !quant->sweeps)
        status = tp_fail_memory(err);
    if (status == TP_OK)
        status = tp_scanner_new(pool, &scanner, err);
    for (size_t i = 0; i < run->row_count && status == TP_OK; i++) {
        worst[count].row = i;
        count += fits(&run->rows[i]) && rate(run, &worst[count]);
    }
    if (count)
        qsort(worst, count, sizeof *worst, compare_candidates);
    for (size_t i = 0; i < count && status == TP_OK &&
                       quant->sweep_count < TP_QUANT_SWEEPS &&
                       tries < 4 * TP_QUANT_SWEEPS;
         i++) {
        if (!is_new_place(quant, worst[i].row))
            continue;
        tries++;
        if (!add_sweep(quant, run, scanner, result, worst[i].row))
            status = tp_fail_memory(err);
    }
    tp_scanner_free(scanner);
    free(worst);
    free(result);
    return status;
}
