/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_CHECK_TELLS_H
#define TP_CHECK_CHECK_TELLS_H

#include "check/python_lex.h"

/* What the words of a script tell to others of its package, as bits. */
enum {
    TP_TELLS_BACKWARD = 1, /* a loop that trains                          */
    TP_TELLS_MIXED = 2,    /* perhaps in 16 bits                          */
    TP_TELLS_AUTOCAST = 4,
    TP_TELLS_ASKS_BCE = 8, /* a choice by the name of that loss           */
    TP_TELLS_BCE = 16,     /* such a loss itself                          */
    TP_TELLS_TRAINS = 32,  /* an optimizer, or what drives one            */
    TP_TELLS_INFERS = 64,  /* no gradient is recorded                     */
    TP_TELLS_LOADS = 128,  /* weights                                     */
    TP_TELLS_LOSS = 256,   /* a loss or training, by a name               */
    TP_TELLS_MODULE = 512  /* a network                                   */
};

/* Those of one script; costs a look at each word. */
unsigned tp_tells_read(const struct tp_py_tokens *tokens);

#endif
