/* SPDX-License-Identifier: MIT */
#ifndef TP_SCAN_SCAN_CASTS_H
#define TP_SCAN_SCAN_CASTS_H

#include "scan/pass.h"
#include "stats/float_bins.h"
#include "stats/quantize.h"

/* Casts of one scan, at most. */
enum { TP_CASTS = 64 };

/* How a cast is simulated. */
enum tp_cast_kind {
    TP_CAST_NONE,   /* does not apply                                     */
    TP_CAST_LIST,   /* from the histogram of codes                        */
    TP_CAST_TALLY,  /* from that and a tally (scan_tallies.h)             */
    TP_CAST_BINS,   /* from sums by the leading bits of binary32          */
    TP_CAST_BIN_TALLY, /* from those and a tally                          */
    TP_CAST_ALONG,  /* from the values, in the first reading              */
    TP_CAST_VALUES, /* from the values                                    */
    TP_CAST_NVFP4,  /* from a tally that needs the largest magnitude      */
    TP_CAST_BLOCKS, /* from the values, by blocks                         */
    TP_CAST_KINDS
};

/* The casts of a scan. */
struct tp_casts {
    const struct tp_quant_spec *spec;
    struct tp_quant_error *error; /* of each; merged into                 */
    size_t count;
    enum tp_cast_kind kind[TP_CASTS];
    size_t of_kind[TP_CAST_KINDS]; /* casts there are of each             */
    enum tp_isa isa;               /* of the pass                         */
    enum tp_dtype real;            /* what is cast                        */
    uint64_t repeat;               /* each element stands for so many     */
    struct tp_float_bin_total *bins; /* [TP_FLOAT_BINS]; NULL: not wanted */
    double amax; /* largest finite magnitude, known when the kinds from the
                    values are fed                                        */
};

/* Takes up `count` casts of the tensor of a pass, and zeroes their errors. Its
 * grid becomes as coarse as their blocks. */
void tp_casts_init(struct tp_casts *casts, const struct tp_quant_spec *specs,
                   size_t count, struct tp_quant_error *errors,
                   struct tp_pass *pass);

/* Changes how a cast is simulated. */
void tp_casts_become(struct tp_casts *casts, size_t cast,
                     enum tp_cast_kind kind);

/* Ends the casts that follow from the list of codes alone, not yet repeated. */
void tp_casts_list(struct tp_casts *casts, const struct tp_code_list *list);

/* Provides the totals that tp_sink_cast_bins adds to, where some cast wants
 * them, which are released by the caller; and ends the casts of TP_CAST_BINS:
 * one for which bins are too wide becomes one from the values. */
enum tp_status tp_casts_begin_bins(struct tp_casts *casts,
                                   struct tp_error *err);
void tp_casts_finish_bins(struct tp_casts *casts);

/* Of TP_CAST_BINS; the state is a struct tp_casts. */
extern const struct tp_sink tp_sink_cast_bins;

/* Of TP_CAST_ALONG, TP_CAST_VALUES and TP_CAST_BLOCKS; the state is a struct
 * tp_casts, and the count of the use is casts->count. */
extern const struct tp_sink tp_sink_cast_along;
extern const struct tp_sink tp_sink_cast_values;
extern const struct tp_sink tp_sink_cast_blocks;

#endif
