/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

enum { SLOTS = 4096 };

/* Chance leaves e^-1 of the slots free when there are as many keys, and numbers
 * in a row may lie evener: a hash that sent some keys to few slots would make
 * each search a walk. */
static void expect_spread(const uint64_t *hashes, int bits)
{
    static size_t members[SLOTS];
    size_t empty = 0;
    memset(members, 0, sizeof members);
    for (size_t i = 0; i < SLOTS; i++)
        members[(hashes[i] >> bits) % SLOTS]++;
    for (size_t i = 0; i < SLOTS; i++)
        empty += members[i] == 0;
    cr_expect_lt(empty, SLOTS * 45 / 100, "%zu slots stay empty", empty);
}

Test(hash, texts_that_begin_alike_are_spread)
{
    uint64_t hashes[SLOTS];
    char text[40];
    for (int i = 0; i < SLOTS; i++) { /* of all lengths about a word */
        sprintf(text, "%.*sFunctional.%d.forward", i % 9, "aaaaaaaa", i);
        hashes[i] = tp_hash_bytes(text, strlen(text));
    }
    expect_spread(hashes, 0);
}

/* What differs in the highest bit of a word only differs there in any product
 * with an odd number, and the next word can take it back. Without the upper
 * half of the product, whatever the secret, all these texts have one hash. */
Test(hash, texts_that_cancel_themselves_are_spread)
{
    uint64_t hashes[SLOTS];
    for (size_t i = 0; i < SLOTS; i++) {
        uint64_t words[24];
        for (size_t k = 0; k < 24; k++) {
            const uint64_t change = i >> k / 2 & 1;
            words[k] = UINT64_C(0x6161616161616161) ^ change << 63 ^
                       (k % 2 ? change << 31 : 0);
        }
        hashes[i] = tp_hash_bytes((const char *)words, sizeof words);
    }
    expect_spread(hashes, 0);
}

/* Numbers that differ in any bits, as slots by lower or by upper bits. */
Test(hash, numbers_are_spread)
{
    uint64_t hashes[SLOTS];
    for (int shift = 0; shift <= 52; shift += 4) {
        for (uint64_t i = 0; i < SLOTS; i++)
            hashes[i] = tp_hash_number(i << shift);
        expect_spread(hashes, 0);
        expect_spread(hashes, 32);
        for (uint64_t i = 0; i < SLOTS; i++)
            hashes[i] = tp_hash_end(
                tp_hash_next(tp_hash_next(tp_hash_begin(), i << shift), 7));
        expect_spread(hashes, 0);
    }
}

Test(hash, products_are_folded)
{
    cr_expect_eq(tp_hash_fold(0, 5), 0);
    cr_expect_eq(tp_hash_fold(UINT64_MAX, 1), UINT64_MAX);
    /* (2^64 - 1)^2 = (2^64 - 2) 2^64 + 1 */
    cr_expect_eq(tp_hash_fold(UINT64_MAX, UINT64_MAX), (UINT64_MAX - 1) ^ 1);
    /* 0x1'0000'0001 * 0x3'0000'0002 = 3 * 2^64 + 5 * 2^32 + 2 */
    cr_expect_eq(tp_hash_fold(UINT64_C(0x100000001), UINT64_C(0x300000002)),
                 (UINT64_C(5) << 32 | 2) ^ 3);
    cr_expect_eq(tp_hash_secret() & 1, 1);
}
