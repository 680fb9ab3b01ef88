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
#include "replay/sum_inside.h"

/* --- terms ---------------------------------------------------------------- */

/* Of a sum of all elements, or along one axis. */
static struct tp_addend_list axis_terms(const struct tp_replay_call *call,
                                        bool mean, int64_t at)
{
    const struct tp_array *x = tp_arg_array(call, "input");
    struct tp_addend_list list = {.divisor = 1};
    struct tp_error err = {0};
    int64_t axes[TP_LIMIT_DIMS], inner = 1, length = x ? x->count : 0;
    int axis = 0;
    const int given = tp_arg_integers(call, "dim", axes);
    if (!x || given > 1 || x->count == 0)
        return list;
    if (given == 1) {
        if (tp_arg_axis(call, "dim", axes[0], x->dims, &axis, &err) != TP_OK)
            return list;
        for (int i = axis + 1; i < x->dims; i++)
            inner *= x->shape[i];
        length = x->shape[axis];
    }
    const int64_t first = given ? at / inner * inner * length + at % inner : 0;
    if (first + (length - 1) * inner >= x->count ||
        !(list.value = calloc((size_t)length + 1, sizeof *list.value))) {
        list.lost = first + (length - 1) * inner < x->count;
        return list;
    }
    for (int64_t i = 0; i < length; i++)
        list.value[i] = x->value[first + i * inner];
    list.count = length;
    list.divisor = mean ? (double)length : 1;
    return list;
}

struct tp_addend_list tp_sum_terms(const struct tp_replay_call *call,
                                   const struct tp_operator *row,
                                   const struct tp_array *result, int64_t at)
{
    const struct tp_addend_list list =
        !result->addends && !call->forward && row->run == tp_run_sum
            ? axis_terms(call, !strcmp(row->names, "mean"), at)
            : tp_addends_at(result, at);
    if (list.lost)
        tp_replay_lost(call);
    return list;
}

static struct tp_addend_list terms_of(const struct tp_sum *sum, int64_t at)
{
    return tp_sum_terms(sum->call, sum->row, sum->computed, at);
}

/* Elements of a result that are looked at: each of so many, if its sums are not
 * too long. */
static int64_t step_of(const struct tp_sum *sum)
{
    enum { ELEMENTS = 64, LEAST = 4, TERMS = 1 << 20 };
    const int64_t count = sum->computed->count;
    const struct tp_addend_list list = terms_of(sum, 0);
    const int64_t room = TERMS / (list.count + 1);
    const int64_t elements = room > ELEMENTS ? ELEMENTS
                             : room > LEAST  ? room
                                             : LEAST;
    free(list.value);
    return count > elements ? count / elements : 1;
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
              {1, 64, true}};

/* Of sums inside of elements another time for exponentials as they are. */
enum { ORDERS = sizeof orders / sizeof *orders, TRIED = 2 * ORDERS };
enum { LANES = 64 };

static double add_up(const struct tp_adder *adder, const double *terms,
                     int64_t count)
{
    const int order = adder->order % ORDERS, lanes = orders[order].lanes;
    const bool exact = orders[order].exact, back = adder->back;
    const int64_t given = orders[order].chunk;
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
 * magnitudes of their terms: the largest; their errors, and what is left of
 * them, in squares, and those that the order makes. */
struct fit {
    double off[TRIED], matter[TRIED], left[TRIED], error[TRIED], made[TRIED];
    int tried;
    bool inside;
};

/* An element in one order, from both ends; the magnitudes of its terms, and the
 * rounding of what else is done. */
struct ends {
    double there, back, size, last;
};

/* Infinities of one sign are the same, and so are NaN. */
static double between(double a, double b)
{
    return a == b || (isnan(a) && isnan(b)) ? 0
           : isnan(a) || isnan(b)           ? INFINITY
                                            : fabs(a - b);
}

/* How far a result is from what it is, or from that rounded. */
static double from_rounded(enum tp_dtype dtype, double result, double value)
{
    return fmin(between(result, value),
                between(result, tp_dtype_round(dtype, value)));
}

static void see_order(const struct tp_sum *sum, int64_t at,
                      const struct ends *ends, struct fit *fit, int order)
{
    const double dumped = sum->dumped->value[at];
    const enum tp_dtype dtype = sum->computed->dtype;
    const double off = fmin(from_rounded(dtype, dumped, ends->there),
                            from_rounded(dtype, dumped, ends->back));
    const double matter = between(ends->there, ends->back) + ends->last;
    fit->off[order] = fmax(fit->off[order], off / ends->size);
    fit->matter[order] = fmax(fit->matter[order], matter / ends->size);
    fit->left[order] += pow(off / ends->size, 2);
    fit->error[order] +=
        pow(between(dumped, sum->computed->value[at]) / ends->size, 2);
    fit->made[order] +=
        pow(between(ends->there, sum->computed->value[at]) / ends->size, 2);
}

static bool see_terms(const struct tp_sum *sum, int64_t at, enum tp_dtype dtype,
                      struct fit *fit)
{
    const struct tp_addend_list list = terms_of(sum, at);
    double size = 0;
    for (int64_t i = 0; i < list.count; i++)
        size += fabs(list.value[i] / list.divisor);
    for (int i = 0; i < ORDERS && size > 0; i++) {
        const struct tp_adder there = {add_up, dtype, i, false, false};
        const struct tp_adder back = {add_up, dtype, i, true, false};
        struct ends ends = {
            add_up(&there, list.value, list.count) / list.divisor,
            add_up(&back, list.value, list.count) / list.divisor, size, 0};
        ends.last = 2 * tp_dtype_rounding(dtype) * fabs(ends.there);
        see_order(sum, at, &ends, fit, i);
    }
    free(list.value);
    return list.count > 0;
}

/* Steps between the sums are rounded, too. */
static bool see_inside(const struct tp_sum *sum, int64_t at,
                       enum tp_dtype dtype, struct fit *fit)
{
    const double u =
        fmax(tp_dtype_rounding(dtype), tp_dtype_rounding(sum->computed->dtype));
    fit->tried = tp_sum_has_exponentials(sum->row) ? TRIED : ORDERS;
    for (int i = 0; i < fit->tried; i++) {
        const struct tp_adder there = {add_up, dtype, i, false, i >= ORDERS};
        const struct tp_adder back = {add_up, dtype, i, true, i >= ORDERS};
        struct tp_inside one, other;
        const bool made =
            tp_sum_inside(sum->call, sum->row, at, &back, &other) &&
            tp_sum_inside(sum->call, sum->row, at, &there, &one);
        if (!made && !there.plain)
            return false;
        if (!made || (there.plain && !(one.size > 0))) {
            fit->off[i] = INFINITY; /* exponentials that overflow           */
            continue;
        }
        const struct ends ends = {one.value, other.value, one.size,
                                  4 * u * one.size};
        if (one.size > 0)
            see_order(sum, at, &ends, fit, i);
    }
    fit->inside = true;
    return true;
}

static bool see_element(const struct tp_sum *sum, int64_t at,
                        enum tp_dtype dtype, struct fit *fit)
{
    return see_terms(sum, at, dtype, fit) ||
           (isfinite(sum->dumped->value[at]) &&
            see_inside(sum, at, dtype, fit));
}

/* Elements as near to an order as this is to itself. Fewer bits than the
 * tensors have are told from any small error: they explain it, not only bound
 * it, or of sums that are known would be off as much; and of a few elements to
 * the last bits, as one order of many is near by chance. */
static bool fits_order(const struct tp_sum *sum, const struct fit *fit,
                       int order, enum tp_dtype dtype)
{
    enum { MANY = 16, BITS = 16, FAR = 81 };
    const double u = tp_dtype_rounding(sum->computed->dtype);
    const bool bounded = fit->off[order] <= 2 * fit->matter[order];
    const bool few = sum->computed->count < MANY;
    if (!(tp_dtype_rounding(dtype) > u))
        return bounded;
    if (!(fit->inside || few))
        return bounded && !(fit->made[order] > FAR * fit->error[order]);
    return bounded && 16 * fit->left[order] <= fit->error[order] &&
           (!few || fit->off[order] <= BITS * u);
}

/* Looks at elements spread over a result, and the worst one; false: its sums
 * are not known. */
static bool see_all(const struct tp_sum *sum, enum tp_dtype dtype,
                    struct fit *fit)
{
    const int64_t count = sum->computed->count;
    const int64_t step = step_of(sum);
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
    struct fit fit = {.tried = ORDERS};
    const bool seen = see_all(sum, dtype, &fit);
    const struct tp_addends *addends = sum->computed->addends;
    *known =
        seen && !fit.inside && !(addends && addends->kind == TP_ADDENDS_LIST);
    for (int i = 0; i < fit.tried && seen; i++)
        if (exactly ? fit.off[i] <= 0 : fits_order(sum, &fit, i, dtype))
            return true;
    return false;
}

/* An element in an order, from the end that is nearer to what it should be;
 * false: its sums are not known. */
static bool element_in(const struct tp_sum *sum, int64_t at,
                       enum tp_dtype dtype, int order, double *off)
{
    const double right = sum->computed->value[at];
    const struct tp_addend_list list = terms_of(sum, at);
    bool known = list.count > 0;
    *off = INFINITY;
    for (int back = 0; back < 2; back++) {
        const struct tp_adder adder = {add_up, dtype, order, back == 1,
                                       order >= ORDERS};
        struct tp_inside element = {0, 0};
        if (list.count > 0)
            element.value =
                add_up(&adder, list.value, list.count) / list.divisor;
        else
            known = tp_sum_inside(sum->call, sum->row, at, &adder, &element);
        const double made = tp_dtype_round(sum->computed->dtype, element.value);
        *off = fmin(*off, between(made, right));
    }
    free(list.value);
    return known;
}

int64_t tp_sum_spared(const struct tp_sum *sum, enum tp_dtype dtype,
                      const uint8_t *marks)
{
    const struct tp_array *computed = sum->computed;
    const double u = tp_dtype_rounding(computed->dtype);
    const int64_t step = step_of(sum);
    struct fit fit = {.tried = ORDERS};
    int64_t least = INT64_MAX;
    if (!see_all(sum, dtype, &fit))
        return 0;
    for (int order = 0; order < fit.tried; order++) {
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

double tp_sum_excess(const struct tp_sum *sum)
{
    const int64_t count = sum->computed->count;
    const int64_t step = step_of(sum);
    const double u = tp_dtype_rounding(sum->computed->dtype);
    const double least = tp_dtype_underflow(sum->computed->dtype);
    double off = 0, usual = 0;
    for (int64_t at = 0; at < count; at += step) {
        const double right = sum->computed->value[at];
        const struct tp_addend_list list = terms_of(sum, at);
        double there = 0, back = 0;
        for (int64_t i = 0; i < list.count; i++) {
            there = cut(there + list.value[i]);
            back = cut(back + list.value[list.count - 1 - i]);
        }
        free(list.value);
        if (list.count == 0)
            return 0;
        there /= list.divisor;
        back /= list.divisor;
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
static struct tp_addend_list first_terms(const struct tp_sum *sum, int64_t at)
{
    const struct tp_addends *addends = sum->computed->addends;
    struct tp_addend_list list = terms_of(sum, at);
    for (int64_t i = 0; i < list.count; i++)
        list.value[i] /= list.divisor;
    if (list.count > 1 && addends && addends->added) {
        const double bias = list.value[list.count - 1];
        memmove(list.value + 1, list.value,
                (size_t)(list.count - 1) * sizeof *list.value);
        *list.value = bias;
    }
    return list;
}

/* Whether the first terms leave less than half of the error. */
static bool repairs(const struct tp_sum *sum, int64_t first, int64_t step)
{
    double off = 0, left = 0;
    for (int64_t at = 0; at < sum->computed->count; at += step) {
        const double dumped = sum->dumped->value[at];
        const struct tp_addend_list list = first_terms(sum, at);
        double part = 0;
        for (int64_t i = 0; i < first && first <= list.count; i++)
            part += list.value[i];
        free(list.value);
        const double error = dumped - sum->computed->value[at];
        off += error * error;
        left += (dumped - part) * (dumped - part);
    }
    return 4 * left <= off;
}

int64_t tp_sum_lost(const struct tp_sum *sum, int64_t *count)
{
    const int64_t elements = sum->computed->count;
    struct tp_addend_list list = {.count = 0};
    int64_t step = 1, first = 0;
    if (elements > 0) {
        list = first_terms(sum, 0);
        step = step_of(sum);
    }
    *count = list.count;
    free(list.value);
    uint8_t *fits = tp_replay_room(sum->call, *count, sizeof *fits);
    if (!fits || elements < 4 || *count < 4)
        *count = 0;
    for (int64_t i = 0; i < *count; i++)
        fits[i] = 1;
    for (int64_t at = 0; *count > 0 && at < elements; at += step) {
        list = first_terms(sum, at);
        if (list.count == *count)
            keep_firsts(sum, list.value, *count, at, fits);
        free(list.value);
    }
    while (first < *count && !fits[first])
        first++;
    free(fits);
    return first < *count && repairs(sum, first, step) ? *count - first : 0;
}
