/* SPDX-License-Identifier: MIT */
#ifndef TP_QUANT_QUANT_WORST_H
#define TP_QUANT_QUANT_WORST_H

#include "base/memory.h"
#include "tensors/run.h"

/* The worst that each plain format does to what a map of a run has in one
 * cell: /quantization_worst. */

enum {
    /* names of modules, cut alike: as many rows as a map has room for, and as
     * html/report_map.js cuts them */
    TP_QUANT_MODULES_MOST = 60,
    TP_QUANT_CELLS_MOST = 4000 /* of a map: with more none is drawn        */
};

/* A cell in one format: all casts of the tensors that have its labels. */
struct tp_quant_cell {
    const char *by;          /* "layer_idx", "module": the map's rows      */
    int64_t layer_idx;       /* -1: none, or rows are modules              */
    const char *module;      /* its first parts; "": none, or by layers    */
    int64_t iteration;       /* -1: none                                   */
    const char *tensor_name; /* where no tensor of the run has an iteration */
    const char *format;
    size_t cast; /* first of the plan that has the format                  */
    uint64_t casts;
    double sqnr_db;        /* the least; NaN: no cast has one              */
    double target_sqnr_db; /* the least of tensors of which the format is the
                              target format                                */
};

/* All-zero bytes are none. */
struct tp_quant_worst {
    struct tp_quant_cell *cells; /* by layer, then by module               */
    size_t count, capacity;
};

/*
 * Fills `worst` (zeroed by the caller, released with tp_quant_worst_clear, also
 * after a failure) from the rows of a run; names that are cut go to `arena`.
 * Of rows that would be more than TP_QUANT_CELLS_MOST cells there are none.
 * Memory is bounded by twice the cells, whatever the number of casts.
 * TP_E_MEMORY only.
 */
enum tp_status tp_quant_worst_make(const struct tp_run *run,
                                   struct tp_arena *arena,
                                   struct tp_quant_worst *worst,
                                   struct tp_error *err);

/* Releases what it owns; it is empty afterwards. */
void tp_quant_worst_clear(struct tp_quant_worst *worst);

#endif
