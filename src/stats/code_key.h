/* SPDX-License-Identifier: MIT */
#ifndef TP_STATS_CODE_KEY_H
#define TP_STATS_CODE_KEY_H

#include <stddef.h>
#include <stdint.h>

#include "base/host_device.h"
#include "data/dtype.h"

/* A run of codes in memory: native byte order, any alignment; borrowed. */
struct tp_span {
    enum tp_dtype dtype; /* of one real number, not complex */
    const void *codes;
    size_t n;
};

/*
 * Order-preserving keys: unsigned integers that compare as the values of the
 * codes do. Floating codes are sign and magnitude (-0 sorts just below +0,
 * NaN of either sign outside everything), signed integers two's complement.
 */
enum tp_code_order { TP_ORDER_UNSIGNED, TP_ORDER_SIGNED, TP_ORDER_FLOAT };

/* The order of a dtype's real numbers. */
static inline enum tp_code_order tp_code_order_of(enum tp_dtype dtype)
{
    switch (dtype) {
    case TP_UINT8:
    case TP_UINT16:
    case TP_UINT32:
    case TP_UINT64:
    case TP_BOOL:
    case TP_FLOAT8_E8M0FNU: /* an exponent without a sign */
        return TP_ORDER_UNSIGNED;
    case TP_INT8:
    case TP_INT16:
    case TP_INT32:
    case TP_INT64:
        return TP_ORDER_SIGNED;
    default:
        return TP_ORDER_FLOAT;
    }
}

/* Key of a code of `bits` bits, and back; without branches on the sign, which
 * no processor can predict. */
TP_HOST_DEVICE static inline uint64_t tp_code_key(enum tp_code_order order,
                                                  int bits, uint64_t code)
{
    uint64_t sign = (uint64_t)1 << (bits - 1);
    if (order == TP_ORDER_UNSIGNED)
        return code;
    if (order == TP_ORDER_SIGNED)
        return code ^ sign;
    uint64_t negative = 0 - (code >> (bits - 1)); /* all ones or zero */
    return code ^ (sign | (negative & (sign - 1)));
}

static inline uint64_t tp_code_of_key(enum tp_code_order order, int bits,
                                      uint64_t key)
{
    uint64_t sign = (uint64_t)1 << (bits - 1);
    if (order == TP_ORDER_UNSIGNED)
        return key;
    if (order == TP_ORDER_SIGNED)
        return key ^ sign;
    uint64_t negative = (key >> (bits - 1)) - 1;
    return key ^ (sign | (negative & (sign - 1)));
}

#endif
