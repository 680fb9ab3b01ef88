/* SPDX-License-Identifier: MIT */
#ifndef TP_TENSORS_CLAIMS_H
#define TP_TENSORS_CLAIMS_H

#include "base/world.h"
#include "data/tensor.h"
#include "tensors/record.h"

/*
 * What the processes of a world claim one after the other: files, the largest
 * first, and of a large one a part of its tensors at a time, so that who is
 * busy in it does not hold back the others.
 */
struct tp_claim {
    size_t file;        /* among the files of the run                      */
    size_t part, parts; /* which of how many; 0 of 1: all of it            */
};

struct tp_claims {
    struct tp_claim *items;
    size_t count;
};

/* A part of a file is no smaller: to open it again has to cost little of what
 * reading the part does. */
#define TP_CLAIM_BYTES ((uint64_t)64 << 20)

/*
 * Makes the claims by what there is to read of each file, in bytes, which rank
 * 0 says: the others' numbers are replaced. A part has at least `least` bytes.
 * TP_E_MEMORY, or as the world's.
 */
enum tp_status tp_claims_make(const struct tp_world *world, uint64_t *weights,
                              size_t count, uint64_t least,
                              struct tp_claims *claims, struct tp_error *err);

/* Releases them; none afterwards. */
void tp_claims_clear(struct tp_claims *claims);

/* The tensors of a claim, among those of its file: neighbours, in parts of
 * equal bytes as far as these go. */
void tp_claim_range(const struct tp_claim *claim,
                    const struct tp_tensor *tensors, size_t count,
                    size_t *first, size_t *end);

/* Makes the record of each file of which there are parts, as reading all of it
 * would have. TP_E_MEMORY; TP_E_IO where a part is not there. */
enum tp_status tp_claims_join(struct tp_records *records, struct tp_error *err);

#endif
