/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_CHECK_ROLES_H
#define TP_CHECK_CHECK_ROLES_H

#include "check/check_script.h"

/* What calls do. */

enum tp_call_role {
    TP_DOES_NONE,
    /* to a tensor: its dtype                                             */
    TP_DOES_HALF, /* half(), bfloat16()                                   */
    TP_DOES_FLOAT,
    TP_DOES_CAST,       /* to(), type()                                   */
    TP_DOES_KEEP,       /* the same numbers: view(), detach(), ...        */
    TP_DOES_KEEP_WIDTH, /* others of the same dtype: clamp(), ...         */
    /* to a tensor: mathematics                                           */
    TP_DOES_SOFTMAX,
    TP_DOES_SIGMOID,
    TP_DOES_LOG,
    TP_DOES_EXP,
    TP_DOES_SQRT,
    TP_DOES_SQUARE, /* square(), pow()                                    */
    TP_DOES_REDUCE, /* sum(), mean()                                      */
    TP_DOES_NORM,   /* norm()                                             */
    TP_DOES_CUMULATE,
    TP_DOES_TRIGONOMETRY, /* cos(), sin()                                 */
    TP_DOES_MULTIPLY,     /* matrices: what autocast runs in 16 bits      */
    TP_DOES_WIDEN,        /* what autocast runs in fp32                   */
    TP_DOES_CLAMP,
    TP_DOES_MASKED_FILL,
    TP_DOES_WHERE,
    TP_DOES_ARANGE,
    /* losses                                                             */
    TP_DOES_BCE,
    TP_DOES_CROSS_ENTROPY,
    TP_DOES_BCE_LOGITS,
    TP_DOES_NLL,
    TP_DOES_LOSS,
    /* to gradients                                                       */
    TP_DOES_CLIP,
    TP_DOES_BACKWARD,
    TP_DOES_STEP,
    TP_DOES_SCALE,
    TP_DOES_UNSCALE,
    TP_DOES_UPDATE,
    /* to what follows                                                    */
    TP_DOES_AUTOCAST,
    TP_DOES_NO_GRAD,
    TP_DOES_DEFAULT_DTYPE,
    /* objects                                                            */
    TP_DOES_MAKE_CROSS_ENTROPY,
    TP_DOES_MAKE_BCE_LOGITS,
    TP_DOES_MAKE_NLL,
    TP_DOES_MAKE_LOSS,
    TP_DOES_MAKE_BCE,
    TP_DOES_MAKE_SCALER,
    TP_DOES_MAKE_OPTIMIZER,
    TP_DOES_MAKE_MODULE,
    TP_DOES_MAKE_NORM,
    TP_DOES_MAKE_DATA_PARALLEL,
    TP_DOES_MAKE_DEBUGGER /* of msprobe                                   */
};

/* One call. */
struct tp_call {
    uint32_t node;
    uint32_t function; /* what is called, a node                          */
    uint32_t receiver; /* the object of a method; 0 of a function         */
    enum tp_call_role role;
    const char *path; /* of the function, by the imports; or ""           */
};

/* What a call is, as the call itself says: by its path, which is written to
 * `path` and borrowed, else by the object that is called, else by the name of
 * the method. For facts that are still being collected. */
void tp_call_judge(const struct tp_script *script, uint32_t node,
                   char path[TP_PATH_MAX], struct tp_call *call);

/* Judges all calls of a script, once for all that will ask. False when memory
 * is out. */
bool tp_calls_judge(struct tp_script *script);

/* What a call is, from a script whose calls are judged. */
void tp_call_read(const struct tp_script *script, uint32_t node,
                  struct tp_call *call);

#endif
