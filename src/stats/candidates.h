/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_CANDIDATES_H
#define TP_STATS_CANDIDATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"
#include "stats/select.h"

/*
 * What a first reading of floating values keeps, so that their order
 * statistics need no further one: a sample tells which top digits the wanted
 * keys probably have, and every code with one of these is kept. Whether all
 * wanted ones are among them is known exactly afterwards; else the tensor is
 * read again. So the sample decides on the time, never on the result.
 */
enum {
    TP_CANDIDATES_SPANS = TP_QUANTILES + 1, /* one may have both signs     */
    /* Codes that are kept of a range of values: several times what the plan
     * lets expect of 4 M values. */
    TP_CANDIDATES_ROOM = 1 << 19,
    /* and of the tensor, in bytes; twice what a plan lets expect. */
    TP_CANDIDATES_BYTES = 32 << 20
};

struct tp_candidates {
    enum tp_dtype dtype;
    int bits;                  /* of a code                                */
    unsigned spans;            /* of leading digits of codes               */
    uint32_t first[TP_CANDIDATES_SPANS], last[TP_CANDIDATES_SPANS];
    uint64_t among[TP_SELECT_TOP / 64]; /* a bit for each leading digits   */
};

/*
 * Plans from the top digits of a sample, totals[TP_SELECT_TOP], of a tensor of
 * `count` values of TP_FLOAT32 or TP_FLOAT64. False: too many would be kept,
 * of the sample or in all.
 */
bool tp_candidates_plan(struct tp_candidates *candidates, enum tp_dtype dtype,
                        const uint64_t *totals, uint64_t count);

/* Codes that were kept. All-zero bytes are empty. */
struct tp_kept_codes {
    uint64_t length; /* how many there were: those beyond the room are lost */
    unsigned char codes[TP_CANDIDATES_ROOM * sizeof(uint64_t) + 64];
};

/* Appends the codes of the span, of the dtype of the plan, that are
 * candidates. Up to 64 bytes behind the last one are overwritten. `isa`: whose
 * loops; unknown: the best, asked each time. */
void tp_candidates_keep(const struct tp_candidates *candidates,
                        const struct tp_span *span, enum tp_isa isa,
                        struct tp_kept_codes *kept);

/* Whether all values that a selection is after are candidates; `select` has
 * just begun. */
bool tp_candidates_have(const struct tp_candidates *candidates,
                        const struct tp_select *select);

#endif
