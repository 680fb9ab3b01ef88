/* SPDX-License-Identifier: MIT */
/*
 * Convolutions as products of matrices (product.h): what the window sees at
 * each position of each batch is a row of k = channels of a group x size of the
 * kernel, 0 in the padding. Rows times weights are the small side; the small
 * side times weights are rows, added back to the large side; rows turned times
 * the small side are gradients of the weights. The bound is that of all terms
 * of a sum, gamma_(k+2) sum|a b|; transforms (Winograd, FFT) may exceed it, and
 * are then named as what adds error. All batches are one product, as many small
 * ones would be, but much faster; rows are made ROOM elements at a time. Cost:
 * that of the product, outputs x k.
 */
#include "replay/convolve.h"

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

/* Positions whose places are found at once. */
enum { BLOCK = 8 };

/* What the products of a group are made in. Positions are those of all
 * batches. */
struct part {
    const struct tp_convolve *c;
    int64_t group;
    int64_t inner, positions, each, taps; /* of out, batch x out; channels;
                                             of the kernel                  */
    int64_t rows;                         /* small channels of a group      */
    double gamma;
    double *cells, *value, *bound, *turned; /* room                         */
    int64_t *places;                        /* [BLOCK][taps]                */
};

static struct part part_of(const struct tp_convolve *c)
{
    return (struct part){.c = c,
                         .inner = volume(c->out),
                         .positions = c->batch * volume(c->out),
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
    part->places =
        malloc(((size_t)part->taps + 1) * BLOCK * sizeof *part->places);
    return part->cells && part->value && part->bound && part->turned &&
                   part->places
               ? TP_OK
               : tp_fail_memory(err);
}

static void free_room(struct part *part)
{
    free(part->cells);
    free(part->value);
    free(part->bound);
    free(part->turned);
    free(part->places);
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

/* Where the channels of a group begin in the large side at a position, and
 * those of the small side there. */
static int64_t large_at(const struct part *part, int64_t position)
{
    return (position / part->inner * part->c->large +
            part->group * part->each) *
           volume(part->c->in);
}

static int64_t small_at(const struct part *part, int64_t position)
{
    return (position / part->inner * part->c->small +
            part->group * part->rows) *
               part->inner +
           position % part->inner;
}

/* What each tap of the window at a position sees of a channel. */
static void find_places(const struct part *part, int64_t position,
                        int64_t *places)
{
    int64_t p[AXES], k[AXES];
    split(position % part->inner, part->c->out, p);
    for (int64_t tap = 0; tap < part->taps; tap++) {
        split(tap, part->c->kernel, k);
        places[tap] = place_of(part->c, p, k);
    }
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
    const int64_t size = volume(part->c->in), taps = part->taps;
    const double *from[BLOCK];
    for (int64_t i = 0; i < cells->count; i += BLOCK) {
        const int64_t block = less(BLOCK, cells->count - i);
        double *to = part->cells + i * cells->position_step;
        for (int64_t j = 0; j < block; j++) {
            const int64_t position = cells->first + i + j;
            from[j] = large + large_at(part, position) + cells->channel * size;
            find_places(part, position, part->places + j * taps);
        }
        for (int64_t row = 0; row < cells->channels * taps; row++)
            for (int64_t j = 0; j < block; j++) {
                const int64_t place = part->places[j * taps + row % taps];
                to[row * cells->row_step + j * cells->position_step] =
                    place < 0 ? 0 : from[j][row / taps * size + place];
            }
    }
}

/* Adds rows of products to what windows see. */
static void scatter(const struct part *part, int64_t first, int64_t count,
                    struct tp_array *large)
{
    const int64_t size = volume(part->c->in), taps = part->taps;
    const double *value = part->value, *off = part->bound;
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = large_at(part, first + i);
        find_places(part, first + i, part->places);
        for (int64_t n = 0; n < part->each; n++, value += taps, off += taps)
            for (int64_t tap = 0; tap < taps; tap++) {
                const int64_t place = part->places[tap];
                if (place < 0)
                    continue;
                large->value[at + n * size + place] += value[tap];
                large->bound[at + n * size + place] += off[tap];
            }
    }
}

/* Copies the small side of a group, whose rows are its channels. */
static void take_small(const struct part *part, const double *small,
                       const struct cells *cells, double *to)
{
    for (int64_t i = 0; i < cells->count; i++) {
        const double *from = small + small_at(part, cells->first + i);
        for (int64_t row = 0; row < part->rows; row++)
            to[i * cells->position_step + row * cells->row_step] =
                from[row * part->inner];
    }
}

/* --- the three ------------------------------------------------------------ */

static void put_small(const struct part *part, int64_t first, int64_t count,
                      struct tp_array *small)
{
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = small_at(part, first + i);
        for (int64_t row = 0; row < part->rows; row++) {
            small->value[at + row * part->inner] = part->value[row * count + i];
            small->bound[at + row * part->inner] = part->bound[row * count + i];
        }
    }
}

/* One group. */
static enum tp_status small_part(const struct part *part, const double *large,
                                 const double *weight, struct tp_array *small,
                                 struct tp_error *err)
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
        if (status == TP_OK)
            put_small(part, p, count, small);
    }
    return status;
}

enum tp_status tp_convolve_small(const struct tp_convolve *convolve,
                                 const struct tp_array *large,
                                 const struct tp_array *weight,
                                 struct tp_array *small, struct tp_error *err)
{
    struct part part = part_of(convolve);
    const int64_t length = part.each * part.taps;
    const int64_t most = at_once(length + part.rows, part.positions);
    part.gamma = tp_rounding_gamma(convolve->unit, (double)length + 2);
    enum tp_status status =
        make_room(&part, most * length, most * part.rows, 0, err);
    for (; part.group < convolve->groups && status == TP_OK; part.group++)
        status = small_part(&part, large->value,
                            weight->value + part.group * part.rows * length,
                            small, err);
    free_room(&part);
    return status;
}

/* Weights [rows][length] to [length][rows]. */
static void turn(const double *from, int64_t rows, int64_t length, double *to)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < length; j++)
            to[j * rows + i] = from[i * length + j];
}

static enum tp_status large_part(const struct part *part, const double *small,
                                 const double *weight, struct tp_array *large,
                                 struct tp_error *err)
{
    const int64_t length = part->each * part->taps;
    const int64_t most = at_once(length + part->rows, part->positions);
    enum tp_status status = TP_OK;
    turn(weight, part->rows, length, part->turned);
    for (int64_t p = 0; p < part->positions && status == TP_OK; p += most) {
        const int64_t count = less(most, part->positions - p);
        const struct cells cells = {p, count, 0, 0, part->rows, 1};
        take_small(part, small, &cells, part->cells);
        const struct tp_product product = {
            part->cells, part->turned, part->value, part->bound,
            count,       length,       part->rows,  part->gamma};
        status = tp_product_run(&product, err);
        if (status == TP_OK)
            scatter(part, p, count, large);
    }
    return status;
}

enum tp_status tp_convolve_large(const struct tp_convolve *convolve,
                                 const struct tp_array *small,
                                 const struct tp_array *weight,
                                 struct tp_array *large, struct tp_error *err)
{
    struct part part = part_of(convolve);
    const int64_t length = part.each * part.taps;
    const int64_t most = at_once(length + part.rows, part.positions);
    part.gamma =
        tp_rounding_gamma(convolve->unit, (double)(part.rows * part.taps) + 2);
    enum tp_status status = make_room(&part, most * part.rows, most * length,
                                      part.rows * length, err);
    for (; part.group < convolve->groups && status == TP_OK; part.group++)
        status = large_part(&part, small->value,
                            weight->value + part.group * part.rows * length,
                            large, err);
    free_room(&part);
    return status;
}

/* Positions of a product of gradients of weights, and channels. */
static int64_t positions_at_once(const struct part *part)
{
    return at_once(part->taps + part->rows, part->positions);
}

static int64_t channels_at_once(const struct part *part)
{
    const int64_t count = positions_at_once(part);
    return at_once(part->taps * (count + part->rows), part->each);
}

/* Adds what some positions give to the weights of a group. */
static enum tp_status weight_part(const struct part *part, const double *large,
                                  int64_t first, int64_t count,
                                  struct tp_array *weight, struct tp_error *err)
{
    const int64_t most = channels_at_once(part);
    const int64_t length = part->each * part->taps;
    enum tp_status status = TP_OK;
    for (int64_t n = 0; n < part->each && status == TP_OK; n += most) {
        const int64_t channels = less(most, part->each - n);
        const int64_t columns = channels * part->taps;
        const struct cells cells = {first, count, n, channels, 1, count};
        gather(part, large, &cells);
        const struct tp_product product = {
            part->turned, part->cells, part->value, part->bound,
            part->rows,   columns,     count,       part->gamma};
        status = tp_product_run(&product, err);
        for (int64_t row = 0; row < part->rows && status == TP_OK; row++) {
            const int64_t to =
                (part->group * part->rows + row) * length + n * part->taps;
            for (int64_t i = 0; i < columns; i++) {
                weight->value[to + i] += part->value[row * columns + i];
                weight->bound[to + i] += part->bound[row * columns + i];
            }
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
    const int64_t most = positions_at_once(&part);
    const int64_t columns = channels_at_once(&part) * part.taps;
    part.gamma = tp_rounding_gamma(convolve->unit, (double)part.positions + 2);
    enum tp_status status = make_room(
        &part, most * columns, part.rows * columns, most * part.rows, err);
    for (; part.group < convolve->groups && status == TP_OK; part.group++)
        for (int64_t p = 0; p < part.positions && status == TP_OK; p += most) {
            const int64_t count = less(most, part.positions - p);
            const struct cells cells = {p, count, 0, 0, 1, count};
            take_small(&part, small->value, &cells, part.turned);
            status = weight_part(&part, large->value, p, count, weight, err);
        }
    free_room(&part);
    return status;
}
