/* SPDX-License-Identifier: MIT */
#include "mutate.h"

#include <string.h>

/* libFuzzer's own mutator. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

/* Marsaglia's xorshift64: a chain for one seed of libFuzzer. */
uint64_t fuzz_random(uint64_t *state)
{
    uint64_t x = *state ? *state : 88172645463325252U;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

size_t fuzz_mutate_bytes(uint8_t *data, size_t size, size_t most)
{
    return LLVMFuzzerMutate(data, size, most);
}

size_t fuzz_splice(uint8_t *data, size_t size, size_t most, size_t at,
                   size_t old, const uint8_t *with, size_t length)
{
    if (size - old + length > most)
        return size;
    memmove(data + at + length, data + at + old, size - at - old);
    if (length)
        memcpy(data + at, with, length);
    return size - old + length;
}
