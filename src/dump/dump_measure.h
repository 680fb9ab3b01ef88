/* SPDX-License-Identifier: MIT */
#ifndef TP_DUMP_DUMP_MEASURE_H
#define TP_DUMP_DUMP_MEASURE_H

#include "data/tensor.h"
#include "scan/pass.h"

/*
 * What msprobe keeps of a tensor, recomputed from its file: statistics of the
 * values (of complex ones of their magnitudes) and checksums of the bytes in
 * logical order.
 */

/* What is to be computed besides what tells whether a file is whole. */
struct tp_dump_wanted {
    bool statistics;
    bool words; /* the xor                                                 */
    bool wide;  /* the CRC-32 of bf16 values as float32                    */
};

struct tp_dump_measure {
    uint64_t values; /* elements, all of them                              */
    uint64_t nan, pos_inf, neg_inf;
    double max, min; /* of all but NaN; NaN without any                    */
    double mean, mean_abs, norm; /* of the finite; NaN without any         */
    bool has_crc; /* no: the tensor repeats its storage too often          */
    uint32_t crc, wide_crc; /* CRC-32                                      */
    uint64_t xor_words; /* of 64 bits, the last one filled with zeros      */
};

/*
 * Reads a tensor, once unless it is a view of a part of its storage or in
 * another order, and checks the storage's own CRC-32. Called from a task of the
 * readers' pool as `worker`. TP_E_DAMAGED: the storage is too short, or its
 * CRC-32 another one; TP_E_IO, TP_E_MEMORY, TP_E_INTERRUPTED. What does not
 * round depends on nothing but the tensor.
 */
enum tp_status tp_dump_measure(struct tp_readers *readers, unsigned worker,
                               const struct tp_tensor *tensor,
                               const struct tp_dump_wanted *wanted,
                               struct tp_dump_measure *measure,
                               struct tp_error *err);

#endif
