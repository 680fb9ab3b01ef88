/* SPDX-License-Identifier: MIT */
#include "mutate.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most,
                               unsigned int seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most,
                               unsigned int seed)
{
    uint64_t random = seed + (uint64_t)1;
    return fuzz_mutate_json(data, size, most, &random);
}
