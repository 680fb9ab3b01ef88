/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_MUTATE_H
#define TP_TESTS_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Mutators that keep what a reader checks first: each changes one part of an
 * input and mends lengths, checksums and brackets around it. They are linked
 * with libFuzzer only, whose own mutator they call for bytes. Each changes the
 * `size` bytes of data in place, up to `most`, and returns the new size.
 */
uint64_t fuzz_random(uint64_t *state);
size_t fuzz_mutate_bytes(uint8_t *data, size_t size, size_t most);
size_t fuzz_mutate_pickle(uint8_t *data, size_t size, size_t most,
                          uint64_t *random);
size_t fuzz_mutate_zip(uint8_t *data, size_t size, size_t most,
                       uint64_t *random);
size_t fuzz_mutate_json(uint8_t *data, size_t size, size_t most,
                        uint64_t *random);

/*
 * Replaces data[at, at + old) by `length` bytes, moving what stands behind.
 * Returns the new size; the old one, with nothing changed, where it would
 * exceed `most`.
 */
size_t fuzz_splice(uint8_t *data, size_t size, size_t most, size_t at,
                   size_t old, const uint8_t *with, size_t length);

#endif
