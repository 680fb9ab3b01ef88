/* SPDX-License-Identifier: MIT */
/*
 * One element of a norm, a softmax, a variance or attention, in fp64
 * but for its sums, which are added as they are told. So what few bits lose in
 * them is seen in the result, with its length and its condition: that is what a
 * number of roundings for each operator does not know. Alternative: bounds,
 * which in few bits are larger than the result. Cost: the terms of the sums, in
 * memory of their own; attention has a sum for each key, and beyond TERMS of
 * them nothing is known.
 */
#include "replay/sum_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TERMS = 1 << 16 };

/* A line of a tensor, and room for as many terms. */
struct line {
    const double *x;
    int64_t length, inner;
    double *terms;
};

static double at_of(const struct line *line, int64_t i)
{
    return line->x[i * line->inner];
}

static double add(const struct tp_adder *adder, const struct line *line)
{
    return adder->add(adder, line->terms, line->length);
}

static double mean_of(const struct tp_adder *adder, const struct line *line)
{
    for (int64_t i = 0; i < line->length; i++)
        line->terms[i] = at_of(line, i);
    return add(adder, line) / (double)line->length;
}

static double squares_of(const struct tp_adder *adder, const struct line *line,
                         double mean)
{
    for (int64_t i = 0; i < line->length; i++)
        line->terms[i] = pow(at_of(line, i) - mean, 2);
    return add(adder, line);
}

static double largest_of(const struct line *line)
{
    double largest = -INFINITY;
    for (int64_t i = 0; i < line->length; i++)
        largest = fmax(largest, at_of(line, i));
    return largest;
}

static double exponentials_of(const struct tp_adder *adder,
                              const struct line *line, double largest)
{
    for (int64_t i = 0; i < line->length; i++)
        line->terms[i] = exp(at_of(line, i) - largest);
    return add(adder, line);
}

/* --- norms over the last axes --------------------------------------------- */

static bool find_row(const struct tp_replay_call *call, int64_t at,
                     struct line *line)
{
    const struct tp_array *x = tp_arg_array(call, "input"),
                          *weight = tp_arg_array(call, "weight");
    int64_t list[TP_LIMIT_DIMS], length = 1;
    const int count = tp_arg_integers(call, "normalized_shape", list);
    for (int i = 0; i < count; i++)
        length *= list[i];
    if (!x || count < 1 || length < 1 || x->count % length != 0 ||
        at >= x->count || (weight && weight->count != length))
        return false;
    *line = (struct line){x->value + at / length * length, length, 1, NULL};
    return true;
}

static struct tp_inside norm_of(const struct tp_replay_call *call,
                                const struct tp_adder *adder,
                                const struct line *line, int64_t column,
                                bool centered)
{
    const struct tp_array *weight = tp_arg_array(call, "weight"),
                          *bias = centered ? tp_arg_array(call, "bias") : NULL;
    const double eps = tp_arg_real(call, "eps", 1e-5);
    const double mean = centered ? mean_of(adder, line) : 0;
    const double variance =
        squares_of(adder, line, mean) / (double)line->length;
    const double scale =
        (weight ? weight->value[column] : 1) / sqrt(variance + eps);
    const double x = at_of(line, column);
    const double added = bias ? bias->value[column] : 0;
    return (struct tp_inside){(x - mean) * scale + added,
                              (fabs(x) + fabs(mean)) * fabs(scale) +
                                  fabs(added)};
}

/* --- along one axis ------------------------------------------------------- */

/* The line that element `at` is of, or is made of. */
static bool find_line(const struct tp_replay_call *call, bool reduced,
                      int64_t at, int64_t *place, struct line *line)
{
    const struct tp_array *x = tp_arg_array(call, "input");
    struct tp_error err = {0};
    int64_t axes[TP_LIMIT_DIMS], inner = 1;
    int axis;
    if (!x || x->count == 0 || tp_arg_integers(call, "dim", axes) != 1 ||
        tp_arg_axis(call, "dim", axes[0], x->dims, &axis, &err) != TP_OK)
        return false;
    for (int i = axis + 1; i < x->dims; i++)
        inner *= x->shape[i];
    const int64_t length = x->dims ? x->shape[axis] : 1;
    const int64_t behind = reduced ? inner : inner * length;
    const int64_t first = at / behind * inner * length + at % inner;
    *place = at % behind / inner;
    *line = (struct line){x->value + first, length, inner, NULL};
    return first + (length - 1) * inner < x->count;
}

static struct tp_inside softmax_of(const struct tp_operator *row,
                                   const struct tp_adder *adder,
                                   const struct line *line, int64_t place)
{
    const double largest = adder->plain ? 0 : largest_of(line);
    const double sum = exponentials_of(adder, line, largest);
    const double x = at_of(line, place) - largest;
    if (row->run == tp_run_softmax)
        return (struct tp_inside){exp(x) / sum, exp(x) / sum};
    if (row->run == tp_run_log_softmax)
        return (struct tp_inside){x - log(sum), 1 + fabs(x)};
    return (struct tp_inside){largest + log(sum), 1 + fabs(largest)};
}

static struct tp_inside spread_of(const struct tp_operator *row, double divisor,
                                  const struct tp_adder *adder,
                                  const struct line *line)
{
    double mean = 0;
    for (int64_t i = 0; i < line->length; i++)
        mean += at_of(line, i) / (double)line->length;
    const bool variance = row->run == tp_run_variance;
    const double squares = squares_of(adder, line, variance ? mean : 0);
    const double value = variance ? squares / divisor : squares;
    const double size =
        value * (1 + fabs(mean) * (variance ? 1 : 0) / sqrt(value + 1e-300));
    return variance && strcmp(row->names, "std") != 0
               ? (struct tp_inside){value, size}
               : (struct tp_inside){sqrt(value), size / sqrt(value + 1e-300)};
}

/* --- attention ------------------------------------------------------------ */

static bool is_plain(const struct tp_replay_call *call)
{
    return !tp_arg_array(call, "attn_mask") &&
           tp_arg_integer(call, "is_causal", 0) == 0 &&
           tp_arg_integer(call, "enable_gqa", 0) == 0 &&
           tp_arg_real(call, "dropout_p", 0) == 0;
}

/* Scores by sums, then weights that are exact, then their sum. `room` is for
 * two lists of the keys, and one of the width. */
static struct tp_inside attention_of(const struct tp_replay_call *call,
                                     int64_t at, const struct tp_adder *adder,
                                     double *room)
{
    const struct tp_array *q = tp_arg_array(call, "query"),
                          *k = tp_arg_array(call, "key"),
                          *v = tp_arg_array(call, "value");
    const int64_t width = q->shape[q->dims - 1], keys = k->shape[k->dims - 2],
                  wide = v->shape[v->dims - 1], row = at / wide,
                  stack = row / q->shape[q->dims - 2];
    const double scale = tp_arg_real(call, "scale", 1 / sqrt((double)width));
    double *scores = room, *weights = room + keys, *terms = weights + keys;
    double most = 0, size = 0;
    for (int64_t j = 0; j < keys; j++) {
        for (int64_t i = 0; i < width; i++)
            terms[i] = q->value[row * width + i] *
                       k->value[(stack * keys + j) * width + i];
        scores[j] = scale * adder->add(adder, terms, width);
        most = fmax(most, fabs(scores[j]));
    }
    const struct line line = {scores, keys, 1, NULL};
    const double largest = largest_of(&line);
    double sum = 0;
    for (int64_t j = 0; j < keys; j++)
        sum += exp(scores[j] - largest);
    for (int64_t j = 0; j < keys; j++) {
        weights[j] = exp(scores[j] - largest) / sum *
                     v->value[(stack * keys + j) * wide + at % wide];
        size += fabs(weights[j]);
    }
    return (struct tp_inside){adder->add(adder, weights, keys),
                              size * (1 + most)};
}

static bool knows_attention(const struct tp_replay_call *call)
{
    const struct tp_array *q = tp_arg_array(call, "query"),
                          *k = tp_arg_array(call, "key"),
                          *v = tp_arg_array(call, "value");
    if (!q || !k || !v || q->dims < 2 || q->dims != k->dims ||
        q->dims != v->dims || !is_plain(call) ||
        memcmp(q->shape, k->shape, (size_t)(q->dims - 2) * 8) != 0 ||
        memcmp(k->shape, v->shape, (size_t)(q->dims - 1) * 8) != 0)
        return false;
    const int64_t width = q->shape[q->dims - 1], keys = k->shape[k->dims - 2];
    return k->shape[k->dims - 1] == width && width > 0 && keys > 0 &&
           width <= TERMS && keys <= TERMS && width * keys <= TERMS;
}

bool tp_sum_has_exponentials(const struct tp_operator *row)
{
    return row->run == tp_run_softmax || row->run == tp_run_log_softmax ||
           row->run == tp_run_logsumexp;
}

/* --- the whole ------------------------------------------------------------ */

static bool find_terms(const struct tp_replay_call *call,
                       const struct tp_operator *row, int64_t at,
                       int64_t *place, struct line *line)
{
    if (row->run == tp_run_layer_norm ||
        (row->run == tp_run_rms_norm && tp_arg(call, "eps"))) {
        const bool found = find_row(call, at, line);
        *place = found ? at % line->length : 0;
        return found;
    }
    if (row->run == tp_run_softmax || row->run == tp_run_log_softmax)
        return find_line(call, false, at, place, line);
    const bool two = row->run == tp_run_norm &&
                     tp_arg_real(call, "p", 2) == 2 &&
                     tp_arg_real(call, "ord", 2) == 2;
    return (two || row->run == tp_run_logsumexp ||
            row->run == tp_run_variance) &&
           find_line(call, true, at, place, line);
}

static struct tp_inside element_of(const struct tp_replay_call *call,
                                   const struct tp_operator *row, int64_t place,
                                   const struct tp_adder *adder,
                                   const struct line *line)
{
    if (row->run == tp_run_variance || row->run == tp_run_norm)
        return spread_of(row,
                         (double)line->length - tp_variance_correction(call),
                         adder, line);
    if (tp_sum_has_exponentials(row))
        return softmax_of(row, adder, line, place);
    return norm_of(call, adder, line, place, row->run == tp_run_layer_norm);
}

bool tp_sum_inside(const struct tp_replay_call *call,
                   const struct tp_operator *row, int64_t at,
                   const struct tp_adder *adder, struct tp_inside *element)
{
    const bool attends = row->run == tp_run_attention && knows_attention(call);
    struct line line = {.length = 0};
    int64_t place = 0;
    if (call->forward ||
        (!attends && !find_terms(call, row, at, &place, &line)))
        return false;
    const int64_t room = attends ? 3 * (int64_t)TERMS : line.length;
    line.terms = tp_replay_room(call, room, sizeof *line.terms);
    if (!line.terms)
        return false;
    *element = attends ? attention_of(call, at, adder, line.terms)
                       : element_of(call, row, place, adder, &line);
    free(line.terms);
    return isfinite(element->value) && isfinite(element->size);
}
