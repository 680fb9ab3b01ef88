/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_FUZZ_H
#define TP_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/*
 * What the fuzz targets share. A target is a file with one function,
 * LLVMFuzzerTestOneInput; it is linked with libFuzzer to find inputs and with
 * replay.c to run known ones.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * A copy of the input that ends where memory ends: a read beyond it faults,
 * whatever was compiled with a sanitizer. Release with fuzz_guard_free.
 */
struct fuzz_guard {
    unsigned char *data;
    void *map;
    size_t map_size;
};
struct fuzz_guard fuzz_guard_copy(const uint8_t *data, size_t size);
void fuzz_guard_free(struct fuzz_guard *guard);

/*
 * Opens the input as a file, reads the values of every tensor up to a bound,
 * and closes it; inputs for which another format than `format` bids highest
 * are left alone. Aborts where a promise of formats/reader.h is broken.
 * Returns 0, the only value that all versions of libFuzzer take.
 */
int fuzz_tensor_file(const char *format, const uint8_t *data, size_t size);

/* Aborts, naming the promise, unless it holds. */
void fuzz_need(int holds, const char *promise);

#endif
