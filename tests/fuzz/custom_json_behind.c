/* SPDX-License-Identifier: MIT */
#include "mutate.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most,
                               unsigned int seed);

/* JSON behind a byte that says how it is read; every sixteenth time, both. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most,
                               unsigned int seed)
{
    uint64_t random = seed + (uint64_t)1;
    if (size < 2 || fuzz_random(&random) % 16 == 0)
        return fuzz_mutate_bytes(data, size, most);
    return 1 + fuzz_mutate_json(data + 1, size - 1, most - 1, &random);
}
