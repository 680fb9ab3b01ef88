/* SPDX-License-Identifier: MIT */
#ifndef TP_SCAN_SCAN_DIMS_H
#define TP_SCAN_SCAN_DIMS_H

#include "scan/dim_rank.h"
#include "scan/pass.h"
#include "scan/scan_peaks.h"
#include "stats/summary.h"

/* Statistics by index of the tensor of a pass. */
struct tp_dims_scan {
    const struct tp_pass *pass;
    const struct tp_summary *summary; /* of its values                    */
    const unsigned char *codes;       /* all of the walk; NULL: read them */
    struct tp_dim_ranker **ranker;    /* [2] of the worker, made here     */
    struct tp_dims_room *room;        /* out                              */
    size_t keep;                      /* indices of an axis               */
    const struct tp_peak_sum *peaks;  /* of the tensor, all finite: none are
                                         kept unless something is to be said
                                         of an axis; NULL: of every one    */
    enum tp_dim_reduce reduce;        /* what decides the risk            */
};

/* How many axes of a tensor are analysed. */
size_t tp_dims_analysed(const struct tp_tensor *tensor);

/* Fills room->dims: from the peaks, or by a further reading, or from the
 * codes. */
enum tp_status tp_scan_dims(const struct tp_dims_scan *asked);

#endif
