/* SPDX-License-Identifier: MIT */
#ifndef TP_DATA_NUMBER_H
#define TP_DATA_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "data/dtype.h"

/*
 * Number formats: what a quantiser would turn a value into. One row each;
 * everything else about a format (its overflow threshold, what it flushes to
 * zero) is derived from the row.
 *
 * Values are (-1)^s * 2^e * (1 + m / 2^(p-1)) for e in emin .. emax with p
 * significand bits, and below 2^emin the subnormals, multiples of
 * 2^(emin - p + 1). HiF8 tapers: p depends on e, see tp_number_precision.
 */
enum tp_number_kind {
    TP_NUMBER_ELEMENT, /* each value is rounded on its own               */
    TP_NUMBER_MX,      /* block of 32 with an E8M0 scale                 */
    TP_NUMBER_NVFP4    /* block of 16, E4M3 scale, binary32 tensor scale */
};

/* How a value becomes one of a format. */
enum tp_rounding {
    /* Nearest, ties to even; HiF8: ties away from zero. Overflow becomes
     * infinity, or NaN without one; what has neither, and the elements of
     * block formats, saturate.                                            */
    TP_ROUND_DEFAULT,
    /* The same, but overflow and infinity become the largest finite value
     * (and NaN becomes 0 in HiF8, as its hardware does it).               */
    TP_ROUND_SATURATE,
    TP_ROUND_EVEN,  /* HiF8 only, for comparison: ties to even             */
    TP_ROUND_HYBRID, /* HiF8 only: ties away where 3 fraction bits are kept,
                       else up or down as low bits of the value decide     */
    TP_ROUND_COUNT
};

struct tp_number {
    const char *id;   /* "e4m3", "mxfp8_e4m3", ... (see list dtypes) */
    const char *help; /* one line for `list dtypes`                   */
    enum tp_number_kind kind;
    const char *element; /* id of the element format; own id if ELEMENT  */
    int block;           /* elements in a block; 1 for ELEMENT           */
    int bits;            /* of one element                               */
    int precision;       /* significand bits p (HiF8: the widest)        */
    int emin;            /* exponent of the smallest normal value        */
    double max;          /* largest finite value of an element           */
    double min_normal;
    double min_subnormal; /* smallest positive value                      */
    bool has_inf;         /* overflow becomes Inf (else NaN or saturates) */
    bool ties_away;       /* HiF8; all others round ties to even          */
};

/* The rows, ended by a row whose id is NULL. */
extern const struct tp_number tp_number_formats[];

/* What MX blocks store their scale in. Not among the rows: nobody quantises
 * elements to it. */
extern const struct tp_number tp_number_e8m0;

/* The row with this id, or NULL. */
const struct tp_number *tp_number_by_id(const char *id);

/* Whether the format is one of the rows: something values are cast to. */
bool tp_number_is_listed(const struct tp_number *number);

/*
 * The format a tensor_saver quant_type means (hifp8 ->
 * hif8, mxfp8 -> mxfp8_e4m3, ...), or NULL when the word is unknown. Ids
 * themselves are accepted.
 */
const struct tp_number *tp_number_by_quant_type(const char *quant_type);

/*
 * The format equal to a floating dtype, so that a tensor without a quant_type
 * is judged against what it is stored in; NULL for integers, complex dtypes
 * and E8M0. float32 and float64 have rows of their own, not in the table.
 */
const struct tp_number *tp_number_by_dtype(enum tp_dtype dtype);

/*
 * The thresholds on |x| that sort a value into its fate, in units of the
 * scale for block formats. Each is a finite double; `_at` says whether the
 * threshold itself belongs to the class.
 */
struct tp_thresholds {
    double overflow; /* |x| > this (>= if overflow_at) overflows      */
    bool overflow_at;
    double zero; /* x != 0 and |x| < this (<= if zero_at) gives 0 */
    bool zero_at;
    double subnormal; /* x != 0 and |x| < this rounds below min_normal;
                         the tie itself is never below                 */
};

/*
 * Derives the thresholds. Elementwise: after rounding
 * (e4m3 > 464, e5m2 >= 61440, hif8 >= 40960, fp16 >= 65520). Block formats:
 * of the scaled element, overflow is |x| > max, before rounding.
 */
void tp_number_thresholds(const struct tp_number *number,
                          struct tp_thresholds *thresholds);

/*
 * Significand bits of the format at binade e (|x| in [2^e, 2^(e+1))); the
 * step between neighbours there is 2^(e - bits + 1). One less per binade
 * below emin, down to 0 and less beneath min_subnormal.
 */
int tp_number_precision(const struct tp_number *number, int e);

/*
 * The value of the (element) format nearest to x, with the format's default
 * rounding. Overflow gives +-Inf for elementwise formats, whether or not the
 * format has one, and +-max for the elements of block formats; NaN stays NaN,
 * and zeros keep the sign of x. Exact for every finite double.
 */
double tp_number_round(const struct tp_number *number, double x);

#endif
