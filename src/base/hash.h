/* SPDX-License-Identifier: MIT */
#ifndef TP_BASE_HASH_H
#define TP_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/*
 * Hashes for tables whose keys come out of a file. Who wrote it could choose
 * keys that share a slot and make of the table a list that each search walks
 * along, if hashes were known: they depend on a secret, another in each run.
 * So they are never part of a result, and nothing goes through a table in the
 * order of its slots.
 *
 * Method: each word comes in by a multiplication with the secret whose upper
 * half is folded onto the lower one, as wyhash does, since lower bits alone
 * would only ever depend on lower ones. The secret is the address of a
 * constant: the system puts a program anywhere within 2^28 pages or more
 * (x86-64, AArch64).
 * Alternative: SipHash, whose secret keeps even if hashes are seen, for twice
 * the time; nobody sees these.
 * Cost: a multiplication for eight bytes, and two.
 */

extern const char tp_hash_place;

/* Odd; 2^64 over the golden ratio carries what is random in an address into all
 * bits. */
static inline uint64_t tp_hash_secret(void)
{
    return (uint64_t)(uintptr_t)&tp_hash_place * UINT64_C(0x9e3779b97f4a7c15) |
           1;
}

/* The halves of a * b, one over the other. */
static inline uint64_t tp_hash_fold(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
    __extension__ const unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    const uint64_t low = UINT32_MAX, a0 = a & low, a1 = a >> 32;
    const uint64_t b0 = b & low, b1 = b >> 32;
    const uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
    const uint64_t other = a0 * b1 + (middle & low);
    return (a * b) ^ (a1 * b1 + (middle >> 32) + (other >> 32));
#endif
}

/* Of what has the hash `before`, and a number behind it. tp_hash_end has to be
 * the end of it, since products with one factor lie in a row. */
static inline uint64_t tp_hash_next(uint64_t before, uint64_t number)
{
    return tp_hash_fold(before ^ number, tp_hash_secret());
}

static inline uint64_t tp_hash_end(uint64_t hash)
{
    return tp_hash_fold(hash, tp_hash_secret());
}

/* Before anything. */
static inline uint64_t tp_hash_begin(void)
{
    const uint64_t secret = tp_hash_secret();
    return secret >> 32 | secret << 32;
}

static inline uint64_t tp_hash_number(uint64_t number)
{
    return tp_hash_end(tp_hash_next(tp_hash_begin(), number));
}

/* Of so many bytes. */
uint64_t tp_hash_bytes(const char *bytes, size_t length);

#endif
