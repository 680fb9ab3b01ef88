/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_LOSS_MATH_H
#define TP_REPLAY_LOSS_MATH_H

#include <stdbool.h>

/*
 * Losses of an element x[0] and its target x[1], with a parameter x[2], as
 * torch.nn.functional documents them. *terms gets the magnitudes that are
 * rounded on the way, each as often as it is.
 */
typedef double tp_loss_fn(const double *x, double *terms);

/* The partial derivative by x[i], i 0 or 1. */
typedef double tp_loss_slope_fn(const double *x, int i, double *terms);

struct tp_loss {
    const char *name;
    tp_loss_fn *point;
    tp_loss_slope_fn *slope; /* NULL: its node is another                   */
    const char *parameter;   /* "": none                                    */
    double absent;           /* the parameter where it is not given         */
    bool reduces; /* the node of its mean or sum is that of a reduction     */
};

/* The loss of a name of the API; NULL: there is none. */
const struct tp_loss *tp_loss_of(const char *name);

#endif
