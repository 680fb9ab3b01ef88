/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include <string.h>

const char tp_hash_place = 0;

uint64_t tp_hash_bytes(const char *bytes, size_t length)
{
    uint64_t hash = tp_hash_next(tp_hash_begin(), length), word = 0;
    for (; length >= sizeof word; length -= sizeof word, bytes += sizeof word) {
        memcpy(&word, bytes, sizeof word);
        hash = tp_hash_next(hash, word);
    }
    word = 0;
    memcpy(&word, bytes, length);
    return tp_hash_end(tp_hash_next(hash, word));
}
