/* SPDX-License-Identifier: MIT */
#ifndef TP_TENSORS_QUANTISED_H
#define TP_TENSORS_QUANTISED_H

#include "data/table.h"
#include "stats/code_use.h"
#include "tensors/run.h"

/*
 * What is told of quantised tensors beside their values: how their codes and
 * scales are used. One for each row of values.
 */
struct tp_quantised {
    uint64_t tensor;    /* number of the row of values                    */
    const char *layout; /* how codes and scales were stored               */
    const char *format; /* of a code: "e4m3", "int4", ...                 */
    const char *codes_path, *scales_path; /* inside the file; "": none     */
    /* as struct tp_code_use has them */
    uint64_t elements, scales, unused;
    uint64_t scale_nan, scale_inf, scale_zero, scale_negative;
    uint64_t scale_saturated, scale_powers;
    double scale_min, scale_max;
    uint64_t blocks, blocks_at_max, blocks_below_half, blocks_zero;
    uint64_t blocks_lost;
    uint64_t elements_at_max, codes, codes_used;
    double zero_share, at_max_share; /* of the elements                    */
    const float *share;    /* of each code; NULL: none are counted           */
    const float *value;    /* of each code, before it is scaled              */
    uint64_t codes_before; /* used codes of all before this                */
};

/* Keeps in `arena` what was counted of a tensor of values; NULL without
 * memory. */
const struct tp_quantised *tp_quantised_pack(const struct tp_tensor *tensor,
                                             const struct tp_code_use *use,
                                             struct tp_arena *arena);

/* Gathers those of all rows in run->quantised. TP_E_MEMORY only. */
enum tp_status tp_quantised_number(struct tp_run *run, struct tp_error *err);

/* The tables /quantised and /code_use. */
void tp_quantised_tables_make(const struct tp_run *run,
                              struct tp_table *quantised,
                              struct tp_table *code_use);

#endif
