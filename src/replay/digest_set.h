/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_DIGEST_SET_H
#define TP_REPLAY_DIGEST_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Digests of what calls have made: 16 bytes each. All-zero is empty; 0 is no
 * digest. */
struct tp_digest_set {
    uint64_t *slots; /* open addressing, a power of two                     */
    size_t count, capacity;
};

/* Adds one, unless it is in. TP_E_MEMORY. */
enum tp_status tp_digest_set_add(struct tp_digest_set *set, uint64_t digest,
                                 struct tp_error *err);

/* Whether it was added. */
bool tp_digest_set_has(const struct tp_digest_set *set, uint64_t digest);

/* Releases it; empty afterwards. */
void tp_digest_set_clear(struct tp_digest_set *set);

#endif
