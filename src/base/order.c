/* SPDX-License-Identifier: MIT */
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

static int compare_int64(const void *left, const void *right)
{
    return tp_order_int64(*(const int64_t *)left, *(const int64_t *)right);
}

static int compare_size(const void *left, const void *right)
{
    return tp_order_size(*(const size_t *)left, *(const size_t *)right);
}

static int compare_double(const void *left, const void *right)
{
    return tp_order_double(*(const double *)left, *(const double *)right);
}

void tp_sort_int64(int64_t *values, size_t count)
{
    if (count > 0)
        qsort(values, count, sizeof *values, compare_int64);
}

void tp_sort_size(size_t *values, size_t count)
{
    if (count > 0)
        qsort(values, count, sizeof *values, compare_size);
}

void tp_sort_double(double *values, size_t count)
{
    if (count > 0)
        qsort(values, count, sizeof *values, compare_double);
}

static int compare_text(const void *left, const void *right)
{
    return tp_order_text(*(const char *const *)left,
                         *(const char *const *)right);
}

void tp_sort_text(const char **texts, size_t count)
{
    if (count > 0)
        qsort(texts, count, sizeof *texts, compare_text);
}

size_t tp_sort_text_once(const char **texts, size_t count)
{
    size_t kept = 0;
    tp_sort_text(texts, count);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || strcmp(texts[kept - 1], texts[i]) != 0)
            texts[kept++] = texts[i];
    }
    return kept;
}
