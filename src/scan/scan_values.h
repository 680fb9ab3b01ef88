/* SPDX-License-Identifier: MIT */
#ifndef TP_SCAN_SCAN_VALUES_H
#define TP_SCAN_SCAN_VALUES_H

#include "scan/pass.h"
#include "stats/candidates.h"
#include "stats/float_bins.h"
#include "stats/judge.h"
#include "stats/select.h"
#include "stats/values.h"

/* Statistics of values of 32 and 64 bits; and, from their top digits, what a
 * selection of their order statistics begins with. */
struct tp_value_sum {
    struct tp_judge judge;
    uint64_t *totals; /* [TP_SELECT_ROOM], the first TP_SELECT_TOP of top
                         digits; NULL: these are not wanted               */
    bool binned; /* the top digits follow from bins of the same reading   */
    uint64_t *bins;   /* [TP_SUMMARY_BINS], added to                      */
    struct tp_candidates *candidates; /* of these codes are kept; NULL: no  */
    unsigned char *kept;
    size_t kept_count, kept_room;
    bool kept_all;
    struct tp_values values;
};

/* Its state is a struct tp_value_sum. With totals, bins of TP_FLOAT32 values
 * are not counted: tp_select_top_bins has them. */
extern const struct tp_sink tp_sink_values;

/* Sets the totals from the bins of a tensor of TP_FLOAT32, which share them:
 * for who has `binned` set. */
void tp_values_from_bins(struct tp_value_sum *sum,
                         const struct tp_float_bin_total *bins);

/* Before the reading of a large tensor with totals: takes a sample of it for
 * what can be kept, which tp_values_forget frees. Where that cannot be, nothing
 * is kept. */
void tp_values_foresee(const struct tp_pass *pass, struct tp_value_sum *sum);
void tp_values_forget(struct tp_value_sum *sum);

/* Finds the order statistics that follow from a reading of tp_sink_values with
 * totals, which are overwritten: from what it kept, or by further readings. */
enum tp_status tp_values_select(const struct tp_pass *pass,
                                const struct tp_value_sum *sum,
                                const struct tp_ranks *ranks, double *ordered);

#endif
