/* SPDX-License-Identifier: MIT */
/*
 * Whether a sum was accumulated in few bits is tried: the terms of elements are
 * added again, each step rounded, in the orders that kernels have: one after
 * the other, lanes side by side, chunks. An order explains a result if all
 * elements are as near to it as it is to the same order from the other end:
 * that much the order matters, and no more. The bound of such a sum is no
 * judge: from 1 / u terms on it is larger than the sum, and what 1 000 ones
 * lose in bf16, 74 %, is no error that any sum may have. Cost: a few roundings
 * for each term, of at most ELEMENTS elements, spread over the result, and the
 * worst one.
 */
#include "replay/sum_terms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/dtype_round.h"
#include "replay/loss_terms.h"
#include "replay/product_terms.h"
#include "replay/sum_inside.h"

/* --- terms ---------------------------------------------------------------- */

/* Of a sum of all elements, or along one axis. */
static int64_t axis_terms(const struct tp_replay_call *call, bool mean,
                          int64_t at, double **terms)
{
    const struct tp_array *x = tp_arg_array(call, "input");
    struct tp_error err = {0};
    int64_t axes[TP_LIMIT_DIMS], inner = 1, length = x ? x->count : 0;
    int axis = 0;
    const int given = tp_arg_integers(call, "dim", axes);
    if (!x || given > 1 || x->count == 0)
        return 0;
    if (given == 1) {
        if (tp_arg_axis(call, "dim", axes[0], x->dims, &axis, &err) != TP_OK)
            return 0;
        for (int i = axis + 1; i < x->dims; i++)
            inner *= x->shape[i];
        length = x->shape[axis];
    }
    const int64_t first = given ? at / inner * inner * length + at % inner : 0;
    if (first + (length - 1) * inner >= x->count ||
        !(*terms = calloc((size_t)length + 1, 8)))
        return 0;
    for (int64_t i = 0; i < length; i++)
        (*terms)[i] = x->value[first + i * inner] / (mean ? (double)length : 1);
    return length;
}

int64_t tp_sum_terms(const struct tp_replay_call *call,
                     const struct tp_operator *row, size_t result, int64_t at,
                     double **terms)
{
    *terms = NULL;
    return row->run == tp_run_sum && !call->forward
               ? axis_terms(call, !strcmp(row->names, "mean"), at, terms)
               : tp_product_terms(call, row, result, at, terms);
}

static int64_t terms_at(const struct tp_sum *sum, int64_t at, double **terms)
{
    return tp_sum_terms(sum->call, sum->row,
                        (size_t)(sum->computed - sum->call->outputs), at,
                        terms);
}

/* --- orders --------------------------------------------------------------- */

/* Sums side by side, or of chunks one after the other, that are then added;
 * chunks of matrix units are exact, or nearly so. */
static const struct {
    int lanes, chunk; /* chunk 0: all                                       */
    bool exact;
} orders[] = {{1, 0, false},  {2, 0, false},  {4, 0, false},   {8, 0, false},
              {16, 0, false}, {32, 0, false}, {64, 0, false},  {1, 16, false},
              {1, 32, false}, {1, 64, false}, {1, 128, false}, {1, 256, false},
              {1, 4, true},   {1, 8, true},   {1, 16, true},   {1, 32, true},
              {1, 64, true},  {1, 128, true}};

enum { ORDERS = sizeof orders / sizeof *orders, LANES = 64, ELEMENTS = 64 };

static double add_up(const struct tp_adder *adder, const double *terms,
                     int64_t count)
{
    const int lanes = orders[adder->order].lanes;
    const bool exact = orders[adder->order].exact, back = adder->back;
    const int64_t given = orders[adder->order].chunk;
    const int64_t chunk = given ? given : count;
    double total = 0;
    for (int64_t first = 0; first < count; first += chunk) {
        double sums[LANES] = {0}, part = 0;
        for (int64_t i = first; i < first + chunk && i < count; i++) {
            double *sum = &sums[(i - first) % lanes];
            const double next = *sum + terms[back ? count - 1 - i : i];
            *sum = exact ? next : tp_dtype_round(adder->dtype, next);
        }
        for (int lane = 0; lane < lanes && !exact; lane++)
            part = tp_dtype_round(adder->dtype, part + sums[lane]);
        total = tp_dtype_round(adder->dtype, total + (exact ? *sums : part));
    }
    return total;
}

/* How far elements are from an order, and this from itself backwards, over the
 * magnitudes of their terms: the largest. Of sums inside of elements what is
 * left of their errors, too, in squares; each order once more with plain
 * exponentials, which some logsumexp have. */
enum { FITS = 2 * ORDERS };

struct fit {
    double off[FITS], matter[FITS], left[FITS], error;
    bool inside;
    int count; /* of these                                                 */
};

/* An element in one order, from both ends; the magnitudes of its terms, and the
 * rounding of what else is done. */
struct ends {
    double there, back, size, last;
};

/* Sums may leave the range of their dtype. */
static double distance(double a, double b)
{
    return a == b ? 0 : fabs(a - b);
}

static void see_order(const struct tp_sum *sum, int64_t at,
                      const struct ends *ends, struct fit *fit, int order)
{
    const double dumped = sum->dumped->value[at];
    const double off = fmin(distance(dumped, ends->there),
                            distance(dumped, ends->back));
    const double matter = distance(ends->there, ends->back) + ends->last;
    fit->off[order] = fmax(fit->off[order], off / ends->size);
    fit->matter[order] = fmax(fit->matter[order], matter / ends->size);
    fit->left[order] += off * off;
}

static bool see_terms(const struct tp_sum *sum, int64_t at, enum tp_dtype dtype,
                      struct fit *fit)
{
    double *terms, size = 0;
    const int64_t count = terms_at(sum, at, &terms);
    for (int64_t i = 0; i < count; i++)
        size += fabs(terms[i]);
    for (int i = 0; i < ORDERS && size > 0; i++) {
        const struct tp_adder there = {add_up, dtype, i, false, false};
        const struct tp_adder back = {add_up, dtype, i, true, false};
        struct ends ends = {add_up(&there, terms, count),
                            add_up(&back, terms, count), size, 0};
        ends.last = 2 * tp_dtype_rounding(dtype) * fabs(ends.there);
        see_order(sum, at, &ends, fit, i);
    }
    free(terms);
    return count > 0;
}

/* Steps between the sums are rounded, too. */
static bool see_inside(const struct tp_sum *sum, int64_t at,
                       enum tp_dtype dtype, struct fit *fit)
{
    const double u =
        fmax(tp_dtype_rounding(dtype), tp_dtype_rounding(sum->computed->dtype));
    fit->count = sum->row->run == tp_run_logsumexp ? FITS : ORDERS;
    for (int i = 0; i < fit->count; i++) {
        const bool plain = i >= ORDERS;
        const struct tp_adder there = {add_up, dtype, i % ORDERS, false, plain};
        const struct tp_adder back = {add_up, dtype, i % ORDERS, true, plain};
        struct tp_inside one, other;
        if (!tp_sum_inside(sum->call, sum->row, at, &back, &other) ||
            !tp_sum_inside(sum->call, sum->row, at, &there, &one))
            return false;
        const struct ends ends = {one.value, other.value, one.size,
                                  4 * u * one.size};
        if (one.size > 0)
            see_order(sum, at, &ends, fit, i);
        else if (plain) /* its sum left the range                           */
            fit->off[i] = INFINITY;
    }
    fit->error += pow(sum->dumped->value[at] - sum->computed->value[at], 2);
    fit->inside = true;
    return true;
}

/* Steps on the way to each loss are rounded, too, one by one: what is left of
 * that is the rounding of the result. */
static bool see_losses(const struct tp_sum *sum, enum tp_dtype dtype,
                       struct fit *fit)
{
    struct tp_tape tape;
    if (!tp_loss_terms(sum->call, sum->row, &tape))
        return false;
    const double u =
        fmax(tp_dtype_rounding(dtype), tp_dtype_rounding(sum->computed->dtype));
    const double size = fabs(sum->computed->value[0]);
    const int64_t count = (int64_t)tape.count;
    for (int i = 0; i < ORDERS && size > 0; i++) {
        const struct tp_adder there = {add_up, dtype, i, false, false};
        const struct tp_adder back = {add_up, dtype, i, true, false};
        const struct ends ends = {
            add_up(&there, tape.values, count) / tape.divisor,
            add_up(&back, tape.values, count) / tape.divisor, size, u * size};
        see_order(sum, 0, &ends, fit, i);
    }
    free(tape.values);
    fit->error += pow(sum->dumped->value[0] - sum->computed->value[0], 2);
    fit->inside = true;
    return true;
}

static bool see_element(const struct tp_sum *sum, int64_t at,
                        enum tp_dtype dtype, struct fit *fit)
{
    return see_terms(sum, at, dtype, fit) || see_losses(sum, dtype, fit) ||
           (isfinite(sum->dumped->value[at]) &&
            see_inside(sum, at, dtype, fit));
}

/* Elements that tell an order from others. */
enum { MANY = 16 };

/* Elements as near to an order as this is to itself. Fewer bits than the
 * tensors have are told from any small error: they explain it, not only bound
 * it; and of a few elements to the last bits, as one order of many is near by
 * chance. */
static bool fits_order(const struct tp_sum *sum, const struct fit *fit,
                       int order, enum tp_dtype dtype)
{
    enum { BITS = 16 };
    const double u = tp_dtype_rounding(sum->computed->dtype);
    const bool bounded = fit->off[order] <= 2 * fit->matter[order];
    if (!fit->inside || !(tp_dtype_rounding(dtype) > u))
        return bounded;
    return bounded && 16 * fit->left[order] <= fit->error &&
           (sum->computed->count >= MANY || fit->off[order] <= BITS * u);
}

/* To the last bit; of sums inside of elements whatever is off goes with it, if
 * it is not a few, to which some order is near. */
static bool fits_exactly(const struct tp_sum *sum, const struct fit *fit,
                         int order)
{
    return fit->inside ? sum->computed->count >= MANY &&
                             fit->off[order] <= 2 * fit->matter[order] &&
                             16 * fit->left[order] <= fit->error
                       : fit->off[order] <= 0;
}

/* Looks at elements spread over a result, and the worst one; false: its sums
 * are not known. */
static bool see_all(const struct tp_sum *sum, enum tp_dtype dtype,
                    struct fit *fit)
{
    const int64_t count = sum->computed->count;
    const int64_t step = count > ELEMENTS ? count / ELEMENTS : 1;
    double worst = 0;
    int64_t at_worst = 0;
    bool seen = count > 0;
    for (int64_t i = 0; i < count; i++) {
        const double off =
            fabs(sum->dumped->value[i] - sum->computed->value[i]);
        if (off > worst) {
            worst = off;
            at_worst = i;
        }
    }
    for (int64_t i = -step; i < count && seen; i += step) {
        const int64_t at = i < 0 ? at_worst : i;
        seen = see_element(sum, at, dtype, fit);
    }
    return seen;
}

bool tp_sum_fits(const struct tp_sum *sum, enum tp_dtype dtype, bool exactly,
                 bool *known)
{
    struct fit fit = {.error = 0, .count = ORDERS};
    const bool seen = see_all(sum, dtype, &fit);
    *known = seen && !fit.inside;
    for (int i = 0; i < fit.count && seen; i++)
        if (exactly ? fits_exactly(sum, &fit, i)
                    : fits_order(sum, &fit, i, dtype))
            return true;
    return false;
}

/* An element in an order, from the end that is nearer to what it should be;
 * false: its sums are not known. */
static bool element_in(const struct tp_sum *sum, int64_t at,
                       enum tp_dtype dtype, int order, double *off)
{
    double *terms;
    const double right = sum->computed->value[at];
    const int64_t count = terms_at(sum, at, &terms);
    bool known = count > 0;
    *off = INFINITY;
    for (int back = 0; back < 2; back++) {
        const struct tp_adder adder = {add_up, dtype, order % ORDERS, back == 1,
                                       order >= ORDERS};
        struct tp_inside element = {0, 0};
        if (count > 0)
            element.value = add_up(&adder, terms, count);
        else
            known = tp_sum_inside(sum->call, sum->row, at, &adder, &element);
        const double made = tp_dtype_round(sum->computed->dtype, element.value);
        *off = fmin(*off, distance(made, right));
    }
    free(terms);
    return known;
}

int64_t tp_sum_spared(const struct tp_sum *sum, enum tp_dtype dtype,
                      const uint8_t *marks)
{
    const struct tp_array *computed = sum->computed;
    const double u = tp_dtype_rounding(computed->dtype);
    const int64_t step =
        computed->count > ELEMENTS ? computed->count / ELEMENTS : 1;
    struct fit fit = {.error = 0, .count = ORDERS};
    int64_t least = INT64_MAX;
    if (!see_all(sum, dtype, &fit))
        return 0;
    for (int order = 0; order < fit.count; order++) {
        int64_t beyond = 0;
        if (!fits_order(sum, &fit, order, dtype))
            continue;
        for (int64_t at = 0; at < computed->count; at += step) {
            const double b = computed->bound ? computed->bound[at] : 0;
            const double limit = b + u * (fabs(computed->value[at]) + b) +
                                 tp_dtype_underflow(computed->dtype);
            double off;
            if (marks[at])
                continue;
            beyond += element_in(sum, at, dtype, order, &off) && off > limit;
        }
        least = beyond < least ? beyond : least;
    }
    return least;
}

/* Toward zero. */
static double cut(double value)
{
    const float single = (float)value;
    return fabs((double)single) > fabs(value) ? nextafterf(single, 0) : single;
}

/* Of losses: the error over that of the sum, the rounding of the result, and of
 * each loss in the dtype of the tensors by itself. */
static double losses_excess(const struct tp_sum *sum)
{
    struct tp_tape tape;
    if (!tp_loss_terms(sum->call, sum->row, &tape))
        return 0;
    const size_t count = tape.count;
    const double right = sum->computed->value[0];
    const double u = tp_dtype_rounding(sum->computed->dtype);
    double there = 0, back = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        there = cut(there + tape.values[i]);
        back = cut(back + tape.values[count - 1 - i]);
        squares += tape.values[i] * tape.values[i];
    }
    free(tape.values);
    const double cuts = fmax(fabs(there / tape.divisor - right),
                             fabs(back / tape.divisor - right));
    const double usual = cuts + u * fabs(right) +
                         2 * sum->call->own * sqrt(squares) / tape.divisor +
                         tp_dtype_underflow(sum->computed->dtype);
    return fabs(sum->dumped->value[0] - right) / usual;
}

double tp_sum_excess(const struct tp_sum *sum)
{
    const int64_t count = sum->computed->count;
    const int64_t step = count > ELEMENTS ? count / ELEMENTS : 1;
    const double u = tp_dtype_rounding(sum->computed->dtype);
    const double least = tp_dtype_underflow(sum->computed->dtype);
    double off = 0, usual = 0, *terms;
    for (int64_t at = 0; at < count; at += step) {
        const double right = sum->computed->value[at];
        const int64_t length = terms_at(sum, at, &terms);
        double there = 0, back = 0;
        for (int64_t i = 0; i < length; i++) {
            there = cut(there + terms[i]);
            back = cut(back + terms[length - 1 - i]);
        }
        free(terms);
        if (length == 0)
            return losses_excess(sum);
        const double cuts = fmax(fabs(there - right), fabs(back - right));
        const double error = sum->dumped->value[at] - right;
        off += error * error;
        usual += pow(cuts + u * fabs(right) + least, 2);
    }
    return usual > 0 ? sqrt(off / usual) : 0;
}

/* --- terms that are missing ----------------------------------------------- */

/* Keeps of the numbers of first terms those whose sum an element is; `fits` is
 * [count]. */
static void keep_firsts(const struct tp_sum *of, const double *terms,
                        int64_t count, int64_t at, uint8_t *fits)
{
    const double rounding = tp_dtype_rounding(of->computed->dtype);
    const double unit = of->call->unit;
    double sum = 0, size = 0;
    for (int64_t i = 0; i < count; i++) {
        const double limit = 2 * rounding * fabs(sum) +
                             tp_rounding_gamma(unit, (double)i + 1) * size;
        fits[i] &= fabs(of->dumped->value[at] - sum) <= limit;
        sum += terms[i];
        size += fabs(terms[i]);
    }
}

/* Terms with what is added at the end, a bias, as the first one: it stays. */
static int64_t terms_of(const struct tp_sum *sum, int64_t at, double **terms)
{
    const int64_t count = terms_at(sum, at, terms);
    if (count > 1 && tp_product_adds(sum->call, sum->row)) {
        const double bias = (*terms)[count - 1];
        memmove(*terms + 1, *terms, (size_t)(count - 1) * sizeof **terms);
        **terms = bias;
    }
    return count;
}

/* Whether the first terms leave less than half of the error. */
static bool repairs(const struct tp_sum *sum, int64_t first, int64_t step)
{
    double off = 0, left = 0, *terms;
    for (int64_t at = 0; at < sum->computed->count; at += step) {
        const double dumped = sum->dumped->value[at];
        double part = 0;
        if (terms_of(sum, at, &terms) >= first)
            for (int64_t i = 0; i < first; i++)
                part += terms[i];
        free(terms);
        const double error = dumped - sum->computed->value[at];
        off += error * error;
        left += (dumped - part) * (dumped - part);
    }
    return 4 * left <= off;
}

int64_t tp_sum_lost(const struct tp_sum *sum, int64_t *count)
{
    double *terms;
    const int64_t step =
        sum->computed->count > ELEMENTS ? sum->computed->count / ELEMENTS : 1;
    int64_t first = 0;
    *count = terms_of(sum, 0, &terms);
    free(terms);
    uint8_t *fits = malloc((size_t)*count + 1);
    if (!fits || sum->computed->count < 4 || *count < 4)
        *count = 0;
    for (int64_t i = 0; i < *count; i++)
        fits[i] = 1;
    for (int64_t at = 0; *count > 0 && at < sum->computed->count; at += step) {
        if (terms_of(sum, at, &terms) == *count)
            keep_firsts(sum, terms, *count, at, fits);
        free(terms);
    }
    while (first < *count && !fits[first])
        first++;
    free(fits);
    return first < *count && repairs(sum, first, step) ? *count - first : 0;
}
