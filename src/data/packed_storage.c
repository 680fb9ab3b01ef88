/* SPDX-License-Identifier: MIT */
/*
 * Elements of 4 and 6 bits as bytes: each code is looked up in a table of the
 * codes of float8_e4m3fn with the same value, so that everything that counts
 * codes of 8 bits counts these too. Counting the packed codes themselves would
 * need a path of its own in every statistic. Cost: one look into a table of 64
 * bytes for each element.
 */
#include "data/packed_storage.h"

#include <stddef.h>

#include "data/dtype_math.h"

enum { WINDOW = 3 << 12 }; /* bytes read together; of 4 and 6 bits, whole */

struct packed_storage {
    struct tp_storage base;
    const struct tp_storage *bytes;
    unsigned bits;
    unsigned char wide[64]; /* the byte of each code */
};

/* Widens `count` elements that begin at the bit `at` of `window`. */
static void widen(const struct packed_storage *p, const unsigned char *window,
                  size_t at, unsigned char *to, size_t count)
{
    const unsigned mask = (1u << p->bits) - 1;
    for (size_t i = 0; i < count; i++, at += p->bits) {
        unsigned pair = window[at / 8];
        if (at % 8 + p->bits > 8)
            pair |= (unsigned)window[at / 8 + 1] << 8;
        to[i] = p->wide[pair >> (at % 8) & mask];
    }
}

static enum tp_status packed_read(const struct tp_storage *storage,
                                  uint64_t offset, void *buffer, size_t length,
                                  struct tp_error *err)
{
    const struct packed_storage *p = (const struct packed_storage *)storage;
    unsigned char window[WINDOW + 1], *to = buffer;
    const size_t most = (size_t)WINDOW * 8 / p->bits - 8;
    while (length > 0) {
        const size_t count = length < most ? length : most;
        const uint64_t bit = offset * p->bits;
        const uint64_t end = bit + (uint64_t)count * p->bits;
        enum tp_status status =
            p->bytes->read(p->bytes, bit / 8, window,
                           (size_t)((end + 7) / 8 - bit / 8), err);
        if (status != TP_OK)
            return status;
        widen(p, window, (size_t)(bit % 8), to, count);
        to += count;
        offset += count;
        length -= count;
    }
    return TP_OK;
}

/* The code of float8_e4m3fn that has the value of a code of the layout. */
static unsigned char wide_code(const struct tp_layout *layout, unsigned bits,
                               unsigned code)
{
    const unsigned sign = 1u << (bits - 1);
    const double value = tp_small_value(code & (sign - 1), layout);
    unsigned char wide = 0;
    while (tp_code_value(TP_FLOAT8_E4M3FN, wide) != value)
        wide++;
    return (unsigned char)(wide | (code & sign ? 0x80 : 0));
}

struct tp_storage *tp_packed_storage_new(struct tp_arena *arena,
                                         const struct tp_storage *bytes,
                                         enum tp_dtype dtype)
{
    /* of the formats of the Open Compute Project's MX */
    const struct tp_layout e3m2 = {3, 2, 3, TP_SPECIALS_NONE};
    const struct tp_layout e2m3 = {2, 3, 1, TP_SPECIALS_NONE};
    const struct tp_layout e2m1 = {2, 1, 1, TP_SPECIALS_NONE};
    const struct tp_layout *layout = dtype == TP_FLOAT6_E3M2FN   ? &e3m2
                                     : dtype == TP_FLOAT6_E2M3FN ? &e2m3
                                                                 : &e2m1;
    struct packed_storage *p = tp_arena_alloc(arena, sizeof *p);
    if (!p)
        return NULL;
    p->bits = tp_dtype_info(dtype)->packed;
    p->base.read = packed_read;
    p->base.size = bytes->size * 8 / p->bits;
    p->base.file_offset = bytes->file_offset;
    p->bytes = bytes;
    for (unsigned code = 0; code < 1u << p->bits; code++)
        p->wide[code] = wide_code(layout, p->bits, code);
    return &p->base;
}
