/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_ADDENDS_H
#define TP_REPLAY_ADDENDS_H

#include "replay/convolve.h"
#include "replay/einsum.h"

/* What the elements of a result are sums of, as its kernel has told. */

enum tp_addends_kind {
    TP_ADDENDS_LIST,    /* the only element, of these                       */
    TP_ADDENDS_PRODUCT, /* products of two tensors, by an equation          */
    TP_ADDENDS_SMALL,   /* a side of a convolution (convolve.h), ...        */
    TP_ADDENDS_LARGE,
    TP_ADDENDS_WEIGHT
};

/* One block of memory, which the result owns. Tensors are the call's. */
struct tp_addends {
    enum tp_addends_kind kind;
    const struct tp_array *left, *right;
    int axis_count;
    struct tp_contract_axis axes[TP_CONTRACT_AXES];
    struct tp_convolve convolve;
    double factor, divisor;       /* of all products; of the sum            */
    const struct tp_array *added; /* one more addend; NULL: none            */
    double added_factor;
    int64_t inner; /* elements in a row that it is added to; 0: it repeats as
                      shapes do                                             */
    int64_t count; /* of the list                                           */
    double list[];
};

/* An element's addends, to be freed. */
struct tp_addend_list {
    double *value;
    int64_t count; /* 0: they are not known                                 */
    double divisor;
    bool lost; /* memory ended for them                                     */
};

/* Tells them of a result, which is `lost` where there is no memory: products by
 * an equation of two operands; products of a convolution, in the order of its
 * arguments; a list with room for `count`, which is returned, NULL: there is no
 * memory. */
void tp_addends_of_product(struct tp_array *result,
                           const struct tp_einsum *einsum, double factor);
void tp_addends_of_convolution(struct tp_array *result,
                               enum tp_addends_kind kind,
                               const struct tp_convolve *convolve,
                               const struct tp_array *left,
                               const struct tp_array *right);
double *tp_addends_of_list(struct tp_array *result, int64_t count);

/* What the sum that was told is divided by. */
void tp_addends_divide(struct tp_array *result, double divisor);

/* What is added to a sum that was told, if it was; the factor of the sum so
 * far. */
void tp_addends_add(struct tp_array *result, double factor,
                    const struct tp_array *added, double added_factor,
                    int64_t inner);

/* The addends of element `at`, what was added as the last one. */
struct tp_addend_list tp_addends_at(const struct tp_array *result, int64_t at);

#endif
