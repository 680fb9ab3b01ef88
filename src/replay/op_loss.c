/* SPDX-License-Identifier: MIT */
/*
 * Losses: of two tensors element by element, by a function of the table below,
 * and of log-probabilities and classes; all, their sum, or their mean. What is
 * summed may be rounded to its dtype before, and the sum before it is divided:
 * own * |each|, and own * |result|. Gradients are those of the node that torch
 * puts behind a loss: the loss itself for most; for cross entropy nll_loss,
 * whose input are the logarithms; the mean or sum for l1_loss and kl_div. One
 * pass; cross entropy keeps the logarithms, as large as its input.
 */
#include "replay/operators.h"

#include <math.h>
#include <string.h>

#include "base/limits.h"
#include "replay/accumulate.h"
#include "replay/addends.h"
#include "replay/backward.h"
#include "replay/loss_math.h"

/* --- means and sums of losses --------------------------------------------- */

enum reduction { REDUCE_NONE, REDUCE_MEAN, REDUCE_SUM, REDUCE_BATCH };

static enum tp_status reduction_of(const struct tp_replay_call *replay,
                                   enum reduction *reduction,
                                   struct tp_error *err)
{
    const char *word = tp_arg_text(replay, "reduction", "mean");
    if (tp_arg(replay, "size_average") || tp_arg(replay, "reduce"))
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "size_average and reduce are not replayed");
    *reduction = !strcmp(word, "none")        ? REDUCE_NONE
                 : !strcmp(word, "sum")       ? REDUCE_SUM
                 : !strcmp(word, "batchmean") ? REDUCE_BATCH
                                              : REDUCE_MEAN;
    return TP_OK;
}

/* Losses one after the other, each of a weight. */
struct losses {
    const struct tp_replay_call *replay;
    enum reduction reduction;
    struct tp_array *output;
    double sum, magnitude, off, weight;
    int64_t count;
    double *list; /* of what is summed; NULL: nothing, or no memory         */
    bool weighted;
};

static void add_loss(struct losses *losses, double value, double bound,
                     double weight)
{
    if (losses->reduction == REDUCE_NONE) {
        losses->output->value[losses->count] = value;
        losses->output->bound[losses->count] = bound;
    }
    if (losses->list)
        losses->list[losses->count] = value;
    losses->sum += value;
    losses->magnitude += fabs(value);
    losses->off += bound;
    losses->weight += weight;
    losses->count++;
}

/* A number that they are divided by is exact, a sum of weights is not. */
static void finish_losses(struct losses *losses)
{
    const double n = (double)losses->count, unit = losses->replay->unit;
    if (losses->reduction == REDUCE_NONE)
        return;
    const bool mean = losses->reduction != REDUCE_SUM;
    const double divisor = mean ? losses->weight : 1;
    const double value = losses->sum / divisor;
    losses->output->value[0] = value;
    const double added =
        losses->list ? tp_accumulate_bound(losses->list, losses->count, unit)
                     : tp_rounding_gamma(unit, n + 1) * losses->magnitude;
    const double divided = (losses->weighted ? n + 1 : 2) * unit;
    losses->output->bound[0] =
        (losses->off + added) / divisor +
        (mean ? divided + losses->replay->own : 0) * fabs(value);
    tp_addends_divide(losses->output, divisor);
}

static enum tp_status begin_losses(struct tp_replay_call *replay,
                                   struct losses *losses, int dims,
                                   const int64_t *shape, struct tp_error *err)
{
    *losses = (struct losses){.replay = replay};
    enum tp_status status = reduction_of(replay, &losses->reduction, err);
    if (status == TP_OK)
        status = tp_replay_make_bounded(
            replay, losses->reduction == REDUCE_NONE ? dims : 0, shape,
            &losses->output, err);
    int64_t count = 1;
    for (int i = 0; i < dims; i++)
        count *= shape[i];
    if (status == TP_OK && losses->reduction != REDUCE_NONE)
        losses->list = tp_addends_of_list(losses->output, count);
    return status;
}

/* --- losses of two tensors ------------------------------------------------ */

/* The arguments of such a loss, each of the shape that they have together. */
struct pair {
    const struct tp_loss *loss;
    const struct tp_array *input, *target, *weight, *positive;
    int dims;
    int64_t shape[TP_LIMIT_DIMS], count;
    struct tp_array_walk walk; /* of weight, positive, input and target     */
    double parameter;
};

static enum tp_status bind_weight(const struct tp_replay_call *replay,
                                  const char *name, int step, struct pair *pair,
                                  const struct tp_array **weight,
                                  struct tp_error *err)
{
    *weight = tp_arg_array(replay, name);
    return *weight && !tp_array_broadcast(*weight, pair->dims, pair->shape,
                                          pair->walk.strides[step])
               ? tp_replay_fail_shapes(err)
               : TP_OK;
}

/* What has fewer axes, or one of length 1, repeats. */
static bool fit_pair(struct pair *pair)
{
    const struct tp_array *a = pair->input, *b = pair->target;
    const struct tp_array *longer = a->dims >= b->dims ? a : b;
    const struct tp_array *other = longer == a ? b : a;
    const int ahead = longer->dims - other->dims;
    pair->dims = longer->dims;
    pair->count = 1;
    for (int i = 0; i < pair->dims; i++) {
        pair->shape[i] = longer->shape[i] == 1 && i >= ahead
                             ? other->shape[i - ahead]
                             : longer->shape[i];
        pair->count *= pair->shape[i];
        if (pair->count > TP_LIMIT_REPLAY_VALUES)
            return false;
    }
    pair->walk.dims = pair->dims;
    pair->walk.shape = pair->shape;
    return tp_array_broadcast(a, pair->dims, pair->shape,
                              pair->walk.strides[2]) &&
           tp_array_broadcast(b, pair->dims, pair->shape,
                              pair->walk.strides[3]);
}

static enum tp_status bind_pair(const struct tp_replay_call *replay,
                                const struct tp_operator *row,
                                struct pair *pair, struct tp_error *err)
{
    *pair = (struct pair){.loss = tp_loss_of(row->names)};
    enum tp_status status = tp_arg_tensor(replay, "input", &pair->input, err);
    if (status == TP_OK)
        status = tp_arg_tensor(replay, "target", &pair->target, err);
    if (status != TP_OK)
        return status;
    if (!fit_pair(pair))
        return tp_replay_fail_shapes(err);
    pair->parameter =
        tp_arg_real(replay, pair->loss->parameter, pair->loss->absent);
    /* torch itself takes the other where there is nothing to smooth */
    if (!strcmp(pair->loss->name, "smooth_l1_loss") && pair->parameter == 0)
        pair->loss = tp_loss_of("l1_loss");
    status = bind_weight(replay, "weight", 0, pair, &pair->weight, err);
    return status == TP_OK ? bind_weight(replay, "pos_weight", 1, pair,
                                         &pair->positive, err)
                           : status;
}

/* The operands of the element where the walk is; its weight. */
static double operands_at(const struct pair *pair, double x[3])
{
    x[0] = pair->input->value[pair->walk.at[2]];
    x[1] = pair->target->value[pair->walk.at[3]];
    x[2] = pair->positive ? pair->positive->value[pair->walk.at[1]]
                          : pair->parameter;
    return pair->weight ? pair->weight->value[pair->walk.at[0]] : 1;
}

static double first_length(const struct pair *pair)
{
    return pair->input->dims ? (double)pair->input->shape[0] : 1;
}

TP_KERNEL(tp_run_pair_loss)
{
    struct pair pair;
    struct losses losses;
    enum tp_status status = bind_pair(replay, row, &pair, err);
    if (status == TP_OK)
        status = begin_losses(replay, &losses, pair.dims, pair.shape, err);
    if (status != TP_OK)
        return status;
    for (int64_t i = 0; i < pair.count; i++) {
        double x[3], terms;
        const double weight = operands_at(&pair, x);
        const double value = weight * pair.loss->point(x, &terms);
        const bool rounded = losses.reduction != REDUCE_NONE;
        add_loss(&losses, value,
                 replay->unit * (fabs(weight) * terms + fabs(value)) +
                     (rounded ? replay->own * fabs(value) : 0),
                 1);
        tp_array_walk_next(&pair.walk);
    }
    if (losses.reduction == REDUCE_BATCH)
        losses.weight = first_length(&pair);
    finish_losses(&losses);
    return TP_OK;
}

/* The factor of each gradient that a reduction makes, from what came. */
static double share_of(const struct pair *pair, enum reduction reduction)
{
    return reduction == REDUCE_MEAN    ? (double)pair->count
           : reduction == REDUCE_BATCH ? first_length(pair)
                                       : 1;
}

/* The node of a mean or a sum: what came, shared out. */
static enum tp_status back_reduction(struct tp_backward *backward,
                                     const struct pair *pair,
                                     enum reduction reduction,
                                     const struct tp_array *given,
                                     struct tp_error *err)
{
    struct tp_array *gradient;
    const double share = share_of(pair, reduction);
    const bool batch = reduction == REDUCE_BATCH;
    enum tp_status status =
        tp_backward_make(backward, batch ? given->dims : pair->dims,
                         batch ? given->shape : pair->shape, &gradient, err);
    for (int64_t i = 0; status == TP_OK && i < gradient->count; i++) {
        gradient->value[i] = given->value[0] / share;
        gradient->bound[i] =
            2 * backward->call->unit * fabs(gradient->value[i]);
    }
    return status;
}

/* The gradient of the input (0) or target (1). */
static enum tp_status back_side(struct tp_backward *backward, struct pair *pair,
                                enum reduction reduction, int side,
                                const struct tp_array *given,
                                struct tp_error *err)
{
    struct tp_array *gradient;
    const bool all = reduction == REDUCE_NONE;
    const double share = share_of(pair, reduction);
    const double unit = backward->call->unit;
    enum tp_status status =
        tp_backward_make(backward, pair->dims, pair->shape, &gradient, err);
    for (int64_t i = 0; status == TP_OK && i < gradient->count; i++) {
        double x[3], terms;
        const double weight = operands_at(pair, x);
        const double slope = pair->loss->slope(x, side, &terms);
        const double factor = weight * given->value[all ? i : 0] / share;
        gradient->value[i] = slope * factor;
        gradient->bound[i] =
            unit * (fabs(factor) * terms + 4 * fabs(gradient->value[i]));
        tp_array_walk_next(&pair->walk);
    }
    return status;
}

static enum tp_status fail_node(struct tp_error *err)
{
    return tp_fail(err, TP_E_UNSUPPORTED, -1,
                   "the node behind it is not that of the loss");
}

/* The next gradient is what came, times a factor. */
static enum tp_status back_factor(struct tp_backward *backward,
                                  const struct tp_array *given, double factor,
                                  struct tp_error *err)
{
    struct tp_array *gradient;
    enum tp_status status =
        tp_backward_make_like(backward, given, &gradient, err);
    for (int64_t i = 0; status == TP_OK && i < gradient->count; i++) {
        gradient->value[i] = factor * given->value[i];
        gradient->bound[i] =
            2 * backward->call->unit * fabs(gradient->value[i]);
    }
    return status;
}

/* Without a reduction kl_div is the difference t log t - t x. */
static enum tp_status back_difference(struct tp_backward *backward,
                                      const struct tp_array *given,
                                      struct tp_error *err)
{
    enum tp_status status = back_factor(backward, given, 1, err);
    return status == TP_OK ? back_factor(backward, given, -1, err) : status;
}

TP_BACKWARD(tp_back_pair_loss)
{
    struct pair pair;
    const struct tp_array *given;
    enum reduction reduction;
    enum tp_status status = tp_backward_single(backward, &given, err);
    if (status == TP_OK)
        status = bind_pair(backward->forward, row, &pair, err);
    if (status == TP_OK)
        status = reduction_of(backward->forward, &reduction, err);
    if (status == TP_OK &&
        given->count != (reduction == REDUCE_NONE ? pair.count : 1))
        status = tp_replay_fail_shapes(err);
    if (status != TP_OK)
        return status;
    if (pair.loss->reduces && reduction != REDUCE_NONE)
        return back_reduction(backward, &pair, reduction, given, err);
    if (!pair.loss->slope)
        return pair.parameter == 0 ? back_difference(backward, given, err)
                                   : fail_node(err);
    status = back_side(backward, &pair, reduction, 0, given, err);
    return status == TP_OK && tp_backward_arity(backward) > 1
               ? back_side(backward, &pair, reduction, 1, given, err)
               : status;
}

/* --- losses of classes ---------------------------------------------------- */

struct classes {
    const struct tp_array *logs; /* of probabilities, with bounds           */
    const struct tp_array *target, *weight;
    int axis;
    int64_t count, inner; /* classes; elements behind their axis            */
    int64_t ignored;
    bool shares; /* the target has a probability for each class             */
    double smoothing;
    double rounding; /* of a logarithm before it is used                    */
};

static double weight_of(const struct classes *classes, int64_t k)
{
    return classes->weight ? classes->weight->value[k] : 1;
}

/* The loss of one element of the target. */
static enum tp_status add_class(const struct classes *c, int64_t at,
                                struct losses *losses, struct tp_error *err)
{
    const double class = c->target->value[at];
    const int64_t target =
        fabs(class) < TP_LIMIT_REPLAY_VALUES ? (int64_t) class : -1;
    const int64_t first = at / c->inner * c->inner * c->count + at % c->inner;
    if (class == (double)c->ignored) {
        add_loss(losses, 0, 0, 0);
        return TP_OK;
    }
    if (target < 0 || target >= c->count)
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "its target is none of the classes");
    double value = 0, bound = 0;
    const double share = c->smoothing / (double)c->count;
    for (int64_t k = 0; k < c->count; k++) {
        const double factor = (k == target ? 1 - c->smoothing : 0) + share;
        const double w = weight_of(c, k) * factor;
        const int64_t i = first + k * c->inner;
        if (w == 0)
            continue;
        value -= w * c->logs->value[i];
        bound +=
            w * (c->logs->bound[i] + c->rounding * fabs(c->logs->value[i]));
    }
    bound += tp_replay_gamma(losses->replay,
                             c->smoothing > 0 ? (double)c->count + 2 : 2) *
             fabs(value);
    add_loss(losses, value, bound, weight_of(c, target));
    return TP_OK;
}

static enum tp_status bind_classes(const struct tp_replay_call *replay,
                                   struct classes *c, struct tp_error *err)
{
    enum tp_status status = tp_arg_tensor(replay, "target", &c->target, err);
    if (status != TP_OK)
        return status;
    c->axis = c->logs->dims > 1 ? 1 : 0;
    c->count = c->logs->dims ? c->logs->shape[c->axis] : 0;
    c->inner = 1;
    for (int i = c->axis + 1; i < c->logs->dims; i++)
        c->inner *= c->logs->shape[i];
    c->weight = tp_arg_array(replay, "weight");
    c->ignored = tp_arg_integer(replay, "ignore_index", -100);
    c->shares = tp_dtype_rounding(c->target->dtype) > 0;
    if (c->count < 1 ||
        c->target->count != c->logs->count / (c->shares ? 1 : c->count) ||
        (c->weight && c->weight->count != c->count))
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "its target is no list of classes");
    return TP_OK;
}

/* The loss of one element by the probabilities of all classes. */
static void add_shares(const struct classes *c, int64_t at,
                       struct losses *losses)
{
    const int64_t first = at / c->inner * c->inner * c->count + at % c->inner;
    const double share = c->smoothing / (double)c->count;
    double value = 0, bound = 0;
    for (int64_t k = 0; k < c->count; k++) {
        const int64_t i = first + k * c->inner;
        const double factor = c->target->value[i] * (1 - c->smoothing) + share;
        const double w = weight_of(c, k) * factor;
        value -= w * c->logs->value[i];
        bound +=
            fabs(w) * (c->logs->bound[i] +
                       (3 * c->rounding +
                        tp_replay_gamma(losses->replay, (double)c->count + 4)) *
                           fabs(c->logs->value[i]));
    }
    add_loss(losses, value, bound, 1);
}

/* The shape of the losses: that of the logarithms without their axis. */
static int shape_of(const struct classes *c, int64_t *shape)
{
    int dims = 0;
    for (int i = 0; i < c->logs->dims; i++)
        if (i != c->axis)
            shape[dims++] = c->logs->shape[i];
    return dims;
}

static enum tp_status run_classes(struct tp_replay_call *replay,
                                  struct classes *c, struct tp_error *err)
{
    struct losses losses;
    int64_t shape[TP_LIMIT_DIMS];
    enum tp_status status = bind_classes(replay, c, err);
    if (status == TP_OK)
        status = begin_losses(replay, &losses, shape_of(c, shape), shape, err);
    losses.weighted = c->weight != NULL;
    for (int64_t i = 0;
         status == TP_OK && c->shares && i < c->logs->count / c->count; i++)
        add_shares(c, i, &losses);
    for (int64_t i = 0; status == TP_OK && !c->shares && i < c->target->count;
         i++)
        status = add_class(c, i, &losses, err);
    if (status == TP_OK)
        finish_losses(&losses);
    return status;
}

TP_KERNEL(tp_run_cross_entropy)
{
    const struct tp_array *input;
    struct tp_array logs = {.dims = 0};
    (void)row;
    enum tp_status status = tp_arg_tensor(replay, "input", &input, err);
    if (status == TP_OK)
        status = tp_array_make(&logs, input->dims, input->shape, err);
    if (status == TP_OK)
        status = tp_array_bounds(&logs, err);
    if (status == TP_OK) {
        struct classes classes = {.logs = &logs,
                                  .smoothing =
                                      tp_arg_real(replay, "label_smoothing", 0),
                                  .rounding = replay->own};
        tp_log_softmax(input, input->dims > 1 ? 1 : 0, replay->unit, &logs);
        status = run_classes(replay, &classes, err);
    }
    tp_array_clear(&logs);
    return status;
}

TP_KERNEL(tp_run_nll)
{
    struct tp_array *input = tp_arg_array(replay, "input");
    struct classes classes = {.logs = input};
    (void)row;
    if (!input)
        return tp_fail(err, TP_E_UNSUPPORTED, -1, "its input is no tensor");
    enum tp_status status = tp_array_bounds(input, err);
    return status == TP_OK ? run_classes(replay, &classes, err) : status;
}

/* --- their gradients ------------------------------------------------------ */

/* The next gradient has the shape of number k that was dumped. */
static enum tp_status make_as_dumped(struct tp_backward *backward, size_t k,
                                     int64_t count, struct tp_array **gradient,
                                     struct tp_error *err)
{
    const struct tp_dump_item *item = tp_replay_result(backward->call, k);
    if (!item || !item->has_shape)
        return tp_fail(err, TP_E_UNSUPPORTED, -1, "no gradient was dumped");
    enum tp_status status =
        tp_backward_make(backward, item->dims, item->shape, gradient, err);
    return status == TP_OK && (*gradient)->count != count
               ? tp_replay_fail_shapes(err)
               : status;
}

/* What the losses of a mean are divided by. */
static double weight_of_all(const struct classes *c, enum reduction reduction)
{
    double weight = 0;
    for (int64_t i = 0; reduction == REDUCE_MEAN && i < c->target->count; i++) {
        const double class = c->target->value[i];
        if (class != (double)c->ignored && class >= 0 &&
            class < (double)c->count)
            weight += weight_of(c, (int64_t) class);
    }
    return reduction == REDUCE_MEAN ? weight : 1;
}

/* Losses of more axes come from a node of two, and are a view of these. */
static bool is_view(const struct tp_backward *backward,
                    const struct tp_array *given, const struct classes *c)
{
    const struct tp_dump_item *item = tp_replay_result(backward->call, 0);
    int64_t count = 1;
    for (int i = 0; item && item->has_shape && i < item->dims; i++)
        count *= item->shape[i];
    return c->logs->dims > 2 && c->count > 1 && count == given->count;
}

/* -w / W where the target is, times what came. */
static enum tp_status back_nll(struct tp_backward *backward,
                               const struct classes *c,
                               const struct tp_array *given,
                               struct tp_error *err)
{
    struct tp_array *gradient;
    enum reduction reduction;
    enum tp_status status = reduction_of(backward->forward, &reduction, err);
    const bool all = reduction == REDUCE_NONE;
    if (status == TP_OK && given->count != (all ? c->target->count : 1))
        status = tp_replay_fail_shapes(err);
    if (status == TP_OK && all && is_view(backward, given, c))
        return tp_backward_view(backward, given, 0, err);
    if (status == TP_OK)
        status = make_as_dumped(backward, 0, c->logs->count, &gradient, err);
    if (status != TP_OK)
        return status;
    const double whole = weight_of_all(c, reduction);
    const double off = tp_replay_gamma(
        backward->call,
        reduction == REDUCE_MEAN ? (double)c->target->count + 3 : 3);
    for (int64_t i = 0; i < c->target->count; i++) {
        const double class = c->target->value[i];
        if (class == (double)c->ignored || !(class >= 0) ||
            class >= (double)c->count)
            continue;
        const int64_t at = i / c->inner * c->inner * c->count +
                           (int64_t) class * c->inner + i % c->inner;
        gradient->value[at] =
            -weight_of(c, (int64_t) class) * given->value[all ? i : 0] / whole;
        gradient->bound[at] = off * fabs(gradient->value[at]);
    }
    return TP_OK;
}

/* With probabilities, the last node turns the sum of logarithms around, or
 * divides it by their number. */
static enum tp_status back_shares(struct tp_backward *backward,
                                  const struct classes *c,
                                  const struct tp_array *given,
                                  struct tp_error *err)
{
    enum reduction reduction;
    enum tp_status status = reduction_of(backward->forward, &reduction, err);
    const double count = (double)(c->logs->count / c->count);
    if (status == TP_OK && tp_backward_arity(backward) != 1)
        return fail_node(err);
    return status == TP_OK
               ? back_factor(backward, given,
                             reduction == REDUCE_MEAN ? 1 / count : -1, err)
               : status;
}

/* Behind cross_entropy stands nll_loss, whose input are logarithms, or with
 * smoothing the sum of two losses. */
TP_BACKWARD(tp_back_classes)
{
    const struct tp_array *given;
    struct classes classes = {.axis = 0};
    enum tp_status status = tp_backward_single(backward, &given, err);
    (void)row;
    if (status == TP_OK)
        status = tp_arg_tensor(backward->forward, "input", &classes.logs, err);
    if (status == TP_OK)
        status = bind_classes(backward->forward, &classes, err);
    if (status != TP_OK)
        return status;
    if (classes.shares)
        return back_shares(backward, &classes, given, err);
    if (tp_arg_real(backward->forward, "label_smoothing", 0) == 0)
        return back_nll(backward, &classes, given, err);
    for (size_t k = 0; k < 2 && status == TP_OK; k++)
        status = tp_backward_view(backward, given, k, err);
    return status;
}
