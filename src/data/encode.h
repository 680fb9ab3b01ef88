/* SPDX-License-Identifier: MIT */
#ifndef TP_DATA_ENCODE_H
#define TP_DATA_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "data/dtype.h"
#include "data/number.h"

/*
 * Values to the codes of a number format and back, to the last bit. A code
 * is the number's bit pattern in the low `bits` bits. For a block format the
 * functions below mean one element, in units of its scale.
 *
 * NaN codes: e4m3 sign|7f, e5m2 sign|7e, bf16 sign|7fc0, fp16 sign|7e00,
 * hif8 and the fnuz formats 80. e3m2, e2m3 and e2m1 have no NaN (nor
 * infinity): it becomes the largest magnitude with its sign.
 */

/* The words of HiF8, which has all: "ta", "ta_sat", "te", "hybrid", then
 * NULL. */
extern const char *const tp_rounding_words[];

/* The word for tables: "rne" or "rne_sat", or one of HiF8. */
const char *tp_rounding_name(const struct tp_number *number,
                             enum tp_rounding rounding);

/* The code of x. Exact for every double. TP_ROUND_HYBRID: as if x came from
 * a binary32; use tp_number_encode_hybrid for other sources. */
unsigned tp_number_encode(const struct tp_number *number,
                          enum tp_rounding rounding, double x);

/* The value of a code; NaN and infinities where the format has them. */
double tp_number_decode(const struct tp_number *number, unsigned code);

/*
 * Codes of n binary32 values given as bits; one result each. Written so that
 * compilers vectorise it. `rounding` is not TP_ROUND_HYBRID.
 */
void tp_number_encode_f32(const struct tp_number *number,
                          enum tp_rounding rounding, const uint32_t *bits,
                          size_t n, uint16_t *codes);

/*
 * HiF8 hybrid rounding of one code of `source`: TP_FLOAT32, TP_FLOAT16 or
 * TP_BFLOAT16. The rule looks at the low bits of the source, so the same
 * value may round differently from different sources.
 */
unsigned tp_hif8_encode_hybrid(enum tp_dtype source, uint32_t bits);

/* The same as a value, of the source's value times 2^scale; the low bits are
 * still those of the source. */
double tp_hif8_round_hybrid(enum tp_dtype source, uint32_t bits, int scale);

/*
 * E8M0, the scale of MX blocks: byte b means 2^(b - 127), ff is NaN; there is
 * no zero and no sign. `byte` clamps the exponent to -127 .. 127.
 */
double tp_e8m0_value(unsigned byte);
unsigned tp_e8m0_byte(int exponent);

#endif
