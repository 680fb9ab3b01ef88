/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_CHECK_ROLES_H
#define TP_CHECK_CHECK_ROLES_H

#include "check/check_script.h"

/* What calls do. */

enum tp_call_role {
    TP_DOES_NONE,
    TP_DOES_HALF,
    TP_DOES_FLOAT,
    TP_DOES_SOFTMAX,
    TP_DOES_SIGMOID,
    TP_DOES_LOG,
    TP_DOES_REDUCE,
    TP_DOES_BCE,
    TP_DOES_CROSS_ENTROPY,
    TP_DOES_BCE_LOGITS,
    TP_DOES_NLL,
    TP_DOES_LOSS,
    TP_DOES_CLIP,
    TP_DOES_BACKWARD,
    TP_DOES_STEP,
    TP_DOES_SCALE,
    TP_DOES_UNSCALE,
    TP_DOES_UPDATE,
    TP_DOES_KEEP,
    TP_DOES_AUTOCAST,
    TP_DOES_NO_GRAD,
    TP_DOES_DEFAULT_DTYPE,
    TP_DOES_MAKE_CROSS_ENTROPY,
    TP_DOES_MAKE_BCE_LOGITS,
    TP_DOES_MAKE_NLL,
    TP_DOES_MAKE_LOSS,
    TP_DOES_MAKE_BCE,
    TP_DOES_MAKE_SCALER,
    TP_DOES_MAKE_OPTIMIZER,
    TP_DOES_MAKE_MODULE
};

/* One call. */
struct tp_call {
    uint32_t node;
    uint32_t function; /* what is called, a node                          */
    uint32_t receiver; /* the object of a method; 0 of a function         */
    enum tp_call_role role;
    char path[TP_PATH_MAX]; /* of the function, by the imports; or ""     */
};

/* What a call is: by its path, else by the object that is called, else by the
 * name of the method. */
void tp_call_read(const struct tp_script *script, uint32_t node,
                  struct tp_call *call);

#endif
