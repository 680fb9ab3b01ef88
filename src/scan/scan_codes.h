/* SPDX-License-Identifier: MIT */
#ifndef TP_SCAN_SCAN_CODES_H
#define TP_SCAN_SCAN_CODES_H

#include "scan/pass.h"
#include "stats/codes.h"

/* The histogram of codes of 8 or 16 bits: what everything about a tensor of
 * such follows from. */
struct tp_code_sum {
    uint64_t *totals; /* [TP_CODES]; NULL: the counts stay in the scratch of
                         the calling worker, of a single range            */
};

/* Its state is a struct tp_code_sum, its scratch a struct tp_code_tables. */
extern const struct tp_sink tp_sink_codes;

#endif
