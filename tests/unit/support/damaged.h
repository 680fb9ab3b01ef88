/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_SUPPORT_DAMAGED_H
#define TP_TESTS_SUPPORT_DAMAGED_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "damage/damage_shape.h"

/* Tensors in memory with damage planted in them, and what is found of it. */

static inline uint64_t damaged_noise(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* A healthy tensor and its copy. */
struct damaged {
    enum tp_dtype dtype;
    int ndim;
    int64_t shape[4];
    int64_t numel;
    size_t size;
    unsigned char *x, *y;
    uint64_t noise;
};

/* Any finite code but zero. */
static inline uint64_t damaged_code(struct damaged *d)
{
    struct tp_damage_codes codes;
    tp_damage_codes_make(d->dtype, 0, &codes);
    for (;;) {
        const uint64_t code =
            damaged_noise(&d->noise) & (UINT64_MAX >> (64 - 8 * d->size));
        if (tp_damage_kind_of(&codes, code) == 0)
            return code;
    }
}

static inline void damaged_set(struct damaged *d, int64_t i, uint64_t code)
{
    for (size_t k = 0; k < d->size; k++) /* little endian */
        d->y[(size_t)i * d->size + k] = (unsigned char)(code >> (8 * k));
}

static inline uint64_t damaged_get(const struct damaged *d, int64_t i)
{
    const struct tp_span span = {d->dtype, d->x, (size_t)d->numel};
    return tp_damage_code_at(&span, (unsigned)d->size, (size_t)i);
}

/* To be freed with damaged_free. Shape: ends at the first 0. */
static inline struct damaged damaged_new(enum tp_dtype dtype,
                                         const int64_t shape[4])
{
    struct damaged d = {.dtype = dtype,
                        .numel = 1,
                        .size = tp_dtype_info(dtype)->size,
                        .noise = 0x9e3779b97f4a7c15};
    for (; d.ndim < 4 && shape[d.ndim]; d.ndim++) {
        d.shape[d.ndim] = shape[d.ndim];
        d.numel *= shape[d.ndim];
    }
    d.x = malloc((size_t)d.numel * d.size);
    d.y = malloc((size_t)d.numel * d.size);
    cr_assert(d.x && d.y);
    for (int64_t i = 0; i < d.numel && i < 4099; i++)
        damaged_set(&d, i, damaged_code(&d));
    for (int64_t i = 4099; i < d.numel; i++)
        memcpy(d.y + (size_t)i * d.size, d.y + (size_t)(i - 4099) * d.size,
               d.size);
    memcpy(d.x, d.y, (size_t)d.numel * d.size);
    return d;
}

static inline void damaged_free(struct damaged *d)
{
    free(d->x);
    free(d->y);
}

/* Makes an element another value, by more than its last bits. */
static inline void damaged_spoil(struct damaged *d, int64_t i)
{
    uint64_t code;
    do
        code = damaged_code(d);
    while (code == damaged_get(d, i));
    damaged_set(d, i, code);
}

/* A code of a kind; of several the first that the dtype has. */
static inline uint64_t damaged_kind(const struct damaged *d, unsigned kind)
{
    struct tp_damage_codes codes;
    tp_damage_codes_make(d->dtype, 0, &codes);
    const uint64_t all = UINT64_MAX >> (64 - 8 * d->size);
    for (uint64_t high = 0; high < 65536; high++) {
        const uint64_t code =
            d->size > 2 ? high << (8 * (d->size - 2)) : high & all;
        if (tp_damage_kind_of(&codes, code) & kind)
            return code;
    }
    cr_assert_fail("this dtype has none");
    return 0;
}

/* What is found; the plan is kept for the words. */
struct damaged_found {
    struct tp_damage_plan plan;
    struct tp_damage damage;
    struct tp_damage_shape shape;
};

/* Adds y, or what of it differs from x if `kinds` is 0, in pieces of random
 * lengths, each added or merged. */
static inline void damaged_find(struct damaged *d, unsigned kinds,
                                const struct tp_label *label,
                                struct damaged_found *found)
{
    struct tp_damage_view view;
    tp_damage_view_plain(d->ndim, d->shape, &view);
    memset(found, 0, sizeof *found);
    tp_damage_plan_make(d->dtype, kinds, &view, &found->plan);
    int64_t *cells = calloc(found->plan.cells, sizeof *cells);
    cr_assert_not_null(cells);
    for (int64_t at = 0, n; at < d->numel; at += n) {
        struct tp_damage part;
        memset(&part, 0, sizeof part);
        n = 1 + (int64_t)(damaged_noise(&d->noise) % (uint64_t)d->numel);
        n = n < d->numel - at ? n : d->numel - at;
        const size_t skip = (size_t)at * d->size;
        const struct tp_span pair[2] = {{d->dtype, d->x + skip, (size_t)n},
                                        {d->dtype, d->y + skip, (size_t)n}};
        if (kinds)
            tp_damage_add(&found->plan, &pair[1], at, &part, cells);
        else
            tp_damage_add_pair(&found->plan, pair, at, &part, cells);
        tp_damage_merge(&found->damage, &part);
    }
    tp_damage_shape_find(&found->plan, &found->damage, cells, label,
                         &found->shape);
    free(cells);
}

#endif
