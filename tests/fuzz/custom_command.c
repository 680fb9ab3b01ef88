/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "mutate.h"

/* Of fuzz_command.c: a byte, then files of a name, three bytes of size, bytes.
 * One file is changed as what it looks like, and its size mended. */

enum { HEAD = 4, MOST_FILES = 24 };

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most,
                               unsigned int seed);

static size_t size_of(const uint8_t *head)
{
    return head[1] | (size_t)head[2] << 8 | (size_t)head[3] << 16;
}

/* Where the headers of files are. */
static size_t find_files(const uint8_t *data, size_t size, size_t *at)
{
    size_t count = 0, next = 1;
    while (count < MOST_FILES && size > next && size - next > HEAD) {
        at[count++] = next;
        next += HEAD + size_of(data + next);
    }
    return count;
}

static size_t change_file(uint8_t *file, size_t size, size_t most,
                          uint64_t *random)
{
    if (size > 4 && memcmp(file, "PK\3\4", 4) == 0)
        return fuzz_mutate_zip(file, size, most, random);
    if (size > 2 && file[0] == 0x80 && file[1] < 6)
        return fuzz_mutate_pickle(file, size, most, random);
    if (size > 1 && (file[0] == '{' || file[0] == '['))
        return fuzz_mutate_json(file, size, most, random);
    return fuzz_mutate_bytes(file, size, most);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most,
                               unsigned int seed)
{
    static uint8_t room[1 << 20];
    size_t at[MOST_FILES];
    uint64_t random = seed + (uint64_t)1;
    const size_t count = find_files(data, size, at);
    if (count == 0 || fuzz_random(&random) % 8 == 0)
        return fuzz_mutate_bytes(data, size, most);
    const size_t one = at[fuzz_random(&random) % count];
    const size_t start = one + HEAD;
    size_t old = size_of(data + one);
    if (old > size - start)
        old = size - start;
    const size_t behind = size - start - old;
    if (behind > sizeof room || most < size)
        return fuzz_mutate_bytes(data, size, most);
    memcpy(room, data + start + old, behind);
    size_t limit = most - start - behind;
    limit = limit < (1 << 24) - 1 ? limit : (1 << 24) - 1;
    const size_t made = change_file(data + start, old, limit, &random);
    memcpy(data + start + made, room, behind);
    for (int i = 0; i < 3; i++)
        data[one + 1 + (size_t)i] = (uint8_t)(made >> 8 * i);
    return start + made + behind;
}
