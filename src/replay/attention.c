/* SPDX-License-Identifier: MIT */
/*
 * One row of Q at a time: memory is a few rows of scores. The bound of a score
 * is that of a product of k terms, those of probabilities as in softmax_math.h;
 * fused kernels round probabilities to the tensors' dtype before they meet V:
 * own sum(p |v|); the sum over keys adds gamma sum(p |v|). Gradients, with G
 * that of the result and p the probabilities of a row:
 *
 *     dP = G V^T   D = sum p dP   dS = p (dP - D)
 *     dV = P^T G   dQ = scale dS K   dK = scale dS^T Q
 *
 * where devices take D also from their rounded result, and round p and dS to
 * the tensors' dtype: own of each. Cost: rows x keys x (width + depth).
 */
#include "replay/attention.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/softmax_math.h"

/* Where the parts of a head begin. */
struct place {
    const double *q, *k, *v;
    int64_t mask, bias, matrix;
    int64_t q_at, k_at, v_at; /* in elements                               */
};

/* Room for what a row has for each key. */
struct row {
    int64_t number;
    const double *given; /* the gradient of its result                      */
    double *score, *score_bound, *p, *p_bound, *dp, *dp_bound;
    double *size; /* of the terms of dP                                     */
};

static double gamma_of(const struct tp_attention *a, double n)
{
    return n * a->unit < 0.5 ? n * a->unit / (1 - n * a->unit) : INFINITY;
}

static int64_t start_of(const struct tp_attention_side *side, int64_t stack,
                        int64_t head)
{
    return stack * side->stack + head * side->head;
}

bool tp_attention_fit(const struct tp_attention *attention,
                      struct tp_attention_term *term)
{
    return !term->array || tp_array_broadcast(term->array, attention->dims,
                                              attention->shape, term->steps);
}

/* Where a term begins for a matrix of scores. */
static int64_t term_at(const struct tp_attention *a,
                       const struct tp_attention_term *term, int64_t matrix)
{
    int64_t at = 0;
    for (int i = a->dims - 3; i >= 0; matrix /= a->shape[i--])
        at += matrix % a->shape[i] * term->steps[i];
    return at;
}

static double term_value(const struct tp_attention *a,
                         const struct tp_attention_term *term, int64_t from,
                         int64_t row, int64_t key)
{
    return term->array->value[from + row * term->steps[a->dims - 2] +
                              key * term->steps[a->dims - 1]];
}

static struct place place_of(const struct tp_attention *a, int64_t stack,
                             int64_t head)
{
    struct place place = {.q_at = start_of(&a->q, stack, head),
                          .k_at = start_of(&a->k, stack, head / a->shared),
                          .v_at = start_of(&a->v, stack, head / a->shared)};
    place.q = a->q.array->value + place.q_at;
    place.k = a->k.array->value + place.k_at;
    place.v = a->v.array->value + place.v_at;
    place.matrix = stack * a->heads + head;
    place.mask = term_at(a, &a->mask, place.matrix);
    place.bias = term_at(a, &a->bias, place.matrix);
    return place;
}

static double dot(const double *a, const double *b, int64_t count, double *size)
{
    double sum = 0;
    *size = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += a[i] * b[i];
        *size += fabs(a[i] * b[i]);
    }
    return sum;
}

/* The score of a key behind the mask. */
static double masked(const struct tp_attention *a, const struct place *place,
                     const struct row *row, int64_t key, double score)
{
    if (a->causal && key > row->number + a->ahead)
        return -INFINITY;
    if (!a->mask.array)
        return score;
    const double m = term_value(a, &a->mask, place->mask, row->number, key);
    if (a->hides == TP_ATTENTION_TRUE)
        return m != 0 ? -INFINITY : score;
    if (a->mask.array->dtype == TP_BOOL)
        return m != 0 ? score : -INFINITY;
    row->score_bound[key] += a->unit * (fabs(m) < INFINITY ? fabs(m) : 0);
    return score + m;
}

/* Scores and probabilities of a row; false: every key is masked. */
static bool make_row(const struct tp_attention *a, const struct place *place,
                     const struct row *room)
{
    const double gamma = gamma_of(a, (double)a->width + 3);
    const double *q = place->q + room->number * a->q.row;
    bool any = false;
    for (int64_t key = 0; key < a->keys; key++) {
        double size;
        double score = dot(q, place->k + key * a->k.row, a->width, &size);
        if (a->bias.array) {
            const double b =
                term_value(a, &a->bias, place->bias, room->number, key);
            score += b;
            size += fabs(b);
        }
        room->score_bound[key] = gamma * size * fabs(a->scale);
        room->score[key] = masked(a, place, room, key, score * a->scale);
        any |= room->score[key] != -INFINITY;
    }
    const struct tp_softmax_line line = {room->score, room->score_bound,
                                         a->keys, 1, a->unit};
    if (any)
        tp_softmax_line(&line, room->p, room->p_bound);
    return any;
}

static void make_result(const struct tp_attention *a, const struct place *place,
                        const struct row *room, double *out, double *off)
{
    const double share = a->own + gamma_of(a, (double)a->keys + 2);
    for (int64_t key = 0; key < a->keys; key++) {
        const double p = room->p[key];
        const double *v = place->v + key * a->v.row;
        for (int64_t i = 0; p != 0 && i < a->depth; i++) {
            out[i] += p * v[i];
            off[i] += (room->p_bound[key] + share * p) * fabs(v[i]);
        }
    }
}

/* --- gradients ------------------------------------------------------------ */

/* A row of dP, and what dV takes from it. */
static void make_products(const struct tp_attention *a,
                          const struct place *place, const struct row *room,
                          struct tp_array *gradient)
{
    const double gamma = gamma_of(a, (double)a->depth + 1);
    const double of_rows =
        a->own + gamma_of(a, (double)(a->rows * a->shared) + 1);
    for (int64_t key = 0; key < a->keys; key++) {
        const int64_t at = place->v_at + key * a->v.row;
        const double p = room->p[key];
        double size;
        room->dp[key] =
            dot(room->given, place->v + key * a->v.row, a->depth, &size);
        room->size[key] = size;
        room->dp_bound[key] = gamma * size;
        for (int64_t i = 0; i < a->depth; i++) {
            gradient->value[at + i] += p * room->given[i];
            gradient->bound[at + i] +=
                (room->p_bound[key] + of_rows * p) * fabs(room->given[i]);
        }
    }
}

/* dS of the row, in the place of dP. A result that was rounded differs from
 * what D takes from it by as much as products do from their terms. */
static void make_slopes(const struct tp_attention *a, const struct row *room)
{
    const double of_keys = a->own + gamma_of(a, (double)a->keys + 2);
    double sum = 0, off = 0;
    for (int64_t key = 0; key < a->keys; key++) {
        const double p = room->p[key], dp = room->dp[key];
        sum += p * dp;
        off += p * room->dp_bound[key] + room->p_bound[key] * fabs(dp) +
               of_keys * p * room->size[key];
    }
    for (int64_t key = 0; key < a->keys; key++) {
        const double p = room->p[key], d = room->dp[key] - sum;
        room->dp_bound[key] =
            room->p_bound[key] * fabs(d) + p * (room->dp_bound[key] + off) +
            (a->own + 3 * a->unit) * p * (fabs(room->dp[key]) + fabs(sum));
        room->dp[key] = p * d;
    }
}

/* What an element of dS adds to a sum of so many terms. */
struct slope {
    double value, bound;
};

static struct slope slope_of(const struct tp_attention *a,
                             const struct row *row, int64_t key, double terms)
{
    const double ds = row->dp[key], gamma = gamma_of(a, terms + 2);
    return (struct slope){a->scale * ds, fabs(a->scale) * (row->dp_bound[key] +
                                                           gamma * fabs(ds))};
}

/* Adds slope times `from` to a row of a gradient. */
static void add_slope(struct slope slope, const double *from, int64_t width,
                      struct tp_array *to, int64_t at)
{
    for (int64_t i = 0; i < width; i++) {
        to->value[at + i] += slope.value * from[i];
        to->bound[at + i] += slope.bound * fabs(from[i]);
    }
}

static void add_gradients(const struct tp_attention *a,
                          const struct place *place, const struct row *row,
                          struct tp_array *const gradients[3])
{
    const int64_t q_at = row->number * a->q.row;
    make_products(a, place, row, gradients[2]);
    if (!gradients[1]) {
        const int64_t at = (place->matrix * a->rows + row->number) * a->keys;
        const size_t size = (size_t)a->keys * sizeof(double);
        memcpy(gradients[0]->value + at, row->dp, size);
        memcpy(gradients[0]->bound + at, row->dp_bound, size);
        return;
    }
    make_slopes(a, row);
    for (int64_t key = 0; key < a->keys; key++) {
        const int64_t k_at = key * a->k.row;
        add_slope(slope_of(a, row, key, (double)a->keys), place->k + k_at,
                  a->width, gradients[0], place->q_at + q_at);
        add_slope(slope_of(a, row, key, (double)(a->rows * a->shared)),
                  place->q + q_at, a->width, gradients[1], place->k_at + k_at);
    }
}

/* --- all rows ------------------------------------------------------------- */

/* Either a result is made, or gradients from what came for it. */
struct work {
    const struct tp_attention *a;
    const struct tp_attention_side *at; /* of the result                    */
    struct tp_array *output;
    struct tp_array *const *gradients;
};

/* The row room->number, whose result is at `at`. */
static bool run_row(const struct work *work, const struct place *place,
                    struct row *room, int64_t at)
{
    if (!make_row(work->a, place, room))
        return false;
    if (work->output) {
        make_result(work->a, place, room, work->output->value + at,
                    work->output->bound + at);
        return true;
    }
    room->given = work->at->array->value + at;
    add_gradients(work->a, place, room, work->gradients);
    return true;
}

static enum tp_status run_rows(const struct work *work, struct row *room,
                               struct tp_error *err)
{
    const struct tp_attention *a = work->a;
    for (int64_t stack = 0; stack < a->stacks; stack++)
        for (int64_t head = 0; head < a->heads; head++) {
            const struct place place = place_of(a, stack, head);
            const int64_t from = start_of(work->at, stack, head);
            for (int64_t row = 0; row < a->rows; row++) {
                room->number = row;
                if (!run_row(work, &place, room, from + row * work->at->row))
                    return tp_fail(err, TP_E_UNSUPPORTED, -1,
                                   "a row of its mask hides every key");
            }
        }
    return TP_OK;
}

static enum tp_status run(const struct work *work, struct tp_error *err)
{
    const size_t keys = (size_t)work->a->keys + 1;
    double *room = calloc(7 * keys, sizeof *room);
    if (!room)
        return tp_fail_memory(err);
    struct row row = {0,
                      NULL,
                      room,
                      room + keys,
                      room + 2 * keys,
                      room + 3 * keys,
                      room + 4 * keys,
                      room + 5 * keys,
                      room + 6 * keys};
    enum tp_status status = run_rows(work, &row, err);
    free(room);
    return status;
}

enum tp_status tp_attention_run(const struct tp_attention *attention,
                                const struct tp_attention_side *at,
                                struct tp_array *output, struct tp_error *err)
{
    const struct work work = {attention, at, output, NULL};
    return run(&work, err);
}

enum tp_status tp_attention_gradients(const struct tp_attention *attention,
                                      const struct tp_attention_side *given,
                                      struct tp_array *const gradients[3],
                                      struct tp_error *err)
{
    const struct work work = {attention, given, NULL, gradients};
    return run(&work, err);
}
