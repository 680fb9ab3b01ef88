/* SPDX-License-Identifier: MIT */
/*
 * Two sums over the words of the bytes, each multiplied by an odd constant and
 * folded after every word, as the finishers of well-known hashes do. One of 64
 * bits would be the same for two of 10^9 files in three of a hundred runs; a
 * cryptographic one costs ten times as much and guards against nobody here.
 *
 * Cost: two multiplications for eight bytes.
 */
#include "base/digest.h"

#include <string.h>

void tp_digest_number(struct tp_digest *digest, uint64_t number)
{
    uint64_t a = digest->word[0] ^ number, b = digest->word[1] + number;
    a = (a + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    b = (b ^ 0xc2b2ae3d27d4eb4fu) * 0x94d049bb133111ebu;
    digest->word[0] = a ^ (a >> 31);
    digest->word[1] = b ^ (b >> 29);
}

void tp_digest_add(struct tp_digest *digest, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    uint64_t word;
    for (; size >= sizeof word; size -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        tp_digest_number(digest, word);
    }
    word = size; /* what is left, and how much */
    for (size_t i = 0; i < size; i++)
        word = word << 8 | at[i];
    tp_digest_number(digest, word);
}

void tp_digest_text(struct tp_digest *digest, const char *text)
{
    tp_digest_add(digest, text, strlen(text));
}

bool tp_digest_same(const struct tp_digest *a, const struct tp_digest *b)
{
    return a->word[0] == b->word[0] && a->word[1] == b->word[1];
}

int tp_digest_compare(const struct tp_digest *a, const struct tp_digest *b)
{
    const int i = a->word[0] == b->word[0];
    return (a->word[i] > b->word[i]) - (a->word[i] < b->word[i]);
}
