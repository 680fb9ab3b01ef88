/* SPDX-License-Identifier: MIT */
#ifndef TP_TENSORS_CAST_PLAN_H
#define TP_TENSORS_CAST_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/memory.h"
#include "stats/quantize.h"

/*
 * Which casts a run simulates, and what is kept of them. A tensor's outcomes
 * are packed into a quarter of what they would fill, since most counts are zero
 * or those of the cast before, and thousands of tensors are kept.
 */

/* Every number format plain, and once more with a scale per tensor. */
enum { TP_QUANT_CASTS_MAX = 64 };

/* The formats of --formats when it is not given; "named" is the one that the
 * tensor's file names. */
#define TP_QUANT_FORMATS \
    "hif8,e4m3,e5m2,mxfp8_e4m3,mxfp8_e5m2,bf16,fp16,named"

/* What the user asks for. */
struct tp_quant_options {
    const char *formats;   /* ids joined by ','; "named"; "none"; NULL: the
                              default                                      */
    enum tp_rounding rounding;   /* of HiF8                                */
    enum tp_scale_rule mx_scale;
    enum tp_nonfinite nonfinite; /* what it makes of a block               */
    double min_sqnr;       /* dB, that a recommended format reaches        */
    double max_underflow;  /* ratio, that it does not exceed               */
};

/* One cast of the run. */
struct tp_quant_cast {
    struct tp_quant_spec spec;
    const char *format;   /* id of spec.number                             */
    const char *rule;     /* scale rule of MX formats, else ""             */
    const char *rounding; /* word of the rounding                          */
    bool listed;          /* of every tensor; else of those that name it   */
};

/* The casts of a run: plain ones, then those with a scale per tensor. A plan
 * without casts simulates nothing. */
struct tp_quant_plan {
    struct tp_quant_cast casts[TP_QUANT_CASTS_MAX];
    size_t count;
    size_t scaled; /* the first cast with a scale per tensor               */
    double min_sqnr, max_underflow;
};

/*
 * Fills in the plan. TP_E_USAGE with the known words for one that is not.
 */
enum tp_status tp_quant_plan_make(const struct tp_quant_options *options,
                                  struct tp_quant_plan *plan,
                                  struct tp_error *err);

/* The plain cast to this format, or plan->count; number may be NULL. */
size_t tp_quant_plan_find(const struct tp_quant_plan *plan,
                          const struct tp_number *number);

/* Most casts of one tensor that a scan tallies (tp_tally_applies). */
size_t tp_quant_plan_tallies(const struct tp_quant_plan *plan);

/* The casts of one tensor. */
struct tp_quant_choice {
    uint8_t cast[TP_QUANT_CASTS_MAX]; /* of the plan, ascending            */
    struct tp_quant_spec specs[TP_QUANT_CASTS_MAX];
    struct tp_quant_error errors[TP_QUANT_CASTS_MAX];
    size_t count;
};

/* Chooses the casts of a tensor of `dtype` judged against `target` (NULL:
 * none); `errors` become empty. */
void tp_quant_choose(const struct tp_quant_plan *plan, enum tp_dtype dtype,
                     const struct tp_number *target,
                     struct tp_quant_choice *choice);

/* Packs the errors into the arena: NULL when out of memory. */
const uint8_t *tp_quant_pack(const struct tp_quant_choice *choice,
                             struct tp_arena *arena);

/*
 * Unpacks the next cast's error of a row: from row->quant on first, then from
 * what the last call returned, to the error that it gave. NULL at the end; `at`
 * may be NULL.
 */
const uint8_t *tp_quant_next(const uint8_t *at, size_t *cast,
                             struct tp_quant_error *error);

/*
 * Bytes of the casts of a row that begin at `at`, in memory of `room` bytes; 0:
 * there are none that the functions here could take. *casts becomes at least
 * the number of each cast, and one.
 */
size_t tp_quant_bytes(const uint8_t *at, size_t room, size_t *casts);

/* Unpacks the error of one cast of those in row->quant, which may be NULL;
 * false when it is not there. */
bool tp_quant_unpack(const uint8_t *at, size_t cast,
                     struct tp_quant_error *error);

/* The metrics of it; false as above. */
bool tp_quant_unpack_metrics(const uint8_t *at, size_t cast,
                             struct tp_quant_metrics *metrics);

#endif
