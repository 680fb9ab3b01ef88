/* SPDX-License-Identifier: MIT */
#ifndef TP_BASE_ORDER_H
#define TP_BASE_ORDER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * What comparators are made of: less than, equal to or greater than zero, as
 * a comes before, with or after b. Differences would overflow. One function a
 * type, since a conversion to a common one could round or change the sign.
 */
static inline int tp_order_int64(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static inline int tp_order_uint64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static inline int tp_order_size(size_t a, size_t b)
{
    return (a > b) - (a < b);
}

/* NaN is equal to everything. */
static inline int tp_order_double(double a, double b)
{
    return (a > b) - (a < b);
}

/* Elements of one array, by place. */
static inline int tp_order_place(const void *a, const void *b)
{
    return ((const char *)a > (const char *)b) -
           ((const char *)a < (const char *)b);
}

/* As strcmp, but labels are interned: equal texts are mostly one pointer. */
static inline int tp_order_text(const char *a, const char *b)
{
    return a == b ? 0 : strcmp(a, b);
}

/* Sorts in place, ascending; `count` may be 0, `values` NULL then. */
void tp_sort_int64(int64_t *values, size_t count);

/* The same. */
void tp_sort_size(size_t *values, size_t count);

/* The same; where NaN end up is not said. */
void tp_sort_double(double *values, size_t count);

/* The same of texts, by their bytes. */
void tp_sort_text(const char **texts, size_t count);

/* The same, and each text once; returns how many these are. */
size_t tp_sort_text_once(const char **texts, size_t count);

#endif
