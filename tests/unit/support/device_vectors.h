/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_DEVICE_VECTORS_H
#define TP_TESTS_DEVICE_VECTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/unit/support/device_scan.h"

/*
 * Tensors of the number format vectors, scanned with the emulated device and
 * without: that both give the same bits, and the numbers the vectors give.
 */

/* --- scans with and without ----------------------------------------------- */

struct bench {
    struct tp_pool *pool;
    struct tp_scanner *host, *device;
    struct tp_device_session *session;
    uint64_t launches; /* of the last scan                                 */
    size_t scans;
};

/* What compare found last: of the host, and of the device. */
extern struct answer here, there;

/* Opens the emulated device; the end asserts that it was used and sound. */
void bench_begin(struct bench *bench);
void bench_end(struct bench *bench);

/* Fills `here` and `there`; the device has worked, and they are the same. */
void compare(struct bench *bench, struct tp_tensor *tensor,
             const struct tp_scan_request *request, const char *what);

/* --- tensors of vectors --------------------------------------------------- */

enum {
    MOST = 1 << 16, /* codes of a content                            */
    LEAST = 32768,  /* the host counts tensors up to here            */
    ROOM = MOST + LEAST
};

/* Codes and their values: given, by IEEE 754, or computed by the compiler. */
struct content {
    char name[64];
    enum tp_dtype dtype;
    size_t n;
    uint32_t code[MOST];
    double value[MOST]; /* TP_FLOAT64: the code itself                      */
};

/* Makes it empty. */
void content_begin(struct content *c, enum tp_dtype dtype, const char *name);

/* Adds a code; a binary32 one. */
void content_add(struct content *c, uint32_t code, double value);
void add_float(struct content *c, uint32_t bits);

/* IEEE 754 section 3.4: a sign, `width` bits of exponent, the fraction. */
double ieee_value(uint32_t code, int bits, int width);

/* How contents are laid out: rows of `columns` codes, more than LEAST in all
 * (or columns of so many); and the tensor that shows them as asked. */
enum layout { ROWS, DOWN, DOWN_TURNED };
struct laid {
    struct memory memory;
    struct tp_tensor tensor;
    size_t rows, columns, count;
};

/* Columns of contents without blocks, and with. */
enum { ODD_COLUMNS = 211, BLOCK_COLUMNS = 96 };

/* Repeats the codes until a device is left to count them, in a prime number of
 * rows of `columns`. The caller frees laid->memory.bytes. */
void lay_out(const struct content *c, size_t columns, enum layout layout,
             struct laid *laid);

/* --- what is known of them ------------------------------------------------ */

/* Counts, extrema, bins, quantiles and sums of the last scan, which was of
 * `count` values of the content. */
void check_values(const struct content *c, size_t count);

enum { KNOWS_OVERFLOW = 1, KNOWS_SMALL = 2, KNOWS_RESULT = 4 };

/* By the vectors: what each value of a content becomes, whether that is an
 * overflow, and the least that would be normal. */
struct fates {
    unsigned known;
    double q[MOST], normal[MOST];
    bool over[MOST];
    size_t block;              /* values in a block; 1: there are none     */
    unsigned scale[MOST / 16]; /* bytes of the blocks                      */
};

/* Sets those of value i. */
void fates_add(struct fates *f, size_t i, double q, double normal, bool over);

/* What the last scan counted for its target; and for one of its casts. */
void check_target(const struct content *c, const struct fates *f, size_t count);
void check_cast(const struct content *c, const struct fates *f, size_t spec,
                size_t count);

#endif
