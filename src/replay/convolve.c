/* SPDX-License-Identifier: MIT */
/*
 * Convolutions as products of matrices (product.h): what the window sees at
 * each position is a row of k = channels of a group x size of the kernel, 0 in
 * the padding. Rows times weights are the small side; the small side times
 * weights are rows, added back to the large side; rows turned times the small
 * side are gradients of the weights. The bound is that of all terms of a sum,
 * gamma_(k+2) sum|a b|; transforms (Winograd, FFT) may exceed it, and are then
 * named as what adds error. Rows are made ROOM elements at a time. Cost: that
 * of the product, outputs x k.
 */
#include "replay/convolve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/product.h"

enum { AXES = TP_CONVOLVE_AXES, ROOM = 1 << 23 };

static int64_t volume(const int64_t *lengths)
{
    return lengths[0] * lengths[1] * lengths[2];
}

/* Number `at` of a box as three indices. */
static void split(int64_t at, const int64_t *lengths, int64_t *index)
{
    for (int i = AXES; i-- > 0; at /= lengths[i])
        index[i] = at % lengths[i];
}

/* The large side's place under element k of the window at p; -1: padding. */
static int64_t place_of(const struct tp_convolve *c, const int64_t *p,
                        const int64_t *k)
{
    int64_t place = 0;
    for (int i = 0; i < AXES; i++) {
        const int64_t x =
            p[i] * c->stride[i] - c->pad[i] + k[i] * c->dilation[i];
        if (x < 0 || x >= c->in[i])
            return -1;
        place = place * c->in[i] + x;
    }
    return place;
}

/* What the products of a group and batch are made in. */
struct part {
    const struct tp_convolve *c;
    int64_t positions, each, taps; /* of out; channels; of the kernel       */
    int64_t rows;                  /* small channels of a group             */
    double gamma;
    double *cells, *value, *bound, *turned; /* room                         */
};

static double gamma_of(double unit, double n)
{
    return n * unit < 0.5 ? n * unit / (1 - n * unit) : INFINITY;
}

static struct part part_of(const struct tp_convolve *c)
{
    return (struct part){.c = c,
                         .positions = volume(c->out),
                         .each = c->large / c->groups,
                         .taps = volume(c->kernel),
                         .rows = c->small / c->groups};
}

static enum tp_status make_room(struct part *part, int64_t cells,
                                int64_t results, int64_t turned,
                                struct tp_error *err)
{
    part->cells = malloc(((size_t)cells + 1) * sizeof *part->cells);
    part->value = malloc(((size_t)results + 1) * sizeof *part->value);
    part->bound = malloc(((size_t)results + 1) * sizeof *part->bound);
    part->turned = malloc(((size_t)turned + 1) * sizeof *part->turned);
    return part->cells && part->value && part->bound && part->turned
               ? TP_OK
               : tp_fail_memory(err);
}

static void free_room(struct part *part)
{
    free(part->cells);
    free(part->value);
    free(part->bound);
    free(part->turned);
}

/* How many stretches of `length` there is room for, of `most`. */
static int64_t at_once(int64_t length, int64_t most)
{
    const int64_t count = length ? ROOM / length : most;
    return count < 1 ? 1 : count < most ? count : most;
}

static int64_t less(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Positions and channels of a group, and where their cells are. */
struct cells {
    int64_t first, count;      /* positions                                */
    int64_t channel, channels; /* of a group                               */
    int64_t position_step, row_step; /* one row is a tap of a channel       */
};

/* Copies what windows see of a group of the large side. */
static void gather(const struct part *part, const double *large,
                   const struct cells *cells)
{
    const struct tp_convolve *c = part->c;
    const int64_t size = volume(c->in);
    int64_t p[AXES], k[AXES];
    for (int64_t i = 0; i < cells->count; i++) {
        split(cells->first + i, c->out, p);
        for (int64_t tap = 0; tap < part->taps; tap++) {
            split(tap, c->kernel, k);
            const int64_t place = place_of(c, p, k);
            double *to =
                part->cells + i * cells->position_step + tap * cells->row_step;
            for (int64_t n = 0; n < cells->channels; n++)
                to[n * part->taps * cells->row_step] =
                    place < 0 ? 0 : large[(cells->channel + n) * size + place];
        }
    }
}

/* Adds rows of products to what windows see. */
static void scatter(const struct part *part, int64_t first, int64_t count,
                    double *large, double *bound)
{
    const struct tp_convolve *c = part->c;
    const int64_t size = volume(c->in), length = part->each * part->taps;
    int64_t p[AXES], k[AXES];
    for (int64_t i = 0; i < count; i++) {
        split(first + i, c->out, p);
        for (int64_t tap = 0; tap < part->taps; tap++) {
            split(tap, c->kernel, k);
            const int64_t place = place_of(c, p, k);
            for (int64_t n = 0; place >= 0 && n < part->each; n++) {
                const int64_t from = i * length + n * part->taps + tap;
                large[n * size + place] += part->value[from];
                bound[n * size + place] += part->bound[from];
            }
        }
    }
}

/* [rows][columns] to [columns][rows]. */
static void turn(const double *from, int64_t rows, int64_t columns,
                 int64_t step, double *to)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            to[j * rows + i] = from[i * step + j];
}

/* --- the three ------------------------------------------------------------ */

/* All groups of all batches, one after the other. */
static enum tp_status small_part(const struct part *part, const double *large,
                                 const double *weight, double *value,
                                 double *bound, struct tp_error *err)
{
    const int64_t length = part->each * part->taps;
    const int64_t most = at_once(length + part->rows, part->positions);
    enum tp_status status = TP_OK;
    for (int64_t p = 0; p < part->positions && status == TP_OK; p += most) {
        const int64_t count = less(most, part->positions - p);
        const struct cells cells = {p, count, 0, part->each, length, 1};
        gather(part, large, &cells);
        const struct tp_product product = {
            weight,     part->cells, part->value, part->bound,
            part->rows, count,       length,      part->gamma};
        status = tp_product_run(&product, err);
        for (int64_t i = 0; i < part->rows && status == TP_OK; i++) {
            const size_t bytes = (size_t)count * sizeof *value;
            memcpy(value + i * part->positions + p, part->value + i * count,
                   bytes);
            memcpy(bound + i * part->positions + p, part->bound + i * count,
                   bytes);
        }
    }
    return status;
}

enum tp_status tp_convolve_small(const struct tp_convolve *convolve,
                                 const struct tp_array *large,
                                 const struct tp_array *weight,
                                 struct tp_array *small, struct tp_error *err)
{
    struct part part = part_of(convolve);
    const int64_t length = part.each * part.taps, in = volume(convolve->in);
    const int64_t most = at_once(length + part.rows, part.positions);
    const int64_t all = convolve->batch * convolve->groups;
    part.gamma = gamma_of(convolve->unit, (double)length + 2);
    enum tp_status status =
        make_room(&part, most * length, most * part.rows, 0, err);
    for (int64_t i = 0; i < all && status == TP_OK; i++) {
        const int64_t group = i % convolve->groups;
        const int64_t to = i * part.rows * part.positions;
        status = small_part(&part, large->value + i * part.each * in,
                            weight->value + group * part.rows * length,
                            small->value + to, small->bound + to, err);
    }
    free_room(&part);
    return status;
}

static enum tp_status large_part(const struct part *part, const double *small,
                                 const double *weight, double *value,
                                 double *bound, struct tp_error *err)
{
    const int64_t length = part->each * part->taps;
    const int64_t most = at_once(length + part->rows, part->positions);
    enum tp_status status = TP_OK;
    turn(weight, part->rows, length, length, part->turned);
    for (int64_t p = 0; p < part->positions && status == TP_OK; p += most) {
        const int64_t count = less(most, part->positions - p);
        turn(small + p, part->rows, count, part->positions, part->cells);
        const struct tp_product product = {
            part->cells, part->turned, part->value, part->bound,
            count,       length,       part->rows,  part->gamma};
        status = tp_product_run(&product, err);
        if (status == TP_OK)
            scatter(part, p, count, value, bound);
    }
    return status;
}

enum tp_status tp_convolve_large(const struct tp_convolve *convolve,
                                 const struct tp_array *small,
                                 const struct tp_array *weight,
                                 struct tp_array *large, struct tp_error *err)
{
    struct part part = part_of(convolve);
    const int64_t length = part.each * part.taps, in = volume(convolve->in);
    const int64_t most = at_once(length + part.rows, part.positions);
    const int64_t all = convolve->batch * convolve->groups;
    part.gamma = gamma_of(convolve->unit, (double)(part.rows * part.taps) + 2);
    enum tp_status status = make_room(&part, most * part.rows, most * length,
                                      part.rows * length, err);
    for (int64_t i = 0; i < all && status == TP_OK; i++) {
        const int64_t group = i % convolve->groups;
        const int64_t to = i * part.each * in;
        status =
            large_part(&part, small->value + i * part.rows * part.positions,
                       weight->value + group * part.rows * length,
                       large->value + to, large->bound + to, err);
    }
    free_room(&part);
    return status;
}

/* Adds what a batch gives to the weights of a group. */
static enum tp_status weight_part(const struct part *part, const double *large,
                                  const double *small, double *value,
                                  double *bound, struct tp_error *err)
{
    const int64_t stretch = part->taps * part->positions;
    const int64_t most = at_once(stretch + part->rows, part->each);
    const int64_t length = part->each * part->taps;
    enum tp_status status = TP_OK;
    for (int64_t n = 0; n < part->each && status == TP_OK; n += most) {
        const int64_t channels = less(most, part->each - n);
        const int64_t columns = channels * part->taps;
        const struct cells cells = {0, part->positions, n, channels,
                                    1, part->positions};
        gather(part, large, &cells);
        const struct tp_product product = {
            small,      part->cells, part->value,     part->bound,
            part->rows, columns,     part->positions, part->gamma};
        status = tp_product_run(&product, err);
        for (int64_t i = 0; i < part->rows * columns && status == TP_OK; i++) {
            const int64_t to =
                i / columns * length + n * part->taps + i % columns;
            value[to] += part->value[i];
            bound[to] += part->bound[i];
        }
    }
    return status;
}

enum tp_status tp_convolve_weight(const struct tp_convolve *convolve,
                                  const struct tp_array *large,
                                  const struct tp_array *small,
                                  struct tp_array *weight, struct tp_error *err)
{
    struct part part = part_of(convolve);
    const int64_t stretch = part.taps * part.positions;
    const int64_t most = at_once(stretch + part.rows, part.each);
    const int64_t length = part.each * part.taps, in = volume(convolve->in);
    const int64_t all = convolve->batch * convolve->groups;
    part.gamma = gamma_of(convolve->unit,
                          (double)(convolve->batch * part.positions) + 2);
    enum tp_status status =
        make_room(&part, most * stretch, part.rows * most * part.taps, 0, err);
    for (int64_t i = 0; i < all && status == TP_OK; i++) {
        const int64_t to = i % convolve->groups * part.rows * length;
        status = weight_part(&part, large->value + i * part.each * in,
                             small->value + i * part.rows * part.positions,
                             weight->value + to, weight->bound + to, err);
    }
    free_room(&part);
    return status;
}
