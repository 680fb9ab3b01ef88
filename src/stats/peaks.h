/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_PEAKS_H
#define TP_STATS_PEAKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/isa.h"
#include "data/dtype.h"

/*
 * The largest value and the least one of slices of a tensor, as codes: what of
 * stats/dims.h tells whether anything is to be said of an axis, at a tenth of
 * the cost. Exact, and the same in any order.
 *
 * Of numbers with a sign bit above their magnitude `top` is the largest code as
 * a signed integer, at least 0: the largest value, where one is above 0. `low`
 * is the largest as an unsigned one: the least value, where one has its sign
 * set. All-zero bytes are empty. NaN and infinities are codes like others: who
 * has some asks stats/dims.h.
 */
struct tp_peaks {
    unsigned char *top, *low; /* [slices] codes, any alignment             */
};

/* Whether values of a dtype (of one real number) are of that kind. */
bool tp_peaks_apply(enum tp_dtype dtype);

/* Rows of codes, one after the other. */
struct tp_peak_rows {
    enum tp_isa isa;    /* whose loops; not unknown                        */
    size_t size;        /* bytes of a code: 1, 2, 4, 8                     */
    const void *codes;  /* native byte order, any alignment                */
    size_t rows, width; /* of each                                         */
};

/* Adds row i to slice i of `rows`, and column i to slice i of `columns`. */
void tp_peaks_add(const struct tp_peak_rows *added,
                  const struct tp_peaks *rows, const struct tp_peaks *columns);

/* Slice `at` of these, of codes of `size` bytes. */
struct tp_peaks tp_peaks_from(const struct tp_peaks *peaks, size_t size,
                              size_t at);

/* Adds n slices of `from` to those of `into`. */
void tp_peaks_merge(size_t size, const struct tp_peaks *into,
                    const struct tp_peaks *from, size_t n);

/* Adds all n of them to one slice. */
void tp_peaks_fold(size_t size, const struct tp_peaks *into,
                   const struct tp_peaks *from, size_t n);

/* The largest and the least values of n slices of a dtype; 0 for the largest
 * where none is above, for the least where none is below. */
void tp_peaks_values(enum tp_dtype dtype, const struct tp_peaks *peaks,
                     size_t n, double *max, double *min);

#endif
