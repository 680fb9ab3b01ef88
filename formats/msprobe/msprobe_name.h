/* SPDX-License-Identifier: MIT */
#ifndef TP_MSPROBE_MSPROBE_NAME_H
#define TP_MSPROBE_MSPROBE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/label.h"

/*
 * The names that msprobe gives calls and their tensors, in dump.json and as
 * file names:
 *
 *     TYPE.API.N.DIRECTION[.PLACE]            a call of an API
 *     Module.PATH.CLASS.DIRECTION.N[.PLACE]   a call of a module
 *     Module.PATH.CLASS.parameters_grad[.N][.NAME]
 *     NAME.N.debug                            a variable that was saved
 *
 * with DIRECTION forward or backward, N the number of the call in its step,
 * from 0, and PLACE one of
 *
 *     input.I[.J ...]   output.I[.J ...]   kwargs.NAME   parameters.NAME
 *
 * where I counts the positional arguments and J the items of a list among
 * them. The older form has '_' between TYPE, API, N, DIRECTION and input or
 * output. TYPE is any word; what is known of it stands in msprobe_types.
 */

/* Part of a text of somebody else. */
struct tp_msprobe_part {
    const char *at;
    size_t length;
};

enum tp_msprobe_kind { TP_MSPROBE_API, TP_MSPROBE_MODULE, TP_MSPROBE_VARIABLE };

enum tp_msprobe_place {
    TP_MSPROBE_CALL, /* the name is that of a call, not of a tensor */
    TP_MSPROBE_INPUT,
    TP_MSPROBE_OUTPUT,
    TP_MSPROBE_KWARGS,
    TP_MSPROBE_PARAMETERS
};

struct tp_msprobe_name {
    enum tp_msprobe_kind kind;
    enum tp_direction direction; /* of a variable: unknown                  */
    enum tp_msprobe_place place;
    bool gradient;  /* of parameters                                 */
    int64_t number; /* of the call; -1: not said                     */
    struct tp_msprobe_part type; /* Functional, Tensor, Module, ...; of a
                            variable empty */
    struct tp_msprobe_part path; /* linear; layers.0.fc1; the variable's name */
    struct tp_msprobe_part class_name; /* of a module */
    struct tp_msprobe_part argument;   /* "0", "0.1", the name of a keyword or a
                                  parameter; empty: not said                */
    struct tp_msprobe_part call;       /* the name of the call       */
};

/* Takes a name apart; false when it is none of the above. Spans point into
 * `text`. Any thread. */
bool tp_msprobe_name_parse(const char *text, size_t length,
                           struct tp_msprobe_name *name);

/* The layer of a module: the first number in its path; -1: it has none. */
int64_t tp_msprobe_layer(const struct tp_msprobe_name *name);

/* A prefix of calls, and what it stands for. */
struct tp_msprobe_type {
    const char *word;       /* "Functional" */
    const char *stands_for; /* "torch.nn.functional" */
};

/* Those that msprobe's documentation lists, and modules; ended by NULL. */
extern const struct tp_msprobe_type tp_msprobe_types[];

/* The row of a TYPE; NULL when it is not known. */
const struct tp_msprobe_type *tp_msprobe_type_of(struct tp_msprobe_part type);

/*
 * The name that a positional argument has in the signature of its API, where
 * it is a tensor with a meaning of its own: "weight" for argument 1 of linear;
 * NULL: not known.
 */
const char *tp_msprobe_argument_name(const struct tp_msprobe_name *name);

#endif
