/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_FLOAT_TALLY_H
#define TP_STATS_FLOAT_TALLY_H

#include "stats/float_bins.h"
#include "stats/tally.h"

/*
 * MX formats on tensors of binary32: stats/tally.h for values that are known by
 * their bins (stats/float_bins.h). What a tally takes out of the count of the
 * tensor is not codes, but the sums of bins; all is integers here, too.
 */
enum { TP_FLOAT_TALLY_BINS = TP_FLOAT_BINS / 2 /* of magnitudes */ };

/* About 13 MB, of which little is touched. All-zero bytes are empty. */
struct tp_float_tally {
    struct tp_quant_error counts; /* of blocks, scales, overflow           */
    bool lost;                    /* a block became NaN                    */
    struct tp_float_bin bin[TP_TALLY_CLASSES][TP_FLOAT_TALLY_BINS];
    uint8_t used[TP_TALLY_CLASSES][TP_FLOAT_TALLY_BINS / TP_TALLY_LINE];
};

/* The same of a whole tensor. */
struct tp_float_tally_total {
    struct tp_quant_error counts;
    bool lost;
    struct tp_float_bin_total bin[TP_TALLY_CLASSES][TP_FLOAT_TALLY_BINS];
    uint8_t used[TP_TALLY_CLASSES][TP_FLOAT_TALLY_BINS / TP_TALLY_LINE];
};

/* Tallies `rows` rows of `row_length` codes of TP_FLOAT32, by a plan of that
 * dtype; as tp_blocks_count. At most 2^23 values between two flushes. */
void tp_float_tally_rows(const struct tp_tally_plan *plan, const void *codes,
                         size_t rows, size_t row_length,
                         struct tp_float_tally *tally);

/* Adds `from` to `into` and empties it. */
void tp_float_tally_flush(struct tp_float_tally *from,
                          struct tp_float_tally_total *into);

/*
 * Adds the outcome for the values in bins[TP_FLOAT_BINS], all of which were
 * tallied, to *error. False, and nothing is added: a block became NaN, so that
 * the extremes of bins may be of values that are in no sum; or as
 * tp_float_bins_cast.
 */
bool tp_float_tally_finish(const struct tp_tally_plan *plan,
                           const struct tp_float_tally_total *tally,
                           const struct tp_float_bin_total *bins,
                           struct tp_quant_error *error);

#endif
