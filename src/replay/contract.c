/* SPDX-License-Identifier: MIT */
/*
 * A contraction as a product of matrices (product.h). Each axis has one role:
 * one that is summed is of k; one that is kept is of m where the right side
 * does not have it, of n where the left side does not, else of the stack. The
 * sides of one stack are brought to [m][k] and [n][k], unless they lie so, and
 * the product goes where it belongs. A sum over one side only is a product
 * with a side that repeats: so einsum, linear, bmm, outer products and their
 * gradients are this one function. Where a side is itself off by its bound e,
 * the result is, to first order, by sum(e |b|) + sum(|a| f) more: two more
 * products of magnitudes. Cost: that of the product, and a pass over each side
 * per stack; memory: one matrix of a stack from each side.
 */
#include "replay/contract.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/product.h"

enum tp_status tp_contract_add(struct tp_contraction *contraction,
                               struct tp_contract_axis axis,
                               struct tp_error *err)
{
    if (contraction->count == TP_CONTRACT_AXES)
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "more than %d axes are not replayed", TP_CONTRACT_AXES);
    contraction->axes[contraction->count++] = axis;
    return TP_OK;
}

enum { STACK, LEFT, RIGHT, SUM, ROLES };
enum { SIDE_LEFT, SIDE_RIGHT, SIDE_OUTPUT };

/* Axes of one role; steps of its walk are by side. */
struct role {
    struct tp_array_walk walk;
    int64_t shape[TP_CONTRACT_AXES];
    int64_t count;
};

static int role_of(const struct tp_contract_axis *axis)
{
    return !axis->kept        ? SUM
           : axis->right == 0 ? LEFT
           : axis->left == 0  ? RIGHT
                              : STACK;
}

static void set_roles(const struct tp_contraction *c, struct role *roles)
{
    for (int i = 0; i < ROLES; i++) {
        roles[i].count = 1;
        roles[i].walk.shape = roles[i].shape;
    }
    for (int i = 0; i < c->count; i++) {
        const struct tp_contract_axis *axis = &c->axes[i];
        struct role *role = &roles[role_of(axis)];
        const int at = role->walk.dims++;
        role->shape[at] = axis->length;
        role->walk.strides[SIDE_LEFT][at] = axis->left;
        role->walk.strides[SIDE_RIGHT][at] = axis->right;
        role->walk.strides[SIDE_OUTPUT][at] = axis->output;
        role->count *= axis->length;
    }
}

/* Whether the axes of a role lie in their order, `step` apart. */
static bool lies_so(const struct role *role, int side, int64_t step)
{
    for (int i = role->walk.dims; i-- > 0; step *= role->shape[i])
        if (role->shape[i] != 1 && role->walk.strides[side][i] != step)
            return false;
    return true;
}

/* A matrix of rows and columns of a side. */
struct matrix {
    struct role *rows, *columns;
    int side;
    bool lies; /* where it is, as it is wanted                              */
    double *room;
};

static enum tp_status init_matrix(struct matrix *matrix, struct tp_error *err)
{
    const int64_t columns = matrix->columns->count;
    matrix->lies = lies_so(matrix->columns, matrix->side, 1) &&
                   lies_so(matrix->rows, matrix->side, columns);
    if (matrix->lies)
        return TP_OK;
    const size_t count = (size_t)(matrix->rows->count * columns);
    matrix->room = malloc((count + 1) * sizeof *matrix->room);
    return matrix->room ? TP_OK : tp_fail_memory(err);
}

/* Both walks end where they began. */
static const double *gather(struct matrix *matrix, const double *from)
{
    struct tp_array_walk *rows = &matrix->rows->walk;
    struct tp_array_walk *columns = &matrix->columns->walk;
    double *to = matrix->room;
    if (matrix->lies)
        return from;
    for (int64_t i = 0; i < matrix->rows->count; i++) {
        for (int64_t j = 0; j < matrix->columns->count; j++) {
            *to++ = from[rows->at[matrix->side] + columns->at[matrix->side]];
            tp_array_walk_next(columns);
        }
        tp_array_walk_next(rows);
    }
    return matrix->room;
}

static void scatter(struct matrix *matrix, const double *from, double *to)
{
    struct tp_array_walk *rows = &matrix->rows->walk;
    struct tp_array_walk *columns = &matrix->columns->walk;
    for (int64_t i = 0; i < matrix->rows->count; i++) {
        for (int64_t j = 0; j < matrix->columns->count; j++) {
            to[rows->at[matrix->side] + columns->at[matrix->side]] = *from++;
            tp_array_walk_next(columns);
        }
        tp_array_walk_next(rows);
    }
}

/* --- products ------------------------------------------------------------- */

static double gamma_of(double unit, double n)
{
    return n * unit < 0.5 ? n * unit / (1 - n * unit) : INFINITY;
}

/* The three matrices of a stack; room of the result is of values and bounds. */
struct stack {
    struct matrix left, right, output;
    double *bound;
};

static enum tp_status run_stack(const struct tp_contraction *c,
                                struct stack *stack, const int64_t *at,
                                struct tp_error *err)
{
    const int64_t k = stack->left.columns->count;
    double *value = c->output->value + at[SIDE_OUTPUT];
    double *bound = c->output->bound + at[SIDE_OUTPUT];
    const bool lies = stack->output.lies;
    const struct tp_product product = {
        gather(&stack->left, c->left->value + at[SIDE_LEFT]),
        gather(&stack->right, c->right->value + at[SIDE_RIGHT]),
        lies ? value : stack->output.room,
        lies ? bound : stack->bound,
        stack->left.rows->count,
        stack->right.rows->count,
        k,
        gamma_of(c->unit, (double)k + 1)};
    enum tp_status status = tp_product_run(&product, err);
    if (status != TP_OK || lies)
        return status;
    scatter(&stack->output, product.value, value);
    scatter(&stack->output, product.bound, bound);
    return TP_OK;
}

static enum tp_status run_stacks(const struct tp_contraction *c,
                                 struct role *roles, struct tp_error *err)
{
    struct stack stack = {
        {&roles[LEFT], &roles[SUM], SIDE_LEFT, false, NULL},
        {&roles[RIGHT], &roles[SUM], SIDE_RIGHT, false, NULL},
        {&roles[LEFT], &roles[RIGHT], SIDE_OUTPUT, false, NULL},
        NULL};
    const size_t size = (size_t)(roles[LEFT].count * roles[RIGHT].count);
    enum tp_status status = init_matrix(&stack.left, err);
    if (status == TP_OK)
        status = init_matrix(&stack.right, err);
    if (status == TP_OK)
        status = init_matrix(&stack.output, err);
    if (status == TP_OK && !stack.output.lies) {
        stack.bound = malloc((size + 1) * sizeof *stack.bound);
        status = stack.bound ? TP_OK : tp_fail_memory(err);
    }
    for (int64_t i = 0; i < roles[STACK].count && status == TP_OK; i++) {
        status = run_stack(c, &stack, roles[STACK].walk.at, err);
        tp_array_walk_next(&roles[STACK].walk);
    }
    free(stack.left.room);
    free(stack.right.room);
    free(stack.output.room);
    free(stack.bound);
    return status;
}

/* --- sides that are off --------------------------------------------------- */

/* How large a side is, or how far off. */
static enum tp_status take(const struct tp_array *from, bool bound,
                           struct tp_array *to, struct tp_error *err)
{
    enum tp_status status = tp_array_make(to, from->dims, from->shape, err);
    for (int64_t i = 0; status == TP_OK && i < from->count; i++)
        to->value[i] = bound ? from->bound[i] : fabs(from->value[i]);
    return status;
}

/* Adds what comes of the left side's bound, or of the right one's. */
static enum tp_status add_bound(const struct tp_contraction *c, bool of_left,
                                struct tp_error *err)
{
    struct tp_array left = {.dims = 0}, right = {.dims = 0}, off = {.dims = 0};
    struct tp_contraction own = *c;
    enum tp_status status = take(c->left, of_left, &left, err);
    if (status == TP_OK)
        status = take(c->right, !of_left, &right, err);
    if (status == TP_OK)
        status = tp_array_make(&off, c->output->dims, c->output->shape, err);
    if (status == TP_OK)
        status = tp_array_bounds(&off, err);
    own.left = &left;
    own.right = &right;
    own.output = &off;
    if (status == TP_OK)
        status = tp_contract(&own, err);
    for (int64_t i = 0; status == TP_OK && i < off.count; i++)
        c->output->bound[i] += off.value[i];
    tp_array_clear(&left);
    tp_array_clear(&right);
    tp_array_clear(&off);
    return status;
}

enum tp_status tp_contract(const struct tp_contraction *contraction,
                           struct tp_error *err)
{
    if (contraction->output->count == 0)
        return TP_OK;
    struct role *roles = calloc(ROLES, sizeof *roles);
    if (!roles)
        return tp_fail_memory(err);
    set_roles(contraction, roles);
    enum tp_status status = run_stacks(contraction, roles, err);
    free(roles);
    if (status == TP_OK && contraction->left->bound)
        status = add_bound(contraction, true, err);
    if (status == TP_OK && contraction->right->bound)
        status = add_bound(contraction, false, err);
    return status;
}
