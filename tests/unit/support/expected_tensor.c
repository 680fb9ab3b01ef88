/* SPDX-License-Identifier: MIT */
#include "tests/unit/support/expected_tensor.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { READ_ALL = 1 << 21 }; /* elements; larger tensors: the first four */

static void check_close(const struct json *want, double got, const char *name,
                        const char *what)
{
    if (!want)
        return;
    if (want->kind == JSON_NULL)
        return;
    double slack = 1e-12 * fmax(fabs(want->number), 1);
    cr_expect(fabs(got - want->number) <= slack,
              "%s: %s is %.17g instead of %.17g", name, what, got,
              want->number);
}

static void check_dims(const struct json *want, const int64_t *got, int ndim,
                       const char *name)
{
    if (!want)
        return;
    cr_expect_eq(json_count(want), (size_t)ndim, "%s: dimensions", name);
    for (int i = 0; i < ndim && json_at(want, (size_t)i); i++)
        cr_expect_eq(strtoll(json_at(want, (size_t)i)->text, NULL, 10), got[i],
                     "%s: dimension %d is %lld", name, i, (long long)got[i]);
}

/* The first n real numbers of a tensor in row-major order. */
static double *decode(const struct tp_tensor *tensor, int64_t elements,
                      const char *name)
{
    const struct tp_dtype_info *info = tp_dtype_info(tensor->dtype);
    struct tp_walk walk;
    struct tp_error err = {0};
    size_t n = (size_t)elements;
    unsigned char *codes = malloc(n * info->size + 1);
    unsigned char *scratch = malloc(TP_CHUNK_BYTES);
    double *values = malloc(n * info->parts * sizeof *values + 1);
    tp_walk_ordered(tensor, &walk);
    cr_assert_eq(tp_walk_read(&walk, 0, n, codes, scratch, &err), TP_OK,
                 "%s: %s", name, err.message);
    tp_dtype_decode(tensor->dtype, codes, n * info->parts, values);
    free(codes);
    free(scratch);
    return values;
}

static void check_values(const struct json *want,
                         const struct tp_tensor *tensor, const char *name)
{
    const struct tp_dtype_info *info = tp_dtype_info(tensor->dtype);
    int64_t elements = tensor->numel < READ_ALL ? tensor->numel : 4;
    double *values = decode(tensor, elements, name);
    size_t n = (size_t)elements * info->parts;
    double sum = 0, squares = 0, min = INFINITY, max = -INFINITY;
    size_t nan = 0, inf = 0, zero = 0;
    for (size_t i = 0; i < n; i++) {
        double v = values[i];
        const struct json *first = json_at(json_get(want, "first"), i);
        if (first) {
            double w = strtod(first->text, NULL);
            cr_expect(v == w || (isnan(v) && isnan(w)),
                      "%s: value %zu is %.17g instead of %s", name, i, v,
                      first->text);
        }
        nan += isnan(v);
        inf += isinf(v) != 0;
        zero += v == 0;
        if (!isfinite(v))
            continue;
        sum += v;
        min = fmin(min, v);
        max = fmax(max, v);
    }
    /* squares of the largest may overflow */
    const double largest = n > nan + inf ? fmax(fabs(min), fabs(max)) : 0;
    for (size_t i = 0; i < n; i++) {
        if (isfinite(values[i]) && largest > 0)
            squares += values[i] / largest * (values[i] / largest);
    }
    check_close(json_get(want, "nan"), (double)nan, name, "nan");
    check_close(json_get(want, "inf"), (double)inf, name, "inf");
    check_close(json_get(want, "zero"), (double)zero, name, "zero");
    check_close(json_get(want, "min"), min, name, "min");
    check_close(json_get(want, "max"), max, name, "max");
    check_close(json_get(want, "sum"), sum, name, "sum");
    check_close(json_get(want, "l2"), largest > 0 ? largest * sqrt(squares) : 0,
                name, "l2");
    free(values);
}

void expected_tensor_check(const struct json *want,
                           const struct tp_tensor *tensor, const char *name)
{
    static const char package[] = "torch.";
    const char *dtype = json_get(want, "dtype")->text;
    if (strncmp(dtype, package, sizeof package - 1) == 0)
        dtype += sizeof package - 1;
    if (strncmp(dtype, "te.", 3) != 0) /* classes are no dtypes */
        cr_expect_str_eq(tp_dtype_info(tensor->dtype)->name, dtype, "%s", name);
    check_dims(json_get(want, "shape"), tensor->shape, tensor->ndim, name);
    check_dims(json_get(want, "stride"), tensor->stride, tensor->ndim, name);
    cr_expect_eq(strtoll(json_get(want, "numel")->text, NULL, 10),
                 tensor->numel, "%s: numel", name);
    check_values(want, tensor, name);
}
