/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_OPERATORS_H
#define TP_REPLAY_OPERATORS_H

#include "replay/replay_call.h"

/*
 * The operators that are replayed. A kernel computes in fp64 from the values
 * that were dumped, in a fixed order, and gives with each result the bound of
 * what rounding to the accumulating dtype explains: the first-order running
 * error bound (Higham, Accuracy and Stability of Numerical Algorithms, 3.1 and
 * 3.3). The rounding of the result itself is added by who judges.
 */

/* What happens to one element. `x`: its operands; `*terms` gets the magnitudes
 * that are rounded on the way, each as often as it is. */
typedef double tp_point_fn(const double *x, double *terms);

struct tp_operator {
    const char *names;     /* of the API, joined by ' '; "add" is also add_,
                              __add__ and __iadd__                          */
    const char *signature; /* of its positional arguments                   */
    /* Makes the results; NULL: they are random. */
    enum tp_status (*run)(struct tp_replay_call *replay,
                          const struct tp_operator *operator,
                          struct tp_error * err);
    tp_point_fn *point; /* of tp_run_point: with so many first arguments    */
    int operands;
    const char *parameters; /* arguments that no operator makes: weights    */
};

/* The rows, ended by one without names. */
extern const struct tp_operator tp_operators[];

/* The row of an API's name; NULL: it has none. */
const struct tp_operator *tp_operator_of(struct tp_msprobe_part name);

#endif
