/* SPDX-License-Identifier: MIT */
#ifndef TP_COMPARE_CONTENT_DIGEST_H
#define TP_COMPARE_CONTENT_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/dtype.h"

/*
 * What a tensor holds, in a few numbers that can be added: those of a whole are
 * the sums of those of its parts, whichever way it was cut.
 */
struct tp_content_digest {
    uint64_t order;  /* of the elements in row-major order                 */
    uint64_t bag[2]; /* of the elements, whatever their order              */
};

/* Whether elements of one dtype can be told in another: the same one, or
 * float64 and float32 rounded to nearest, ties to even, to one that is shorter
 * and float32, float16 or bfloat16. */
bool tp_content_casts(enum tp_dtype from, enum tp_dtype to);

/*
 * Codes of `n` real numbers (native byte order) in `to`, which tp_content_casts
 * allows. Codes are equal where values are, as 0 and -0; of floats with 16 bits
 * and more all NaN have one code. Others go by their bits. float64 goes to 16
 * bits by way of float32, as torch does it.
 */
void tp_content_codes(enum tp_dtype from, enum tp_dtype to, const void *codes,
                      size_t n, uint64_t *canonical);

/* Adds `n` such codes, the first of which is number `first` of its tensor. */
void tp_content_digest_add(const uint64_t *canonical, size_t n, uint64_t first,
                           struct tp_content_digest *digest);

/* Adds one digest to another. */
void tp_content_digest_merge(struct tp_content_digest *digest,
                             const struct tp_content_digest *more);

#endif
