/* SPDX-License-Identifier: MIT */
#ifndef TP_COMPARE_COMPARE_TABLE_H
#define TP_COMPARE_COMPARE_TABLE_H

#include "compare/compare.h"
#include "data/table.h"

/* The table /pairs of compare.h5: a row for each of A, as numbers; then one for
 * each of B without a partner. */

/* A row. */
struct tp_compare_record {
    int64_t step, rank, order; /* of A, or of B where A has no such row    */
    const char *name_a, *name_b, *dtype_a, *dtype_b, *shape_a, *shape_b;
    const char *result, *problem;
    int64_t equal; /* 1: bit-equal as far as the mode can tell; 0; -1      */
    double cosine, euc_dist, max_abs_err, max_relative_err;
    double one_thousandth_err_ratio, five_thousandths_err_ratio;
    double max_error, min_error, mean_error, norm_error; /* relative       */
    double error;    /* tp_compare_error                                   */
    double distance; /* tp_compare_distance                                */
    double differing_share, sqnr_db, ulp_p50, ulp_p99, ulp_max, ks;
    int64_t first_difference;
    /* of compare_damage.h; "" of rows that were not looked at */
    const char *damage, *damage_words;
    enum tp_compare_result level;
    size_t pair, row; /* of the comparison; TP_COMPARE_NONE: of B alone    */
};

struct tp_compare_records {
    struct tp_compare_record *rows;
    size_t count;
    size_t *worst; /* [worst_count] matched rows that are judged and differ,
                      by result, then distance, then in their order        */
    size_t worst_count;
};

/* Borrows the texts of the comparison. Release with tp_compare_records_clear,
 * also after a failure: TP_E_MEMORY. `records` is zeroed by the caller. */
enum tp_status tp_compare_records_make(const struct tp_comparison *comparison,
                                       struct tp_compare_records *records,
                                       struct tp_error *err);

/* Releases everything; empty afterwards. */
void tp_compare_records_clear(struct tp_compare_records *records);

/* The table "pairs". */
void tp_compare_records_table(const struct tp_compare_records *records,
                              struct tp_table *table);

#endif
