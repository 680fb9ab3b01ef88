/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "mutate.h"

enum { LENGTH = 8 };

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most,
                               unsigned int seed);

/* JSON behind eight bytes of its length, which are mended, and values behind
 * it; every eighth time, bytes. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most,
                               unsigned int seed)
{
    uint64_t random = seed + (uint64_t)1, length = 0;
    for (size_t i = 0; i < LENGTH && size > LENGTH; i++)
        length |= (uint64_t)data[i] << 8 * i;
    if (size <= LENGTH || length == 0 || length > size - LENGTH ||
        fuzz_random(&random) % 8 == 0)
        return fuzz_mutate_bytes(data, size, most);
    const size_t behind = size - LENGTH - (size_t)length;
    uint8_t values[1 << 12];
    if (behind > sizeof values || most < size)
        return fuzz_mutate_bytes(data, size, most);
    memcpy(values, data + LENGTH + length, behind);
    length = fuzz_mutate_json(data + LENGTH, (size_t)length,
                              most - LENGTH - behind, &random);
    memcpy(data + LENGTH + length, values, behind);
    for (size_t i = 0; i < LENGTH; i++)
        data[i] = (uint8_t)(length >> 8 * i);
    return LENGTH + (size_t)length + behind;
}
