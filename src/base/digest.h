/* SPDX-License-Identifier: MIT */
#ifndef TP_BASE_DIGEST_H
#define TP_BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * 128 bits that tell bytes apart, by chance only equal for other bytes: not
 * made against who looks for such bytes. All-zero bytes are the digest of
 * nothing. The same on every machine for the same calls.
 */
struct tp_digest {
    uint64_t word[2];
};

/* Adds bytes, a number, or a text with its end. */
void tp_digest_add(struct tp_digest *digest, const void *bytes, size_t size);
void tp_digest_number(struct tp_digest *digest, uint64_t number);
void tp_digest_text(struct tp_digest *digest, const char *text);

/* Whether two are the same. */
bool tp_digest_same(const struct tp_digest *a, const struct tp_digest *b);

/* Orders digests, as strcmp does texts. */
int tp_digest_compare(const struct tp_digest *a, const struct tp_digest *b);

#endif
