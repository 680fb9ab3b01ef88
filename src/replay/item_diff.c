/* SPDX-License-Identifier: MIT */
#include "replay/item_diff.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- shapes --------------------------------------------------------------- */

/* Whether the lengths of one axis are those of a part and its whole. */
static bool divides(int64_t a, int64_t b)
{
    const int64_t less = a < b ? a : b, more = a < b ? b : a;
    return less > 0 && more % less == 0;
}

enum tp_item_relation tp_item_shapes(const struct tp_dump_item *a,
                                     const struct tp_dump_item *b)
{
    int different = 0;
    bool part = true;
    if (!a->has_shape || !b->has_shape)
        return TP_ITEM_UNKNOWN;
    if (a->dims != b->dims)
        return TP_ITEM_RESHAPED;
    for (int i = 0; i < a->dims; i++)
        if (a->shape[i] != b->shape[i]) {
            different++;
            part &= divides(a->shape[i], b->shape[i]);
        }
    return different == 0           ? TP_ITEM_EQUAL
           : different == 1 && part ? TP_ITEM_SHARDED
                                    : TP_ITEM_RESHAPED;
}

/* --- values --------------------------------------------------------------- */

static bool same_json(const struct tp_json *a, const struct tp_json *b)
{
    if (!a || !b)
        return a == b;
    if (tp_json_is_number(a) && tp_json_is_number(b))
        return a->real == b->real || (isnan(a->real) && isnan(b->real));
    if (a->kind != b->kind || a->count != b->count)
        return false;
    if (a->kind == TP_JSON_BOOL)
        return a->integer == b->integer;
    if (a->kind == TP_JSON_STRING)
        return a->length == b->length && !memcmp(a->text, b->text, a->length);
    const struct tp_json *x = a->first, *y = b->first;
    for (; x && y && same_json(x, y); y = y->next)
        x = x->next;
    return !x && !y;
}

bool tp_item_same_value(const struct tp_dump_item *a,
                        const struct tp_dump_item *b)
{
    return a->kind == b->kind && same_json(a->value, b->value);
}

/* --- tensors -------------------------------------------------------------- */

/* Sums up differences, and finds whether they are those of one number that is
 * rounded to both dtypes. */
static void compare(const struct tp_array *a, const struct tp_array *b,
                    struct tp_item_diff *diff)
{
    const double ra = tp_dtype_rounding(a->dtype);
    const double rb = tp_dtype_rounding(b->dtype);
    const double rounding = ra + rb;
    const double underflow =
        tp_dtype_underflow(a->dtype) + tp_dtype_underflow(b->dtype);
    bool rounded = a->dtype != b->dtype && ra > 0 && rb > 0;
    for (int64_t i = 0; i < a->count; i++) {
        const double x = a->value[i], y = b->value[i], error = fabs(x - y);
        const bool equal = x == y || (isnan(x) && isnan(y));
        rounded =
            rounded &&
            (equal || error <= rounding * fmax(fabs(x), fabs(y)) + underflow);
        diff->nan_a |= isnan(x) && !isnan(y);
        diff->nan_b |= isnan(y) && !isnan(x);
        diff->inf_a |= isinf(x) && !isinf(y);
        diff->inf_b |= isinf(y) && !isinf(x);
        if (rb == 0 || !isfinite(x) || !isfinite(y))
            continue;
        diff->error += error * error;
        diff->size += y * y;
    }
    diff->relation = a->digest == b->digest && a->dtype == b->dtype
                         ? TP_ITEM_EQUAL
                     : rounded ? TP_ITEM_ROUNDED
                               : TP_ITEM_DIFFERS;
}

static enum tp_status read_one(const struct tp_dump_item *item,
                               struct tp_array *array, uint64_t *digest,
                               struct tp_item_diff *diff, struct tp_error *err)
{
    struct tp_error own = {0};
    enum tp_status status = tp_array_read(item, array, &own);
    if (status == TP_E_MEMORY)
        return tp_fail_memory(err);
    if (status == TP_OK) {
        *digest = array->digest;
        return TP_OK;
    }
    if (diff->relation != TP_ITEM_EQUAL) /* which shapes alone have told     */
        return TP_OK;
    diff->relation = TP_ITEM_UNKNOWN;
    snprintf(diff->reason, sizeof diff->reason, "%.110s", own.message);
    return TP_OK;
}

/* Whether there are only checksums to compare. */
static bool has_sums_only(const struct tp_dump_item *a,
                          const struct tp_dump_item *b)
{
    return (!a->file || !b->file) && *a->md5 && *b->md5;
}

static uint64_t digest_of(const char *sum)
{
    uint64_t digest = 1;
    for (; *sum; sum++)
        digest = digest * 0x100000001b3ULL + (unsigned char)*sum;
    return digest;
}

enum tp_status tp_item_diff_tensors(const struct tp_dump_item *a,
                                    const struct tp_dump_item *b,
                                    struct tp_item_diff *diff,
                                    struct tp_error *err)
{
    struct tp_array x = {.dims = 0}, y = {.dims = 0};
    *diff = (struct tp_item_diff){.relation = tp_item_shapes(a, b)};
    if (diff->relation == TP_ITEM_EQUAL && has_sums_only(a, b)) {
        diff->digest_a = digest_of(a->md5);
        diff->digest_b = digest_of(b->md5);
        if (strcmp(a->md5, b->md5) != 0 || a->element != b->element)
            diff->relation = TP_ITEM_DIFFERS;
        return TP_OK;
    }
    enum tp_status status = read_one(a, &x, &diff->digest_a, diff, err);
    if (status == TP_OK)
        status = read_one(b, &y, &diff->digest_b, diff, err);
    if (status == TP_OK && diff->relation == TP_ITEM_EQUAL &&
        x.count == y.count)
        compare(&x, &y, diff);
    else if (status == TP_OK && diff->relation == TP_ITEM_EQUAL)
        diff->relation = TP_ITEM_RESHAPED;
    tp_array_clear(&x);
    tp_array_clear(&y);
    return status;
}
