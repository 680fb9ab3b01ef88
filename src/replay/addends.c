/* SPDX-License-Identifier: MIT */
/*
 * A kernel computes its sums as products of matrices, where no addend is to be
 * seen; it leaves behind which tensors, and which of their axes, it multiplied.
 * From that the addends of any element are found again, in the order in which
 * its axes lie. The alternative, for who takes errors apart to know the
 * arguments of each operator and its gradients, would be a second set of
 * kernels. Cost: a few hundred bytes a result; a pass over its addends for each
 * element that is asked for.
 */
#include "replay/addends.h"

#include <stdlib.h>
#include <string.h>

enum { AXES = TP_CONVOLVE_AXES };

static struct tp_addends *tell(struct tp_array *result,
                               enum tp_addends_kind kind, int64_t count)
{
    struct tp_addends *addends =
        calloc(1, sizeof *addends + (size_t)count * sizeof *addends->list);
    free(result->addends);
    result->addends = addends;
    result->lost |= !addends;
    if (!addends)
        return NULL;
    addends->kind = kind;
    addends->factor = addends->divisor = 1;
    addends->count = count;
    return addends;
}

void tp_addends_of_product(struct tp_array *result,
                           const struct tp_einsum *einsum, double factor)
{
    struct tp_contraction c;
    struct tp_error err = {0};
    if (einsum->count != 2 ||
        tp_einsum_contraction(einsum, result, &c, &err) != TP_OK)
        return;
    struct tp_addends *addends = tell(result, TP_ADDENDS_PRODUCT, 0);
    if (!addends)
        return;
    addends->left = c.left;
    addends->right = c.right;
    addends->axis_count = c.count;
    memcpy(addends->axes, c.axes, sizeof c.axes);
    addends->factor = factor;
}

void tp_addends_of_convolution(struct tp_array *result,
                               enum tp_addends_kind kind,
                               const struct tp_convolve *convolve,
                               const struct tp_array *left,
                               const struct tp_array *right)
{
    struct tp_addends *addends = tell(result, kind, 0);
    if (!addends)
        return;
    addends->convolve = *convolve;
    addends->left = left;
    addends->right = right;
}

double *tp_addends_of_list(struct tp_array *result, int64_t count)
{
    struct tp_addends *addends = tell(result, TP_ADDENDS_LIST, count);
    return addends ? addends->list : NULL;
}

void tp_addends_divide(struct tp_array *result, double divisor)
{
    if (result->addends)
        result->addends->divisor = divisor;
}

void tp_addends_add(struct tp_array *result, double factor,
                    const struct tp_array *added, double added_factor,
                    int64_t inner)
{
    struct tp_addends *addends = result->addends;
    if (!addends)
        return;
    addends->factor *= factor;
    addends->added = added;
    addends->added_factor = added_factor;
    addends->inner = inner;
}

/* --- products ------------------------------------------------------------- */

static int64_t product_count(const struct tp_addends *a)
{
    int64_t count = 1;
    for (int i = 0; i < a->axis_count; i++)
        count *= a->axes[i].kept ? 1 : a->axes[i].length;
    return count;
}

/* Axes that are summed go round, the last one first. */
static void take_products(const struct tp_addends *a, int64_t at,
                          struct tp_addend_list *list)
{
    int64_t index[TP_CONTRACT_AXES] = {0}, left = 0, right = 0;
    for (int i = 0; i < a->axis_count; i++) {
        const struct tp_contract_axis *axis = &a->axes[i];
        if (!axis->kept || axis->output == 0)
            continue;
        left += at / axis->output % axis->length * axis->left;
        right += at / axis->output % axis->length * axis->right;
    }
    for (int64_t k = 0; k < list->count; k++) {
        list->value[k] = a->left->value[left] * a->right->value[right];
        for (int i = a->axis_count; i-- > 0;) {
            const struct tp_contract_axis *axis = &a->axes[i];
            if (axis->kept)
                continue;
            left += axis->left;
            right += axis->right;
            if (++index[i] < axis->length)
                break;
            left -= axis->length * axis->left;
            right -= axis->length * axis->right;
            index[i] = 0;
        }
    }
}

/* --- convolutions --------------------------------------------------------- */

static int64_t volume(const int64_t *lengths)
{
    return lengths[0] * lengths[1] * lengths[2];
}

static void split(int64_t at, const int64_t *lengths, int64_t *index)
{
    for (int i = AXES; i-- > 0; at /= lengths[i])
        index[i] = at % lengths[i];
}

/* The place of the large side under a tap of the window at a position, or the
 * position whose window has a place under that tap; -1: there is none. */
static int64_t place_under(const struct tp_convolve *c, int64_t position,
                           int64_t tap)
{
    int64_t p[AXES], k[AXES], place = 0;
    split(position, c->out, p);
    split(tap, c->kernel, k);
    for (int i = 0; i < AXES; i++) {
        const int64_t x =
            p[i] * c->stride[i] - c->pad[i] + k[i] * c->dilation[i];
        if (x < 0 || x >= c->in[i])
            return -1;
        place = place * c->in[i] + x;
    }
    return place;
}

static int64_t position_over(const struct tp_convolve *c, int64_t place,
                             int64_t tap)
{
    int64_t x[AXES], k[AXES], position = 0;
    split(place, c->in, x);
    split(tap, c->kernel, k);
    for (int i = 0; i < AXES; i++) {
        const int64_t first = x[i] + c->pad[i] - k[i] * c->dilation[i];
        if (first < 0 || first % c->stride[i] != 0 ||
            first / c->stride[i] >= c->out[i])
            return -1;
        position = position * c->out[i] + first / c->stride[i];
    }
    return position;
}

/* A convolution's lengths: large channels of a group, small ones, taps, places
 * and positions of a channel. */
struct lengths {
    int64_t each, rows, taps, places, positions;
};

static struct lengths lengths_of(const struct tp_convolve *c)
{
    return (struct lengths){c->large / c->groups, c->small / c->groups,
                            volume(c->kernel), volume(c->in), volume(c->out)};
}

static int64_t convolution_count(const struct tp_addends *a)
{
    const struct lengths n = lengths_of(&a->convolve);
    return a->kind == TP_ADDENDS_SMALL   ? n.each * n.taps
           : a->kind == TP_ADDENDS_LARGE ? n.rows * n.taps
                                         : a->convolve.batch * n.positions;
}

/* large, weight */
static void take_small(const struct tp_addends *a, int64_t at, double *to)
{
    const struct tp_convolve *c = &a->convolve;
    const struct lengths n = lengths_of(c);
    const int64_t position = at % n.positions,
                  row = at / n.positions % c->small,
                  batch = at / n.positions / c->small;
    for (int64_t i = 0; i < n.each * n.taps; i++) {
        const int64_t place = place_under(c, position, i % n.taps);
        const int64_t channel = row / n.rows * n.each + i / n.taps;
        to[i] = place < 0
                    ? 0
                    : a->left->value[(batch * c->large + channel) * n.places +
                                     place] *
                          a->right->value[row * n.each * n.taps + i];
    }
}

/* small, weight */
static void take_large(const struct tp_addends *a, int64_t at, double *to)
{
    const struct tp_convolve *c = &a->convolve;
    const struct lengths n = lengths_of(c);
    const int64_t place = at % n.places, channel = at / n.places % c->large,
                  batch = at / n.places / c->large;
    for (int64_t i = 0; i < n.rows * n.taps; i++) {
        const int64_t position = position_over(c, place, i % n.taps);
        const int64_t row = channel / n.each * n.rows + i / n.taps;
        to[i] =
            position < 0
                ? 0
                : a->left->value[(batch * c->small + row) * n.positions +
                                 position] *
                      a->right
                          ->value[(row * n.each + channel % n.each) * n.taps +
                                  i % n.taps];
    }
}

/* large, small */
static void take_weight(const struct tp_addends *a, int64_t at, double *to)
{
    const struct tp_convolve *c = &a->convolve;
    const struct lengths n = lengths_of(c);
    const int64_t tap = at % n.taps, row = at / n.taps / n.each;
    const int64_t channel = row / n.rows * n.each + at / n.taps % n.each;
    for (int64_t i = 0; i < c->batch * n.positions; i++) {
        const int64_t batch = i / n.positions, position = i % n.positions;
        const int64_t place = place_under(c, position, tap);
        to[i] =
            place < 0
                ? 0
                : a->left->value[(batch * c->large + channel) * n.places +
                                 place] *
                      a->right->value[(batch * c->small + row) * n.positions +
                                      position];
    }
}

/* --- the whole ------------------------------------------------------------ */

/* The element of a tensor that is broadcast to the result's element `at`. */
static double broadcast_at(const struct tp_array *array,
                           const struct tp_array *result, int64_t at)
{
    int64_t index = 0, step = 1;
    for (int i = 0; i < result->dims; i++) {
        const int axis = array->dims - 1 - i;
        const int64_t length = result->shape[result->dims - 1 - i];
        if (axis >= 0 && array->shape[axis] > 1)
            index += at % length * step;
        step *= axis >= 0 ? array->shape[axis] : 1;
        at /= length;
    }
    return array->value[index];
}

static void take(const struct tp_addends *a, int64_t at,
                 struct tp_addend_list *list)
{
    if (a->kind == TP_ADDENDS_LIST)
        memcpy(list->value, a->list, (size_t)a->count * sizeof *a->list);
    else if (a->kind == TP_ADDENDS_PRODUCT)
        take_products(a, at, list);
    else if (a->kind == TP_ADDENDS_SMALL)
        take_small(a, at, list->value);
    else if (a->kind == TP_ADDENDS_LARGE)
        take_large(a, at, list->value);
    else
        take_weight(a, at, list->value);
    for (int64_t i = 0; a->factor != 1 && i < list->count; i++)
        list->value[i] *= a->factor;
}

struct tp_addend_list tp_addends_at(const struct tp_array *result, int64_t at)
{
    const struct tp_addends *a = result->addends;
    struct tp_addend_list list = {.divisor = a ? a->divisor : 1};
    if (!a)
        return list;
    list.count = a->kind == TP_ADDENDS_LIST      ? a->count
                 : a->kind == TP_ADDENDS_PRODUCT ? product_count(a)
                                                 : convolution_count(a);
    if (list.count > 0)
        list.value = malloc(((size_t)list.count + 1) * sizeof *list.value);
    if (!list.value)
        return (struct tp_addend_list){.divisor = 1, .lost = list.count > 0};
    take(a, at, &list);
    if (a->added)
        list.value[list.count++] =
            a->added_factor *
            (a->inner ? a->added->value[at / a->inner % a->added->count]
                      : broadcast_at(a->added, result, at));
    return list;
}
